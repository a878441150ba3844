"""How long single brokers may take, and when one that was late is asked again."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import kafka.errors as kafka_errors
import pytest

from guardian.kafka import session as module
from guardian.kafka.gate import needs_no_proof
from guardian.kafka.patience import Patience


def test_who_was_late_rests_and_then_gets_more_time() -> None:
    patience = Patience(usual_s=1.0, most_s=3.0)
    waited, rested, now_s = [], [], 100.0
    for _ in range(6):
        waited.append(patience.limits([1, 2], now_s)[2])
        patience.was_in_time(1, 0.1)
        patience.was_late(2, now_s)
        late_s = now_s
        while 2 not in patience.limits([1, 2], now_s):
            assert patience.limits([1, 2], now_s) == {1: 1.0}
            now_s += 1.0
        rested.append(now_s - late_s)
    assert waited == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0]
    assert rested == [2.0, 8.0, 24.0, 48.0, 60.0, 60.0]


def test_one_bad_moment_is_soon_forgotten() -> None:
    patience = Patience(usual_s=1.0, most_s=3.0)
    patience.was_late(1, 0.0)
    assert patience.limits([1], 2.0) == {1: 2.0}
    patience.was_in_time(1, 1.5)
    assert patience.limits([1], 2.0) == {1: 2.0}
    patience.was_in_time(1, 0.9)
    assert patience.limits([1], 2.0) == {1: 1.0}


@pytest.mark.parametrize("needs_s", [1.5, 2.5])
def test_a_broker_that_always_needs_more_is_heard_each_time_from_then_on(needs_s: float) -> None:
    """A rate is set only where two questions of one tick are answered."""
    patience, heard, now_s = Patience(usual_s=1.0, most_s=3.0), [], 0.0
    for _ in range(40):
        limits = patience.limits([1], now_s)
        now_s += min(needs_s, limits.get(1, 1.0))
        if limits.get(1, 0.0) >= needs_s:
            patience.was_in_time(1, needs_s)
            heard.append(True)
        elif limits:
            patience.was_late(1, now_s)
            heard.append(False)
    first = heard.index(True)
    assert all(heard[first:])
    assert len(heard[first:]) > 20


class Clock:
    """What `time.monotonic` tells while brokers are waited for."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


class SessionWithAHungBroker(module.BrokerSession):
    """Broker 2 takes every question and never answers; the others answer at once. Waiting is all that takes time."""

    def __init__(self, clock: Clock, timeout_s: float) -> None:
        connections = SimpleNamespace(
            start=lambda work, *given: work(*given), connection_delay_s=lambda _: 0.0, sleep=self._no_sleep
        )
        super().__init__(connections, clock.now_s + timeout_s, timeout_s, needs_no_proof)  # type: ignore[arg-type]
        self._clock = clock
        self.asked: list[int] = []

    async def _no_sleep(self, _seconds: float) -> None:
        pass

    async def refresh_metadata(self) -> None:
        pass

    async def _ask(self, broker: int | None, request: Any, limit_s: float) -> Any:
        assert broker is not None
        self.asked.append(broker)
        if broker == 2:
            self._clock.now_s += min(limit_s, self.left_s())
            raise kafka_errors.KafkaTimeoutError
        return request


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=time.sleep))
    return clock


def test_nobody_waits_longer_for_a_hung_broker_than_it_may_take_and_none_at_all_while_it_rests(clock: Clock) -> None:
    patience = Patience(usual_s=1.0, most_s=3.0)
    took = []
    for _ in range(10):
        session, began_s = SessionWithAHungBroker(clock, 10.0), clock.now_s
        answers, _ = asyncio.run(session.ask_each([1, 2, 3], lambda broker: f"answer of {broker}", patience))
        assert answers == {1: "answer of 1", 3: "answer of 3"}
        took.append(clock.now_s - began_s)
        clock.now_s += 1.0
    assert took == [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_without_patience_a_call_waits_for_it_to_its_end(clock: Clock) -> None:
    session, began_s = SessionWithAHungBroker(clock, 10.0), clock.now_s
    _, failures = asyncio.run(session.ask_each([1, 2, 3], lambda broker: broker))
    assert failures.keys() == {2}
    assert clock.now_s - began_s == 10.0


class RestartedBroker(SessionWithAHungBroker):
    """Broker 3 is at a new address, which is known only once the metadata is fresh."""

    is_fresh = False

    async def refresh_metadata(self) -> None:
        self.is_fresh = True

    async def _ask(self, broker: int | None, request: Any, limit_s: float) -> Any:
        if broker == 3 and not self.is_fresh:
            raise kafka_errors.NodeNotReadyError(3)
        return await super()._ask(broker, request, limit_s)


def test_one_that_is_at_a_new_address_is_asked_again_and_one_that_hangs_is_not(clock: Clock) -> None:
    session = RestartedBroker(clock, 10.0)
    answers, failures = asyncio.run(session.ask_each([1, 2, 3], lambda broker: broker, Patience(1.0, 3.0)))
    assert answers.keys() == {1, 3}
    assert failures.keys() == {2}
    assert sorted(session.asked) == [1, 2, 3]
