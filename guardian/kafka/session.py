"""The questions of one call to the brokers: to any, to each of several, to controllers, to a witness.

Whatever fails in passing (a broker that has gone, a controller that has moved, stale metadata) is asked again of
another broker within the deadline of the call. All requests are idempotent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from guardian.kafka import controllers, witness
from guardian.kafka.gate import Prove
from guardian.kafka.kafka_python import Connections, KafkaError, KafkaTimeoutError, kafka_errors, send_now
from guardian.kafka.patience import Patience
from guardian.kafka.reasons import NO_ERROR, is_late, is_passing
from guardian.kafka.slices import MAX_DESCRIBED, slices
from guardian.kafka.witness import ClusterMemory

_PAUSE_S = 0.1

T = TypeVar("T")


class BrokerSession:
    """Asks brokers on behalf of one call, all under its deadline. Lives on the IO thread."""

    def __init__(
        self,
        connections: Connections,
        deadline: float,
        timeout_s: float,
        prove: Prove,
        memory: ClusterMemory | None = None,
    ) -> None:
        self.memory = memory
        self._connections = connections
        self._deadline = deadline
        self._prove = prove
        # A broker that hangs must leave time to ask another one.
        self.attempt_s = timeout_s / 3
        self._is_over = False
        self._took_s: dict[int, float] = {}  # over its last answer, by broker

    def end(self) -> None:
        """Send nothing from here on: of a call that asked several brokers and failed at one, some may still wait."""
        self._is_over = True

    @property
    def attempt_ms(self) -> int:
        """Return how long a broker may take over one request, in milliseconds."""
        return int(self.attempt_s * 1000)

    def left_s(self) -> float:
        """Return the seconds until the deadline; less than 0: it has passed."""
        return self._deadline - time.monotonic()

    def known_brokers(self) -> list[int]:
        """Return those that a connection can be made to."""
        return self._connections.known_brokers()

    def start(self, work: Callable[..., Any], *args: Any) -> Any:
        """Begin a coroutine; what it returns or raises is in the future."""
        return self._connections.start(work, *args)

    async def sleep(self, seconds: float) -> None:
        """Let others run meanwhile."""
        await self._connections.sleep(seconds)

    async def refresh_metadata(self) -> None:
        """Learn the brokers anew, as far as one tells them soon."""
        with suppress(KafkaError):
            await self._connections.wait_for(
                self._connections.start(self._connections.refresh_metadata),
                max(0.0, min(self.attempt_s, self.left_s())),
            )

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        """Return the answer of a broker whose metadata was proven recent, else of whichever gives one. Raises
        KafkaError at the deadline, or when a broker refuses us."""
        failure: KafkaError = KafkaTimeoutError()
        while self.left_s() > 0:
            broker = self._recent_broker()
            try:
                return await self._ask(
                    self._connections.least_loaded_broker() if broker is None else broker, request(), self.attempt_s
                )
            except KafkaError as error:
                if not is_passing(error):
                    raise
                failure = error
                if broker is not None and self.memory is not None:
                    self.memory.forget_proof(broker)
            await self._connections.sleep(_PAUSE_S)
            await self.refresh_metadata()
        raise failure

    async def ask_recent(self, request: Callable[[], Any]) -> Any:
        """Ask a broker whose metadata is proven recent, or any where there is none: for what brokers answer from
        their metadata. Raises KafkaError as `ask_any`."""
        await self.find_recent()
        return await self.ask_any(request)

    async def find_recent(self) -> None:
        """Prove the metadata of a broker recent, where that can be done: `ask_any` asks it first from then on."""
        if self.memory is not None:
            await witness.find_witness(self, self.memory)

    async def ask_broker(self, broker: int, request: Any, limit_s: float) -> Any:
        """Return the answer of this broker. Raises KafkaError."""
        return await self._ask(broker, request, max(0.0, limit_s))

    async def ask_node(self, node: controllers.Node, request: Any, limit_s: float | None = None) -> Any:
        """Return the answer of a node that need not be a broker. Raises KafkaError."""
        limit_s = min(self.attempt_s if limit_s is None else limit_s, self.left_s())
        asked = self._connections.start(self._send_to, node, request, time.monotonic() + limit_s)
        return await self._connections.wait_for(asked, limit_s)

    async def ask_controller(self, request: Callable[[], Any], registered: Sequence[controllers.Node] = ()) -> Any:
        """Return the answer of the first controller that gives one, the active one first. `registered` are addresses
        of controllers, which are asked who they are before any broker is. Raises KafkaError."""
        failure: KafkaError = kafka_errors.BrokerNotAvailableError("no controller tells where it listens")
        for node in controllers.controllers(await self._quorum(registered)):
            try:
                return await self.ask_node(node, request())
            except KafkaError as error:
                failure = error
        raise failure

    async def _quorum(self, registered: Sequence[controllers.Node]) -> Any:
        for node in registered:
            with suppress(KafkaError):
                quorum = await self.ask_node(node, controllers.describe_quorum(), controllers.PROBE_S)
                if any(controllers.controllers(quorum)):
                    return quorum
        return await self.ask_any(controllers.describe_quorum)

    async def ask_each(
        self, brokers: Iterable[int], request: Callable[[int], Any], patience: Patience | None = None
    ) -> tuple[dict[int, Any], dict[int, KafkaError]]:
        """Return the answers of these brokers, and why the others gave none; without those that `patience` leaves out.
        Raises KafkaError when a broker refuses us."""
        limits = patience.limits(set(brokers), time.monotonic()) if patience else None
        answers, failures = await self._ask_in_parallel(brokers if limits is None else limits, request, limits)
        again = failures if limits is None else [broker for broker, why in failures.items() if not is_late(why)]
        if again and self.left_s() > 0:
            # A restarted broker, or one that joined since the last look, seems gone until the metadata is fresh.
            await self.refresh_metadata()
            delay_s = max(map(self._connections.connection_delay_s, again))
            await self._connections.sleep(min(self.left_s(), delay_s))
            late_answers, late_failures = await self._ask_in_parallel(again, request, limits)
            answers |= late_answers
            failures = {broker: why for broker, why in failures.items() if broker not in again} | late_failures
        if patience:
            for broker in answers:
                patience.was_in_time(broker, self._took_s.get(broker, 0.0))
            for broker in filter(lambda each: is_late(failures[each]), failures):
                patience.was_late(broker, time.monotonic())
        return answers, failures

    async def ask_once(
        self, brokers: Iterable[int], request: Callable[[int], Any], limit_s: float | None = None
    ) -> dict[int, Any]:
        """Return the answers of those brokers that give one soon. Raises KafkaError when a broker refuses us."""
        answers, failures = await self._ask_in_parallel(
            brokers, request, self.attempt_s if limit_s is None else limit_s
        )
        if failures:
            await self.refresh_metadata()  # so that one that has moved, or is new, is found by the next call
        return answers

    async def ask_until_known(
        self,
        names: Collection[str],
        request: Callable[[Collection[str]], Any],
        read: Callable[[Any], dict[str, T]],
        patience: Patience | None = None,
        most: int = MAX_DESCRIBED,
    ) -> dict[str, T]:
        """Return what brokers know of these names, asked by `most` at a time. A name is left out only when no broker
        that answers soon knows it: some lag behind."""
        found: dict[str, T] = {}
        for part in slices(sorted(names), most):
            found |= await self._ask_until_known(part, request, read, patience)
        return found

    async def _ask_until_known(
        self,
        names: Collection[str],
        request: Callable[[Collection[str]], Any],
        read: Callable[[Any], dict[str, T]],
        patience: Patience | None,
    ) -> dict[str, T]:
        known = read(await self.ask_any(lambda: request(names)))
        if unknown := set(names) - known.keys():
            limit_s = self.attempt_s if patience is None else min(patience.usual_s, self.attempt_s)
            answers, _ = await self._ask_in_parallel(self.known_brokers(), lambda _: request(unknown), limit_s)
            for answer in answers.values():
                known = read(answer) | known
        return known

    def _recent_broker(self) -> int | None:
        recent = self.memory.recent_witness() if self.memory is not None else None
        return recent if recent in self.known_brokers() else None

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, KafkaError]]:
        """Ask all at once; `limit_s` is what each may take, or all of them."""
        same_s = self.left_s() if limit_s is None else limit_s
        pending = {
            broker: self._connections.start(
                self._ask, broker, request(broker), same_s[broker] if isinstance(same_s, Mapping) else same_s
            )
            for broker in set(brokers)
        }
        answers, failures = {}, {}
        for broker, future in pending.items():
            try:
                answers[broker] = await future
            except KafkaError as error:
                if not is_passing(error):
                    raise
                failures[broker] = error
        return answers, failures

    async def _ask(self, broker: int | None, request: Any, limit_s: float) -> Any:
        limit_s, asked_at = min(limit_s, self.left_s()), time.monotonic()
        sent = self._connections.start(self._send, broker, request, asked_at + limit_s)
        response = await self._connections.wait_for(sent, limit_s)
        if broker is not None:
            self._took_s[broker] = time.monotonic() - asked_at
        error_code = getattr(response, "error_code", NO_ERROR)
        if error_code != NO_ERROR:
            raise kafka_errors.for_code(error_code)(getattr(response, "error_message", None) or "")
        return response

    async def _send(self, broker: int | None, request: Any, deadline: float) -> Any:
        """Send, unless the call is over: what waits for a connection is not in kafka-python's hands yet."""
        connection = await self._connections.connection(broker)
        if self._is_over:
            raise KafkaTimeoutError
        return await send_now(connection, request, self._proven_s(deadline))

    async def _send_to(self, node: controllers.Node, request: Any, deadline: float) -> Any:
        """Send over a connection of its own, which is closed afterwards."""
        connection = await self._connections.connection_to(node, deadline)
        try:
            return await send_now(connection, request, self._proven_s(deadline))
        finally:
            connection.close()

    def _proven_s(self, deadline: float) -> float:
        """Return the seconds left once that is proven, of a call that still waits. Raises what `prove` raises, and
        KafkaTimeoutError: who has stopped waiting may have decided otherwise by now."""
        self._prove()
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise KafkaTimeoutError
        return left_s


class WitnessSession:
    """Asks one broker what others may ask of any."""

    def __init__(self, session: BrokerSession, broker: int) -> None:
        self._session = session
        self._broker = broker

    @property
    def attempt_ms(self) -> int:
        """Return how long the broker may take over one request, in milliseconds."""
        return self._session.attempt_ms

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        """Return the answer of the broker. Raises KafkaError."""
        return await self._session.ask_broker(self._broker, request(), self._session.attempt_s)

    async def ask_once(self, brokers: Iterable[int], request: Callable[[int], Any]) -> dict[int, Any]:
        """Return the answers of those brokers that give one soon. Raises KafkaError when a broker refuses us."""
        return await self._session.ask_once(brokers, request)
