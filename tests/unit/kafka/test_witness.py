"""A witness is proven before it is believed: who is cut off, lags, or follows a controller of before is not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import kafka.errors as kafka_errors
import pytest
from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest, DescribeQuorumResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataResponse

from guardian.errors import Undecided
from guardian.kafka.cluster_truth import described, partitions_of
from guardian.kafka.controllers import Node
from guardian.kafka.witness import HOLDS_S, ClusterMemory, ask_witness, fenced_servers, find_witness, no_lags, view
from guardian.model import topology
from guardian.model.cluster_state import PartitionState
from guardian.model.topology import TopicPartition

pytestmark = pytest.mark.slow

T0 = TopicPartition("t", 0)
BEFORE, AFTER = PartitionState(1, (1, 2, 3), (1, 2, 3)), PartitionState(2, (1, 2, 3), (2, 3))


@dataclass
class Broker:
    """`forwards`: it reaches the controller; `answers`: Guardian reaches it; `leader` is whom it believes to lead."""

    forwards: bool = True
    answers: bool = True
    tells_metadata: bool = True
    applied: int = 99
    leader: int = 1
    alive: tuple[int, ...] = (1, 2, 3)
    controller_epoch: int = 7
    cluster_id: str = "c"


@dataclass
class Cluster:
    """A session's other side. `near` are voters that fetched a moment ago, of three."""

    brokers: dict[int, Broker] = field(default_factory=lambda: {1: Broker(), 2: Broker(), 3: Broker()})
    watermark: int = 100
    near: int = 3
    tells_fenced: bool = True
    controllers_reachable: bool = False  # by Guardian itself
    registered_at: tuple[str, int] | None = None  # where Guardian reaches one, as people say
    asked: list[tuple[int, str]] = field(default_factory=list)
    attempt_s: float = 1.5

    end_s: float = field(default_factory=lambda: time.monotonic() + 60.0)

    def left_s(self) -> float:
        return self.end_s - time.monotonic()

    def known_brokers(self) -> list[int]:
        return sorted(self.brokers)

    def start(self, work: Callable[..., Any], *args: Any) -> Future:
        return Future(asyncio.ensure_future(work(*args)))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def refresh_metadata(self) -> None:
        """Nothing is cached."""

    async def ask_once(
        self, brokers: Iterable[int], request: Callable[[int], Any], limit_s: float | None = None
    ) -> dict[int, Any]:
        answers = {}
        for broker in (each for each in brokers if self.brokers[each].answers):
            with suppress(kafka_errors.RequestTimedOutError):
                answers[broker] = await self.ask_broker(broker, request(broker), limit_s or 1.0)
        return answers

    async def ask_node(self, node: Node, request: Any, limit_s: float | None = None) -> Any:
        if node.node_id < 0:
            if (node.host, node.port) != self.registered_at:
                raise kafka_errors.KafkaConnectionError("cut")
            return self._quorum(7)
        if node.node_id >= 100:
            if not self.controllers_reachable:
                raise kafka_errors.KafkaConnectionError("cut")
            return self._quorum(7)
        return await self.ask_broker(node.node_id, request, limit_s or 1.0)

    async def ask_broker(self, broker: int, request: Any, limit_s: float) -> Any:
        if broker not in self.brokers:
            raise kafka_errors.UnknownBrokerIdError
        found = self.brokers[broker]
        self.asked.append((broker, type(request).__name__))
        if not found.answers or (isinstance(request, DescribeQuorumRequest) and not found.forwards):
            await asyncio.sleep(min(limit_s, 5.0))
            raise kafka_errors.RequestTimedOutError
        if isinstance(request, DescribeQuorumRequest):
            return self._quorum(found.controller_epoch)
        if isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(finalized_features_epoch=found.applied)
        if isinstance(request, DescribeClusterRequest):
            if not self.tells_fenced:
                raise kafka_errors.IncompatibleBrokerVersion("too old")
            return self._described(found)
        if not found.tells_metadata:
            raise kafka_errors.RequestTimedOutError
        return self._metadata(found)

    def _quorum(self, epoch: int) -> Any:
        voter = DescribeQuorumResponse.TopicData.PartitionData.ReplicaState
        voters = [
            voter(
                replica_id=100 + n,
                log_end_offset=self.watermark,
                last_fetch_timestamp=0,
                last_caught_up_timestamp=60_000 if n < self.near else 1_000,
            )
            for n in range(3)
        ]
        partition = DescribeQuorumResponse.TopicData.PartitionData(
            partition_index=0,
            error_code=0,
            leader_id=100,
            leader_epoch=epoch,
            high_watermark=self.watermark,
            current_voters=voters,
            observers=[],
        )
        topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[partition])
        listener = DescribeQuorumResponse.Node.Listener(name="CONTROLLER", host="c", port=1)
        nodes = [DescribeQuorumResponse.Node(node_id=100 + n, listeners=[listener]) for n in range(3)]
        return DescribeQuorumResponse(error_code=0, error_message=None, topics=[topic], nodes=nodes)

    def _described(self, asked: Broker) -> Any:
        class Answer:
            brokers = tuple(
                _Described(broker_id=broker, is_fenced=broker not in asked.alive) for broker in sorted(self.brokers)
            )

        return Answer

    def _metadata(self, asked: Broker) -> Any:
        nodes = [
            MetadataResponse.MetadataResponseBroker(node_id=broker, host="h", port=9000 + broker, rack=None)
            for broker in asked.alive
        ]
        state = BEFORE if asked.leader == 1 else AFTER
        partition = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
            error_code=0,
            partition_index=0,
            leader_id=state.leader,
            leader_epoch=state.leader,
            replica_nodes=list(state.replicas),
            isr_nodes=list(state.isr),
        )
        topic = MetadataResponse.MetadataResponseTopic(
            error_code=0, name="t", topic_id=_ID, is_internal=False, partitions=[partition]
        )
        return MetadataResponse(brokers=nodes, cluster_id=asked.cluster_id, controller_id=1, topics=[topic])

    def cut_off(self, *brokers: int) -> None:
        """These have lost the controllers, which have fenced the first of them since."""
        for broker in self.brokers.values():
            broker.applied, broker.leader = 199, 2
            broker.alive = tuple(b for b in (1, 2, 3) if b != brokers[0])
        for number in brokers:
            self.brokers[number] = Broker(forwards=False)
        self.watermark = 200


@dataclass
class _Described:
    broker_id: int
    is_fenced: bool
    host: str = "h"
    port: int = 9001
    rack: None = None


class Future:
    """As kafka-python's."""

    def __init__(self, task: asyncio.Future[Any]) -> None:
        self._task = task

    @property
    def is_done(self) -> bool:
        return self._task.done()

    @property
    def exception(self) -> BaseException | None:
        return self._task.exception()

    def __await__(self) -> Any:
        return self._task.__await__()


class _Id:
    bytes = b"t" * 16


_ID = _Id()


async def look(cluster: Cluster, memory: ClusterMemory) -> tuple[set[int], PartitionState]:
    found = await view(cluster, memory, None, no_lags)
    return set(described(found).brokers), partitions_of(found)[T0]


def test_one_request_of_each_kind_proves_a_witness_which_is_asked_alone_for_a_second() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        for _ in range(3):
            assert await look(cluster, memory) == ({1, 2, 3}, BEFORE)
        kinds = [kind for _, kind in cluster.asked]
        assert kinds == ["DescribeQuorumRequest", "ApiVersionsRequest", *["MetadataRequest"] * 3]
        assert len({broker for broker, _ in cluster.asked}) == 1
        assert memory.proven is not None
        memory.proven = (memory.proven[0], memory.proven[1] - HOLDS_S)
        await look(cluster, memory)
        assert [kind for _, kind in cluster.asked][5:7] == ["DescribeQuorumRequest", "ApiVersionsRequest"]

    asyncio.run(run())


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_broker_that_is_cut_off_is_never_believed_and_holds_nobody_up(cut: int) -> None:
    async def run() -> None:
        cluster, memory = Cluster(attempt_s=20.0), ClusterMemory()
        await look(cluster, memory)
        cluster.cut_off(cut)
        memory.proven = None
        for turn in range(6):
            memory.turn = turn
            memory.proven = None
            started = time.monotonic()
            brokers, state = await look(cluster, memory)
            assert (brokers, state) == ({1, 2, 3} - {cut}, AFTER)
            assert time.monotonic() - started < cluster.attempt_s

    asyncio.run(run())


def test_a_witness_that_died_or_that_this_connection_does_not_know_is_replaced_at_once() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        memory.proven = (4, time.monotonic())  # another connection has asked it
        assert await look(cluster, memory) == ({1, 2, 3}, BEFORE)
        assert memory.proven is not None
        cluster.brokers[memory.proven[0]].answers = False
        assert await look(cluster, memory) == ({1, 2, 3}, BEFORE)

    asyncio.run(run())


def test_brokers_that_are_all_silent_are_asked_until_the_deadline_and_that_is_no_unknown_state() -> None:
    async def run() -> None:
        cluster, memory = Cluster(attempt_s=0.1), ClusterMemory()
        for broker in cluster.brokers.values():
            broker.answers = False
        cluster.end_s = time.monotonic() + 0.5
        with pytest.raises(kafka_errors.KafkaTimeoutError):
            await look(cluster, memory)
        cluster.end_s = time.monotonic() + 60.0
        asking = asyncio.ensure_future(look(cluster, memory))
        await asyncio.sleep(0.3)
        for broker in cluster.brokers.values():
            broker.answers = True
        assert await asking == ({1, 2, 3}, BEFORE)

    asyncio.run(run())


def test_a_broker_that_has_not_applied_what_was_committed_is_no_witness() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        cluster.brokers[1].applied = cluster.brokers[2].applied = 90
        for turn in range(4):
            memory.turn, memory.proven = turn, None
            assert await find_witness(cluster, memory) == 3

    asyncio.run(run())


def test_a_controller_that_was_replaced_or_has_no_majority_proves_nobody() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        assert await find_witness(cluster, memory) is not None
        memory.proven = None
        for broker in cluster.brokers.values():
            broker.controller_epoch = 6
        assert await find_witness(cluster, memory) is None
        cluster, memory = Cluster(near=1), ClusterMemory()
        assert await find_witness(cluster, memory) is None

    asyncio.run(run())


def test_two_that_are_cut_off_together_with_guardian_decide_nothing() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        await look(cluster, memory)
        memory.proven = None
        cluster.cut_off(1, 2)
        cluster.brokers[3].answers = False
        with pytest.raises(Undecided, match="broker 3, which may know better, can't be reached"):
            await look(cluster, memory)

    asyncio.run(run())


def test_of_a_cluster_of_two_one_is_dead_and_the_controllers_word_is_enough_for_the_other() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        cluster.brokers = {1: Broker(answers=False), 2: Broker(alive=(2,), leader=2)}
        assert await look(cluster, memory) == ({2}, AFTER)
        cluster.brokers[2].forwards = False
        memory.proven = None
        with pytest.raises(Undecided, match="brokers 1, 3, which may know better, can't be reached"):
            await look(cluster, memory)

    asyncio.run(run())


def test_controllers_that_answer_guardian_itself_prove_a_broker_or_show_that_all_are_behind() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        await look(cluster, memory)
        assert [node.node_id for node in memory.controllers] == [100, 101, 102]
        for broker in cluster.brokers.values():
            broker.forwards = False
        cluster.controllers_reachable, memory.proven = True, None
        assert await look(cluster, memory) == ({1, 2, 3}, BEFORE)
        memory.proven, cluster.watermark = None, 200
        memory.watermarks._known.clear()
        with pytest.raises(Undecided, match="no broker that answers knows what the controllers decided last"):
            await look(cluster, memory)

    asyncio.run(run())


def test_a_broker_that_tells_how_far_it_is_and_then_nothing_more_may_know_better() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        cluster.cut_off(1)
        for broker in cluster.brokers.values():
            broker.forwards = False
        cluster.brokers[3].answers = cluster.brokers[2].tells_metadata = False
        with pytest.raises(Undecided, match="brokers 2, 3, which may know better, can't be reached"):
            await look(cluster, memory)

    asyncio.run(run())


def test_how_old_metadata_is_is_asked_before_the_metadata() -> None:
    """A broker that hears of the controllers in between has told old metadata, and is fresh."""

    async def run() -> None:
        cluster, asked_before = Cluster(), []
        for broker in cluster.brokers.values():
            broker.forwards = False

        def lags() -> dict[int, float]:
            asked_before.append([kind for _, kind in cluster.asked if kind == "MetadataRequest"])
            return {}

        await view(cluster, ClusterMemory(), None, lags)
        assert asked_before == [[]]
        assert "MetadataRequest" in [kind for _, kind in cluster.asked]

    asyncio.run(run())


def test_a_call_without_time_leaves_no_others_without_controllers() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        cluster.end_s = time.monotonic() + 0.001
        await asyncio.sleep(0.002)
        assert await find_witness(cluster, memory) is None
        cluster.end_s = time.monotonic() + 60.0
        assert await find_witness(cluster, memory) is not None

    asyncio.run(run())


def test_a_witness_that_does_not_answer_is_replaced_and_without_one_the_question_stays_open() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        asked: list[int] = []

        async def work(broker: int) -> int:
            asked.append(broker)
            if len(asked) == 1:
                cluster.brokers[broker].answers = False
                raise kafka_errors.RequestTimedOutError
            return broker

        found = await ask_witness(cluster, memory, work, "it")
        assert asked == [asked[0], found]
        assert found != asked[0]
        memory.proven = None
        for broker in cluster.brokers.values():
            broker.forwards = False
        with pytest.raises(Undecided, match="no controller answers; it is unknown until one does"):
            await ask_witness(cluster, memory, work, "it")
        with pytest.raises(Undecided, match="which brokers are fenced is unknown"):
            await fenced_servers(cluster, memory)

    asyncio.run(run())


def test_another_clusters_broker_at_the_address_of_a_fenced_one_is_not_it() -> None:
    async def run() -> None:
        cluster, memory = Cluster(), ClusterMemory()
        cluster.cut_off(1)
        assert [each.broker for each in await fenced_servers(cluster, memory)] == [1]
        cluster.brokers[1].cluster_id = "another"
        assert await fenced_servers(cluster, memory) == ()

    asyncio.run(run())


def test_controllers_that_people_registered_are_asked_before_any_broker_has_told_of_them() -> None:
    async def run() -> None:
        for registered in ("", "c:1", "gone:1,c:1"):
            cluster = Cluster(watermark=200, registered_at=("c", 1))
            for broker in cluster.brokers.values():
                broker.forwards = False
            memory = ClusterMemory.of(topology.Cluster("live", "h:9092", bootstrap_controllers=registered))
            if not registered:
                assert await look(cluster, memory) == ({1, 2, 3}, BEFORE), "all of them agree, and nobody knows better"
                continue
            with pytest.raises(Undecided, match="no broker that answers knows what the controllers decided last"):
                await look(cluster, memory)
            for broker in cluster.brokers.values():
                broker.applied = 199
            memory.silent_until_s = 0.0
            assert await look(cluster, memory) == ({1, 2, 3}, BEFORE)

    asyncio.run(run())


@pytest.mark.parametrize("tells_fenced", [True, False])
def test_a_fenced_broker_that_counts_itself_among_the_living_is_found(*, tells_fenced: bool) -> None:
    """Kafka 3.9 does not tell who is fenced: it is found where it lived at an earlier look."""

    async def run() -> None:
        cluster, memory = Cluster(tells_fenced=tells_fenced), ClusterMemory()
        assert await fenced_servers(cluster, memory) == ()
        cluster.cut_off(1)
        memory.proven = None
        (found,) = await fenced_servers(cluster, memory)
        assert (found.broker, found.address, found.leads) == (1, "h:9001", 1)
        if not tells_fenced:
            assert await fenced_servers(cluster, ClusterMemory()) == ()
        cluster.brokers[1].alive = (2, 3)  # it has heard of it
        assert await fenced_servers(cluster, memory) == ()
        cluster.brokers[1] = Broker(forwards=False, answers=False)
        assert await fenced_servers(cluster, memory) == ()

    asyncio.run(run())
