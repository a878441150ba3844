"""Partition-level protection: what is done to an unhealthy disk, and what is held against it.

    disk over its limits ──▶ doings (six behaviours a partition) ──▶ the abnormal ones, by traffic ──▶ levers

A `Lever` is a decision: how far something is held back, because of which disk. The intents beside it are the record of
what may stand in Kafka because of it, and are what is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from guardian.model.owned_setting import OwnedSetting
from guardian.model.quota import QuotaClient
from guardian.model.text import Text
from guardian.model.topology import TopicPartition


class DiskState(IntEnum):
    """From worst to best; values are those of the wire."""

    OVER = 1  # utilisation or await is over its limit
    BETWEEN = 2  # neither over nor well under it
    UNDER = 3
    UNKNOWN = 4  # too few samples


class Behaviour(IntEnum):
    """What a partition does to a disk; values are those of the wire."""

    USER_WRITE = 1
    USER_READ = 2
    REPLICATION_WRITE = 3
    REPLICATION_READ = 4
    MOVE_WRITE = 5  # a copy from another log dir of the same broker
    MOVE_READ = 6  # a copy to another log dir of the same broker


class LeverKind(IntEnum):
    """Values are those of the wire, and are stored: never renumber."""

    CLIENT_QUOTA = 1
    FOLLOWER_RATE = 2  # of replicas here that catch up
    LEADER_RATE = 3  # of replicas elsewhere that catch up from here
    LOG_DIR_RATE = 4


@dataclass(frozen=True, slots=True, order=True)
class DiskKey:
    broker: int
    disk: str

    def __str__(self) -> str:
        return f"disk {self.disk} of broker {self.broker}"


@dataclass(frozen=True, slots=True)
class DiskCondition:
    """How a disk does against fixed limits, over the time since `from_ms`."""

    key: DiskKey
    log_dirs: tuple[str, ...]
    state: DiskState
    utilisation: float
    await_ms: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    from_ms: int
    why: Text


@dataclass(frozen=True, slots=True)
class ClientUse:
    """What a client moves in a doing; `group` is empty for writers."""

    client: QuotaClient
    bytes_per_s: float
    group: str = ""


@dataclass(frozen=True, slots=True)
class Doing:
    """One behaviour of one partition on one disk.

    `expected` is what would be normal, in bytes/s; None: nobody has said. `peers` are the brokers at the other end of
    a replication. `why` is empty where nothing is abnormal.
    """

    disk: DiskKey
    partition: TopicPartition
    behaviour: Behaviour
    bytes_per_s: float
    expected: float | None = None
    from_disk: bool = False
    is_abnormal: bool = False
    why: Text = ""
    clients: tuple[ClientUse, ...] = ()
    peers: tuple[int, ...] = ()
    write_rate: float = 0.0  # what producers write to the partition
    followers: int = 0


@dataclass(frozen=True, slots=True)
class Lever:
    """`subject` is the quota entity's name, or "" for a rate of the broker; `entries` are the replicas that a
    replication rate is for ("topic:partition:broker"). `before` is the rate that was there before the first cut, and
    `hit` says in one sentence whom it hits."""

    disk: DiskKey
    kind: LeverKind
    subject: str
    quota_key: str
    value: int
    before: int
    entries: tuple[str, ...] = ()
    least: int = 0  # never below this
    hit: Text = ""
    why: Text = ""
    set_at_ms: int = 0
    changed_at_ms: int = 0

    @property
    def identity(self) -> tuple[DiskKey, LeverKind, str, str]:
        return self.disk, self.kind, self.subject, self.quota_key


@dataclass(frozen=True, slots=True)
class Hold:
    """A person released a disk: nothing is held against it until then."""

    disk: DiskKey
    until_ms: int
    by: str


@dataclass(frozen=True, slots=True)
class Protection:
    """What is held in one cluster. `revision` counts the times that it was saved; `note` is what was done last."""

    cluster: str
    levers: tuple[Lever, ...] = ()
    intents: tuple[OwnedSetting, ...] = ()
    holds: tuple[Hold, ...] = ()
    note: Text = ""
    revision: int = 0
    stepped_ms: tuple[tuple[DiskKey, int], ...] = ()  # the last step for each disk
    changed_at_ms: int = 0  # when something was last sent

    @property
    def is_idle(self) -> bool:
        """Nothing is held, and nothing may be left in Kafka."""
        return not self.levers and not self.intents
