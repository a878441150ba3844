"""Whom consumers read from, on real brokers that choose with guardian.kafka.IdcAwareReplicaSelector.

The consumer's rack has no broker. Its IDC has one, which leads nothing here: what that one gives to consumers, it was
chosen for. How much a broker has given them, it says itself. So it does whom it lets consumers read from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import grpc
import pytest
from confluent_kafka import TopicPartition as WirePartition

from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.collection.loop.asking import MappingAsker
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.links.loop.replica_selectors import reads_of
from guardian.links.rules.near_reads import NearReads, sightings
from guardian.model.topology import Broker, TopicPartition
from protos.guardian.v1 import reporter_pb2_grpc
from tests.integration.tiering.records import VALUE_BYTES, produce
from tests.patience import CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RACKS = ("shanghai-a", "shanghai-b", "suzhou-a")
LEADER, ELSEWHERE, IN_IDC = 1, 2, 3
CONSUMER_RACK = "suzhou-b"
SETTINGS = {
    "replica.selector.class": "guardian.kafka.IdcAwareReplicaSelector",
    "guardian.replica.warm.up.ms": "3600000",  # no test lasts that long
    "replica.lag.time.max.ms": "300000",  # nor falls out of sync who is slow
    "guardian.replica.max.lag.ms": "0",  # nor is passed over
}
RECORDS = 50
ALL_BYTES = RECORDS * VALUE_BYTES


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    spec = ClusterSpec("selector", log_dirs=1, heap_mb=256, racks=RACKS, settings=SETTINGS)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


def fill(kafka: KafkaCluster, topic: str, *replicas: int) -> None:
    """The topic's one partition, led by the first of the replicas, all of which have all records then."""
    data.create_topics(kafka.to_cluster(), {topic: {0: replicas}}, {"min.insync.replicas": "2"}, PATIENCE_S)
    produce(kafka.to_cluster(), topic, range(RECORDS), 1)


def move(kafka: KafkaCluster, topic: str, *replicas: int) -> None:
    """Returns when these are the replicas, all in sync, and the first one still leads."""
    partition = TopicPartition(topic, 0)
    with closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as control:
        assert control.alter_reassignments({partition: replicas}) == {}

        def is_done() -> bool:
            state = control.describe_partitions([topic])[partition]
            return (state.replicas, set(state.isr), state.leader) == (replicas, set(replicas), replicas[0])

        wait_for(f"{topic} is on {replicas}", is_done)


def read(kafka: KafkaCluster, topic: str, rack: str) -> None:
    """All records, as a consumer in that rack."""
    settings: dict[str, str | int | bool] = {
        "client_rack": rack,
        "auto_offset_reset": "error",
        "enable_auto_commit": False,
    }
    with closing(data.consumer(kafka.to_cluster(), f"reader-{time.time_ns()}", **settings)) as consumer:
        consumer.assign([WirePartition(topic, 0, 0)])
        deadline = time.monotonic() + PATIENCE_S
        expected = 0
        while expected < RECORDS:
            message = consumer.poll(1.0)
            assert time.monotonic() < deadline, f"{topic}: nothing after offset {expected - 1}"
            if message is not None:
                assert message.error() is None, f"{topic} at {expected}: {message.error()}"
                assert message.offset() == expected
                expected += 1


def given(kafka: KafkaCluster, topic: str) -> dict[int, float]:
    """By broker, the bytes of the topic that it has given to consumers."""
    name = f"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={topic}"
    found = {}
    for node in kafka.brokers:
        with grpc.insecure_channel(node.reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            batch = stub.Collect(NOTHING_KNOWN.request((name,)), timeout=PATIENCE_S)
        found[node.id] = values_by_name(batch, NOTHING_KNOWN.extended_by(batch)).get(f"{name}:Count", 0.0)
    return found


def reads(kafka: KafkaCluster, idcs: dict[int, str]) -> NearReads:
    """What Guardian makes of it when these are the data centres of the federation's brokers."""
    brokers = tuple(
        Broker(node.id, rack, idcs[node.id], node.reporter) for node, rack in zip(kafka.brokers, RACKS, strict=True)
    )
    cluster = replace(kafka.to_cluster(), brokers=brokers)
    with closing(KafkaControl(cluster, CONTROL_S)) as control:
        return reads_of(control, cluster, MappingAsker(None, PATIENCE_S).ask)


def test_brokers_tell_whom_consumers_read_from(kafka: KafkaCluster) -> None:
    idcs = {LEADER: "shanghai", ELSEWHERE: "shanghai", IN_IDC: "suzhou"}
    assert reads(kafka, idcs) == NearReads()
    (sighting,) = sightings("selector", reads(kafka, {**idcs, IN_IDC: "nanjing"}))
    assert sighting.evidence.startswith(
        "rack suzhou-a is in nanjing by the federation and in suzhou by the replica selector of brokers 1, 2, 3"
    )


def test_a_consumer_reads_from_the_replica_in_its_idc(kafka: KafkaCluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    fill(kafka, topic, LEADER, IN_IDC)
    read(kafka, topic, CONSUMER_RACK)
    near = given(kafka, topic)
    assert near[IN_IDC] >= ALL_BYTES
    assert near[LEADER] == 0

    read(kafka, topic, "nowhere-a")
    far = given(kafka, topic)
    assert far[LEADER] >= ALL_BYTES
    assert far[IN_IDC] == near[IN_IDC]


def test_a_consumer_that_names_its_idc_alone_reads_there(kafka: KafkaCluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    fill(kafka, topic, LEADER, IN_IDC)
    read(kafka, topic, "suzhou")
    found = given(kafka, topic)
    assert found[IN_IDC] >= ALL_BYTES
    assert found[LEADER] == 0


def test_a_replica_that_joined_a_short_while_ago_gets_no_reads(
    kafka: KafkaCluster, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    fill(kafka, topic, LEADER, ELSEWHERE)
    read(kafka, topic, CONSUMER_RACK)  # the leader has seen who is a replica
    move(kafka, topic, LEADER, IN_IDC)
    read(kafka, topic, CONSUMER_RACK)
    found = given(kafka, topic)
    assert found[LEADER] >= 2 * ALL_BYTES
    assert found[IN_IDC] == 0


def test_a_replica_that_was_there_before_anybody_read_counts_as_old(
    kafka: KafkaCluster, new_topic: Callable[[], str]
) -> None:
    """The same move as above: what keeps reads away there is when the leader has seen the replica first."""
    topic = new_topic()
    fill(kafka, topic, LEADER, ELSEWHERE)
    move(kafka, topic, LEADER, IN_IDC)
    read(kafka, topic, CONSUMER_RACK)
    found = given(kafka, topic)
    assert found[IN_IDC] >= ALL_BYTES
    assert found[LEADER] == 0
