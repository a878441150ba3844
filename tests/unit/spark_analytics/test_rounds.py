from __future__ import annotations

from collections.abc import Callable
from threading import Event

from guardian.errors import InvalidInput
from spark_analytics.jobs.rounds import rounds


class Story:
    """A clock that each round moves on by `takes_ms`, and a wait that is written down instead of waited for."""

    def __init__(self, takes_ms: int) -> None:
        self.now_ms = 0
        self.takes_ms = takes_ms
        self.waits: list[float] = []
        self.stopped = Event()
        self.stopped.wait = self._wait  # type: ignore[method-assign,assignment]

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == 3:
            self.stopped.set()
        return self.stopped.is_set()

    def lines(self, work: Callable[[int], str], *survivable: type[Exception]) -> list[str]:
        def timed(now_ms: int) -> str:
            self.now_ms += self.takes_ms
            return work(now_ms)

        return list(rounds(timed, 10, self.stopped, (InvalidInput, *survivable), lambda: self.now_ms))


def test_each_round_is_a_line_and_begins_a_fixed_time_after_the_one_before() -> None:
    story = Story(takes_ms=4000)
    assert story.lines(lambda now_ms: f"at {now_ms}")[0] == "00:00:00Z at 0 (4.0 s)"
    assert story.waits == [6, 6, 6]


def test_a_round_that_takes_too_long_is_followed_at_once() -> None:
    story = Story(takes_ms=25_000)
    assert len(story.lines(lambda _: "done")) == 3
    assert story.waits == [0, 0, 0]


def test_a_round_that_fails_is_a_line_and_the_next_one_is_made() -> None:
    outcomes = iter([InvalidInput("lake is empty"), OSError("gone\nat line 1"), None])

    def work(now_ms: int) -> str:
        error = next(outcomes)
        if error:
            raise error
        return "fine"

    lines = Story(takes_ms=0).lines(work, OSError)
    assert [line.partition(" ")[2] for line in lines] == [
        "failed, the next round is in 10 s at the latest: lake is empty (0.0 s)",
        "failed, the next round is in 10 s at the latest: gone (0.0 s)",
        "fine (0.0 s)",
    ]


def test_it_ends_once_it_is_stopped() -> None:
    stopped = Event()

    def work(now_ms: int) -> str:
        stopped.set()
        return "last"

    assert len(list(rounds(work, 3600, stopped))) == 1


def test_a_round_that_failed_because_it_was_stopped_is_given_up() -> None:
    stopped = Event()

    def work(now_ms: int) -> str:
        stopped.set()
        raise InvalidInput("Job 3 cancelled")

    [line] = rounds(work, 3600, stopped)
    assert " given up, as this is to end (" in line
