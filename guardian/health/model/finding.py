"""What Guardian's detectors find: something that is wrong with a cluster, and lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

from guardian.model.links import Crosser, Direction
from guardian.model.text import Text


class FindingKind(IntEnum):
    """Values are those of the wire; lower-case names are the label `kind` of the metrics."""

    TOPIC_OFFLINE = 1  # a partition has no leader
    TOPIC_AT_RISK = 2  # what was acknowledged is on one copy, or may be lost with the next one
    SLOW_DISK = 3  # slower than its peers, though it has no more to do
    LINE_NEAR_LIMIT = 4  # a line between IDCs, in its busiest minute
    TOPIC_WEAK = 5  # the settings allow acknowledged data to be on one copy
    BROKER_DOWN = 6  # fenced, or gone
    LOG_DIR_OFFLINE = 7  # of a broker that lives
    UNDER_MIN_ISR = 8  # partitions that refuse acks=all
    AT_MIN_ISR = 9  # partitions that refuse acks=all when one more replica goes
    STUCK_REASSIGNMENT = 10  # in flight, and copying nothing
    SKEW = 11  # a broker holds or leads far more than its share
    DISK_FILLS = 12  # full within days, if it goes on so
    MEMBER_DOWN = 13  # of Guardian's own group
    STORM = 14  # so much is wrong at once that healing stands still: a person is called
    HEALING_FAILED = 15  # healing has tried, or can't: a person is called
    CLUSTER_UNREACHABLE = 16  # no broker answers
    CERTIFICATE_EXPIRES = 17  # of a member, its authority, or the list of revoked ones
    READS_LEAVE_IDC = 18  # no replica selector that keeps them in, or one that knows racks otherwise
    FENCED_SERVES = 21  # a broker that the controllers fenced still answers clients: what it takes is lost
    STATE_UNKNOWN = 22  # brokers answer, and none reaches the controllers: nobody can say who is right

    CLOCK_OFF = 23  # of a member of Guardian's own group
    CONTROLLERS_AT_RISK = 24  # with one voter less nothing is decided: no leader, no topic, no ISR
    CONTROLLER_BEHIND = 25  # a voter that does not have what the active controller has
    METADATA_GROWS = 26  # far more is decided than in a cluster at rest
    REPLICAS_EMPTY = 27  # of a broker that lives, out of sync: its disk is new
    TOPIC_LOST = 28  # its only replicas came back without what they held
    MEMBER_STOPPED = 20  # of Guardian's own group, by itself: it has told why

    @property
    def gravity(self) -> int:
        """The gravest have the least."""
        return _GRAVEST_FIRST.index(self)


_GRAVEST_FIRST = (
    FindingKind.FENCED_SERVES,
    FindingKind.CLUSTER_UNREACHABLE,
    FindingKind.STATE_UNKNOWN,
    FindingKind.STORM,
    FindingKind.TOPIC_LOST,
    FindingKind.TOPIC_OFFLINE,
    FindingKind.CONTROLLERS_AT_RISK,
    FindingKind.UNDER_MIN_ISR,
    FindingKind.TOPIC_AT_RISK,
    FindingKind.HEALING_FAILED,
    FindingKind.BROKER_DOWN,
    FindingKind.LOG_DIR_OFFLINE,
    FindingKind.REPLICAS_EMPTY,
    FindingKind.AT_MIN_ISR,
    FindingKind.CONTROLLER_BEHIND,
    FindingKind.MEMBER_STOPPED,
    FindingKind.MEMBER_DOWN,
    FindingKind.CLOCK_OFF,
    FindingKind.CERTIFICATE_EXPIRES,
    FindingKind.SLOW_DISK,
    FindingKind.STUCK_REASSIGNMENT,
    FindingKind.DISK_FILLS,
    FindingKind.METADATA_GROWS,
    FindingKind.LINE_NEAR_LIMIT,
    FindingKind.READS_LEAVE_IDC,
    FindingKind.SKEW,
    FindingKind.TOPIC_WEAK,
)


_OF_LOST_REPLICAS = frozenset(
    {
        FindingKind.TOPIC_OFFLINE,
        FindingKind.UNDER_MIN_ISR,
        FindingKind.TOPIC_AT_RISK,
        FindingKind.AT_MIN_ISR,
        FindingKind.STUCK_REASSIGNMENT,
        FindingKind.SKEW,
    }
)
EFFECTS: Mapping[FindingKind, frozenset[FindingKind]] = MappingProxyType(
    {
        FindingKind.BROKER_DOWN: _OF_LOST_REPLICAS | {FindingKind.CONTROLLERS_AT_RISK, FindingKind.CONTROLLER_BEHIND},
        FindingKind.LOG_DIR_OFFLINE: _OF_LOST_REPLICAS,
        FindingKind.REPLICAS_EMPTY: _OF_LOST_REPLICAS | {FindingKind.TOPIC_LOST},
        FindingKind.MEMBER_STOPPED: frozenset({FindingKind.MEMBER_DOWN}),
    }
)
"""What may follow from a finding of a kind, in the same cluster: a list names the cause first."""


class Detector(StrEnum):
    """Who looks."""

    DURABILITY = "durability"
    DISKS = "disks"
    LINKS = "links"
    BROKERS = "brokers"  # who lives
    REPLICAS = "replicas"  # log dirs, ISRs, reassignments
    CONTROLLERS = "controllers"  # their quorum, and its log
    BALANCE = "balance"  # who holds how much, now and in some days
    READS = "reads"  # whether consumers read in their own data centre
    MEMBERS = "members"  # of Guardian's own group
    HEALING = "healing"  # what healing can't do by itself


class Place(NamedTuple):
    """Where a detector looks; an empty cluster stands for all of them."""

    detector: Detector
    cluster: str


class Subject(NamedTuple):
    """What is wrong with what: by this a finding is known from one look to the next."""

    kind: FindingKind
    cluster: str
    name: str

    @property
    def title(self) -> str:
        """Name what of the cluster it is about: "broker_down broker 3"."""
        return f"{self.kind.name.lower()} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one look saw. `since_ms`: the detector knows it to have been so already then; 0: it knows of now alone.

    `brokers` and `log_dirs` (of the one broker) are those that it is about, where it is about some. `replicas` is how
    many they are to have and have lost, None: not known. `line` is the one that it is about, `load` what it carried in
    words that name nobody, and `crossers` are those of the line, the largest first. `disks` is how many the broker of a
    slow disk has.
    """

    subject: Subject
    evidence: Text
    show: Text
    since_ms: int = 0
    brokers: tuple[int, ...] = ()
    log_dirs: tuple[str, ...] = ()
    replicas: int | None = None
    line: Direction | None = None
    load: Text = ""
    crossers: tuple[Crosser, ...] = ()
    disks: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A subject that is or was just seen, in each look since then unless it is raised already."""

    place: Place
    sighting: Sighting
    since_ms: int
    last_seen_ms: int
    is_raised: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A sighting that has outlasted its grace period, with what it is about. `show` is the command that shows more."""

    subject: Subject
    evidence: Text
    show: Text
    since_ms: int
    last_seen_ms: int
    line: Direction | None = None
    load: Text = ""
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class BrokersSeen:
    """The brokers of a cluster that were seen live at that time, in the order of their ids."""

    cluster: str
    alive: tuple[int, ...]
    looked_at_ms: int


@dataclass(frozen=True, slots=True)
class LastLook:
    """When a detector looked last with success, and when without; 0: never. `error`: of the last look, if it failed."""

    looked_at_ms: int = 0
    failed_at_ms: int = 0
    error: Text = ""
