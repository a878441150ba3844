"""One call's questions to several brokers, some of which lag behind, have moved, or wait for their connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import kafka.errors as kafka_errors
import pytest

from guardian.kafka.gate import needs_no_proof
from guardian.kafka.session import BrokerSession


class ScriptedSession(BrokerSession):
    """Brokers that know topics or lag behind, without a network."""

    def __init__(self, known_by_broker: dict[int, set[str]]) -> None:
        connections = SimpleNamespace(known_brokers=lambda: list(known_by_broker))
        super().__init__(connections, 0.0, 1.0, needs_no_proof)  # type: ignore[arg-type]
        self.known_by_broker = known_by_broker
        self.asked: list[tuple[int, set[str]]] = []

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        return self._answer(min(self.known_by_broker), request())

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, kafka_errors.KafkaError]]:
        assert limit_s is not None, "a broker that hangs must not take the time of all"
        return {broker: self._answer(broker, request(broker)) for broker in brokers}, {}

    def _answer(self, broker: int, names: Collection[str]) -> dict[str, int]:
        self.asked.append((broker, set(names)))
        return {name: broker for name in names if name in self.known_by_broker[broker]}

    def ask(self, *names: str) -> dict[str, int]:
        return asyncio.run(self.ask_until_known(names, lambda names: names, lambda answer: answer))


def test_a_topic_that_one_broker_does_not_know_yet_is_asked_of_the_others() -> None:
    """KAFKA.md, trap 9."""
    session = ScriptedSession({1: {"old"}, 2: {"old", "new"}, 3: {"old"}})
    assert session.ask("old", "new", "none") == {"old": 1, "new": 2}
    assert session.asked == [(1, {"old", "new", "none"}), *((broker, {"new", "none"}) for broker in (1, 2, 3))]


def test_known_topics_are_asked_of_one_broker_only_and_none_of_nobody() -> None:
    session = ScriptedSession({1: {"old"}, 2: {"old"}})
    assert session.ask("old") == {"old": 1}
    assert session.ask() == {}
    assert session.asked == [(1, {"old"})]


class RestartedBrokerSession(BrokerSession):
    """Broker 2 answers only after the metadata has been read anew; broker 3 never."""

    def __init__(self) -> None:
        async def sleep(seconds: float) -> None:
            assert seconds <= 1.0

        connections = SimpleNamespace(connection_delay_s={1: 0.1, 2: 0.1, 3: 0.1}.__getitem__, sleep=sleep)
        super().__init__(connections, time.monotonic() + 60, 60.0, needs_no_proof)  # type: ignore[arg-type]
        self.is_fresh = False
        self.asked: list[set[int]] = []

    async def refresh_metadata(self) -> None:
        self.is_fresh = True

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, kafka_errors.KafkaError]]:
        self.asked.append(set(brokers))
        able = {1, 2} if self.is_fresh else {1}
        assert limit_s is None
        return (
            {broker: request(broker) for broker in self.asked[-1] & able},
            {broker: kafka_errors.UnknownBrokerIdError(broker) for broker in self.asked[-1] - able},
        )


def test_a_broker_that_stale_metadata_hides_is_asked_again() -> None:
    """KAFKA.md, trap 3."""
    session = RestartedBrokerSession()
    answers, failures = asyncio.run(session.ask_each([1, 2, 3], lambda broker: f"answer of {broker}"))
    assert answers == {1: "answer of 1", 2: "answer of 2"}
    assert failures.keys() == {3}
    assert session.asked == [{1, 2, 3}, {2, 3}]


def test_what_still_waits_when_a_call_has_failed_is_not_sent() -> None:
    """Of several brokers one fails the call, and another's connection comes up after that."""

    async def connected(broker: int) -> None:
        assert broker == 1

    proofs: list[int] = []
    connections = SimpleNamespace(connection=connected)
    session = BrokerSession(connections, time.monotonic() + 60, 60.0, lambda: proofs.append(1))  # type: ignore[arg-type]
    session.end()
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        asyncio.run(session._send(1, "request", time.monotonic() + 60))
    assert not proofs
