"""One look at a cluster for all tickets that run there: one read of each kind, of what they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from guardian.core.executing import brokers_of
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution
from guardian.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Scope:
    """The topics and brokers that decisions will ask about."""

    topics: frozenset[str] = frozenset()
    brokers: frozenset[int] = frozenset()

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.topics | other.topics, self.brokers | other.brokers)


def scope_of(work: Execution | Plan) -> Scope:
    """What is left to do of an execution, with the throttles that it set; all of a plan."""
    if isinstance(work, Plan):
        return Scope(frozenset(move.partition.topic for move in work.moves), brokers_of(work))
    topics = {task.move.partition.topic for task in work.tasks if not task.state.is_over}
    topics |= {intent.resource_name for intent in work.throttles if intent.resource_type == TOPIC}
    return Scope(frozenset(topics), brokers_of(work))


def observe(admin: KafkaAdmin, scopes: Iterable[Scope], now_ms: int) -> ClusterObservation:
    """The present state of all the scopes. Raises ClusterUnavailable.

    Reassignments are read before partitions: one that ends in between is seen in flight and looked at again later,
    never as over on replicas from before its end.
    """
    scope = Scope()
    for part in scopes:
        scope |= part
    brokers = admin.describe_cluster().brokers
    reassignments = admin.list_reassignments()
    return ClusterObservation(
        observed_at_ms=now_ms,
        brokers=brokers,
        partitions=admin.describe_partitions(scope.topics) if scope.topics else {},
        reassignments=reassignments,
        log_dirs=admin.describe_log_dirs(sorted(scope.brokers & brokers.keys())),
        configs=admin.describe_configs(_resources(scope.topics, scope.brokers & brokers.keys())),
    )


def _resources(topics: Collection[str], brokers: Collection[int]) -> list[tuple[str, str]]:
    return [(TOPIC, topic) for topic in sorted(topics)] + [(BROKER, str(broker)) for broker in sorted(brokers)]
