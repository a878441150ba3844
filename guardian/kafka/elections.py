"""Elections of preferred leaders: the first replica of a partition becomes its leader."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from guardian.kafka.kafka_python import ElectionType, ElectLeadersRequest
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import slices
from guardian.kafka.topics import numbers_by_topic
from guardian.model.topology import TopicPartition

_ELECTION_NOT_NEEDED = 84


async def elect(session: BrokerSession, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
    """Return the partitions whose preferred leader was not elected, with the reason."""
    refused: dict[TopicPartition, str] = {}
    for part in slices(partitions):
        refused |= read_refusals(await session.ask_any(partial(elect_request, part, session.attempt_ms)))
    return refused


def elect_request(partitions: Collection[TopicPartition], timeout_ms: int) -> Any:
    """Ask for the preferred leaders of these partitions."""
    return ElectLeadersRequest(
        election_type=ElectionType.PREFERRED,
        topic_partitions=numbers_by_topic(partitions),
        timeout_ms=timeout_ms,
    )


def read_refusals(response: Any) -> dict[TopicPartition, str]:
    """Return the partitions that were refused, with the reason; not needed is no error."""
    return {
        TopicPartition(topic.topic, result.partition_id): reason(result.error_code, result.error_message)
        for topic in response.replica_election_results
        for result in topic.partition_result
        if result.error_code not in (NO_ERROR, _ELECTION_NOT_NEEDED)
    }
