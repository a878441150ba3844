"""What a broker says of topics and brokers: requests for Metadata, and how its answers are read."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from typing import Any

from guardian.kafka.kafka_python import MetadataRequest, kafka_errors
from guardian.model.cluster_state import BrokerAnswer, BrokerNode, BrokerView, Leadership, PartitionState
from guardian.model.topology import TopicPartition

_TOPICS_BY_ID = 12  # the first version of MetadataRequest that takes topic ids
_WITH_IDS = 10  # the first that tells them, and leader epochs
_UNKNOWN_TOPICS = (3, 17, 100)  # unknown by name, an invalid name, unknown by id


def metadata_request(topics: Collection[str] | None) -> Any:
    """Ask for these topics (None: for all) and for the brokers that live."""
    return MetadataRequest(
        topics=None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics],
        allow_auto_topic_creation=False,
        min_version=_WITH_IDS,
    )


def view_request(topic_ids: Collection[bytes]) -> Any:
    """Ask for topics by their ids."""
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=uuid.UUID(bytes=each), name=None) for each in topic_ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False, min_version=_TOPICS_BY_ID)


def known_topics(response: Any) -> Iterator[Any]:
    """Yield the topics that exist. Raises KafkaError when one may not be described."""
    for topic in response.topics:
        error = kafka_errors.for_code(topic.error_code)
        if issubclass(error, kafka_errors.AuthorizationError):
            raise error(f"describe topic {topic.name or topic.topic_id}")
        if topic.error_code not in _UNKNOWN_TOPICS:
            yield topic


def read_answer(response: Any) -> BrokerAnswer:
    """Return all that a broker said. Raises KafkaError as `known_topics`."""
    topics = list(known_topics(response))
    return BrokerAnswer(
        response.cluster_id or "",
        {
            broker.node_id: BrokerNode(broker.node_id, broker.host, broker.port, broker.rack or "")
            for broker in response.brokers
        },
        {
            TopicPartition(topic.name, partition.partition_index): PartitionState(
                partition.leader_id,
                tuple(partition.replica_nodes),
                tuple(partition.isr_nodes),
                partition.leader_epoch,
            )
            for topic in topics
            for partition in topic.partitions
        },
        {topic.name: topic.topic_id.bytes for topic in topics},
    )


def read_view(response: Any) -> BrokerView:
    """Return who lives and who leads, as one broker says."""
    leaders = {
        (topic.topic_id.bytes, partition.partition_index): Leadership(partition.leader_id, partition.leader_epoch)
        for topic in known_topics(response)
        for partition in topic.partitions
    }
    return BrokerView(frozenset(broker.node_id for broker in response.brokers), leaders)
