"""Forecasts of lines, sawtooths, plateaus, daily waves and of next to nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.lake.rules.forecasts import disk_full, hot_broker
from guardian.lake.rules.trend import Floats, fitted
from guardian.model.forecast import Outlook

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000
GB = 1e9


def hours(count: int) -> Floats:
    return np.asarray(1_700_000_000_000 + np.arange(count) * float(HOUR_MS))


def days_of(at_ms: Floats) -> Floats:
    return np.asarray((at_ms - at_ms[0]) / (24 * HOUR_MS))


def test_a_disk_that_fills_evenly_is_full_when_the_line_says() -> None:
    at_ms = hours(72)
    forecast = disk_full(7, "/d1", at_ms, 400 * GB + 50 * GB * days_of(at_ms), 1000 * GB)
    assert forecast.outlook is Outlook.GROWING
    left = (1000 - 400 - 50 * 71 / 24) / 50
    assert forecast.days == pytest.approx(left)
    assert forecast.days_soonest == pytest.approx(left)
    assert forecast.days_latest == pytest.approx(left)


def test_a_limit_below_full_comes_sooner() -> None:
    at_ms = hours(48)
    used = 400 * GB + 50 * GB * days_of(at_ms)
    assert disk_full(7, "/d1", at_ms, used, 1000 * GB, limit=0.8).days == pytest.approx(
        disk_full(7, "/d1", at_ms, used, 1000 * GB).days - 4
    )


def test_the_band_holds_what_the_noise_hides() -> None:
    at_ms = hours(96)
    noise = np.random.default_rng(3).normal(0, 5 * GB, len(at_ms))
    forecast = disk_full(7, "/d1", at_ms, 400 * GB + 20 * GB * days_of(at_ms) + noise, 1000 * GB)
    assert forecast.per_day_low < 20 * GB < forecast.per_day_high
    assert forecast.days_soonest < forecast.days < forecast.days_latest


def test_wild_samples_do_not_tilt_the_line() -> None:
    at_ms = hours(90)
    used = 400 * GB + 20 * GB * days_of(at_ms)
    used[::3] = 990 * GB
    assert disk_full(7, "/d1", at_ms, used, 1000 * GB).per_day == pytest.approx(20 * GB, rel=0.2)


def test_segments_that_are_deleted_each_six_hours_are_no_trend() -> None:
    at_ms = hours(96)
    used = np.array([400 * GB + 30 * GB * (hour % 6) for hour in range(96)])
    forecast = disk_full(7, "/d1", at_ms, used, 1000 * GB)
    assert forecast.outlook in (Outlook.LEVEL, Outlook.UNSURE)
    assert forecast.days > 100


def test_a_topic_that_reached_its_retention_has_levelled_off() -> None:
    at_ms = hours(120)
    forecast = disk_full(7, "/d1", at_ms, 400 * GB + 100 * GB * np.minimum(days_of(at_ms), 2), 1000 * GB)
    assert forecast.outlook is Outlook.LEVEL
    assert forecast.days == math.inf


def test_a_disk_that_shrinks_is_never_full() -> None:
    at_ms = hours(72)
    forecast = disk_full(7, "/d1", at_ms, 900 * GB - 30 * GB * days_of(at_ms), 1000 * GB)
    assert (forecast.outlook, forecast.days) == (Outlook.SHRINKING, math.inf)


def test_a_disk_over_its_limit_has_no_days_left() -> None:
    at_ms = hours(72)
    forecast = disk_full(7, "/d1", at_ms, np.full(72, 950 * GB), 1000 * GB, limit=0.9)
    assert (forecast.outlook, forecast.days) == (Outlook.OVER, 0.0)


@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_a_few_hours_are_too_little_to_tell(count: int) -> None:
    forecast = disk_full(7, "/d1", hours(count), np.linspace(400 * GB, 500 * GB, count), 1000 * GB)
    assert (forecast.outlook, forecast.days) == (Outlook.UNKNOWN, math.inf)


def test_a_daily_wave_without_growth_makes_no_broker_hot() -> None:
    at_ms = hours(24 * 7)
    load = 300 + 200 * np.sin(days_of(at_ms) * 2 * np.pi)
    forecast = hot_broker(7, "cpu", at_ms, load, 800, 0.7)
    assert forecast.outlook is Outlook.LEVEL
    assert forecast.now == pytest.approx(497, rel=0.02)


def test_a_broker_gets_hot_at_the_height_of_the_day() -> None:
    at_ms = hours(24 * 8)
    load = (300 + 20 * np.floor(days_of(at_ms))) * (1 + 0.5 * np.sin(days_of(at_ms) * 2 * np.pi))
    forecast = hot_broker(7, "cpu", at_ms, load, 1000, 0.7)
    assert forecast.outlook is Outlook.GROWING
    assert forecast.days == pytest.approx((700 - 1.49 * 440) / (1.49 * 20), abs=1.5)


def test_gaps_and_many_samples_a_minute_change_little() -> None:
    minutes = [minute for minute in range(4000) if not 1000 <= minute <= 1900]
    at_ms = np.array([1_700_000_000_000 + minute * 60_000.0 for minute in minutes])
    forecast = disk_full(7, "/d1", at_ms, 400 * GB + 50 * GB * days_of(at_ms), 1000 * GB)
    assert forecast.per_day == pytest.approx(50 * GB, rel=1e-6)
    assert forecast.points <= 400


def noisy(seed: int, days: int, weekly: float, daily: float, alike: float) -> tuple[Floats, Floats]:
    """(ms, GB) 400 GB and 10 GB a day more, waves of a week and a day, noise of 10 GB whose hours are alike."""
    dice = np.random.default_rng(seed)
    at_ms, noise = hours(24 * days), np.zeros(24 * days)
    fresh = dice.normal(0, 10, len(noise))
    for hour in range(1, len(noise)):
        noise[hour] = alike * noise[hour - 1] + math.sqrt(1 - alike * alike) * fresh[hour]
    at, (week, day) = days_of(at_ms), dice.uniform(0, 2 * math.pi, 2)
    waves = weekly * np.sin(2 * np.pi * at / 7 + week) + daily * np.sin(2 * np.pi * at + day)
    return at_ms, 400 + 10 * at + waves + noise


@pytest.mark.parametrize(
    ("days", "weekly", "daily", "alike"),
    [(14, 0, 0, 0.0), (14, 0, 0, 0.9), (14, 20, 10, 0.9), (21, 40, 10, 0.9), (28, 0, 0, 0.0)],
)
def test_the_true_day_lies_in_the_band_of_four_series_in_five(
    days: int, weekly: float, daily: float, alike: float
) -> None:
    """The trend reaches 1000 GB after 60 days; the band of 28 days is of medians, as there are more than 400 hours."""
    inside = 0
    for seed in range(40):
        at_ms, used = noisy(seed, days, weekly, daily, alike)
        forecast = disk_full(7, "/d1", at_ms, used * GB, 1000 * GB)
        inside += forecast.days_soonest <= 60 - days_of(at_ms)[-1] <= forecast.days_latest
    assert inside >= 32


def test_less_than_two_weeks_are_told_to_be_short() -> None:
    for days, is_short in ((13, True), (14, False)):
        at_ms, used = noisy(1, days, 20, 10, 0.9)
        assert disk_full(7, "/d1", at_ms, used * GB, 1000 * GB).is_short is is_short
    assert not disk_full(7, "/d1", hours(3), np.full(3, GB), 1000 * GB).is_short


@given(
    st.lists(st.floats(0, 1e12), min_size=4, max_size=40),
    st.floats(-1e9, 1e9),
)
def test_the_slope_lies_in_its_band_and_moves_with_the_series(values: list[float], tilt: float) -> None:
    x = np.arange(len(values), dtype=np.float64)
    line, tilted = fitted(x, np.array(values)), fitted(x, np.array(values) + tilt * x)
    assert line is not None
    assert tilted is not None
    assert line.slope_low <= line.slope <= line.slope_high
    assert tilted.slope == pytest.approx(line.slope + tilt, rel=1e-6, abs=1.0)
