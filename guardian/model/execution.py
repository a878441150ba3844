"""The execution of a ticket: one task a partition, and the throttles that were set on the way.

Task states:

    PENDING -> RUNNING -> DONE | FAILED
    RUNNING -> REVERTING -> REVERTED | FAILED   (the ticket is being cancelled, or its topic is to be expanded)
    PENDING -> REVERTED                         (it never started)
    DONE | FAILED -> REVERTING                  (the ticket is being rolled back)

RUNNING means that the intent is committed: the request may or may not have reached Kafka, so each tick compares
Kafka with the intent and sends again what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from guardian.model.operation import Operation
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove
from guardian.model.text import Text
from guardian.model.topology import TopicPartition


class TaskState(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    PENDING = 1
    RUNNING = 2
    DONE = 3
    REVERTING = 4
    REVERTED = 5
    FAILED = 6

    @property
    def is_over(self) -> bool:
        return self in (TaskState.DONE, TaskState.REVERTED, TaskState.FAILED)


ACTIVE = (TaskState.RUNNING, TaskState.REVERTING)  # a task of which something is under way


class TaskReason(IntEnum):
    """Say why a task waits or ended, where something is decided by it. Values are those of the wire, and are stored:
    never renumber."""

    NONE = 0
    OVERTAKEN = 2  # its partition went elsewhere before it started
    TOPIC_DELETED = 3
    GAVE_WAY = 4  # its topic was to be expanded: another task behind it makes the same move


@dataclass(frozen=True, slots=True)
class ExecutionTask:
    """One partition's move. `detail` says in one sentence what it waits for, or why it failed.

    Of a tiered topic, a new leader must first hold `cover_bytes` locally (0: as much as the old one), or `hold_ms` must
    have passed since the start. Both were settled when the execution began, and a task that is taken back gets the time
    once more on top. `hold_ms` 0: it leads at once. `copied_bytes` is how much of what it copies has arrived, in steps
    of a tenth: each is stored. `topic_configs` are those of the topic that the task's partition 0 creates.
    `missing_since_ms` is since when a broker without which it can't end is down, 0: none is. What `is_adopted` was
    another tool's. `topic_partitions` is how many partitions its topic had when the move began to be carried out, with
    those that its ticket creates; 0: not known. Since `refused_since_ms` Kafka refuses it because of a broker that it
    names, 0: it does not. `reason` is a TaskReason, or the number of one that only a newer version knows.
    """

    number: int
    move: PartitionMove
    state: TaskState = TaskState.PENDING
    detail: Text = ""
    started_at_ms: int = 0
    ended_at_ms: int = 0
    cover_bytes: int = 0
    hold_ms: int = 0
    copied_bytes: int = 0
    topic_configs: tuple[tuple[str, str], ...] = ()
    is_adopted: bool = False
    missing_since_ms: int = 0
    topic_partitions: int = 0
    reason: int = TaskReason.NONE
    refused_since_ms: int = 0


class Subject(Enum):
    """Of whom the directory tells. Values are stored: never rename."""

    BROKER = "broker"
    MACHINE = "machine"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class DirectoryIntent:
    """What we say in the federation's directory, of brokers (ids), machines (hosts) or topics: the `field` of all of
    them is `value`, and was `replaced` before; empty text: none."""

    subject: Subject
    field: str  # label or idc_policy
    names: tuple[str, ...]
    value: str
    replaced: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a kind of request took when copies began, in milliseconds."""

    request: str
    mean_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class AdaptedRate:
    """Bytes/s that copies may take of a broker now, or of a `line` from one IDC to another (`broker` is -1 then).

    `trouble` is the rate from which it had to fall last, `before` the one from which it began to, 0: none. `why` says
    how it changed last, in one line. Nothing is copied there since `idle_since_ms`; 0: something is.
    """

    rate: int
    broker: int = -1
    line: tuple[str, str] | None = None
    changed_at_ms: int = 0
    trouble: int = 0
    baselines: tuple[Baseline, ...] = ()
    why: Text = ""
    before: int = 0
    idle_since_ms: int = 0


@dataclass(frozen=True, slots=True)
class ForeignWork:
    """A reassignment of another tool, from `replicas` to `target`.

    It `is_awaited` when somebody said to go on after it; else the ticket waits to be told.
    """

    partition: TopicPartition
    replicas: tuple[int, ...]
    target: tuple[int, ...]
    size_bytes: int = 0
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """`revision` counts the times that it was saved; `note` is what the last tick did, in one sentence.

    `foreign` is what other tools move on the cluster meanwhile, `directory` what the ticket says there once it is done.
    `lifted` are throttles that were put back, and rates that newer ones took the place of: they are looked at once more
    before the ticket ends. `deleted_topics` are those that it deleted, or was about to.
    One that `is_anew` began with a plan that was made anew: of a sequence, the parts behind it do so too.
    """

    ticket_id: str
    tasks: tuple[ExecutionTask, ...]
    throttles: tuple[OwnedSetting, ...] = ()
    note: Text = ""
    revision: int = 0
    rates: tuple[AdaptedRate, ...] = ()
    operation: Operation | None = None
    foreign: tuple[ForeignWork, ...] = ()
    directory: tuple[DirectoryIntent, ...] = ()
    lifted: tuple[OwnedSetting, ...] = ()
    deleted_topics: tuple[str, ...] = ()
    is_anew: bool = False
