"""The leader's loop: ticks while it leads, and outlives whatever a tick raises."""

from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs

from guardian.errors import Unavailable
from guardian.member.loop import LeaderLoop, pause_after, stop_all
from guardian.serving.counting import LoopCounters
from tests.patience import PATIENCE_S


class Ticks:
    """Raises or says what it is told to, then counts."""

    def __init__(self, *outcomes: list[str] | Exception) -> None:
        self._outcomes = list(outcomes)
        self.over = threading.Event()

    def __call__(self) -> list[str]:
        if not self._outcomes:
            self.over.set()
            return []
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def run(ticks: Ticks) -> list[str]:
    with capture_logs() as logs:
        loop = LeaderLoop(lambda: True, ticks, 0.001)
        loop.start()
        assert ticks.over.wait(PATIENCE_S), "the loop ended early"
        loop.stop()
    return [str(entry.get("did")) for entry in logs if entry["log_level"] == "info"]


@pytest.mark.parametrize("error", [Unavailable("no leader"), ZeroDivisionError(), RuntimeError("a bug"), KeyError(3)])
def test_the_loop_goes_on_after_any_error(error: Exception) -> None:
    said = run(Ticks(error, ["works again"]))
    assert said[-1] == "works again"
    assert (str(error) if isinstance(error, Unavailable) else repr(error)) in said[0]


def test_a_bug_is_logged_once_with_its_trace_and_not_every_tick() -> None:
    ticks = Ticks(*[ZeroDivisionError()] * 5)
    with capture_logs() as logs:
        loop = LeaderLoop(lambda: True, ticks, 0.001)
        loop.start()
        assert ticks.over.wait(PATIENCE_S)
        loop.stop()
    assert [entry["log_level"] for entry in logs if entry.get("exc_info")] == ["error"]


def test_loops_are_stopped_together_and_a_long_tick_holds_up_nobody() -> None:
    held, begun, ticks = threading.Event(), threading.Event(), [0]

    def holds() -> list[str]:
        begun.set()
        held.wait(PATIENCE_S)
        return []

    def counts() -> list[str]:
        ticks[0] += 1
        return []

    loops = {"lake": LeaderLoop(lambda: True, holds, 0.001), "executor": LeaderLoop(lambda: True, counts, 0.001)}
    for loop in loops.values():
        loop.start()
    assert begun.wait(PATIENCE_S)
    try:
        with capture_logs() as logs:
            assert stop_all(loops, 0.2) == ["lake"]
        assert [entry["loops"] for entry in logs if "loops" in entry] == [["lake"]]
        before = ticks[0]
        assert loops["executor"].stop(0.0)
        assert ticks[0] == before
    finally:
        held.set()
    assert stop_all(loops, PATIENCE_S) == []


def test_a_sentence_is_said_once_while_it_stays() -> None:
    assert run(Ticks(["a"], ["a", "b"], ["b"], ["a"])) == ["a", "b", "a"]


def test_only_the_leader_ticks() -> None:
    asked = threading.Semaphore(0)
    leads = threading.Event()
    ticks = Ticks()

    def is_leader() -> bool:
        asked.release()
        return leads.is_set()

    loop = LeaderLoop(is_leader, ticks, 0.001)
    loop.start()
    for _ in range(5):
        assert asked.acquire(timeout=PATIENCE_S)
    assert not ticks.over.is_set()
    leads.set()
    assert ticks.over.wait(PATIENCE_S)
    loop.stop()


def test_stopping_waits_for_the_tick_under_way() -> None:
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def tick() -> list[str]:
        entered.set()
        leave.wait(PATIENCE_S)
        left.set()
        return []

    loop = LeaderLoop(lambda: True, tick, 0.001)
    loop.start()
    assert entered.wait(PATIENCE_S)
    threading.Timer(0.05, leave.set).start()
    loop.stop()
    assert left.is_set()


def test_when_there_is_more_the_next_tick_comes_soon_yet_leaves_most_of_the_time_to_others() -> None:
    assert pause_after(0.01, 1.0, has_more=False) == 1.0
    assert pause_after(0.01, 1.0, has_more=True) == 0.1
    assert pause_after(0.2, 1.0, has_more=True) == pytest.approx(0.25)
    assert pause_after(3.0, 1.0, has_more=True) == 1.0


def test_the_time_in_which_a_member_does_not_lead_is_no_pause_between_ticks() -> None:
    leads, counters = [True, False, True], LoopCounters()
    rested: list[float | None] = []

    def is_leader() -> bool:
        rested.append(counters._ended_at)
        return leads.pop(0) if leads else True

    ticks = Ticks([], [])
    loop = LeaderLoop(is_leader, ticks, 0.001, counters)
    loop.start()
    assert ticks.over.wait(PATIENCE_S)
    loop.stop()
    before_any, after_one, after_rest, after_two = rested[:4]
    assert (before_any, after_rest) == (None, None)
    assert after_one is not None
    assert after_two is not None
