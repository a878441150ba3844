"""Topics and partitions that are created with the replicas that a plan gives them, and topics that are deleted by id.

A request names the brokers of each partition, so that Kafka chooses none by itself; the log dirs were told to these
brokers before (trap 22). Repeating a request does no harm: what exists by then is left as it is, and is no error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from guardian.kafka.kafka_python import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.slices import mapping_slices
from guardian.model.effects import NewTopic
from guardian.model.topology import TopicPartition

_TOPIC_ALREADY_EXISTS = 36
_INVALID_PARTITIONS = 37  # also where so many exist already
_UNKNOWN_TOPIC = (3, 100)  # by its name, by its id
_BY_ID = 6  # the version of DeleteTopics that knows ids
_AS_ASSIGNED = -1

TopicNumbers = list[tuple[str, list[int]]]  # by topic, the numbers of partitions: as most requests name them


class Session(Protocol):
    """What these calls need of the connection: the answer of whichever broker gives one."""

    @property
    def attempt_ms(self) -> int: ...

    async def ask_any(self, request: Any) -> Any: ...


async def create_topics(session: Session, topics: Mapping[str, NewTopic], validate_only: bool) -> dict[str, str]:
    """The topics that were refused, with the reason."""
    refused: dict[str, str] = {}
    for part in mapping_slices(topics, weight=lambda topic: 1 + len(topic.assignments) + len(topic.configs)):
        refused |= await _create_topics(session, part, validate_only)
    return refused


async def _create_topics(session: Session, topics: Mapping[str, NewTopic], validate_only: bool) -> dict[str, str]:
    creatable = [
        CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=_AS_ASSIGNED,
            replication_factor=_AS_ASSIGNED,
            assignments=[(number, list(brokers)) for number, brokers in sorted(topic.assignments.items())],
            configs=list(topic.configs.items()),
        )
        for name, topic in topics.items()
    ]
    response = await session.ask_any(
        lambda: CreateTopicsRequest(
            topics=creatable, timeout_ms=session.attempt_ms, validate_only=validate_only, min_version=1
        )
    )
    harmless = (NO_ERROR,) if validate_only else (NO_ERROR, _TOPIC_ALREADY_EXISTS)
    return {
        topic.name: reason(topic.error_code, topic.error_message)
        for topic in response.topics
        if topic.error_code not in harmless
    }


async def create_partitions(
    session: Session, assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool
) -> dict[str, str]:
    """The topics that were refused, with the reason. The controller wants the brokers of the new ones, in order."""
    by_topic: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for partition, brokers in assignments.items():
        by_topic[partition.topic][partition.partition] = brokers
    refused: dict[str, str] = {}
    for part in mapping_slices(by_topic, weight=len):
        refused |= await _create_partitions(session, part, validate_only)
    return refused


async def _create_partitions(
    session: Session, by_topic: Mapping[str, Mapping[int, tuple[int, ...]]], validate_only: bool
) -> dict[str, str]:
    grown = [
        CreatePartitionsRequest.CreatePartitionsTopic(
            name=name, count=max(added) + 1, assignments=[(list(added[number]),) for number in sorted(added)]
        )
        for name, added in by_topic.items()
    ]
    response = await session.ask_any(
        lambda: CreatePartitionsRequest(topics=grown, timeout_ms=session.attempt_ms, validate_only=validate_only)
    )
    harmless = (NO_ERROR,) if validate_only else (NO_ERROR, _INVALID_PARTITIONS)
    return {
        result.name: reason(result.error_code, result.error_message)
        for result in response.results
        if result.error_code not in harmless
    }


async def delete_topics(session: Session, ids: Mapping[str, bytes]) -> dict[str, str]:
    """The topics that were refused, with the reason."""
    refused: dict[str, str] = {}
    for part in mapping_slices(ids):
        refused |= await _delete_topics(session, part)
    return refused


async def _delete_topics(session: Session, ids: Mapping[str, bytes]) -> dict[str, str]:
    names = {UUID(bytes=each): name for name, each in ids.items()}
    topics = [DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=each) for each in names]
    response = await session.ask_any(
        lambda: DeleteTopicsRequest(topics=topics, timeout_ms=session.attempt_ms, min_version=_BY_ID)
    )
    return {
        names[result.topic_id]: reason(result.error_code, result.error_message)
        for result in response.responses
        if result.error_code != NO_ERROR and result.error_code not in _UNKNOWN_TOPIC
    }


def numbers_by_topic(partitions: Iterable[TopicPartition]) -> TopicNumbers:
    """Return the partitions as most requests name them."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        numbers[partition.topic].append(partition.partition)
    return list(numbers.items())
