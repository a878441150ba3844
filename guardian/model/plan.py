"""A plan: which partitions get which replicas, on which log dirs, and why; what it changes, costs and leaves undone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import PlanTask
from guardian.model.text import Text
from guardian.model.topology import ANY_LOG_DIR, TopicPartition, require_broker_id
from guardian.model.units import spread

RUN_PLAN = "run-plan"  # the kind of a plan from a file


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

    `original` may be empty in a plan from a file: it is filled in from the live cluster when a ticket is made. That of
    a partition that `is_new` stays empty: it is created where the target says, which copies nothing. Where the target
    has more or fewer replicas than the original, the replication factor changes.
    `size_bytes` and `write_rate` (bytes/s) are those of one replica.
    `goal` is what the move serves, `relief` how much of that, in the goal's own measure (0: not known), and `reason`
    both in a sentence. A move starts when all moves of lower stages are over: it needs the room that they make.
    """

    partition: TopicPartition
    original: tuple[ReplicaPlacement, ...]
    target: tuple[ReplicaPlacement, ...]
    size_bytes: int = 0
    write_rate: float = 0.0
    reason: Text = ""
    goal: str = ""
    relief: float = 0.0
    stage: int = 0
    is_new: bool = False

    def __post_init__(self) -> None:
        if not self.target:
            raise InvalidInput(f"replicas of {self.partition} is empty: name at least one broker")
        if len({replica.broker for replica in self.target}) != len(self.target):
            raise InvalidInput(f"replicas of {self.partition} names a broker twice: {list(self.target_brokers)}")
        if self.is_new and self.original:
            raise InvalidInput(
                f"original of {self.partition} is {list(self.original_brokers)}, yet it is to be created: leave it out"
            )

    @property
    def original_brokers(self) -> tuple[int, ...]:
        return tuple([replica.broker for replica in self.original])

    @property
    def target_brokers(self) -> tuple[int, ...]:
        return tuple([replica.broker for replica in self.target])

    @property
    def added_brokers(self) -> tuple[int, ...]:
        """Brokers that must copy the partition over the network."""
        original = self.original_brokers
        return tuple([replica.broker for replica in self.target if replica.broker not in original])

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
    def changes_replication_factor(self) -> bool:
        return bool(self.original) and len(self.original) != len(self.target)

    @property
    def bytes_to_copy(self) -> int:
        if self.is_new:
            return 0
        return self.size_bytes * (len(self.added_brokers) + len(self.log_dir_moves))


class LoadResource(StrEnum):
    """What a row of a load table counts, and its unit. New ones may come: a row keeps a name that is not known here."""

    TRAFFIC = ""  # bytes/s, written and served
    CPU = "cpu"  # percent of one core
    NW_IN = "nw_in"  # bytes/s
    NW_OUT = "nw_out"  # bytes/s
    DISK = "disk"  # bytes
    REPLICAS = "replicas"
    LEADERS = "leaders"
    DISK_IO = "disk_io"  # bytes/s, of a log dir


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """One load of a broker (`log_dir` empty) or of one of its log dirs, before and after a plan.

    `capacity` is in the load's unit, 0 where there is none or none is known. What `is_leaving` (its broker is dead or
    to be emptied, or its log dir is) does not count when it is asked how even the rest is.
    """

    broker: int
    log_dir: str
    before: float
    after: float
    resource: str = LoadResource.TRAFFIC
    capacity: float = 0.0
    is_leaving: bool = False


def spreads(loads: Sequence[LoadSummary]) -> dict[str, tuple[float, float]]:
    """{"broker disk": (spread before, spread after), "log dir disk_io": ...} of a load table, in the table's order;
    "broker" and "log dir" alone are their traffic. What it has no rows of is left out.

    Of use relative to capacity, where all of them have one.
    """
    kinds: dict[str, list[LoadSummary]] = {}
    for load in loads:
        if not load.is_leaving:
            place = "log dir" if load.log_dir else "broker"
            kinds.setdefault(f"{place} {load.resource}".rstrip(), []).append(load)
    return {
        kind: (spread(_uses(rows, [row.before for row in rows])), spread(_uses(rows, [row.after for row in rows])))
        for kind, rows in kinds.items()
    }


def _uses(rows: Sequence[LoadSummary], loads: Sequence[float]) -> list[float]:
    if all(row.capacity > 0 for row in rows):
        return [load / row.capacity for load, row in zip(loads, rows, strict=True)]
    return list(loads)


@dataclass(frozen=True, slots=True)
class GoalResult:
    """One goal of a plan: what it measures, before and after, and what was asked for.

    A hard goal counts what breaks it, so its target is 0. `target` is inf for what was not asked for.
    """

    goal: str
    is_hard: bool
    before: float
    after: float
    target: float = math.inf
    is_met: bool = True


@dataclass(frozen=True, slots=True)
class LinkTransfer:
    """What a plan copies from one data centre to another. `cost` is in the price list's currency, None: no price."""

    from_idc: str
    to_idc: str
    bytes: int
    seconds: float = 0.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RackTransfer:
    """What a plan copies over the network from one rack to another, or inside one."""

    from_rack: str
    to_rack: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BrokerTransfer:
    """What a plan copies into a broker, out of it and between its log dirs, and how long that takes at least."""

    broker: int
    bytes_in: int
    bytes_out: int
    bytes_inside: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Excused:
    """What the sentences of `Plan.unmet` are about, for a checker: this may be left undone, and nothing else.

    `partitions` may stay as they are, `brokers` need not become empty, those of `whole` keep all that they hold.
    `resources` are the targets that are not reached: names of LoadResource, and "log dirs" inside brokers.
    """

    partitions: frozenset[TopicPartition] = frozenset()
    brokers: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    resources: frozenset[str] = frozenset()


LOG_DIRS = "log dirs"


@dataclass(frozen=True, slots=True)
class Plan:
    """Moves for one cluster, in the order in which they start.

    The same input gives the same plan, so `made_at_ms` is the input's end, not the clock. `input` says in one sentence
    what the plan was made from and how complete that was. `task` is what was asked for, `settings` how: without
    settings no planner made the plan. `unmet` are sentences: what could not be reached, and why; `notes` are what else
    there is to know. `seconds` is how long copying takes at least, at `throttle` bytes/s per broker; both 0: not told.
    `excused` and `joins` (broker id, host of the machine that joins as it) are for who checks the plan where it is
    made. They are not stored with it, and two plans that differ in nothing else are the same.
    """

    cluster: str
    kind: str
    moves: tuple[PartitionMove, ...]
    made_at_ms: int = 0
    input: Text = ""
    loads: tuple[LoadSummary, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    unmet: tuple[Text, ...] = ()
    links: tuple[LinkTransfer, ...] = ()
    transfers: tuple[BrokerTransfer, ...] = ()
    throttle: int = 0
    seconds: float = 0.0
    settings: PlannerSettings | None = None
    notes: tuple[Text, ...] = ()
    racks: tuple[RackTransfer, ...] = ()
    task: PlanTask | None = None
    excused: Excused = field(default=Excused(), compare=False)
    joins: tuple[tuple[int, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.task is not None and self.kind not in (self.task.kind, RUN_PLAN):
            raise InvalidInput(f"kind of the plan is {self.kind!r}: use {self.task.kind}, as its task, or {RUN_PLAN}")
        seen: set[TopicPartition] = set()
        for move in self.moves:
            if move.partition in seen:
                raise InvalidInput(f"partition {move.partition} is in the plan twice: keep one entry")
            seen.add(move.partition)

    @property
    def is_ordered(self) -> bool:
        """Return whether the order of the moves is meant: they say what they serve. Plans from files and older ones do
        not.
        """
        return any(move.goal for move in self.moves)

    @property
    def bytes_to_copy(self) -> int:
        return sum(move.bytes_to_copy for move in self.moves)
