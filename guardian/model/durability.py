"""How safe the data of a cluster is: what is asked of Kafka, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import inf

from guardian.model.cluster_state import Eligible, PartitionState


class Rating(IntEnum):
    """Rates a topic, from worst to best. Values are those of the wire; `gravity` has the order."""

    OFFLINE = 1  # a partition has no leader
    AT_RISK = 2  # what was acknowledged is on one copy, or may be lost with the next one
    WEAK = 3  # the settings allow acknowledged data to be on one copy
    ONE_RACK = 6  # all copies that are in sync are in one power domain
    DEGRADED = 4  # the settings are sound, but copies are missing now
    SOUND = 5  # any one broker may be lost, with its disks

    @property
    def gravity(self) -> int:
        """Return its place, the worst first."""
        return _WORST_FIRST.index(self)


_WORST_FIRST = tuple(Rating)


class Scope(StrEnum):
    """What may be lost at once."""

    BROKER = "broker"
    RACK = "rack"
    IDC = "idc"


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """Where a broker stands. `replica_lag_ms` is its replica.lag.time.max.ms, None where it did not say."""

    rack: str = ""
    idc: str = ""
    is_alive: bool = True
    replica_lag_ms: int | None = None
    rebalances_leaders: bool | None = None


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """`min_isr` is min.insync.replicas, `is_unclean` unclean.leader.election.enable.

    `after_max_s` and `before_max_s` are message.timestamp.after.max.ms and message.timestamp.before.max.ms in seconds.
    """

    min_isr: int
    is_unclean: bool
    after_max_s: float = inf
    before_max_s: float = inf


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as Kafka describes it; `partitions` by number, and `eligible` where Kafka tells the ELR of one."""

    settings: TopicSettings
    partitions: Mapping[int, PartitionState]
    eligible: Mapping[int, Eligible] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicDurability:
    """Tells what a topic's data survives. Counts are partitions; `reasons` say why it is rated so, gravest first."""

    topic: str
    rating: Rating
    partitions: int
    replication_factor: int  # the least of its partitions
    min_isr: int
    is_unclean: bool
    offline: int
    under_min_isr: int
    under_replicated: int
    preferred_leaders: int
    survives_brokers: int  # how many of any brokers may be lost at once, disks and all, without acknowledged data
    reasons: tuple[str, ...]
    start_first: tuple[int, ...] = ()  # brokers that partitions without a leader wait for, in the order to start them


@dataclass(frozen=True, slots=True)
class Loss:
    """What the loss of a scope would do to how many partitions, as they are now.

    `offline`: nobody in sync is left. `unwritable`: leaders remain, but fewer than min.insync.replicas are in sync.
    `exposed`: min.insync.replicas or more of the replicas are inside, so that an acknowledgement may have come from
    there alone. It is lost if the disks are lost too and the ISR had shrunk to them. `leaders`: have to move.
    """

    scope: Scope
    name: str
    brokers: tuple[int, ...]
    leaders: int
    offline: int
    unwritable: int
    exposed: int


@dataclass(frozen=True, slots=True)
class Durability:
    """A cluster's topics, worst first; losses, worst first in each scope; and what is odd about its brokers."""

    topics: tuple[TopicDurability, ...]
    losses: tuple[Loss, ...]
    remarks: tuple[str, ...]
