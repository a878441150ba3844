"""Of several floods the worst counts, and what was not seen is a fault and no good figure."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from deploy.local.members import Member
from guardian.client.tickets import TicketPage
from guardian.errors import Overloaded
from tests.bench.flood import __main__ as flood_bench
from tests.bench.flood.__main__ import NO_BROKER, Found, Healing, judged
from tests.bench.flood.bars import MEASURES
from tests.bench.flood.looking import Look, p99
from tests.bench.report import Row, rows


def look(probe_s: float, write_s: float, rss_mb: float, terms: tuple[int, ...] = (2,), pause_s: float = 1.0) -> Look:
    return Look([probe_s] * 10, [write_s] * 10, [rss_mb], list(terms), [(0.0, 1), (pause_s, 2)])


HEALED = Healing(34.4)


def judged_rows(healing: Healing = HEALED, **floods: Look) -> dict[str, Row]:
    found: Found = {name.replace("_", " "): (each, {}) for name, each in floods.items()}
    return {row.measure.id: row for row in rows(MEASURES, judged(found, "", healing))}


def test_the_worst_flood_is_the_figure_and_is_named() -> None:
    of = judged_rows(quiet=look(0.01, 0.01, 200), idle=look(0.2, 0.02, 250), drip=look(0.1, 0.04, 450))
    ready, write, memory = of["flood_ready_ms"], of["flood_write_p99"], of["flood_rss_mb"]
    assert (round(ready.figures.ours), ready.figures.how, ready.ok) == (200, "idle", True)
    assert (write.figures.how, write.ok) == ("drip", True)
    assert write.ratio is not None
    assert round(write.ratio, 3) == 4
    assert (memory.figures.ours, memory.figures.how, memory.ok) == (250, "drip", True)


def test_bars_that_are_passed_are_missed() -> None:
    of = judged_rows(quiet=look(0.01, 0.01, 200), idle=look(0.6, 0.06, 501, (2, 3), 6.0))
    assert not any(row.ok for row in of.values())
    assert of["flood_elections"].figures.ours == 1


def test_what_failed_or_was_not_seen_is_a_fault() -> None:
    broken = look(0.01, 0.01, 200)
    broken.probe_failures, broken.write_failures, broken.ticks = 2, 1, []
    of = judged_rows(quiet=look(0.01, 0.01, 200), idle=broken)
    assert of["flood_ready_ms"].figures.fault == "2 probes failed"
    assert of["flood_write_p99"].figures.fault == "1 writes failed"
    assert of["flood_tick_s"].figures.fault == "ticks were not seen under: idle"
    assert of["flood_elections"].ok


def test_all_bars_can_be_met() -> None:
    of = judged_rows(quiet=look(0.01, 0.01, 200), plan=look(0.02, 0.02, 210, pause_s=2.0))
    assert all(row.ok for row in of.values())
    assert of["flood_tick_s"].figures.how == "plan; healing made its plan in 34 s"


def test_a_flood_under_which_healing_made_no_plan_misses_the_row_of_ticks() -> None:
    for fault in (NO_BROKER, "healing made no plan within 240 s of the loss of a broker"):
        of = judged_rows(Healing(None, fault), quiet=look(0.01, 0.01, 200), plan=look(0.02, 0.02, 210))
        assert of["flood_tick_s"].figures.fault == fault
        assert [name for name, row in of.items() if not row.ok] == ["flood_tick_s"]


def test_a_pause_is_no_longer_than_the_member_tells_unless_the_lead_has_passed() -> None:
    slow_to_see = look(0.01, 0.01, 200, pause_s=9.0)
    assert slow_to_see.longest_pause_s == 9.0
    slow_to_see.told_pause_s = 2.5
    assert slow_to_see.longest_pause_s == 2.5
    slow_to_see.told_pause_s = 20.0  # before this time
    assert slow_to_see.longest_pause_s == 9.0
    slow_to_see.told_pause_s, slow_to_see.terms = 2.5, [2, 3]
    assert slow_to_see.longest_pause_s == 9.0
    slow_to_see.ticks = []
    assert slow_to_see.longest_pause_s is None


def test_the_99th_percentile_of_few_is_near_the_greatest() -> None:
    assert p99([]) is None
    assert p99([3.0]) == 3.0
    assert p99([*[1.0] * 999, 100.0]) == 1.0


class _Kafka:
    def __init__(self) -> None:
        self.killed: list[int] = []

    def kill_broker(self, broker_id: int) -> None:
        self.killed.append(broker_id)


class _Looking:
    def during(self, seconds: float, enough: threading.Event) -> Look:
        assert enough.wait(seconds)
        return look(0.01, 0.01, 200)


@pytest.mark.parametrize("is_planned", [True, False])
def test_the_flood_goes_on_until_healing_has_its_plan(monkeypatch: pytest.MonkeyPatch, *, is_planned: bool) -> None:
    kafka, flooding, ended = _Kafka(), threading.Event(), threading.Event()

    def flood(attack: flood_bench.Attack, port: int, addresses: int, seconds: float, enough: threading.Event) -> None:
        assert (attack.kind, port, addresses) == ("get", 9751, 10)
        flooding.set()
        assert enough.wait(seconds)
        ended.set()

    class Client:
        def __init__(self, endpoints: list[str]) -> None:
            assert endpoints == ["127.0.0.1:9750"]
            self.asked = 0

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def ticket_page(self, *, cluster: str, kind: str, size: int) -> TicketPage:
            assert (cluster, kind, size) == ("live", "heal", 1)
            assert flooding.wait(60)
            assert not ended.is_set()
            self.asked += 1
            if self.asked == 1:
                raise Overloaded("others ask", 100)
            return TicketPage(cast("Any", ((None, None),)) if is_planned else ())

    monkeypatch.setattr(flood_bench, "_flood", flood)
    monkeypatch.setattr(flood_bench, "GuardianClient", Client)
    monkeypatch.setattr(flood_bench, "_HEAL_S", 60.0 if is_planned else 1.5)
    member = Member("g1", Path("data"), "127.0.0.1:9750", "127.0.0.1:9751", "127.0.0.1:9752")
    group = flood_bench.Group(member, [], "", cast("Any", kafka))
    _, healing = flood_bench._healed(group, cast("Any", kafka), cast("Any", _Looking()))
    assert kafka.killed == [3]
    assert ended.is_set()
    assert (healing.plan_s is not None) == is_planned
    assert bool(healing.fault) != is_planned
