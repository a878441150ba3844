"""Slow disks are planted among sound ones; what is found is compared with a twin that is written to be plain."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.health.model.disks import DiskHealth, DiskReport, DiskSeries, DiskVerdict
from guardian.health.rules import disks
from guardian.health.rules.disks import judge

MINUTE = 60_000
T0 = 1_790_000_000_000

# What a disk does in minute n: I/Os a second, ms each, share of the time busy.
Behaviour = Callable[[int], tuple[float, float, float]]


def sound(_: int) -> tuple[float, float, float]:
    return 100.0, 4.0, 0.3


def idle(_: int) -> tuple[float, float, float]:
    return 0.5, 90.0, 0.05


def slow_from(minute: int) -> Behaviour:
    return lambda n: (90.0, 60.0, 0.95) if n >= minute else sound(n)


def disk(broker: int, name: str, behaviour: Behaviour, minutes: int = 30, phase_ms: int = 0) -> DiskSeries:
    totals = [(0.0, 0.0, 0.0)]
    for n in range(minutes):
        ios, await_ms, busy = behaviour(n)
        done, service, spent = totals[-1]
        totals.append((done + 60 * ios, service + 60 * ios * await_ms, spent + MINUTE * busy))
    completed, service_ms, busy_ms = (np.array(column).astype(np.int64) for column in zip(*totals, strict=True))
    at_ms = T0 + phase_ms + MINUTE * np.arange(minutes + 1, dtype=np.int64)
    in_flight = np.ones_like(at_ms)
    log_dirs = (f"/data/{name}",)
    return DiskSeries(broker, name, at_ms, 65_536 * completed, completed, service_ms, busy_ms, in_flight, log_dirs)


def cluster(brokers: int = 4, each: int = 3, **planted: Behaviour) -> list[DiskSeries]:
    """Disks sda, sdb, ... of brokers 1, 2, ...; `planted` names one as b2_sdb."""
    return [
        disk(broker, name, planted.get(f"b{broker}_{name}", sound), phase_ms=broker * 7_000)
        for broker in range(1, brokers + 1)
        for name in [f"sd{letter}" for letter in "abcdefgh"[:each]]
    ]


def verdicts(report: DiskReport) -> dict[tuple[int, str], DiskVerdict]:
    return {(health.broker, health.disk): health.verdict for health in report.disks}


def of(report: DiskReport, broker: int, name: str) -> DiskHealth:
    return next(health for health in report.disks if (health.broker, health.disk) == (broker, name))


def test_a_slow_disk_is_found_with_its_evidence_and_its_beginning() -> None:
    report = judge(cluster(b2_sdb=slow_from(18)))
    worst = report.disks[0]
    assert (worst.broker, worst.disk, worst.verdict) == (2, "sdb", DiskVerdict.SLOW)
    assert worst.log_dirs == ("/data/sdb",)
    assert worst.own.await_ms == pytest.approx(60, rel=0.01)
    assert worst.of_peers.await_ms == pytest.approx(4, rel=0.01)
    assert worst.siblings_await_ms == pytest.approx(4, rel=0.01)
    assert (worst.odd_intervals, worst.judged_intervals, worst.peers) == (12, 30, 11)
    assert worst.since_ms == T0 + 14_000 + 18 * MINUTE
    assert "await 60.0 ms against 4.0 ms of its peers, 95% busy against 30%, at 0.9 times their I/Os" in worst.why
    assert set(verdicts(report).values()) == {DiskVerdict.SLOW, DiskVerdict.SOUND}
    assert report.remarks == ()


def test_an_idle_disk_is_not_judged_and_judges_nobody() -> None:
    found = verdicts(judge(cluster(brokers=1, each=4, b1_sda=idle, b1_sdb=slow_from(0))))
    assert found == {
        (1, "sda"): DiskVerdict.IDLE,
        (1, "sdb"): DiskVerdict.SLOW,
        (1, "sdc"): DiskVerdict.SOUND,
        (1, "sdd"): DiskVerdict.SOUND,
    }


def test_two_disks_with_work_are_too_few_to_say_which_one_is_slow() -> None:
    report = judge(cluster(brokers=1, each=3, b1_sda=idle, b1_sdb=slow_from(0)))
    assert of(report, 1, "sdb").verdict is DiskVerdict.UNKNOWN
    assert "1 other disks had work at the same time: 2 are needed" in of(report, 1, "sdb").why


def test_a_disk_that_has_much_more_to_do_is_busy_and_not_slow() -> None:
    report = judge(cluster(b3_sda=lambda _: (400.0, 60.0, 0.99)))
    assert of(report, 3, "sda").verdict is DiskVerdict.BUSY


def test_a_disk_that_works_hard_and_answers_in_time_is_sound() -> None:
    assert of(judge(cluster(b3_sda=lambda _: (400.0, 4.5, 0.99))), 3, "sda").verdict is DiskVerdict.SOUND


def test_a_disk_that_is_busy_with_no_more_io_than_its_peers_is_slow_even_at_their_await() -> None:
    """A drive that retries reads inside shows as utilisation before the queue grows."""
    assert of(judge(cluster(b3_sda=lambda _: (100.0, 8.0, 0.98))), 3, "sda").verdict is DiskVerdict.SLOW


def test_bursts_are_no_finding_and_many_of_them_are_suspect() -> None:
    def burst(every: int) -> Behaviour:
        return lambda n: (100.0, 80.0, 0.9) if n % every == 0 else sound(n)

    assert of(judge(cluster(b1_sda=burst(10))), 1, "sda").verdict is DiskVerdict.SOUND
    assert of(judge(cluster(b1_sda=burst(2))), 1, "sda").verdict is DiskVerdict.SUSPECT


def test_a_disk_that_recovered_is_not_slow_now() -> None:
    report = judge(cluster(b1_sda=lambda n: (90.0, 60.0, 0.95) if n < 20 else sound(n)))
    assert of(report, 1, "sda").verdict is DiskVerdict.SUSPECT
    assert of(report, 1, "sda").since_ms == 0


def test_a_disk_that_completes_nothing_is_the_slowest_of_all() -> None:
    hung = disk(2, "sdb", lambda n: (0.0, 0.0, 1.0) if n >= 20 else sound(n))
    report = judge([*(each for each in cluster() if (each.broker, each.disk) != (2, "sdb")), hung])
    assert report.disks[0].disk == "sdb"
    assert report.disks[0].verdict is DiskVerdict.SLOW
    assert "nothing completed in 10 of them" in report.disks[0].why


def test_all_disks_of_a_host_at_once_point_at_the_host() -> None:
    slow = slow_from(10)
    report = judge(cluster(brokers=6, b5_sda=slow, b5_sdb=slow, b5_sdc=slow))
    assert [health.broker for health in report.disks if health.verdict is DiskVerdict.SLOW] == [5, 5, 5]
    assert report.remarks == (
        "3 of 3 disks of broker 5 are slow: look at its host, controller or cabling rather than at one disk",
    )


def test_disks_of_another_kind_are_no_peers() -> None:
    flash = [disk(1, f"nvme{n}n1", lambda _: (100.0, 0.1, 0.02)) for n in range(20)]
    assert set(verdicts(judge([*cluster(), *flash])).values()) == {DiskVerdict.SOUND}


def test_fast_disks_are_not_slow_for_a_millisecond() -> None:
    flash = [disk(1, f"nvme{n}n1", lambda _: (100.0, 0.1, 0.02)) for n in range(9)]
    found = verdicts(judge([*flash, disk(1, "nvme9n1", lambda _: (100.0, 3.0, 0.02))]))
    assert set(found.values()) == {DiskVerdict.SOUND}


def test_where_peers_differ_widely_a_long_wait_is_nothing_odd() -> None:
    def waiting(await_ms: float) -> Behaviour:
        return lambda _: (100.0, await_ms, 0.3)

    found = [disk(1, f"sd{n}", waiting(await_ms)) for n, await_ms in enumerate((2, 2, 10, 30, 40, 50, 80))]
    assert set(verdicts(judge(found)).values()) == {DiskVerdict.SOUND}


def test_a_restart_of_the_host_and_a_gap_are_left_out() -> None:
    found = cluster()
    restarted, gap = found[0], found[1]
    half = len(restarted.at_ms) // 2
    low: dict[str, Any] = {
        name: np.concatenate([getattr(restarted, name)[:half], getattr(restarted, name)[half:] - offset])
        for name in ("bytes", "completed", "service_ms", "busy_ms")
        for offset in [int(getattr(restarted, name)[half])]
    }
    kept = np.r_[0:8, 24:31]
    columns = ("at_ms", "bytes", "completed", "service_ms", "busy_ms", "in_flight")
    found[0] = replace(restarted, **low)
    found[1] = replace(gap, **{name: getattr(gap, name)[kept] for name in columns})
    report = judge(found)
    assert set(verdicts(report).values()) == {DiskVerdict.SOUND}
    assert of(report, 1, "sda").judged_intervals == 29
    assert of(report, 1, "sdb").judged_intervals == 13


@pytest.mark.parametrize("samples", [0, 1, 4])
def test_too_few_samples_are_said_to_be_so(samples: int) -> None:
    columns = ("at_ms", "bytes", "completed", "service_ms", "busy_ms", "in_flight")
    found = [replace(each, **{name: getattr(each, name)[:samples] for name in columns}) for each in cluster()]
    report = judge(found)
    assert set(verdicts(report).values()) == {DiskVerdict.UNKNOWN}
    assert all("too few" in health.why for health in report.disks)
    assert judge([]) == DiskReport((), ())


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(3, 30))
@settings(max_examples=20, deadline=None)
def test_noise_within_the_ratio_is_never_slow_and_the_order_of_disks_never_matters(seed: int, count: int) -> None:
    rng = random.Random(seed)  # noqa: S311

    def noisy(_: int) -> tuple[float, float, float]:
        return rng.uniform(80, 120), rng.uniform(4, 11), rng.uniform(0.3, 0.55)

    found = [disk(n % 5, f"sd{n}", noisy, minutes=12) for n in range(count)]
    report = judge(found)
    assert set(verdicts(report).values()) == {DiskVerdict.SOUND}
    rng.shuffle(found)
    assert judge(found) == report


@given(st.integers(0, 2**32), st.integers(2, 8))
@settings(max_examples=20, deadline=None)
def test_medians_and_deviations_of_the_others_are_those_of_a_plain_twin(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 100, (rows, 5))
    values[rng.uniform(size=values.shape) < 0.3] = np.nan
    mids, sigmas = disks._others(values)
    for row in range(rows):
        for column in range(5):
            others = [float(values[other, column]) for other in range(rows) if other != row]
            mid, sigma = _plain(others)
            assert mids[row, column] == pytest.approx(mid, nan_ok=True)
            assert sigmas[row, column] == pytest.approx(sigma, nan_ok=True)


def _plain(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return float("nan"), float("nan")
    mid = statistics.median(known)
    return mid, 1.4826 * statistics.median(abs(value - mid) for value in known)


def test_a_large_cluster_is_judged_by_common_medians() -> None:
    report = judge(cluster(brokers=20, each=8, b7_sdc=slow_from(5)))
    assert [(h.broker, h.disk) for h in report.disks if h.verdict is not DiskVerdict.SOUND] == [(7, "sdc")]
