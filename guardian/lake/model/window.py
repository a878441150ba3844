"""The time that is read of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from guardian.errors import InvalidInput

LONG_MS = 3 * 3_600_000
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

    def __str__(self) -> str:
        return f"{utc_time(self.from_ms)} and {utc_time(self.to_ms)}"


def utc_time(at_ms: int) -> str:
    """Return the second, such as 2026-11-21T14:00:05Z."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
