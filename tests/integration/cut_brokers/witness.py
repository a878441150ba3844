"""What one node says, over a socket of its own: Kafka's own answer, with none of Guardian's code between.

A broker answers Metadata and DescribeCluster from what it has heard, right or stale. DescribeQuorum it hands to the
active controller, so only a broker that reaches the controllers answers it.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest, ListPartitionReassignmentsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.parser import KafkaProtocol

_TIMEOUT_S = 5.0
_WITH_EPOCHS = 9  # of Metadata; Kafka has had it since 2.4
_WITH_FENCED = 2  # of DescribeCluster; Kafka has had it since 4.0
_WITH_TIMES = 1  # of DescribeQuorum; Kafka has had it since 3.3


@dataclass(frozen=True, slots=True)
class Seen:
    """A partition as one broker tells it."""

    leader: int
    epoch: int
    isr: frozenset[int]
    replicas: frozenset[int]


@dataclass(frozen=True, slots=True)
class QuorumSeen:
    """The controllers' view: by broker, the milliseconds between the active controller's now and its last fetch."""

    leader: int
    fetched_before_ms: Mapping[int, int]


def ask(endpoint: str, request: Any, timeout_s: float = _TIMEOUT_S) -> Any:
    """The node's answer. Raises OSError where it gives none in time."""
    host, port = endpoint.rsplit(":", 1)
    protocol = KafkaProtocol(client_id="witness")
    protocol.send_request(request)
    with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
        connection.sendall(protocol.send_bytes())
        while data := connection.recv(1 << 16):
            for _, answer in protocol.receive_bytes(data):
                return answer
    raise ConnectionResetError(f"{endpoint} closed the connection without an answer")


def partitions(endpoint: str, topics: Collection[str]) -> dict[tuple[str, int], Seen]:
    names = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    answer = ask(endpoint, MetadataRequest[_WITH_EPOCHS](topics=names, allow_auto_topic_creation=False))
    return {
        (topic.name, each.partition_index): Seen(
            each.leader_id, each.leader_epoch, frozenset(each.isr_nodes), frozenset(each.replica_nodes)
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def alive(endpoint: str) -> frozenset[int]:
    """The brokers that this one counts as not fenced."""
    return frozenset(broker.broker_id for broker in ask(endpoint, DescribeClusterRequest[0]()).brokers)


def fenced(endpoint: str) -> dict[int, bool]:
    """By broker, whether it is fenced, as this one has heard. Kafka before 4.0 closes the connection."""
    answer = ask(endpoint, DescribeClusterRequest[_WITH_FENCED](include_fenced_brokers=True))
    return {broker.broker_id: bool(broker.is_fenced) for broker in answer.brokers}


def quorum(endpoint: str, timeout_s: float = _TIMEOUT_S) -> QuorumSeen:
    """As the active controller says, asked through this node. Raises OSError where that does not reach it."""
    answer = ask(endpoint, DescribeQuorumRequest[_WITH_TIMES](topics=[("__cluster_metadata", [(0,)])]), timeout_s)
    (partition,) = (each for topic in answer.topics for each in topic.partitions)
    now_ms = max(voter.last_caught_up_timestamp for voter in partition.current_voters)
    fetched = {each.replica_id: now_ms - each.last_fetch_timestamp for each in partition.observers}
    return QuorumSeen(partition.leader_id, fetched)


def reassignments(endpoint: str) -> frozenset[tuple[str, int]]:
    """The partitions in flight, as the active controller says, asked through this broker."""
    answer = ask(endpoint, ListPartitionReassignmentsRequest[0](timeout_ms=round(_TIMEOUT_S * 1000), topics=None))
    return frozenset((topic.name, each.partition_index) for topic in answer.topics for each in topic.partitions)
