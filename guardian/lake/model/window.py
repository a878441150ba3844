"""The time that is read of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from guardian.errors import InvalidInput

LONG_MS = 3 * 3_600_000
RECENT_MS = 15 * 60_000  # what a plan looks at where nobody says otherwise
_HOUR_MS = 3_600_000
_LATEST_MS = 7_258_118_400_000  # the year 2200: hours of the lake are named by dates, and dates end


@dataclass(frozen=True, slots=True)
class Window:
    """[from_ms, to_ms), in ms since the epoch, on the brokers' clocks."""

    from_ms: int
    to_ms: int

    def __post_init__(self) -> None:
        if not 0 <= self.from_ms < self.to_ms:
            raise InvalidInput(f"window is from {self.from_ms} to {self.to_ms} ms: it must end after it begins")
        if self.to_ms > _LATEST_MS:
            raise InvalidInput(f"window ends at {self.to_ms}: use milliseconds since 1970, before the year 2200")

    @property
    def is_long(self) -> bool:
        """It is read by way of roll-ups, by more memory and more tasks at once than one of minutes."""
        return self.to_ms - self.from_ms >= LONG_MS

    @property
    def hours(self) -> range:
        """Return the beginnings of the hours that lie in it, also in part, in ms since the epoch."""
        return range(self.from_ms - self.from_ms % _HOUR_MS, self.to_ms, _HOUR_MS)

    @property
    def rolled_up_hours(self) -> range:
        """Return the beginnings of those hours that are read from partition_hours, once they are rolled up: the whole
        ones of a long window. All other hours are read from samples, as a pair that spans two hours is in no roll-up.
        """
        first_ms = -(-self.from_ms // _HOUR_MS) * _HOUR_MS
        return range(first_ms, self.to_ms - _HOUR_MS + 1 if self.is_long else first_ms, _HOUR_MS)

    def __str__(self) -> str:
        return f"{utc_time(self.from_ms)} and {utc_time(self.to_ms)}"


def utc_time(at_ms: int) -> str:
    """Return the second, such as 2026-11-21T14:00:05Z."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def recent_window(now_ms: int, length_ms: int = 0) -> Window:
    """Return the newest time that a plan looks at; `length_ms` 0: as much as is usual."""
    return Window(max(0, now_ms - (length_ms or RECENT_MS)), now_ms + 1)
