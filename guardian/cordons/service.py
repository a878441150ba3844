"""The Placement service: what controllers ask about new topics, and what is cordoned.

The rules follow from what this member has stored, made once for each state of the store, and once a second at most.
Controllers ask every second, and get the whole of it only when something of their cluster has changed. They are told
even while the group has no leader: that a topic may be created must not depend on it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import grpc

from guardian.cordons.rules import is_in_force
from guardian.errors import NotFound
from guardian.federation.rules.placing import labels_by_topic
from guardian.federation.store import exclusions_of, machines_of, tenants_of, topics_of
from guardian.model.directory import placed_brokers
from guardian.model.plan import PartitionMove
from guardian.model.ticket import TicketState
from guardian.model.topology import Cluster, TopicPartition
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.paging import MAX_PAGE_BYTES, decode_token, encode_token, page_size
from guardian.serving.requests import require_cluster, views_for
from guardian.serving.sight import Sight
from guardian.serving.turns import LISTS
from guardian.serving.who_asks import who_asks
from guardian.tickets.kinds.registry import kind_of
from protos.guardian.v1 import placement_pb2 as pb
from protos.guardian.v1 import placement_pb2_grpc

_FRESH_MS = 1000
_CREATING = (TicketState.APPROVED, TicketState.RUNNING, TicketState.PAUSED)


class PlacementServicer(placement_pb2_grpc.PlacementServicer):
    """`shared_labels` are those whose brokers also hold topics without a label."""

    def __init__(self, store: ReplicatedStore, shared_labels: Collection[str], now_ms: Callable[[], int]) -> None:
        self._store = store
        self._shared_labels = tuple(sorted(shared_labels))
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._known: dict[str, _Made] = {}  # by cluster

    def GetPlacement(self, request: pb.GetPlacementRequest, context: grpc.ServicerContext) -> pb.PlacementRules:
        views = self._store.read_local()
        cluster = views.cluster_by_id(request.cluster_id)
        if cluster is None:
            raise NotFound(f"cluster_id is {request.cluster_id!r}, which is not registered: run `guardian cluster add`")
        rules = self._rules(views, cluster)
        if request.known_version == rules.version:
            return pb.PlacementRules(version=rules.version, is_unchanged=True, cluster=cluster.name)
        return rules

    def ListCordons(self, request: pb.ListCordonsRequest, context: grpc.ServicerContext) -> pb.ListCordonsReply:
        views, token = views_for(self._store, context), decode_token(request.page_token)
        require_cluster(views, request.cluster)
        with LISTS.one():
            shown, size = Sight(who_asks(), lambda: views).shown, page_size(request.page_size)
            cordons, last = views.cordon_page(request.cluster, token, size, MAX_PAGE_BYTES, shown)
            for cordon in cordons:
                del cordon.held[:]
            return pb.ListCordonsReply(cordons=cordons, next_page_token=encode_token(last))

    def _rules(self, views: Views, cluster: Cluster) -> pb.PlacementRules:
        now_ms = self._now_ms()
        with self._lock:
            known = self._known.get(cluster.name)
        if known is not None:
            # An exclusion ends by the clock too.
            is_same = known.applied_index == views.applied_index and not known.rules.excluded
            if is_same or 0 <= now_ms - known.at_ms < _FRESH_MS:
                return known.rules
        rules = rules_of(views, cluster, self._shared_labels, now_ms)
        with self._lock:
            self._known[cluster.name] = _Made(views.applied_index, now_ms, rules)
        return rules


@dataclass(frozen=True, slots=True)
class _Made:
    """Rules, and from what they were made."""

    applied_index: int
    at_ms: int
    rules: pb.PlacementRules


def rules_of(views: Views, cluster: Cluster, shared_labels: Collection[str], now_ms: int) -> pb.PlacementRules:
    """The cluster's rules with their version, which is a hash of them."""
    topics, exclusions = topics_of(views, cluster.name), exclusions_of(views, cluster.name)
    tenants = tenants_of(views) if any(topic.tenant for topic in topics) else ()
    brokers = placed_brokers(cluster.name, cluster.brokers, machines_of(views, cluster.name)).values()
    rules = pb.PlacementRules(
        cluster=cluster.name,
        excluded=[
            pb.ExcludedBroker(broker_id=exclusion.broker_id, who=exclusion.who, why=exclusion.why)
            for exclusion in exclusions.values()
            if is_in_force(exclusion, now_ms)
        ],
        label_of_broker={broker.id: broker.label for broker in brokers if broker.label},
        labels_of_topic={
            name: pb.TopicLabels(labels=labels) for name, labels in labels_by_topic(topics, tenants).items()
        },
        shared_labels=shared_labels,
    )
    created = {move.partition: move.target_brokers for move in _created(views, cluster.name)}
    for partition, replicas in (_restored(views, cluster.name) | created).items():
        rules.expected[partition.topic].partitions[partition.partition].brokers.extend(replicas)
    rules.version = hashlib.sha256(rules.SerializeToString(deterministic=True)).hexdigest()[:32]
    return rules


def _restored(views: Views, cluster: str) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the brokers of partitions of topics that tickets make anew on their way back."""
    rolled = views.open_tickets(cluster, [TicketState.ROLLING_BACK])
    requests = (each for each in rolled if not kind_of(each).moves_replicas)  # a plan of moves is large
    plans = [plan for each in requests if (plan := views.plan(each.plan_hash)) is not None]
    return {
        TopicPartition(name, number): brokers
        for plan in plans
        for name, topic in kind_of(plan).topics_restored(plan.task).items()
        for number, brokers in topic.assignments.items()
    }


def _created(views: Views, cluster: str) -> Iterator[PartitionMove]:
    """The partitions that tickets of the cluster create: they are written down before they are asked for."""
    for ticket in views.open_tickets(cluster, _CREATING):
        execution = views.execution(ticket.id)
        if execution is not None:
            yield from (task.move for task in execution.tasks if task.move.is_new)
            continue
        plan = views.plan(ticket.plan_hash) if ticket.plan_hash else None
        if plan is not None:
            yield from (move for move in plan.moves if move.is_new)
