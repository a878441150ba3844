"""The leader's loop: ticks while it leads, and outlives whatever a tick raises."""

from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs

from guardian.errors import Unavailable
from guardian.server.loop import LeaderLoop, pause_after

DEADLINE_S = 30


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
        assert ticks.over.wait(DEADLINE_S), "the loop ended early"
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
        assert ticks.over.wait(DEADLINE_S)
        loop.stop()
    assert [entry["log_level"] for entry in logs if entry.get("exc_info")] == ["error"]


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
        assert asked.acquire(timeout=DEADLINE_S)
    assert not ticks.over.is_set()
    leads.set()
    assert ticks.over.wait(DEADLINE_S)
    loop.stop()


def test_stopping_waits_for_the_tick_under_way() -> None:
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def tick() -> list[str]:
        entered.set()
        leave.wait(DEADLINE_S)
        left.set()
        return []

    loop = LeaderLoop(lambda: True, tick, 0.001)
    loop.start()
    assert entered.wait(DEADLINE_S)
    threading.Timer(0.05, leave.set).start()
    loop.stop()
    assert left.is_set()


def test_when_there_is_more_the_next_tick_comes_soon_yet_leaves_most_of_the_time_to_others() -> None:
    assert pause_after(0.01, 1.0, has_more=False) == 1.0
    assert pause_after(0.01, 1.0, has_more=True) == 0.1
    assert pause_after(0.2, 1.0, has_more=True) == pytest.approx(0.25)
    assert pause_after(3.0, 1.0, has_more=True) == 1.0
