"""What a cluster of 200,000 partitions answers in one piece: read whole, and small enough at five times that."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DescribeLogDirsResponse, ListPartitionReassignmentsResponse
from kafka.protocol.metadata import MetadataResponse

from guardian.kafka import log_dirs, metadata, reassignments
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.kafka_python import login_of
from guardian.model.cluster_state import PartitionState, Reassignment
from guardian.model.topology import ClusterSecurity

pytestmark = pytest.mark.slow

MILLION = 1_000_000
TOPICS, EACH = 10_000, 20
COUNT = TOPICS * EACH
NAMES = [f"a.topic.with.a.name.of.{number:013d}" for number in range(TOPICS)]
TARGET = [1, 2, 3, 4, 5, 6]


def partitions_of(message: Any, **fields: Any) -> list[Any]:
    """The same of each partition of a topic."""
    return [message(partition_index=number, **fields) for number in range(EACH)]


def sent(response: Any, version: int) -> tuple[Any, int]:
    """As it comes over the wire, and how many bytes of it there would be with a million partitions."""
    encoded = response.encode(version=version)
    return type(response).decode(encoded, version=version), len(encoded) * MILLION // COUNT


def most_bytes(tmp_path: Path) -> int:
    """What a connection takes in one piece."""
    return int(login_of(ClusterSecurity(), 1.0, SecretFolder(tmp_path)).settings["receive_message_max_bytes"])


def test_metadata_of_all_topics(tmp_path: Path) -> None:
    topic, broker = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponseBroker
    told = partitions_of(
        topic.MetadataResponsePartition,
        error_code=0,
        leader_id=1,
        leader_epoch=7,
        replica_nodes=[1, 2, 3],
        isr_nodes=[1, 2, 3],
        offline_replicas=[],
    )
    topics = [
        topic(error_code=0, name=name, topic_id=uuid.uuid4(), is_internal=False, partitions=told) for name in NAMES
    ]
    brokers = [broker(node_id=number, host=f"broker-{number}", port=9092, rack="r") for number in range(1000)]
    response, size = sent(
        MetadataResponse(throttle_time_ms=0, brokers=brokers, cluster_id="c", controller_id=1, topics=topics), 12
    )
    answer = metadata.read_answer(response)
    assert len(answer.partitions) == COUNT
    assert set(answer.partitions.values()) == {PartitionState(1, (1, 2, 3), (1, 2, 3), 7)}
    assert size < most_bytes(tmp_path)


def test_log_dirs_of_a_broker_that_holds_a_replica_of_each(tmp_path: Path) -> None:
    result = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic
    told = partitions_of(topic.DescribeLogDirsPartition, partition_size=1 << 40, offset_lag=0, is_future_key=False)
    held = result(
        error_code=0,
        log_dir="/data",
        topics=[topic(name=name, partitions=told) for name in NAMES],
        total_bytes=1 << 50,
        usable_bytes=1 << 49,
    )
    response, size = sent(DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[held]), 4)
    (read,) = log_dirs.read_log_dirs({1: response})
    assert len(read.replicas) == COUNT
    assert size < most_bytes(tmp_path)


def test_reassignments_of_all_partitions_at_once(tmp_path: Path) -> None:
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    told = partitions_of(
        topic.OngoingPartitionReassignment, replicas=TARGET, adding_replicas=TARGET[:3], removing_replicas=TARGET[3:]
    )
    topics = [topic(name=name, partitions=told) for name in NAMES]
    response, size = sent(
        ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=topics), 0
    )
    found = reassignments.read_reassignments(response)
    assert len(found) == COUNT
    assert set(found.values()) == {Reassignment(tuple(TARGET), (1, 2, 3), (4, 5, 6))}
    assert size < most_bytes(tmp_path)
