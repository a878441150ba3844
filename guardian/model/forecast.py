"""When something will reach its limit, if it goes on as it did, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

_TWO_WEEKS = 13.5  # days, but for what the first and the last sample lack


class Outlook(StrEnum):
    """What the past allows to say."""

    OVER = "over the limit now"
    GROWING = "growing"
    UNSURE = "may grow or shrink"
    LEVEL = "levelled off"
    SHRINKING = "shrinking"
    UNKNOWN = "too few samples"


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of a broker's `resource`, or of a log dir's bytes (resource "disk").

    `now` is the trend's value at the last sample, `limit` where trouble begins; `per_day` is the trend, with the
    95 % band [per_day_low, per_day_high], all in the resource's unit. `days` until the limit, `days_soonest` and
    `days_latest` at the ends of the band; inf: not at this rate.
    """

    broker: int
    log_dir: str
    resource: str
    outlook: Outlook
    now: float
    limit: float
    per_day: float = 0.0
    per_day_low: float = 0.0
    per_day_high: float = 0.0
    days: float = math.inf
    days_soonest: float = math.inf
    days_latest: float = math.inf
    points: int = 0
    span_days: float = 0.0

    @property
    def is_short(self) -> bool:
        """Return whether the past is too short to tell a week's wave from a trend: the band does not know of it
        then.
        """
        return self.outlook is not Outlook.UNKNOWN and self.span_days < _TWO_WEEKS
