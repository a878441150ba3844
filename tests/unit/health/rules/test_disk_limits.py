"""When a disk is over its limits, and when it has recovered."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.health.rules.disk_limits import DiskCounters, DiskLimits, judge_limits
from guardian.model.protection import DiskCondition, DiskKey, DiskState

SDB = DiskKey(1, "sdb")
LIMITS = DiskLimits(utilisation=0.9, await_ms=50.0, window_ms=60_000)
NOW = 1_000_000


def samples(*parts: tuple[int, float, float], ios: int = 100) -> list[DiskCounters]:
    """Each part: so many seconds, so busy, with such an await; the last one ends now."""
    at_ms = NOW - 1000 * sum(seconds for seconds, _, _ in parts)
    found = [DiskCounters(at_ms, 0, 0, 0, 0, 0)]
    for seconds, busy, await_ms in parts:
        for _ in range(seconds // 5):
            old = found[-1]
            found.append(
                DiskCounters(
                    old.at_ms + 5000,
                    old.bytes_read + 5_000_000,
                    old.bytes_written + 10_000_000,
                    old.completed + 5 * ios,
                    old.service_ms + int(5 * ios * await_ms),
                    old.busy_ms + int(5000 * busy),
                )
            )
    return found


def judged(found: list[DiskCounters], since_ms: int = 0, least_ms: int | None = None) -> DiskCondition:
    return judge_limits(SDB, ("/d",), found, LIMITS, NOW, since_ms, least_ms)


@pytest.mark.parametrize(
    ("busy", "await_ms", "state", "why"),
    [
        (0.95, 5, DiskState.OVER, "95% busy, limit 90%, for 60 s"),
        (0.5, 80, DiskState.OVER, "await 80.0 ms, limit 50 ms, for 60 s"),
        (0.95, 80, DiskState.OVER, "95% busy, limit 90% and await 80.0 ms, limit 50 ms, for 60 s"),
        (0.8, 5, DiskState.BETWEEN, "within its limits, but not yet under 80% of them"),
        (0.5, 45, DiskState.BETWEEN, "within its limits, but not yet under 80% of them"),
        (0.5, 5, DiskState.UNDER, ""),
    ],
)
def test_a_disk_is_judged_by_its_average_over_the_window(
    busy: float, await_ms: float, state: DiskState, why: str
) -> None:
    found = judged(samples((120, busy, await_ms)))
    assert (found.state, found.why) == (state, why)
    assert (found.read_bytes_per_s, found.write_bytes_per_s) == (1e6, 2e6)


def test_a_burst_is_no_overload() -> None:
    assert judged(samples((60, 0.3, 5), (10, 1.0, 90))).state is DiskState.UNDER


def test_what_was_before_a_step_does_not_count() -> None:
    found = samples((60, 1.0, 90), (30, 0.3, 5))
    assert judged(found).state is DiskState.BETWEEN
    assert judged(found, since_ms=NOW - 30_000, least_ms=30_000).state is DiskState.UNDER


def test_right_after_a_step_nothing_is_known() -> None:
    found = judged(samples((60, 1.0, 90)), since_ms=NOW - 10_000, least_ms=30_000)
    assert (found.state, found.why) == (DiskState.UNKNOWN, "10 s of samples are too few")


@pytest.mark.parametrize("seconds", [0, 5, 40])
def test_too_few_samples_say_nothing(seconds: int) -> None:
    assert judged(samples((seconds, 1.0, 90))).state is DiskState.UNKNOWN
    assert judged([]).state is DiskState.UNKNOWN


def test_a_restart_of_the_host_in_between_is_left_out() -> None:
    before, after = samples((60, 1.0, 90)), samples((30, 1.0, 90))
    shifted = [each for each in before if each.at_ms < after[0].at_ms]
    found = judged(shifted + after)
    assert (found.state, found.utilisation) == (DiskState.UNKNOWN, 0.0) or found.utilisation == pytest.approx(1.0)
    assert found.await_ms in (0.0, pytest.approx(90.0))


def test_samples_that_are_seldom_cover_a_window_all_the_same() -> None:
    """Every 25 s: the one before the window begins it."""
    every = samples((150, 1.0, 90))[::5]
    assert judged(every).state is DiskState.OVER


def test_the_await_of_a_few_ios_means_nothing() -> None:
    assert judged(samples((60, 0.01, 400), ios=1)).state is DiskState.UNDER


@pytest.mark.parametrize(("utilisation", "await_ms"), [(0.0, 50.0), (1.1, 50.0), (0.9, 0.0)])
def test_impossible_limits_are_refused(utilisation: float, await_ms: float) -> None:
    with pytest.raises(InvalidInput, match="use more than 0"):
        DiskLimits(utilisation, await_ms, 60_000)
