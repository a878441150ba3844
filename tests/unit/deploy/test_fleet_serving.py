"""What a simulated broker sends: the reporter's protocol, and Kafka's as far as it is spoken."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import AsyncExitStack
from typing import Any

import grpc
import numpy as np
import pytest
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import ProduceRequest

from deploy.local import ports
from deploy.local.fleet.listening import HANDLERS, SimulatedKafka
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.serving import Served, answer, serve
from deploy.local.fleet.shape import ClusterShape, FleetSpec, fleet
from guardian.collection.rules.ingest import Asked, ingest
from guardian.collection.rules.layout import MetricLayout
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from guardian.errors import InvalidInput
from guardian.kafka import kafka_python
from guardian.kafka.witness import read_claim
from guardian.lake.model.schema import LOG_DIR_SAMPLES, METRIC_SAMPLES, PARTITION_SAMPLES
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc

NOW_MS = 1_795_000_000_000
SPEC = FleetSpec(brokers=12, replicas=60, clusters=1, seed=7)


@pytest.fixture(scope="module")
def shape() -> ClusterShape:
    return fleet(SPEC)[0]


@pytest.fixture(scope="module")
def broker(shape: ClusterShape) -> BrokerModel:
    return BrokerModel(shape, 2)


def asked(broker: BrokerModel, request: pb.CollectRequest) -> pb.MetricBatch:
    return pb.MetricBatch.FromString(answer(broker, request, NOW_MS))


def test_the_parts_of_an_answer_are_one_message(broker: BrokerModel) -> None:
    batch = asked(broker, pb.CollectRequest())
    assert list(batch.names) == broker.names()
    assert list(batch.ids) == list(range(len(batch.names)))
    assert list(batch.values) == broker.values(NOW_MS).tolist()
    assert (batch.cluster_id, batch.broker_id, batch.first_name_id) == (broker.shape.id, 3, 0)


def test_names_are_sent_to_those_who_lack_them(broker: BrokerModel) -> None:
    first = asked(broker, pb.CollectRequest())
    known = NOTHING_KNOWN.extended_by(first)
    again = asked(broker, known.request())
    assert not again.names
    assert known.extended_by(again) is known
    rest = asked(broker, pb.CollectRequest(dictionary_id=known.id, known_names=100))
    assert (rest.first_name_id, list(rest.names)) == (100, broker.names()[100:])
    for wrong in (
        pb.CollectRequest(dictionary_id=known.id ^ 1, known_names=100),
        pb.CollectRequest(dictionary_id=known.id, known_names=10**9),
    ):
        assert list(asked(broker, wrong).names) == broker.names()
    few = asked(broker, known.request(("kafka.server:type=ReplicaManager,name=LeaderCount",)))
    assert list(values_by_name(few, known)) == ["kafka.server:type=ReplicaManager,name=LeaderCount:Value"]


def test_the_lake_takes_every_replica_log_dir_and_kept_metric(broker: BrokerModel) -> None:
    batch = asked(broker, pb.CollectRequest())
    layout = MetricLayout().extended_by(batch)
    cluster = Cluster("sim-1", broker.broker.listener, broker.shape.id)
    rows = ingest(batch, layout, Asked(cluster, Broker(3), "m1", NOW_MS, NOW_MS))
    partitions = rows[PARTITION_SAMPLES].to_pylist()
    assert len(partitions) == sum(len(log_dir.replicas) for log_dir in batch.host.log_dirs) > 0
    assert all((row["fetch_lag"] is None) == row["is_leader"] for row in partitions)
    assert all((row["replicas"] == 3) == row["is_leader"] for row in partitions)
    assert all(row["topic_bytes_in_total"] > 0 for row in partitions if row["is_leader"])
    assert rows[LOG_DIR_SAMPLES].num_rows == SPEC.log_dirs
    assert rows[METRIC_SAMPLES].num_rows > 30


def test_each_broker_answers_at_its_own_address(shape: ClusterShape) -> None:
    (port,) = ports.pick(1)
    shape = fleet(FleetSpec(2, 4, 1, base_port=port))[0]
    brokers = [BrokerModel(shape, position) for position in range(2)]
    served = Served()

    async def run() -> list[int]:
        async with AsyncExitStack() as stack:
            await serve(brokers, stack, served, clock=lambda: NOW_MS / 1000)
            with pytest.raises(InvalidInput, match=f"base-port is {port}"):
                await serve(brokers[:1], stack, served)
            found = []
            for broker in brokers:
                async with grpc.aio.insecure_channel(
                    broker.broker.reporter, options=[("grpc.enable_http_proxy", 0)]
                ) as channel:
                    stub: Any = reporter_pb2_grpc.BrokerReporterStub(channel)
                    batch = await stub.Collect(pb.CollectRequest(), timeout=60)
                    assert batch.collected_at_ms == NOW_MS
                    found.append(batch.broker_id)
            return found

    assert asyncio.run(run()) == [1, 2]
    assert (served.answers, served.with_names) == (2, 2)


def spoken(kafka: SimulatedKafka, request: Any, kind: Any, version: int, node: int = 1) -> Any:
    request.API_VERSION = version
    request.with_header(correlation_id=77)
    response = kafka.answer(node, request.encode(header=True))
    assert response is not None
    found = kind.decode(response, version=version, header=True)
    assert found.header.correlation_id == 77
    return found


@pytest.mark.parametrize("version", [0, 1, 2])
def test_kafka_is_told_who_the_cluster_is(shape: ClusterShape, version: int) -> None:
    found = spoken(SimulatedKafka(shape), DescribeClusterRequest(), DescribeClusterResponse, version)
    assert found.cluster_id == shape.id
    assert [(one.broker_id, one.rack) for one in found.brokers] == [(one.id, one.rack) for one in shape.brokers]
    assert [f"{one.host}:{one.port}" for one in found.brokers] == [one.listener for one in shape.brokers]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_its_controller_is_there_and_every_broker_has_heard_all_of_it(shape: ClusterShape, version: int) -> None:
    kafka = SimulatedKafka(shape)
    claim = read_claim(spoken(kafka, DescribeQuorumRequest(topics=[]), DescribeQuorumResponse, version))
    assert claim.is_backed
    versions = spoken(
        kafka, ApiVersionsRequest(client_software_name="g", client_software_version="1"), ApiVersionsResponse, 3
    )
    assert versions.finalized_features_epoch >= claim.high_watermark - 1


@pytest.mark.parametrize("version", [1, 5, 9, 12, 13])
def test_kafkas_metadata_is_what_the_metrics_say(shape: ClusterShape, version: int) -> None:
    kafka = SimulatedKafka(shape)
    found = spoken(kafka, MetadataRequest(topics=None), MetadataResponse, version)
    assert [topic.name for topic in found.topics] == list(shape.topics.names)
    assert [len(topic.partitions) for topic in found.topics] == shape.topics.partitions.tolist()
    leaders = [partition.leader_id - 1 for topic in found.topics for partition in topic.partitions]
    assert leaders == shape.partitions.leaders.tolist()
    in_sync = [len(partition.isr_nodes) for topic in found.topics for partition in topic.partitions]
    assert in_sync == (~shape.partitions.dead).sum(axis=1).tolist()


def test_one_topic_is_found_by_name_and_by_id_and_an_unknown_one_is_said_to_be(shape: ClusterShape) -> None:
    kafka = SimulatedKafka(shape)
    every = spoken(kafka, MetadataRequest(topics=None), MetadataResponse, 12).topics
    assert len({topic.topic_id for topic in every}) == len(every)
    entry = MetadataRequest.MetadataRequestTopic
    wanted = [
        entry(name=every[3].name),
        entry(topic_id=every[4].topic_id, name=None),
        entry(name="nobody"),
        entry(topic_id=uuid.UUID(int=5), name=None),
    ]
    found = spoken(kafka, MetadataRequest(topics=wanted), MetadataResponse, 12).topics
    assert [(topic.name, topic.error_code) for topic in found] == [
        (every[3].name, 0),
        (every[4].name, 0),
        ("nobody", 3),
        (None, 100),
    ]


def test_only_what_is_answered_is_offered(shape: ClusterShape) -> None:
    kafka = SimulatedKafka(shape)
    for version in (0, 3, 4):
        found = spoken(kafka, ApiVersionsRequest(), ApiVersionsResponse, version)
        assert {one.api_key for one in found.api_keys} == {18, *(kind.API_KEY for kind in HANDLERS)}
    request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=1, topic_data=[])
    request.API_VERSION = 9
    request.with_header(correlation_id=1)
    assert kafka.answer(1, request.encode(header=True)) is None


def test_every_kind_of_request_that_guardian_sends_is_answered() -> None:
    sent = {getattr(kafka_python, name) for name in kafka_python.__all__ if name.endswith("Request")}
    assert {ApiVersionsRequest, *HANDLERS} == sent


def test_a_replica_is_where_the_metrics_say_and_a_dead_disk_is_offline(
    shape: ClusterShape, broker: BrokerModel
) -> None:
    kafka = SimulatedKafka(shape)
    dead = np.argwhere(shape.dead_dirs).tolist()
    assert dead, "this shape has a dead disk"
    for position in {2, dead[0][0]}:
        found = spoken(kafka, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4, position + 1)
        log_dirs = BrokerModel(shape, position).batch(NOW_MS, pb.CollectRequest()).host.log_dirs
        told = {
            each.log_dir: {f"{topic.name}-{one.partition_index}" for topic in each.topics for one in topic.partitions}
            for each in found.results
        }
        assert told == {each.path: set(each.replicas) for each in log_dirs}
        assert {each.log_dir for each in found.results if each.error_code} == {
            each.path for each in log_dirs if each.offline
        }


def test_a_newer_client_is_told_which_version_to_use(shape: ClusterShape) -> None:
    header = np.array([18, 99], ">i2").tobytes() + np.array([5], ">i4").tobytes()
    response = SimulatedKafka(shape).answer(1, header + b"whatever comes with version 99")
    assert response is not None
    found = ApiVersionsResponse.decode(response, version=0, header=True)
    assert (found.header.correlation_id, found.error_code, len(found.api_keys)) == (5, 35, 1 + len(HANDLERS))
