"""Makes tickets for replicas that have strayed to excluded brokers; guardian.healing.rules.straying says which.

The approval policy decides whether such a ticket needs a person, as for all that Guardian does by itself. Brokers that
a removal is emptying are left to it: it plans again until nothing is left there. Brokers are asked what their disks
hold only when something has strayed, and once a minute while that makes no ticket.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import islice

from guardian.cordons.loop import ClusterLook
from guardian.execution.loop.rehearsing import resolved_now
from guardian.federation.rules.placing import labels_by_topic
from guardian.federation.store import directory_of
from guardian.healing.rules import straying
from guardian.healing.rules.straying import BrokerPlace, Disks, Rules
from guardian.kafka.admin import KafkaAdmin
from guardian.model.actor import Agent
from guardian.model.cluster_state import PartitionState
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import BrokerState, TopicPartition
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore

_LOOKED_AT = 1_000  # tickets of a cluster, for one about the same strays
LOOK_MS = 60_000


@dataclass(frozen=True, slots=True)
class _Said:
    """Why these strays stay where they are."""

    at_ms: int
    found: Mapping[TopicPartition, tuple[int, ...]]
    sentences: tuple[str, ...]


class StrayGuard:
    """`settings` are the planner's: of labels, and of how full disks may be. `throttle` is bytes/s per broker.
    `why_not_move` tells of a cluster why nothing is to be moved there by itself now, as in a storm ("": it may be).
    """

    def __init__(
        self,
        store: ReplicatedStore,
        settings: PlannerSettings,
        throttle: int,
        now_ms: Callable[[], int],
        why_not_move: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._store = store
        self._settings = settings
        self._throttle = throttle
        self._now_ms = now_ms
        self._why_not_move = why_not_move
        self._said: dict[str, _Said] = {}  # by cluster

    def __call__(self, seen: ClusterLook, admin: KafkaAdmin) -> list[str]:
        """Look for strays and return in sentences what was found and done about it. Raises GuardianError when the plan
        does not fit any more.
        """
        if not seen.excluded:
            return []
        views = self._store.read_local()
        looked_after = seen.excluded - _being_emptied(views, seen.cluster)
        cordons = [cordon for cordon in views.cordons(seen.cluster) if cordon.broker_id in looked_after]
        leave = _moving(views, seen.cluster) | seen.reassignments.keys()
        found = straying.strays(cordons, seen.partitions, leave)
        if not found:
            return []
        now = self._now_ms()
        recent = views.recent_tickets(now - straying.RETRY_MS, (seen.cluster, Agent.HEALING))
        reason = straying.why_not_now(recent, now) or self._why_not_move(seen.cluster)
        if reason:
            return [f"{len(found)} partitions of cluster {seen.cluster} have strayed to excluded brokers: {reason}"]
        said = self._said.get(seen.cluster)
        if said is not None and said.found == found and 0 <= now - said.at_ms < LOOK_MS:
            return list(said.sentences)
        return self._moved(views, seen, found, admin)

    def _moved(
        self,
        views: Views,
        seen: ClusterLook,
        found: Mapping[TopicPartition, tuple[int, ...]],
        admin: KafkaAdmin,
    ) -> list[str]:
        directory = directory_of(views, None).of_cluster(seen.cluster)
        log_dirs = admin.describe_log_dirs(sorted(seen.description.brokers))
        relocation = straying.relocate(
            seen.cluster,
            found,
            seen.partitions,
            _places(directory, seen),
            seen.excluded,
            _rules(directory, self._settings.shared_labels, seen.partitions),
            Disks.of(log_dirs, self._settings.disk_limit, self._settings.disk_reserve),
            self._now_ms(),
        )
        if relocation.plan is None:
            return self._stay(seen.cluster, found, relocation.unplaced)
        newest = islice(views.walk_tickets(seen.cluster, kind=straying.KIND), _LOOKED_AT)
        key = straying.idempotency_key(relocation.plan, newest)
        known = views.ticket_by_idempotency_key(key)
        if known is not None:
            sentence = f"{len(found)} strays of cluster {seen.cluster} stay: ticket {known.id} was {known.state.name}"
            return self._stay(seen.cluster, found, (sentence, *relocation.unplaced))
        ticket = self._add(resolved_now(admin, relocation.plan), key)
        moves = f"ticket {ticket.id} moves {ticket.moves} partitions of cluster {seen.cluster} that have strayed"
        return [moves, *relocation.unplaced]

    def _stay(
        self, cluster: str, found: Mapping[TopicPartition, tuple[int, ...]], sentences: tuple[str, ...]
    ) -> list[str]:
        self._said[cluster] = _Said(self._now_ms(), found, sentences)
        return list(sentences)

    def _add(self, plan: Plan, key: str) -> Ticket:
        now = self._now_ms()
        reason = plan.input
        return self._store.add_ticket(
            Ticket(
                id=f"t-{secrets.token_hex(4)}",
                cluster=plan.cluster,
                kind=plan.kind,
                state=TicketState.PENDING,
                author=Agent.HEALING,
                plan_hash=self._store.put_plan(plan),
                throttle=self._throttle,
                created_at_ms=now,
                updated_at_ms=now,
                history=(TicketTransition(TicketState.PENDING, now, Agent.HEALING, reason),),
                idempotency_key=key,
                moves=len(plan.moves),
                bytes_to_copy=plan.bytes_to_copy,
                evidence="\n".join(straying.evidence(plan)),
            )
        )


def _being_emptied(views: Views, cluster: str) -> frozenset[int]:
    """Return the brokers that removals under way empty. Other tickets about brokers, such as a rolling restart, move
    nothing off them.
    """
    return frozenset(
        broker
        for ticket in views.driven_tickets(cluster)
        if ticket.ask is not None and ticket.ask.kind.traits.empties
        for broker in ticket.ask.brokers
    )


def _moving(views: Views, cluster: str) -> frozenset[TopicPartition]:
    """The partitions that tickets move, or are about to."""
    found: set[TopicPartition] = set()
    for ticket in views.driven_tickets(cluster):
        execution = views.execution(ticket.id)
        if execution is not None:
            found |= {task.move.partition for task in execution.tasks if not task.state.is_over}
            continue
        plan = views.plan(ticket.plan_hash) if ticket.plan_hash else None
        found |= {move.partition for move in plan.moves} if plan is not None else set()
    return frozenset(found)


def _places(directory: Directory, seen: ClusterLook) -> dict[int, BrokerPlace]:
    """The live brokers. Those that drain or are expected to be away take nothing."""
    brokers = directory.brokers_of(seen.cluster)
    places: dict[int, BrokerPlace] = {}
    for node in seen.description.brokers.values():
        broker = brokers.get(node.id)
        if broker is None:
            places[node.id] = BrokerPlace(node.rack)
        elif broker.state is BrokerState.ACTIVE or node.id in seen.excluded:
            places[node.id] = BrokerPlace(node.rack, broker.idc, broker.label)
    return places


def _rules(
    directory: Directory, shared_labels: Collection[str], partitions: Mapping[TopicPartition, PartitionState]
) -> Rules:
    policies = {policy.name: policy for policy in directory.policies}
    factors = {partition.topic: len(state.replicas) for partition, state in partitions.items()}
    return Rules(
        labels_by_topic(directory.topics, directory.tenants),
        shared_labels,
        {
            topic.name: dict(policies[topic.idc_policy].of_factor(factors.get(topic.name, 0)).replicas)
            for topic in directory.topics
            if topic.idc_policy in policies
        },
    )
