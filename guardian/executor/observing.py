"""One look at a cluster for all tickets that run there: one read of each kind, of what they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from guardian.core.executing import TIERED, brokers_of, looks_once_more
from guardian.core.throttling import THROTTLES
from guardian.executor.sending import min_insync
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.cluster_state import ClusterObservation, PartitionState
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.topology import TopicPartition

_DECIDED_BY = THROTTLES | {TIERED}


@dataclass(frozen=True, slots=True)
class Scope:
    """The topics and brokers that decisions will ask about; `all_partitions`: those of all topics."""

    topics: frozenset[str] = frozenset()
    brokers: frozenset[int] = frozenset()
    all_partitions: bool = False

    def __or__(self, other: Scope) -> Scope:
        return Scope(
            self.topics | other.topics, self.brokers | other.brokers, self.all_partitions or other.all_partitions
        )


def scope_of(work: Execution | Plan, *, back: bool = False) -> Scope:
    """What is left to do of an execution, with the throttles that it set; all of a plan, and of what goes `back`."""
    if isinstance(work, Plan):
        return Scope(frozenset(move.partition.topic for move in work.moves), brokers_of(work))
    is_whole = back or looks_once_more(work)
    topics = {task.move.partition.topic for task in work.tasks if is_whole or not task.state.is_over}
    topics |= {intent.resource_name for intent in work.throttles if intent.resource_type == TOPIC}
    return Scope(frozenset(topics), brokers_of(work))


def observe(admin: KafkaAdmin, scopes: Iterable[Scope], now_ms: int) -> ClusterObservation:
    """The present state of all the scopes. Raises ClusterUnavailable.

    Reassignments are read before partitions: one that ends in between is seen in flight and looked at again later,
    never as over on replicas from before its end. A broker that does not tell its configuration in time is not asked
    for its log dirs: all wait for who is late.
    """
    scope = Scope()
    for part in scopes:
        scope |= part
    brokers = admin.describe_cluster().brokers
    reassignments = admin.list_reassignments()
    in_flight = {partition.topic for partition in reassignments} & scope.topics
    partitions = _partitions(admin, scope)
    configs = admin.describe_configs(_resources(scope.topics, scope.brokers & brokers.keys()), _DECIDED_BY)
    answering = {broker for broker in scope.brokers & brokers.keys() if (BROKER, str(broker)) in configs}
    return ClusterObservation(
        observed_at_ms=now_ms,
        brokers=brokers,
        partitions=partitions,
        reassignments=reassignments,
        log_dirs=admin.describe_log_dirs(sorted(answering), None if scope.all_partitions else partitions),
        configs=configs,
        min_insync=min_insync(admin, in_flight) if in_flight else {},
    )


def _partitions(admin: KafkaAdmin, scope: Scope) -> Mapping[TopicPartition, PartitionState]:
    if scope.all_partitions:
        return admin.describe_partitions()
    return admin.describe_partitions(scope.topics) if scope.topics else {}


def _resources(topics: Collection[str], brokers: Collection[int]) -> list[tuple[str, str]]:
    return [(TOPIC, topic) for topic in sorted(topics)] + [(BROKER, str(broker)) for broker in sorted(brokers)]
