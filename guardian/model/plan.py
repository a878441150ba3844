"""A plan: which partitions get which replicas, on which log dirs, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.topology import TopicPartition, require_broker_id

ANY_LOG_DIR = "any"


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """One replica's place. `log_dir` is an absolute path on the broker, or "any": the broker chooses."""

    broker: int
    log_dir: str = ANY_LOG_DIR

    def __post_init__(self) -> None:
        require_broker_id(self.broker)
        if self.log_dir != ANY_LOG_DIR and not self.log_dir.startswith("/"):
            raise InvalidInput(f"log_dir is {self.log_dir!r}: use an absolute path or {ANY_LOG_DIR!r}")


@dataclass(frozen=True, slots=True)
class PartitionMove:
    """One partition's change from `original` to `target`; the first target replica is the preferred leader.

    `original` may be empty in a plan from a file: it is filled in from the live cluster when a ticket is made.
    `size_bytes` and `write_rate` (bytes/s) are those of one replica.
    """

    partition: TopicPartition
    original: tuple[ReplicaPlacement, ...]
    target: tuple[ReplicaPlacement, ...]
    size_bytes: int = 0
    write_rate: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.target:
            raise InvalidInput(f"replicas of {self.partition} is empty: name at least one broker")
        brokers = self.target_brokers
        if len(set(brokers)) != len(brokers):
            raise InvalidInput(f"replicas of {self.partition} names a broker twice: {list(brokers)}")
        if self.original and len(self.original) != len(self.target):
            raise InvalidInput(
                f"replicas of {self.partition} would change the replication factor from "
                f"{len(self.original)} to {len(self.target)}: give {len(self.original)} brokers"
            )

    @property
    def original_brokers(self) -> tuple[int, ...]:
        return tuple(replica.broker for replica in self.original)

    @property
    def target_brokers(self) -> tuple[int, ...]:
        return tuple(replica.broker for replica in self.target)

    @property
    def added_brokers(self) -> tuple[int, ...]:
        """Brokers that must copy the partition over the network."""
        original = set(self.original_brokers)
        return tuple(broker for broker in self.target_brokers if broker not in original)

    @property
    def log_dir_moves(self) -> tuple[ReplicaPlacement, ...]:
        """Replicas that stay on their broker and change their log dir."""
        where = {replica.broker: replica.log_dir for replica in self.original}
        return tuple(
            replica
            for replica in self.target
            if replica.broker in where and replica.log_dir not in (ANY_LOG_DIR, where[replica.broker])
        )

    @property
    def bytes_to_copy(self) -> int:
        return self.size_bytes * (len(self.added_brokers) + len(self.log_dir_moves))


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """Traffic in bytes/s of a broker (`log_dir` empty) or of one of its log dirs, before and after a plan."""

    broker: int
    log_dir: str
    before: float
    after: float


def spread(loads: Sequence[float]) -> float:
    """max/mean - 1: 0 when even, 1 when the busiest has twice its share; 0 when there is no load at all."""
    total = sum(loads)
    return max(loads) * len(loads) / total - 1 if total > 0 else 0.0


def spreads(loads: Sequence[LoadSummary]) -> dict[str, tuple[float, float]]:
    """{"broker": (spread before, spread after), "log dir": ...} of a load table; what it has no rows of is left out."""
    kinds = {
        "broker": [load for load in loads if not load.log_dir],
        "log dir": [load for load in loads if load.log_dir],
    }
    return {
        kind: (spread([load.before for load in rows]), spread([load.after for load in rows]))
        for kind, rows in kinds.items()
        if rows
    }


@dataclass(frozen=True, slots=True)
class Plan:
    """Moves for one cluster. The same input gives the same plan, so `made_at_ms` is the input's end, not the clock.

    `input` says in one sentence what the plan was made from and how complete that was.
    """

    cluster: str
    kind: str
    moves: tuple[PartitionMove, ...]
    made_at_ms: int = 0
    input: str = ""
    loads: tuple[LoadSummary, ...] = ()

    def __post_init__(self) -> None:
        seen: set[TopicPartition] = set()
        for move in self.moves:
            if move.partition in seen:
                raise InvalidInput(f"partition {move.partition} is in the plan twice: keep one entry")
            seen.add(move.partition)

    @property
    def bytes_to_copy(self) -> int:
        return sum(move.bytes_to_copy for move in self.moves)
