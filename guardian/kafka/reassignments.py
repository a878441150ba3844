"""Reassignments of partitions: which are in flight, and how they are started and cancelled.

A reassignment may change a replication factor by mistake. Brokers since Kafka 4.1 refuse that where they are asked to
(KIP-860); for older ones `replication_factor_changes` finds the same beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardian.kafka.kafka_python import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    kafka_errors,
)
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import mapping_slices
from guardian.kafka.topics import numbers_by_topic
from guardian.model.cluster_state import PartitionState, Reassignment
from guardian.model.topology import TopicPartition

Targets = Mapping[TopicPartition, tuple[int, ...] | None]

_GUARDED = 1  # the first version of AlterPartitionReassignments with the guard
_NO_REASSIGNMENT_IN_PROGRESS = 85


class GuardMissing(Exception):
    """The brokers are older than the guard against changes of the replication factor (KIP-860)."""


def list_request(timeout_ms: int) -> Any:
    """Ask for every reassignment in flight."""
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None)


def read_reassignments(response: Any) -> dict[TopicPartition, Reassignment]:
    """Return what is in flight."""
    return {
        TopicPartition(topic.name, partition.partition_index): Reassignment(
            tuple(partition.replicas), tuple(partition.adding_replicas), tuple(partition.removing_replicas)
        )
        for topic in response.topics
        for partition in topic.partitions
    }


async def alter_reassignments(session: BrokerSession, targets: Targets, *, guarded: bool) -> dict[TopicPartition, str]:
    """Return the reassignments that were refused, with the reason. Raises GuardMissing where they are to be `guarded`
    and can't be."""
    refused: dict[TopicPartition, str] = {}
    for part in mapping_slices(targets):
        refused |= read_refusals(await _alter(session, part, guarded=guarded))
    return refused


async def _alter(session: BrokerSession, targets: Targets, *, guarded: bool) -> Any:
    guard = {"allow_replication_factor_change": False, "min_version": _GUARDED} if guarded else {}
    topics = [
        (topic, [(number, _replicas(targets[TopicPartition(topic, number)])) for number in numbers])
        for topic, numbers in numbers_by_topic(targets)
    ]
    try:
        return await session.ask_any(
            lambda: AlterPartitionReassignmentsRequest(timeout_ms=session.attempt_ms, topics=topics, **guard)
        )
    except kafka_errors.IncompatibleBrokerVersion as error:
        if guarded:
            raise GuardMissing from error
        raise


def read_refusals(response: Any) -> dict[TopicPartition, str]:
    """Return the partitions that were refused, with the reason; nothing to cancel is no error."""
    return {
        TopicPartition(topic.name, partition.partition_index): reason(partition.error_code, partition.error_message)
        for topic in response.responses
        for partition in topic.partitions
        if partition.error_code not in (NO_ERROR, _NO_REASSIGNMENT_IN_PROGRESS)
    }


def replication_factor_changes(
    targets: Targets,
    partitions: Mapping[TopicPartition, PartitionState],
    reassignments: Mapping[TopicPartition, Reassignment],
) -> dict[TopicPartition, str]:
    """Return the targets that would change a replication factor, with the reason.

    While a reassignment is in flight, the replication factor is that of its own target.
    """
    refused = {}
    for partition, replicas in targets.items():
        state = partitions.get(partition)
        if replicas is None or state is None:
            continue
        in_flight = reassignments.get(partition)
        present = len(in_flight.replicas) - len(in_flight.removing) if in_flight else len(state.replicas)
        if len(replicas) != present:
            refused[partition] = (
                f"INVALID_REPLICATION_FACTOR: the replication factor would change from {present} to {len(replicas)}"
            )
    return refused


def _replicas(replicas: tuple[int, ...] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)
