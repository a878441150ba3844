"""Work that is asked for: done in turn, given up at any time, and told to whoever waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from guardian.errors import Overloaded, Unavailable
from guardian.planning.model import Lane, LaneLimits
from guardian.planning.service.desk import Desk, Job

WAIT_S = 60.0
LANES = {lane: LaneLimits(2, 1, 3, 4) for lane in Lane} | {Lane.HEALING: LaneLimits(1)}


class Held:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()

    def __call__(self, job: Job[str]) -> str:
        self.begun.set()
        assert self.go.wait(WAIT_S)
        job.step("End", "it ends")
        return f"done for {job.turn.person}"


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.go.set()


@pytest.fixture
def desk(held: Held) -> Iterator[Desk]:
    desk = Desk(LANES, WAIT_S, lambda: 5)
    yield desk
    held.go.set()
    desk.close()


def ask(desk: Desk, person: str, work: Callable[[Job[Any]], Any], lane: Lane = Lane.PEOPLE) -> Job[Any]:
    return desk.submit(lane, person, "rebalance of cluster live", work)


def test_others_and_healing_go_on_while_one_persons_line_is_full(desk: Desk, held: Held) -> None:
    asked = [ask(desk, "ann", held) for _ in range(4)]
    for _ in range(41):
        with pytest.raises(Overloaded, match="requests of ann: rebalance of cluster live under way, 3 wait"):
            ask(desk, "ann", held)
    assert ask(desk, "ben", lambda _: "ben's").future.result(WAIT_S) == "ben's"
    assert ask(desk, "live", lambda _: "healed", Lane.HEALING).future.result(WAIT_S) == "healed"
    assert not any(job.future.done() for job in asked)
    held.go.set()
    assert [job.future.result(WAIT_S) for job in asked] == ["done for ann"] * 4
    assert [step.name for step in asked[0].steps()] == ["Pending", "End"]
    assert all(step.ended_ms for step in asked[0].steps())


def test_what_waits_can_be_given_up_and_leaves_room_for_the_next(desk: Desk, held: Held) -> None:
    first, *waiting = [ask(desk, "ann", held) for _ in range(4)]
    waiting[0].cancel("ann asks no more")
    with pytest.raises(Unavailable, match="ann asks no more"):
        waiting[0].future.result(WAIT_S)
    last = ask(desk, "ann", held)
    assert desk.before(last) == (2, 0)
    held.go.set()
    assert last.future.result(WAIT_S) == first.future.result(WAIT_S)


def test_what_is_under_way_is_ended_by_what_it_said_ends_it(desk: Desk) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(job: Job[str]) -> str:
        with job.ending(ended.set):
            begun.set()
            assert ended.wait(WAIT_S)
        job.require_wanted()
        return "never"

    job = ask(desk, "ann", work)
    assert begun.wait(WAIT_S)
    job.cancel("the client is gone")
    with pytest.raises(Unavailable, match="the client is gone"):
        job.future.result(WAIT_S)
    assert ask(desk, "ann", lambda _: "next").future.result(WAIT_S) == "next"


def test_an_end_that_is_said_too_late_is_called_at_once(desk: Desk, held: Held) -> None:
    called: list[str] = []

    def work(job: Job[str]) -> str:
        held.begun.set()
        assert held.go.wait(WAIT_S)
        with job.ending(lambda: called.append("killed")):
            return "done"

    job = ask(desk, "ann", work)
    assert held.begun.wait(WAIT_S)
    job.cancel("the client is gone")
    held.go.set()
    job.future.result(WAIT_S)
    assert called == ["killed"]


def test_what_waits_too_long_is_given_up(held: Held) -> None:
    desk = Desk(LANES, 0.2, lambda: 5)
    try:
        ask(desk, "ann", held)
        late = ask(desk, "ann", held)
        with pytest.raises(Overloaded, match=r"rebalance of cluster live of ann: not begun within 0\.2 s"):
            late.future.result(WAIT_S)
        patient = [ask(desk, str(number), held, Lane.HEALING) for number in range(2)]
        assert late.future.done()
        assert not patient[1].future.done(), "healing waits for healing, as long as it takes"
    finally:
        held.go.set()
        desk.close()


def test_a_failure_is_its_askers_and_nobody_elses(desk: Desk) -> None:
    def broken(_: Job[str]) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(desk, "ann", broken).future.result(WAIT_S)
    assert ask(desk, "ann", lambda _: "next").future.result(WAIT_S) == "next"
