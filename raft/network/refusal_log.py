"""Counts what is refused, and logs it rarely: whoever knocks without end must not fill the disk with lines."""

from __future__ import annotations

import logging
from collections import Counter

LINE_S = 1.0  # between two lines about the same reason


class RefusalLog:
    """Of one member. `counters` is where each is counted, by reason. Times are of one monotonic clock."""

    def __init__(self, logger: logging.Logger, counters: Counter[str]) -> None:
        self._logger = logger
        self._counters = counters
        self._line_at: dict[str, float] = {}
        self._untold: Counter[str] = Counter()

    def refuse(self, reason: str, detail: str, now: float) -> None:
        """Counts one, and logs it unless the reason was logged a moment ago."""
        self._counters[reason] += 1
        if now < self._line_at.get(reason, 0.0):
            self._untold[reason] += 1
            return
        self._line_at[reason] = now + LINE_S
        untold = self._untold.pop(reason, 0)
        more = f" ({untold} more since the last such line)" if untold else ""
        self._logger.warning("%s: %s%s", reason, detail, more)
