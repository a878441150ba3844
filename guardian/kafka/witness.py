"""Finds a broker whose metadata is proven recent, and asks all of them where there is none.

    DescribeQuorum, forwarded by the broker ──▶ what the active controller has committed
    ApiVersions of the same broker          ──▶ what it has applied: its finalized features' epoch is that offset
    applied what was committed 2 s ago      ──▶ a witness, for a second

A broker that is cut off from the controllers can't forward the first, and never reaches the second. One request of each
kind a second is the price; a broker that does not answer at once is not waited for, the next ones are asked beside it.
Where none forwards, controllers are asked themselves, at the addresses that their quorum told before (since Kafka 3.9)
and at those that people registered.

Without a witness every broker is asked what it has applied, and the most recent ones for their metadata:
`guardian.kafka.cluster_truth` says what may be believed of that.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from guardian.errors import Undecided
from guardian.kafka.cluster_truth import ControllersClaim, EpochMemory, Watermarks, view_of_all, view_of_witness
from guardian.kafka.controllers import PROBE_S, Node, controllers, registered_controllers
from guardian.kafka.kafka_python import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    KafkaError,
    kafka_errors,
)
from guardian.kafka.metadata import metadata_request, read_answer
from guardian.kafka.reasons import is_passing
from guardian.model.cluster_state import BrokerAnswer, BrokerNode, ClusterView, FencedServer
from guardian.model.topology import Cluster

HOLDS_S = 1.0
_WAVES = ((0.0, 1), (0.3, 3), (0.9, 12))  # after so many seconds, so many more brokers are asked
_BESIDE_S = 0.005
_AGAIN_S = 0.05
_RESTS_S = 3.0  # after no broker reached a controller
_MOST_ASKED = 8
_BACKED_MS = 3_000
_METADATA = "__cluster_metadata"
_WITH_FEATURES = 3  # the first version of ApiVersions that tells features (Kafka 2.4)
_WITH_FENCED = 2  # the first version of DescribeCluster that tells fenced brokers (Kafka 4.0)

T = TypeVar("T")
Lags = Callable[[], Mapping[int, float]]


def no_lags() -> Mapping[int, float]:
    """Nobody tells how old the brokers' metadata is."""
    return {}


@dataclass(slots=True)
class ClusterMemory:
    """What is known of a cluster beyond one call and one connection. Any thread may use it."""

    epochs: EpochMemory = field(default_factory=EpochMemory)
    watermarks: Watermarks = field(default_factory=Watermarks)
    nodes: dict[int, BrokerNode] = field(default_factory=dict)  # where brokers listened when they last lived
    proven: tuple[int, float] | None = None  # the witness, and when controllers were asked about it
    controllers: tuple[Node, ...] = ()  # where they listen, the active one first, as their quorum last told
    registered: tuple[Node, ...] = ()  # where they listen as people say (bootstrap.controllers)
    silent_until_s: float = 0.0
    turn: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def of(cluster: Cluster) -> ClusterMemory:
        """Return what is known of a cluster that nobody has asked yet."""
        return ClusterMemory(registered=registered_controllers(cluster))

    def known_controllers(self) -> tuple[Node, ...]:
        """Return where to ask controllers: first as their quorum told, then as people say."""
        told = {(node.host, node.port) for node in self.controllers}
        return self.controllers + tuple(node for node in self.registered if (node.host, node.port) not in told)

    def forget_proof(self, broker: int) -> None:
        """It did not answer."""
        with self.lock:
            if self.proven is not None and self.proven[0] == broker:
                self.proven = None

    def recent_witness(self) -> int | None:
        """Return the broker that was proven at most `HOLDS_S` ago."""
        proven = self.proven
        return proven[0] if proven is not None and time.monotonic() - proven[1] <= HOLDS_S else None


class Session(Protocol):
    """What is needed of control's session."""

    @property
    def attempt_s(self) -> float: ...

    def left_s(self) -> float: ...

    def known_brokers(self) -> list[int]: ...

    def start(self, work: Callable[..., Any], *args: Any) -> Any:
        """Begin a coroutine and return its future."""

    async def sleep(self, seconds: float) -> None: ...

    async def ask_broker(self, broker: int, request: Any, limit_s: float) -> Any: ...

    async def ask_node(self, node: Node, request: Any, limit_s: float | None = None) -> Any: ...

    async def ask_once(
        self, brokers: Iterable[int], request: Callable[[int], Any], limit_s: float | None = None
    ) -> dict[int, Any]: ...

    async def refresh_metadata(self) -> None: ...


async def view(
    session: Session, memory: ClusterMemory, topics: Collection[str] | None, lags: Lags, known: Collection[int] = ()
) -> ClusterView:
    """Return what can be believed of the brokers and of these topics (None: of all). `known` are brokers that belong to
    the cluster, as far as somebody has said so. Raises KafkaError where no broker answers until the deadline, or one
    refuses us."""
    while True:
        witness = await find_witness(session, memory)
        if witness is None:
            found = await _view_without_witness(session, memory, topics, lags, known)
            if found is not None:
                return found
            if session.left_s() <= 0:
                raise kafka_errors.KafkaTimeoutError
            memory.silent_until_s = 0.0  # it is the brokers that are silent
            await session.sleep(_AGAIN_S)
            await session.refresh_metadata()
            continue
        try:
            answer = await _ask_witness(session, memory, witness, topics)
        except KafkaError as error:
            memory.forget_proof(witness)
            if not is_passing(error) or session.left_s() <= 0:
                raise
            await session.refresh_metadata()  # it may have moved, or be unknown to this connection
            continue
        if answer is None:
            continue
        memory.nodes.update(answer.brokers)
        with memory.lock:
            if topics is None:
                memory.epochs.keep_only(answer.topic_ids.values())
            return view_of_witness(witness, answer, memory.epochs)


async def find_witness(session: Session, memory: ClusterMemory, *, strictly: bool = False) -> int | None:
    """Return a broker whose metadata is proven recent, or, `strictly`, not older than this call; None: there is none.

    Raises KafkaError where a broker refuses us.
    """
    known = memory.recent_witness()
    if known is not None and not strictly:
        return known
    if time.monotonic() < memory.silent_until_s:
        return None
    has_time = session.left_s() >= session.attempt_s  # else it is the caller who was short of it, not the brokers
    order = _order(session.known_brokers(), memory)
    found = await _first_proven(session, memory, order, strictly=strictly)
    if found is None and await _controllers_answer(session, memory):
        found = await _most_recent(session, memory, order, strictly=strictly)
    if found is None and not strictly:
        found = memory.recent_witness()  # of another caller, meanwhile
    if found is None:
        if has_time:
            memory.silent_until_s = time.monotonic() + _RESTS_S
        await session.refresh_metadata()
    return found


async def fenced_servers(session: Session, memory: ClusterMemory) -> tuple[FencedServer, ...]:
    """Return the brokers that the controllers have fenced and that count themselves among the living.

    Before Kafka 4.0 those alone are known that lived when they were seen. Raises Undecided while no controller answers,
    KafkaError.
    """

    async def ask(witness: int) -> tuple[BrokerAnswer, dict[int, BrokerNode] | None]:
        answer = read_answer(await session.ask_broker(witness, metadata_request(()), session.attempt_s))
        return answer, await _fenced(session, witness)

    answer, fenced = await ask_witness(session, memory, ask, "which brokers are fenced")
    memory.nodes.update(answer.brokers)
    known = fenced if fenced is not None else {b: n for b, n in list(memory.nodes.items()) if b not in answer.brokers}
    asked = {b: session.start(_answer_of_fenced, session, node, answer.cluster_id) for b, node in known.items()}
    served = {broker: await future for broker, future in asked.items()}
    return tuple(
        FencedServer(broker, f"{known[broker].host}:{known[broker].port}", leads)
        for broker, leads in served.items()
        if leads is not None
    )


async def ask_witness(session: Session, memory: ClusterMemory, work: Callable[[int], Awaitable[T]], subject: str) -> T:
    """Return what `work` makes of a broker whose metadata is proven recent; of another one where that does not answer.
    Raises Undecided where there is none: `subject` is unknown then. Raises KafkaError."""
    while True:
        witness = await find_witness(session, memory)
        if witness is None:
            raise Undecided(f"no controller answers; {subject} is unknown until one does")
        try:
            return await work(witness)
        except KafkaError as error:
            memory.forget_proof(witness)
            if not is_passing(error) or session.left_s() <= 0:
                raise
            await session.refresh_metadata()


async def _fenced(session: Session, witness: int) -> dict[int, BrokerNode] | None:
    """None where brokers are too old to tell."""
    request = DescribeClusterRequest(include_fenced_brokers=True, min_version=_WITH_FENCED)
    try:
        answer = await session.ask_broker(witness, request, session.attempt_s)
    except kafka_errors.IncompatibleBrokerVersion:
        return None
    return {
        each.broker_id: BrokerNode(each.broker_id, each.host, each.port, each.rack or "")
        for each in answer.brokers
        if each.is_fenced
    }


async def _answer_of_fenced(session: Session, node: BrokerNode, cluster_id: str) -> int | None:
    """Return how many partitions it says that it leads; None: it does not answer, knows that it is fenced, or another
    cluster's broker is at its address by now."""
    try:
        answer = read_answer(
            await session.ask_node(Node(node.id, node.host, node.port), metadata_request(None), PROBE_S)
        )
    except KafkaError:
        return None
    if node.id not in answer.brokers or answer.cluster_id != cluster_id:
        return None
    return sum(state.leader == node.id for state in answer.partitions.values())


def _order(brokers: Collection[int], memory: ClusterMemory) -> list[int]:
    """The last witness first; the others in turn, so that those that hang are not always asked before the rest."""
    proven = memory.proven
    first = [proven[0]] if proven is not None and proven[0] in brokers else []
    rest = sorted(set(brokers) - set(first))
    start = memory.turn % len(rest) if rest else 0
    memory.turn += 1
    return [*first, *rest[start:], *rest[:start]]


async def _first_proven(session: Session, memory: ClusterMemory, order: list[int], *, strictly: bool) -> int | None:
    started_s = time.monotonic()
    end_s = started_s + min(session.attempt_s, session.left_s())
    waves, left = list(_WAVES), list(order)
    asked: dict[int, Any] = {}
    while True:
        now_s = time.monotonic()
        open_ones = [future for future in asked.values() if not future.is_done]
        if waves and left and (not open_ones or now_s - started_s >= waves[0][0]):
            for broker in left[: waves[0][1]]:
                asked[broker] = session.start(_testify, session, memory, broker, end_s, strictly)
            left, waves = left[waves[0][1] :], waves[1:]
        for broker, future in asked.items():
            if future.is_done and future.exception is None:
                return broker
            if future.is_done and isinstance(future.exception, _REFUSALS):
                raise future.exception
        if now_s >= end_s or (not (waves and left) and all(future.is_done for future in asked.values())):
            return None
        await session.sleep(_BESIDE_S)


_REFUSALS = (
    kafka_errors.ClusterAuthorizationFailedError,
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.IllegalSaslStateError,
)


async def _testify(session: Session, memory: ClusterMemory, broker: int, end_s: float, strictly: bool) -> None:
    """Returns once the broker has applied what the controllers had committed. Raises KafkaError."""
    asked_at_s = time.monotonic()
    quorum = await session.ask_broker(broker, _quorum_request(), end_s - time.monotonic())
    _learn(memory, quorum, asked_at_s)
    while True:
        versions = await session.ask_broker(broker, _versions_request(), end_s - time.monotonic())
        applied = versions.finalized_features_epoch
        with memory.lock:
            if applied >= memory.watermarks.least(time.monotonic(), strictly=strictly):
                memory.watermarks.applied = max(memory.watermarks.applied, applied)
                memory.proven = (broker, asked_at_s)
                return
        await session.sleep(_AGAIN_S)
        if time.monotonic() >= end_s:
            raise kafka_errors.KafkaTimeoutError(f"broker {broker} has not applied what the controllers committed")


def _learn(memory: ClusterMemory, quorum: Any, asked_at_s: float) -> None:
    """Take what the quorum says. Raises KafkaError where it is not to be believed."""
    claim = read_claim(quorum)
    with memory.lock:
        why_not = memory.watermarks.why_not(claim)
        if not why_not:
            memory.watermarks.learn(claim, asked_at_s)
            memory.controllers = tuple(controllers(quorum)) or memory.controllers
    if why_not:
        raise kafka_errors.NotControllerError(why_not)


async def _controllers_answer(session: Session, memory: ClusterMemory) -> bool:
    """Return whether one of the controllers tells what they have committed, asked over a connection of its own."""
    asked_at_s = time.monotonic()
    asked = [session.start(session.ask_node, node, _quorum_request(), PROBE_S) for node in memory.known_controllers()]
    answered = False
    for future in asked:
        with suppress(KafkaError):
            _learn(memory, await future, asked_at_s)
            answered = True
    return answered


async def _most_recent(session: Session, memory: ClusterMemory, order: list[int], *, strictly: bool) -> int | None:
    """A broker that has applied what the controllers committed, though it forwards nothing to them."""
    asked_at_s = time.monotonic()
    answers = await session.ask_once(order, lambda _: _versions_request(), min(session.attempt_s, PROBE_S))
    applied = {broker: answer.finalized_features_epoch for broker, answer in answers.items()}
    best = max(applied, key=lambda broker: applied[broker], default=None)
    with memory.lock:
        if best is None or applied[best] < memory.watermarks.least(time.monotonic(), strictly=strictly):
            return None
        memory.watermarks.applied = max(memory.watermarks.applied, applied[best])
        memory.proven = (best, asked_at_s)
    return best


def _quorum_request() -> Any:
    return DescribeQuorumRequest(topics=[(_METADATA, [(0,)])])


def read_claim(quorum: Any) -> ControllersClaim:
    """Read an answer to DescribeQuorum. Raises KafkaError where the controller can't tell just now."""
    partitions = [partition for topic in quorum.topics for partition in topic.partitions]
    for code in (quorum.error_code, *(partition.error_code for partition in partitions)):
        if code:
            raise kafka_errors.for_code(code)
    if not partitions:
        raise kafka_errors.LeaderNotAvailableError("the controllers' quorum has no leader")
    told = partitions[0]
    voters = {voter.replica_id: voter for voter in told.current_voters}
    leader = voters.get(told.leader_id)
    now_ms = leader.last_caught_up_timestamp if leader is not None else -1
    near = [each for each in voters.values() if now_ms < 0 or now_ms - each.last_caught_up_timestamp <= _BACKED_MS]
    return ControllersClaim(told.leader_epoch, told.high_watermark, len(near) * 2 > len(voters))


async def _ask_witness(
    session: Session, memory: ClusterMemory, witness: int, topics: Collection[str] | None
) -> BrokerAnswer | None:
    """None where the answer came too late to be covered by the proof. A topic that the witness does not know may have
    been made a moment ago. What it lacks is asked for once more, of a witness that knows all that is committed.
    """
    answer = await _covered(session, memory, witness, topics)
    missing = set(topics or ()) - answer.topic_ids.keys() if answer is not None else set()
    if answer is None or not missing:
        return answer
    newer = await find_witness(session, memory, strictly=True)
    return answer if newer is None else await _covered(session, memory, newer, topics)


async def _covered(
    session: Session, memory: ClusterMemory, witness: int, topics: Collection[str] | None
) -> BrokerAnswer | None:
    proven = memory.proven
    response = await session.ask_broker(witness, metadata_request(topics), session.attempt_s)
    is_late = proven is None or time.monotonic() - proven[1] > HOLDS_S + session.attempt_s
    return None if is_late else read_answer(response)


async def _view_without_witness(
    session: Session, memory: ClusterMemory, topics: Collection[str] | None, lags: Lags, known: Collection[int]
) -> ClusterView | None:
    """None where no broker answers at all."""
    limit_s = min(session.attempt_s, PROBE_S)
    known = {*known, *memory.nodes}
    lag_ms = dict(lags())  # before the brokers are asked: one that hears of the controllers in between is not fresh
    versions = await session.ask_once(session.known_brokers(), lambda _: _versions_request(), limit_s)
    applied = {broker: answer.finalized_features_epoch for broker, answer in versions.items()}
    newest = sorted(applied, key=lambda broker: (-applied[broker], broker))[:_MOST_ASKED]
    responses = await session.ask_once(newest, lambda _: metadata_request(topics), session.attempt_s)
    if not responses:
        return None
    answers = {broker: read_answer(response) for broker, response in responses.items()}
    there = answers.keys() | (applied.keys() - set(newest))  # who was asked for its metadata and gave none is silent
    with memory.lock:
        least = memory.watermarks.least(time.monotonic())
        lag_ms |= {broker: math.inf for broker, offset in applied.items() if offset < least}
        return view_of_all(answers, there, lag_ms, memory.epochs, known)


def _versions_request() -> Any:
    return ApiVersionsRequest(client_software_name="guardian", client_software_version="1", min_version=_WITH_FEATURES)
