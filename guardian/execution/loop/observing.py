"""One look at a cluster for all tickets that run there: one read of each kind, of what they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from guardian.errors import Undecided
from guardian.execution.loop.sending import min_insync
from guardian.execution.rules.beginning import TIERED
from guardian.execution.rules.brokers import brokers_of
from guardian.execution.rules.last_look import looks_once_more
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.cluster_state import BrokerNode, ClusterObservation, PartitionState, Unknown
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.text import some
from guardian.model.throttle import THROTTLES
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
    """Return what to observe: what is left to do of an execution, with the throttles that it set; all of a plan, and of
    what goes `back`.
    """
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
    reassignments = admin.list_reassignments()
    in_flight = {partition.topic for partition in reassignments} & scope.topics
    view = admin.view(None if scope.all_partitions else scope.topics)
    brokers = {broker: node for broker, node in view.brokers.items() if isinstance(node, BrokerNode)}
    partitions = {name: state for name, state in view.partitions.items() if isinstance(state, PartitionState)}
    is_one_away = not view.doubt and bool(_hosts(scope, partitions) - brokers.keys())
    fenced = admin.fenced_servers() if is_one_away else ()
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
        unknown_brokers={broker: found for broker, found in view.brokers.items() if isinstance(found, Unknown)},
        unknown_partitions={name: found for name, found in view.partitions.items() if isinstance(found, Unknown)},
        doubt=view.doubt,
        fenced_servers=fenced,
    )


def observe_known(admin: KafkaAdmin, scope: Scope, now_ms: int) -> ClusterObservation:
    """Return the present state of the scope. Raises ClusterUnavailable, and Undecided where its tickets must wait."""
    observation = observe(admin, [scope], now_ms)
    why = why_wait(scope, observation)
    if why:
        raise Undecided(why)
    return observation


def why_wait(scope: Scope, observation: ClusterObservation) -> str:
    """Return why a ticket of this scope waits: something that it touches is unknown, or has lost the controllers and
    serves clients all the same; empty: it may go on."""
    if observation.doubt:
        return f"the state of the cluster is unknown: {observation.doubt}"
    fenced = [
        server.title for server in observation.fenced_servers if scope.all_partitions or server.broker in scope.brokers
    ]
    if fenced:
        return "; ".join(fenced)
    brokers = {
        f"broker {broker}": found
        for broker, found in observation.unknown_brokers.items()
        if scope.all_partitions or broker in scope.brokers
    }
    partitions = {
        str(name): found
        for name, found in observation.unknown_partitions.items()
        if scope.all_partitions or name.topic in scope.topics
    }
    unknown = [f"{subject} ({found.reason})" for subject, found in (*brokers.items(), *partitions.items())]
    if not unknown:
        return ""
    return f"the state is unknown of {some(unknown)}"


def _hosts(scope: Scope, partitions: Mapping[TopicPartition, PartitionState]) -> frozenset[int]:
    return scope.brokers.union(*(state.replicas for state in partitions.values()))


def _resources(topics: Collection[str], brokers: Collection[int]) -> list[tuple[str, str]]:
    return [(TOPIC, topic) for topic in sorted(topics)] + [(BROKER, str(broker)) for broker in sorted(brokers)]
