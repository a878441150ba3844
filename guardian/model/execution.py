"""The execution of a ticket: one task a partition, and the throttles that were set on the way.

Task states:

    PENDING -> RUNNING -> DONE | FAILED
    RUNNING -> REVERTING -> REVERTED | FAILED   (the ticket is being cancelled)
    PENDING -> REVERTED                         (it never started)

RUNNING means that the intent is committed: the request may or may not have reached Kafka, so each tick compares
Kafka with the intent and sends again what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from guardian.model.plan import PartitionMove


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


@dataclass(frozen=True, slots=True)
class ExecutionTask:
    """One partition's move. `detail` says in one sentence what it waits for, or why it failed.

    Of a tiered topic, a new leader must first hold `cover_bytes` locally (0: as much as the old one), or `hold_ms` must
    have passed since the start; both were settled when the execution began, and a task that is taken back gets the time
    once more on top. `hold_ms` 0: it leads at once.
    """

    number: int
    move: PartitionMove
    state: TaskState = TaskState.PENDING
    detail: str = ""
    started_at_ms: int = 0
    ended_at_ms: int = 0
    cover_bytes: int = 0
    hold_ms: int = 0


@dataclass(frozen=True, slots=True)
class ThrottleIntent:
    """A Kafka configuration that we set. `replaced` is None when the key was not set before."""

    resource_type: str  # BROKER or TOPIC
    resource_name: str
    key: str
    value: str
    replaced: str | None


@dataclass(frozen=True, slots=True)
class Execution:
    """`revision` counts the times that it was saved; `note` is what the last tick did, in one sentence."""

    ticket_id: str
    tasks: tuple[ExecutionTask, ...]
    throttles: tuple[ThrottleIntent, ...] = ()
    note: str = ""
    revision: int = 0
