"""Days until a disk is full and until a broker is hot, from what they did."""

from __future__ import annotations

import math

import numpy as np

from guardian.lake.rules.trend import Floats, Line, fitted
from guardian.model.forecast import Forecast, Outlook

_DAY_MS = 86_400_000
# A week is a wave too, but few keep so many samples; below half a day a daily wave looks like a trend.
_LEAST_DAYS = 0.5
_FAR_DAYS = 3650.0


def disk_full(
    broker: int, log_dir: str, at_ms: Floats, used_bytes: Floats, total_bytes: float, limit: float = 1.0
) -> Forecast:
    """Forecast when a log dir's disk is full to `limit`, a share of `total_bytes`. The arrays are [n], ascending in
    time.
    """
    return _forecast(broker, log_dir, "disk", at_ms, used_bytes, total_bytes * limit)


def hot_broker(broker: int, resource: str, at_ms: Floats, load: Floats, capacity: float, limit: float) -> Forecast:
    """Forecast when the load reaches `limit`, a share of `capacity`, at the height of the day.

    What grows is the day's busiest time, so the trend is that of each day's 95th percentile once there are four days.
    """
    if len(at_ms) and (at_ms[-1] - at_ms[0]) / _DAY_MS >= 4:
        at_ms, load = _daily_peaks(at_ms, load)
    return _forecast(broker, "", resource, at_ms, load, capacity * limit)


def _daily_peaks(at_ms: Floats, load: Floats) -> tuple[Floats, Floats]:
    """The 95th percentile of each whole day, counted back from the last sample, at the day's end."""
    day = np.floor((at_ms[-1] - at_ms) / _DAY_MS).astype(np.int64)
    whole = range(int((at_ms[-1] - at_ms[0]) // _DAY_MS) - 1, -1, -1)
    days = [each for each in whole if (day == each).any()]
    peaks = [float(np.percentile(load[day == each], 95)) for each in days]
    return at_ms[-1] - np.array(days, dtype=np.float64) * _DAY_MS, np.array(peaks)


def _forecast(broker: int, log_dir: str, resource: str, at_ms: Floats, values: Floats, limit: float) -> Forecast:
    days = (at_ms - at_ms[0]) / _DAY_MS if len(at_ms) else np.zeros(0)
    span = float(days[-1]) if len(days) else 0.0
    last = float(values[-1]) if len(values) else math.nan
    line = fitted(days, values) if span >= _LEAST_DAYS else None
    if line is None:
        outlook = Outlook.OVER if last >= limit else Outlook.UNKNOWN
        reached = 0.0 if outlook is Outlook.OVER else math.inf
        return Forecast(broker, log_dir, resource, outlook, last, limit, days=reached, points=len(days), span_days=span)
    line = _since_it_levelled_off(days, values, line)
    reached = _days(line.value, line.slope, limit)
    return Forecast(
        broker=broker,
        log_dir=log_dir,
        resource=resource,
        outlook=_outlook(line, limit),
        now=line.value,
        limit=limit,
        per_day=line.slope,
        per_day_low=line.slope_low,
        per_day_high=line.slope_high,
        days=reached,
        days_soonest=min(_days(line.value_high, line.slope_high, limit), reached),
        days_latest=max(_days(line.value_low, line.slope_low, limit), reached),
        points=line.points,
        span_days=span,
    )


def _since_it_levelled_off(days: Floats, values: Floats, whole: Line) -> Line:
    """The newer half's line where it no longer follows the whole: a topic grows until its retention, then stops."""
    newer = days >= days[-1] / 2
    late = fitted(days[newer], values[newer])
    if late is None or days[-1] / 2 < _LEAST_DAYS:
        return whole
    return whole if late.slope_low <= whole.slope <= late.slope_high else late


def _outlook(line: Line, limit: float) -> Outlook:
    if line.value >= limit:
        return Outlook.OVER
    if line.slope_low > 0:
        return Outlook.GROWING
    if line.slope_high < 0:
        return Outlook.SHRINKING
    # Within the band nothing happens for years: level. Else the samples can't tell.
    return Outlook.LEVEL if _days(line.value, line.slope_high, limit) > _FAR_DAYS else Outlook.UNSURE


def _days(now: float, per_day: float, limit: float) -> float:
    if now >= limit:
        return 0.0
    return (limit - now) / per_day if per_day > 0 else math.inf
