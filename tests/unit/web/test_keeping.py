"""What is dear is looked at once for many, and nobody waits for longer than told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from guardian.errors import Overloaded, Unavailable
from guardian.web.keeping import Kept, StillBeingRead
from tests.patience import PATIENCE_S


class Slow:
    """A look that is let go when a test says so."""

    def __init__(self) -> None:
        self.looks = 0
        self.may_end = threading.Event()
        self.began = threading.Semaphore(0)
        self.failure: Exception | None = None

    def __call__(self, key: str) -> str:
        self.looks += 1
        number = self.looks
        self.began.release()
        assert self.may_end.wait(PATIENCE_S)
        if self.failure is not None:
            raise self.failure
        return f"{key} {number}"


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.may_end.set()


def kept(slow: Slow, now: list[float], patience_s: float = PATIENCE_S) -> Kept[str, str]:
    return Kept(slow, fresh_s=5, stale_s=60, patience_s=patience_s, clock=lambda: now[0])


def test_many_who_ask_at_once_cost_one_look(slow: Slow) -> None:
    cache = kept(slow, [0.0])
    with ThreadPoolExecutor(8) as askers:
        answers = [askers.submit(cache.of, "a") for _ in range(8)]
        assert slow.began.acquire(timeout=PATIENCE_S)
        slow.may_end.set()
        assert {answer.result(PATIENCE_S) for answer in answers} == {"a 1"}
    cache.close()


def test_what_is_not_fresh_is_given_at_once_and_looked_at_anew(slow: Slow) -> None:
    now = [0.0]
    cache = kept(slow, now)
    slow.may_end.set()
    assert cache.of("a") == "a 1"
    now[0] = 4.9
    assert cache.of("a") == "a 1"
    assert slow.looks == 1
    slow.may_end.clear()
    now[0] = 6.0
    assert cache.of("a") == "a 1"
    assert slow.began.acquire(timeout=PATIENCE_S)
    assert slow.began.acquire(timeout=PATIENCE_S)
    assert cache.of("a") == "a 1"  # the second look is under way
    slow.may_end.set()
    now[0] = 100.0
    assert cache.of("a") in {"a 2", "a 3"}  # what was under way, or one more: never the stale one
    cache.close()


def test_nobody_waits_for_longer_than_told(slow: Slow) -> None:
    cache = kept(slow, [0.0], patience_s=0.01)
    with pytest.raises(Overloaded, match="still being read") as refused:
        cache.of("a")
    assert refused.value.retry_after_ms == 1000
    assert slow.began.acquire(timeout=PATIENCE_S)
    assert slow.looks == 1
    cache.close()


def test_a_question_may_bring_less_patience_than_usual(slow: Slow) -> None:
    cache = kept(slow, [0.0])
    with pytest.raises(StillBeingRead):
        cache.of("a", patience_s=0)
    slow.may_end.set()
    assert cache.of("a") == "a 1"
    assert slow.looks == 1
    cache.close()


def test_a_failure_is_an_answer_for_a_while_too(slow: Slow) -> None:
    now = [0.0]
    cache = kept(slow, now)
    slow.may_end.set()
    slow.failure = Unavailable("nobody leads")
    for _ in range(3):
        with pytest.raises(Unavailable, match="nobody leads"):
            cache.of("a")
    assert slow.looks == 1
    slow.failure = None
    now[0] = 100.0
    assert cache.of("a") == "a 2"
    cache.close()


def test_a_mistake_of_ours_is_raised_and_not_kept(slow: Slow) -> None:
    cache = kept(slow, [0.0])
    slow.may_end.set()
    slow.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        cache.of("a")
    slow.failure = None
    assert cache.of("a") == "a 2"
    cache.close()


def test_what_is_kept_is_bounded(slow: Slow) -> None:
    cache = kept(slow, [0.0])
    slow.may_end.set()
    for number in range(600):
        cache.of(str(number))
    assert len(cache._kept) == 512
    cache.close()
