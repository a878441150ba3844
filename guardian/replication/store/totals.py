"""Totals over what is stored, for metrics: counted anew at most every so often, whoever asks how often.

A count of tiered partitions goes through every partition's head, about a microsecond each; so a member with 100,000
partitions spends a tenth of a second a minute on it. One of moves reads the executions of all tickets that are driven.
How old a count is, is part of it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from guardian.model.execution import TaskState
from guardian.model.ticket import Ticket
from guardian.model.tickets.progress import Progress
from guardian.tickets.rules.progressing import progress
from metastore import segment_keys as sk
from metastore.store import ReadView
from metastore.tables.partition_heads import head_from_bytes
from metastore.views import Views

MAX_AGE_S = 60.0
MOVES_MAX_AGE_S = 15.0
_SLICE = 10_000
_UNFINISHED = (TaskState.PENDING, TaskState.RUNNING)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Totals:
    """Deleted partitions count in what was swept only."""

    partitions: int = 0
    live_segments: int = 0
    live_bytes: int = 0
    swept_segments: int = 0
    swept_bytes: int = 0


@dataclass(frozen=True, slots=True)
class TicketProgress:
    """A ticket that the executor has work on, and how far it was when it was counted."""

    ticket: Ticket
    progress: Progress


@dataclass(frozen=True, slots=True)
class Moves:
    """The partitions of all tickets that run, by the state of their move, and the bytes that unfinished ones copy."""

    partitions: Mapping[TaskState, int] = field(default_factory=dict)
    unfinished_bytes: int = 0
    tickets: tuple[TicketProgress, ...] = ()


class Recounted(Generic[T]):
    """Thread-safe. One thread counts at a time; others get the last count meanwhile."""

    def __init__(self, count: Callable[[], T], max_age_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._count = count
        self._max_age_s = max_age_s
        self._clock = clock
        self._counting = threading.Lock()
        self._last: tuple[T, float] | None = None  # with when it was counted

    def read(self) -> tuple[T, float]:
        """The totals and how many seconds old they are. Raises StoreError."""
        last = self._last
        if last is None or self._clock() - last[1] >= self._max_age_s:
            last = self._counted(last)
        return last[0], self._clock() - last[1]

    def _counted(self, last: tuple[T, float] | None) -> tuple[T, float]:
        """A new count; while another thread is at it, `last`, if there is one."""
        if not self._counting.acquire(blocking=last is None):
            return last or self._counted(None)
        try:
            if self._last is None or self._last is last:
                at = self._clock()
                self._last = self._count(), at
            return self._last
        finally:
            self._counting.release()


def count_partitions(view: ReadView) -> Totals:
    """Count the partitions and segments of all that is stored."""
    partitions = live_segments = live_bytes = swept_segments = swept_bytes = 0
    start = b""
    while rows := view.scan(sk.HEAD, start, _SLICE):
        for _, value in rows:
            head = head_from_bytes(value)
            partitions += not head.is_deleted
            live_segments += head.live_segments
            live_bytes += head.live_bytes
            swept_segments += head.swept_segments
            swept_bytes += head.swept_bytes
        start = rows[-1][0] + b"\x00"
    return Totals(partitions, live_segments, live_bytes, swept_segments, swept_bytes)


def count_moves(views: Views, at_ms: int) -> Moves:
    """Count the moves of the tickets that the executor has work on and has begun."""
    partitions: Counter[TaskState] = Counter()
    unfinished_bytes = 0
    tickets: list[TicketProgress] = []
    for ticket in views.driven_tickets():
        execution = views.execution(ticket.id)
        tickets.append(TicketProgress(ticket, progress(ticket, execution, at_ms)))
        for task in execution.tasks if execution is not None else ():
            partitions[task.state] += 1
            unfinished_bytes += task.move.bytes_to_copy if task.state in _UNFINISHED else 0
    return Moves(partitions, unfinished_bytes, tuple(tickets))
