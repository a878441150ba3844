"""Which cluster is worse, and what a row of the board says of each."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.console.board import BoardLine, Fullest, Load, badness, board_lines, load_of
from guardian.console.health import HEALTHY, PARTLY_KNOWN, UNKNOWN, Skew
from guardian.health.model.finding import FindingKind
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen
from protos.guardian.v1 import insight_pb2 as pb

BROKERS = (Broker(1, "r1", "sh"), Broker(2, "r2", "sh", state=BrokerState.DRAINING), Broker(3, "r1", "sz"))
CLUSTER = Cluster("live", "h:9092", brokers=BROKERS)
OTHER = Cluster("bulk", "h:9093")
LOOKED = pb.DetectorLook(detector="brokers", cluster="live", looked_at_ms=5)


def finding(kind: FindingKind) -> pb.Finding:
    return pb.Finding(kind=pb.FindingKind.Name(kind.value), cluster="live")


def alive(*brokers: int) -> pb.BrokersSeen:
    return pb.BrokersSeen(cluster="live", alive=brokers, looked_at_ms=5)


def line(
    *kinds: FindingKind, up: tuple[int, ...] = (1, 2, 3), used: float | None = None, above: float | None = None
) -> BoardLine:
    report = pb.FindingsReport(findings=map(finding, kinds), looks=[LOOKED], brokers=[alive(*up)] if up else [])
    made = board_lines([CLUSTER], report, None, (), {})[0]
    fullest = None if used is None else Fullest(1, "/d", used)
    return replace(made, load=Load(fullest=fullest, unevenness=None if above is None else Skew("in", 1, above)))


def test_the_worst_is_first_by_brokers_then_findings_then_disks_then_unevenness() -> None:
    downwards = [
        line(FindingKind.CLUSTER_UNREACHABLE, up=()),  # as bad as all three brokers gone
        line(FindingKind.BROKER_DOWN, up=(2,)),
        line(up=(1, 2)),
        line(FindingKind.TOPIC_OFFLINE),
        line(FindingKind.UNDER_MIN_ISR, FindingKind.LOG_DIR_OFFLINE),
        line(FindingKind.UNDER_MIN_ISR, FindingKind.SKEW),
        line(FindingKind.UNDER_MIN_ISR),
        line(FindingKind.SLOW_DISK, used=0.1),
        line(FindingKind.SKEW, used=0.99, above=3.0),
        replace(line(used=0.99), health=UNKNOWN),
        replace(line(used=0.99), health=PARTLY_KNOWN),
        line(used=0.9, above=0.1),
        line(used=0.8, above=0.5),
        line(used=0.8, above=0.2),
        line(used=0.8),
        line(),
    ]
    for worse, better in pairwise(downwards):
        assert badness(worse) > badness(better), (worse, better)
    assert downwards[-1].health == HEALTHY


@given(
    st.lists(st.sampled_from(FindingKind), max_size=6),
    st.sets(st.sampled_from((1, 2, 3)), min_size=1),
    st.floats(0, 1),
    st.sampled_from(FindingKind),
)
def test_another_trouble_makes_no_cluster_better(
    kinds: list[FindingKind], up: set[int], used: float, more: FindingKind
) -> None:
    now = line(*kinds, up=tuple(up), used=used)
    assert badness(line(*kinds, more, up=tuple(up), used=used)) > badness(now)
    assert badness(line(*kinds, up=tuple(up), used=min(1.0, used + 0.1))) >= badness(now)
    for broker in up & {1, 3}:
        if len(up) > 1:
            without = badness(line(*kinds, up=tuple(up - {broker}), used=used))
            assert without > badness(now) if now.is_reached else without == badness(now)


def test_what_nobody_has_looked_at_is_not_known_and_no_number_stands_for_it() -> None:
    report = pb.FindingsReport(looks=[LOOKED], brokers=[alive(1, 2, 3)])
    lines = board_lines([CLUSTER, OTHER], report, None, (), {})
    assert [each.health for each in lines] == [HEALTHY, UNKNOWN]
    assert [(each.findings, each.tickets_running) for each in lines] == [(0, 0), (None, 0)]
    assert lines[0].away == 1
    assert lines[0].idcs == ("sh", "sz")
    assert lines[0].serving is not None
    assert (lines[0].serving.up, lines[0].serving.of) == (3, 3)
    unknown = board_lines([CLUSTER], None, None, None, {"live": None})[0]
    assert (unknown.health, unknown.serving, unknown.load) == (UNKNOWN, None, Load())
    assert (unknown.findings, unknown.tickets_running, unknown.tickets_waiting) == (None, None, None)
    assert load_of(ClusterSeen((0, 1), 1, {1: BrokerSeen(1)})) == Load()


def test_the_load_of_a_cluster_is_that_of_its_brokers() -> None:
    def broker(number: int, rate: float, cpu: float, used: int, *, offline: bool = False) -> BrokerSeen:
        log_dir = LogDirSeen("/d", "sda", 100, 100 - used, offline)
        return BrokerSeen(number, 5, "", (rate, None, rate, None), (), (cpu,) * 4, log_dirs=(log_dir,))

    seen = ClusterSeen(
        (0, 60_000, 120_000, 180_000),
        60_000,
        {1: broker(1, 10.0, 0.2, 40), 2: broker(2, 30.0, 0.4, 70), 3: broker(3, 20.0, 0.6, 99, offline=True)},
    )
    load = load_of(seen)
    assert (load.bytes_in, load.bytes_out) == (60.0, None)
    assert load.cpu == pytest.approx(0.4)
    assert load.fullest is not None
    assert load.fullest.broker == 2, "a dead disk has no room, and fills no more"
    assert load.fullest.share == pytest.approx(0.7)
    assert load.unevenness is not None
    assert load.unevenness.name == "bytes in"
    assert load.unevenness.spread == pytest.approx(0.5)
    assert load.trend is not None
    assert load.trend.words.startswith("the last 4 min: 60 B/s to 60 B/s"), load.trend.words
    assert len(load.trend.dots) == 2, "with a gap between them"


def test_a_trend_has_no_step_that_not_all_brokers_are_heard_of_yet() -> None:
    def told(*series: tuple[float | None, ...]) -> str:
        brokers = {number: BrokerSeen(number, 5, "", each) for number, each in enumerate(series)}
        trend = load_of(ClusterSeen(tuple(range(6)), 60_000, brokers)).trend
        return trend.words.split(": ")[1].split(";")[0] if trend is not None else ""

    whole = (2.0,) * 6
    assert told(whole, whole) == "4 B/s to 4 B/s, lately 4 B/s"
    assert told(whole, (*whole[:5], None)) == "4 B/s to 4 B/s, lately 4 B/s", "the newest step is not over"
    assert told(whole, (None, *whole[1:])) == "4 B/s to 4 B/s, lately 4 B/s", "one was heard later than the other"
    assert told(whole, (2.0, 2.0, None, None, None, None)) == "2 B/s to 4 B/s, lately 2 B/s", "one is gone"
    assert told((None,) * 6) == ""


@pytest.mark.parametrize("up", [(1, 2, 3), (1, 2), (3,), ()])
@pytest.mark.parametrize("error", ["", "refused"])
@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("unheard", [False, True])
@pytest.mark.parametrize("kinds", [(), (FindingKind.SKEW,), (FindingKind.BROKER_DOWN,)])
def test_a_row_is_healthy_only_where_none_of_its_numbers_says_otherwise(
    up: tuple[int, ...], error: str, offline: bool, unheard: bool, kinds: tuple[FindingKind, ...]
) -> None:
    look = pb.DetectorLook(detector="replicas", cluster="live", looked_at_ms=5, error=error)
    report = pb.FindingsReport(findings=map(finding, kinds), looks=[LOOKED, look], brokers=[alive(*up)] if up else [])
    log_dir = LogDirSeen("/d", "sda", 100, 50, offline)
    seen = ClusterSeen((0,), 1, {1: BrokerSeen(1, 5, "no answer" if unheard else "", log_dirs=(log_dir,))})
    row = board_lines([CLUSTER], report, None, (), {"live": seen})[0]
    is_whole = not ({1, 3} - set(up)) or not up
    is_well = is_whole and not error and not offline and not unheard and not kinds
    assert (row.health.kind == "ok") == is_well, row.health
    if offline or FindingKind.BROKER_DOWN in kinds:
        assert row.health.kind == "bad"
    elif not is_whole or unheard or kinds:
        assert row.health.kind == "warn"
