"""What became of the collections of this member, for its metrics."""

from __future__ import annotations

import threading
from collections.abc import Iterable

# Upper bounds in seconds: a call in a data centre takes milliseconds, one that hangs the whole deadline.
BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class CollectionCounters:
    """Safe for concurrent callers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.successes = 0
        self.failures = 0
        self.values = 0
        self.seconds = 0.0
        self.within = [0] * len(BUCKETS_S)  # calls that took at most as long as the bucket's bound
        self.longest_gap_s = 0.0

    def succeeded(self, seconds: float, values: int) -> None:
        """A broker answered, `seconds` after it was asked, with so many values."""
        with self._lock:
            self.successes += 1
            self.values += values
            self.seconds += seconds
            for i, bound in enumerate(BUCKETS_S):
                self.within[i] += seconds <= bound

    def failed(self) -> None:
        """A broker gave no answer, or one that can't be used."""
        with self._lock:
            self.failures += 1

    def watch(self, collected_at: Iterable[float], now: float) -> None:
        """Notes for how long the broker that was collected longest ago has waited; times in seconds."""
        self.longest_gap_s = now - min(collected_at, default=now)
