"""Reads who may lead without loss though not in sync: the ELR, which DescribeTopicPartitions tells (KIP-966).

A broker answers from its metadata, so only one is asked whose metadata is proven recent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from guardian.kafka.kafka_python import ApiVersionsRequest, DescribeTopicPartitionsRequest, kafka_errors
from guardian.kafka.reasons import NO_ERROR
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import slices
from guardian.kafka.witness import ClusterMemory, ask_witness
from guardian.model.cluster_state import Eligible, EligibleLeaders
from guardian.model.topology import TopicPartition

_FEATURE = "eligible.leader.replicas.version"
_WITH_FEATURES = 3  # the first version of ApiVersions that tells features (Kafka 2.4)
_MOST_PARTITIONS = 2000  # max.request.partition.size.limit, unless a broker has another
_MOST_TOPICS = 500


async def eligible_leaders(session: BrokerSession, memory: ClusterMemory, topics: Collection[str]) -> EligibleLeaders:
    """Return the ELR of partitions that have one. Raises Undecided while no controller answers, KafkaError."""

    async def ask(broker: int) -> EligibleLeaders:
        versions = ApiVersionsRequest(
            client_software_name="guardian", client_software_version="1", min_version=_WITH_FEATURES
        )
        answer = await session.ask_broker(broker, versions, session.attempt_s)
        levels = {each.name: each.max_version_level for each in answer.finalized_features or ()}
        found: dict[TopicPartition, Eligible] = {}
        try:
            for part in slices(sorted(topics), _MOST_TOPICS) if levels.get(_FEATURE) else ():
                found |= await _described(session, broker, part)
        except kafka_errors.IncompatibleBrokerVersion:
            return EligibleLeaders(is_kept=False)
        return EligibleLeaders(bool(levels.get(_FEATURE)), found)

    return await ask_witness(session, memory, ask, "which replicas may lead")


async def _described(session: BrokerSession, broker: int, topics: Collection[str]) -> dict[TopicPartition, Eligible]:
    """Return what all pages of the answer tell."""
    found: dict[TopicPartition, Eligible] = {}
    cursor: Any = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in topics],
            response_partition_limit=_MOST_PARTITIONS,
            cursor=cursor,
        )
        answer = await session.ask_broker(broker, request, session.attempt_s)
        found |= dict(read(answer))
        if answer.next_cursor is None:
            return found
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
        )


def read(answer: Any) -> Iterator[tuple[TopicPartition, Eligible]]:
    """Yield the partitions of an answer that have an ELR or a last known leader; a topic that is gone has none."""
    for topic in answer.topics:
        for each in topic.partitions if topic.error_code == NO_ERROR else ():
            eligible = Eligible(tuple(each.eligible_leader_replicas or ()), tuple(each.last_known_elr or ()))
            if eligible != Eligible():
                yield TopicPartition(topic.name, each.partition_index), eligible
