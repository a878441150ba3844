"""What the executor sees of brokers and lines between its ticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from guardian.execution.loop.around import LiveSurroundings
from guardian.model.topology import Broker, Cluster
from guardian.throttle.loop import ClusterReadings
from guardian.throttle.model import BrokerCounters, DiskCounters
from guardian.throttle.rules.adapting import Line, ThrottleSettings

LINE: Line = ("shanghai", "suzhou")


def counted(broker: int, at_ms: int, busy_ms: int, started_at_ms: int = 0) -> BrokerCounters:
    return BrokerCounters(broker, at_ms, started_at_ms, {"sda": DiskCounters(busy_ms, 0, 0)})


def readings() -> ClusterReadings:
    return ClusterReadings(stale_ms=5000, window_ms=4000)


def test_a_reading_is_of_the_window_and_the_latest_of_the_last_look() -> None:
    known = readings()
    for second, busy_ms in enumerate((0, 0, 0, 0, 0, 1000, 2000)):
        seen = known.take([1], [counted(1, second * 1000, busy_ms)], second * 1000)
    assert seen.readings[1].utilisation == 0.5
    assert seen.latest[1].utilisation == 1.0
    assert not seen.unseen


def test_the_latest_is_of_a_second_though_looks_follow_each_other_quickly() -> None:
    known = readings()
    for at_ms, busy_ms in ((0, 0), (1000, 0), (1850, 0), (2000, 150)):
        seen = known.take([1], [counted(1, at_ms, busy_ms)], at_ms)
    assert seen.latest[1].utilisation == 0.15


def test_a_broker_whose_clock_was_set_back_is_seen_on_and_an_answer_that_is_late_is_no_news() -> None:
    known = readings()
    for at_ms in (599_000, 600_000):
        known.take([1], [counted(1, at_ms, 0)], at_ms)
    assert known.take([1], [counted(1, 599_500, 0)], 601_000).silent == {1}
    assert known.take([1], [counted(1, 2_000, 0)], 602_000).readings[1].is_young
    seen = known.take([1], [counted(1, 3_000, 500)], 606_000)
    assert (seen.readings[1].utilisation, seen.unseen) == (0.5, frozenset())


def test_a_broker_that_is_silent_is_as_it_was_until_it_is_unseen() -> None:
    known = readings()
    known.take([1], [counted(1, 0, 0)], 0)
    known.take([1], [counted(1, 1000, 500)], 1000)
    silent = known.take([1], [], 6000)
    assert (silent.readings[1].utilisation, silent.unseen, silent.silent) == (0.5, frozenset(), frozenset({1}))
    assert known.take([1], [], 6001).unseen == {1}
    heard = known.take([1], [counted(1, 7000, 600)], 7000)
    assert (heard.unseen, heard.silent) == (frozenset(), frozenset())


def test_a_broker_that_never_answers_has_some_seconds_too() -> None:
    known = readings()
    assert known.take([1, 2], [], 100_000) == known.take([1, 2], [], 105_000)
    assert known.take([1, 2], [], 105_001).unseen == {1, 2}


def test_a_restart_begins_anew() -> None:
    known = readings()
    known.take([1], [counted(1, 0, 900)], 0)
    seen = known.take([1], [counted(1, 1000, 5, started_at_ms=500)], 1000)
    assert seen.readings[1].is_young
    assert seen.latest[1].is_young


def test_an_answer_that_comes_late_or_twice_changes_nothing() -> None:
    known = readings()
    known.take([1], [counted(1, 0, 0)], 0)
    seen = known.take([1], [counted(1, 1000, 500)], 1000)
    again = known.take([1], [counted(1, 1000, 500), counted(1, 400, 0), counted(9, 0, 0)], 2000)
    assert again == replace(seen, silent=frozenset({1}))


def test_who_is_not_asked_any_more_is_forgotten() -> None:
    known = readings()
    known.take([1], [counted(1, 0, 0)], 0)
    known.take([2], [], 9000)
    assert known.take([1], [counted(1, 10_000, 10_000)], 10_000).readings[1].is_young


class Reporters:
    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def ask(self, brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        self.asked.append([broker.id for broker in brokers])
        return lambda: [counted(broker.id, 1, 0) for broker in brokers]


BROKERS = (Broker(1, "a", "shanghai", "h:1"), Broker(2, "b", "suzhou", "h:2"), Broker(3, "c", "", "h:3"))
CLUSTERS = {name: Cluster(name, "h:9092", name, brokers=BROKERS) for name in ("live", "spare")}


def surroundings(
    reporters: Reporters, lines: Mapping[Line, float], clock: Callable[[], int] = lambda: 0, *, adaptive: bool = True
) -> LiveSurroundings:
    settings = ThrottleSettings(adaptive=adaptive)
    return LiveSurroundings(CLUSTERS.get, reporters, settings, lambda: lines, clock)


def test_the_brokers_at_work_are_asked_and_no_others() -> None:
    reporters = Reporters()
    seen = surroundings(reporters, {}).ask("live", {1, 3, 9})()
    assert reporters.asked == [[1, 3]]
    assert seen.readings.keys() == {1, 3}
    assert seen.idcs == {1: "shanghai", 2: "suzhou"}


def test_who_said_nothing_new_is_told_apart() -> None:
    looking = surroundings(Reporters(), {})
    assert not looking.ask("live", {1})().silent
    assert looking.ask("live", {1})().silent == {1}, "the reporter gave the same answer once more"


def test_nobody_is_asked_where_rates_are_fixed() -> None:
    reporters = Reporters()
    seen = surroundings(reporters, {LINE: 5.0}, adaptive=False).ask("live", {1})()
    assert reporters.asked == []
    assert (seen.settings.adaptive, seen.lines) == (False, {})


def test_a_cluster_that_is_not_registered_any_more_is_seen_by_nobody() -> None:
    time_ms = [0]
    found = surroundings(Reporters(), {}, lambda: time_ms[0])
    assert not found.ask("gone", {1})().unseen
    time_ms[0] = 6000
    assert found.ask("gone", {1})().unseen == {1}


@pytest.mark.parametrize(("later_ms", "left"), [(0, 5e6), (10_000, 10e6)], ids=["both at work", "one has ended"])
def test_clusters_at_work_at_both_ends_share_a_line(later_ms: int, left: float) -> None:
    time_ms = [0]
    found = surroundings(Reporters(), {LINE: 10e6}, lambda: time_ms[0])
    assert found.ask("spare", {1, 2})().lines == {LINE: 10e6}
    time_ms[0] = later_ms
    assert found.ask("live", {1, 2})().lines == {LINE: left}
    assert found.ask("live", {1})().lines == {LINE: 10e6}
