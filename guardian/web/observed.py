"""What the lake tells of a cluster, as pages show it. The member reads the lake (guardian.health.loop.observed)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from guardian.web.pressure import PressureSeen

# What a broker is seen to do over time, one value a step; None: not known then.
Series = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class LogDirSeen:
    """The last that was seen of a log dir. `disk` is empty where the broker does not tell which one it is on."""

    log_dir: str
    disk: str
    total_bytes: int
    usable_bytes: int
    offline: bool

    @property
    def used_share(self) -> float | None:
        return 1 - self.usable_bytes / self.total_bytes if self.total_bytes > 0 else None


@dataclass(frozen=True, slots=True)
class DiskSeen:
    """A disk with log dirs: share of the time busy, and bytes/s, read and written."""

    disk: str
    busy: Series
    moved: Series


@dataclass(frozen=True, slots=True)
class BrokerSeen:
    """Rates are bytes/s of clients; `cpu` is a share of all cores. `at_ms` is of the last collection that succeeded
    (0: none), `error` why the last one failed."""

    broker: int
    at_ms: int = 0
    error: str = ""
    bytes_in: Series = ()
    bytes_out: Series = ()
    cpu: Series = ()
    disk_busy: Series = ()  # of its busiest disk with log dirs
    memory_total_bytes: int = 0
    memory_available_bytes: int = 0
    log_dirs: tuple[LogDirSeen, ...] = ()
    disks: tuple[DiskSeen, ...] = ()

    @property
    def used_share(self) -> float | None:
        """Return the used share of the broker's fullest log dir; None: not known."""
        return max((share for each in self.log_dirs if (share := each.used_share) is not None), default=None)


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """`steps_ms` are when each step of the series begins."""

    steps_ms: tuple[int, ...] = ()
    step_ms: int = 0
    brokers: Mapping[int, BrokerSeen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplicaSeen:
    """A replica, where it was seen last. `in_sync` is what its leader says, `lag` messages that a follower is behind;
    None: not told."""

    partition: int
    broker: int
    log_dir: str
    is_leader: bool
    size_bytes: int
    start_offset: int
    end_offset: int
    replicas: int | None = None
    in_sync: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """Rates are bytes/s over all of its leaders."""

    replicas: tuple[ReplicaSeen, ...] = ()
    steps_ms: tuple[int, ...] = ()
    bytes_in: Series = ()
    bytes_out: Series = ()


@dataclass(frozen=True, slots=True)
class TopicSize:
    """Of all replicas of a topic; `under_replicated` are partitions whose leader misses replicas."""

    name: str
    partitions: int
    replicas: int
    size_bytes: int
    under_replicated: int


class Observed(Protocol):
    """All raise a GuardianError when the lake can't be read; without samples the answers are empty."""

    def cluster(self, cluster: str, span_ms: int) -> ClusterSeen: ...

    def topics(self, cluster: str) -> tuple[TopicSize, ...]:
        """Return the topics of the cluster by name."""

    def topic(self, cluster: str, topic: str, span_ms: int) -> TopicSeen: ...

    def pressure(self, cluster: str, brokers: tuple[int, ...], from_ms: int, to_ms: int) -> PressureSeen: ...


class NothingObserved:
    """Of a member without a lake."""

    def cluster(self, cluster: str, span_ms: int) -> ClusterSeen:  # noqa: ARG002
        return ClusterSeen()

    def topics(self, cluster: str) -> tuple[TopicSize, ...]:  # noqa: ARG002
        return ()

    def topic(self, cluster: str, topic: str, span_ms: int) -> TopicSeen:  # noqa: ARG002
        return TopicSeen()

    def pressure(self, cluster: str, brokers: tuple[int, ...], from_ms: int, to_ms: int) -> PressureSeen:  # noqa: ARG002
        return PressureSeen()
