"""Equal log lines are limited per second, and so are lines that differ in values only; what is left out is counted.

Whoever can cause a line again and again must not fill the disk with it, nor hide other lines in it. The next line of
the kind says how many were left out; where none comes, the next line of any kind is followed by one that does.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

EQUAL_PER_S = 5
ALIKE_PER_S = 100
_WINDOW_S = 1.0
_MOST_KINDS = 2000
_NO_PART = ("time", "trace", "span", "_record")  # of what makes lines equal


class LeftOut(NamedTuple):
    """Tell of a kind of lines how many were not written, and one of them."""

    record: logging.LogRecord
    lines: int


@dataclass(slots=True)
class _Kind:
    since_s: float
    written: int = 0
    left_out: int = 0
    newest: logging.LogRecord | None = None


class LineLimits:
    """Decide which lines are written. Not for more than one thread at a time; `now_s` only ever goes on."""

    def __init__(self, equal_per_s: int = EQUAL_PER_S, alike_per_s: int = ALIKE_PER_S) -> None:
        self._limits = (equal_per_s, alike_per_s)
        self._kinds: OrderedDict[Hashable, _Kind] = OrderedDict()
        self._ended_s = 0.0

    def take(self, record: logging.LogRecord, now_s: float) -> int | None:
        """Return how many equal or alike lines were left out since the last that was written; None: this one is left
        out too."""
        kinds = [self._kind(key, now_s) for key in _keys(record)]
        for kind, limit in zip(kinds, self._limits, strict=True):
            if kind.written >= limit:
                kind.left_out += 1
                kind.newest = record
                return None
        told = sum(kind.left_out for kind in kinds)
        for kind in kinds:
            kind.written += 1
            kind.left_out, kind.newest = 0, None
        return told

    def ended(self, now_s: float) -> list[LeftOut]:
        """Return the kinds of which lines were left out and nothing came for a while; each once."""
        if now_s - self._ended_s < _WINDOW_S:
            return []
        self._ended_s = now_s
        found = []
        for kind in self._kinds.values():
            if kind.newest is not None and now_s - kind.since_s >= 2 * _WINDOW_S:
                found.append(LeftOut(kind.newest, kind.left_out))
                kind.left_out, kind.newest = 0, None
        return found

    def _kind(self, key: Hashable, now_s: float) -> _Kind:
        kind = self._kinds.pop(key, None)
        if kind is None:
            kind = _Kind(now_s)
        elif now_s - kind.since_s >= _WINDOW_S:
            kind.since_s, kind.written = now_s, 0
        self._kinds[key] = kind
        while len(self._kinds) > _MOST_KINDS:
            self._kinds.popitem(last=False)
        return kind


def with_count(record: logging.LogRecord, count: int) -> logging.LogRecord:
    """Return the record, saying that so many lines of its kind were left out before it."""
    told = logging.makeLogRecord(record.__dict__)
    if isinstance(record.msg, dict):
        told.msg = {**record.msg, "left_out": count}
    else:
        told.msg, told.args = f"{record.getMessage()} ({count} such lines were left out)", ()
    return told


def _keys(record: logging.LogRecord) -> tuple[Hashable, Hashable]:
    """Return what the record has in common with equal lines, and with lines that differ in values only."""
    origin = (record.name, record.levelno)
    if isinstance(record.msg, dict):
        shown = tuple((name, str(value)) for name, value in record.msg.items() if name not in _NO_PART)
        return (origin, shown), (origin, "alike", str(record.msg.get("event", "")))
    return (origin, record.getMessage()), (origin, "alike", str(record.msg))
