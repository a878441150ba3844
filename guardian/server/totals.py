"""Totals over all tiered partitions, for metrics: counted anew at most every so often, whoever asks how often.

A count goes through every partition's head, about a microsecond each; so a member with 100,000 partitions spends a
tenth of a second a minute on it. How old the count is, is part of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from metastore import segment_keys as sk
from metastore.store import ReadView
from metastore.tables.partition_heads import head_from_bytes
from metastore.views import Views

MAX_AGE_S = 60.0
_SLICE = 10_000


@dataclass(frozen=True, slots=True)
class Totals:
    """Deleted partitions count in what was swept only."""

    partitions: int = 0
    live_segments: int = 0
    live_bytes: int = 0
    swept_segments: int = 0
    swept_bytes: int = 0


class PartitionTotals:
    """Thread-safe. One thread counts at a time; others get the last count meanwhile."""

    def __init__(
        self,
        read: Callable[[], Views],
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._max_age_s = max_age_s
        self._clock = clock
        self._counting = threading.Lock()
        self._last: tuple[Totals, float] | None = None  # with when it was counted

    def read(self) -> tuple[Totals, float]:
        """The totals and how many seconds old they are. Raises StoreError."""
        last = self._last
        if last is None or self._clock() - last[1] >= self._max_age_s:
            last = self._counted(last)
        return last[0], self._clock() - last[1]

    def _counted(self, last: tuple[Totals, float] | None) -> tuple[Totals, float]:
        """A new count; while another thread is at it, `last`, if there is one."""
        if not self._counting.acquire(blocking=last is None):
            return last or self._counted(None)
        try:
            if self._last is None or self._last is last:
                at = self._clock()
                self._last = count(self._read().snapshot), at
            return self._last
        finally:
            self._counting.release()


def count(view: ReadView) -> Totals:
    """Of all that is stored."""
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
