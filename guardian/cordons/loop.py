"""Keeps cordons in step with exclusions, and hands what it saw to the guard that looks for strays. On the leader only.

    store ── exclusions, cordons ──▶ look at Kafka ──▶ rules.step ──▶ commit ──▶ send ──▶ strays

A cluster is looked at only while it has an exclusion or a cordon. One that does not answer holds up no other for longer
than its deadline, and its cordons wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from guardian.cordons import rules as cordoning
from guardian.cordons.rules import BrokerLook, is_in_force
from guardian.errors import Conflict, GuardianError
from guardian.execution.loop.proving import Proof, since_boot_s
from guardian.execution.loop.sending import send
from guardian.federation.store import exclusions_of
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterDescription, PartitionState, Reassignment
from guardian.model.cordon import Cordon
from guardian.model.effects import BROKER, CORDONED, AlterConfigs, SettleDebts
from guardian.model.topology import TopicPartition
from guardian.model.wire.cordons import cordon_to_proto
from guardian.replication.store.store import ReplicatedStore
from protos.guardian.v1 import placement_pb2, records_pb2

_CONFIRM_S = 2.0
# One command carries what several brokers held: with more of them, the rest waits for the next tick.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """A cluster as it was seen a moment ago."""

    cluster: str
    excluded: frozenset[int]
    description: ClusterDescription
    partitions: dict[TopicPartition, PartitionState]
    reassignments: dict[TopicPartition, Reassignment]


Guard = Callable[[ClusterLook, KafkaAdmin], list[str]]


class Cordoner:
    """`admin_for` gives the admin of a cluster by name, for this thread alone; `guard` is told of each look."""

    def __init__(
        self,
        store: ReplicatedStore,
        admin_for: Callable[[str], KafkaAdmin],
        now_ms: Callable[[], int],
        guard: Guard | None = None,
        since_boot_s: Callable[[], float] = since_boot_s,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._now_ms = now_ms
        self._guard = guard
        self._since_boot_s = since_boot_s

    def tick(self) -> list[str]:
        """A sentence for each thing that was done or is awaited. Raises Unavailable when the store does not answer."""
        views = self._store.read(_CONFIRM_S)
        cordons = views.cordons()
        sentences: list[str] = []
        for cluster in views.clusters():
            excluded = frozenset(
                exclusion.broker_id
                for exclusion in exclusions_of(views, cluster.name).values()
                if is_in_force(exclusion, self._now_ms())
            )
            known = [cordon for cordon in cordons if cordon.cluster == cluster.name]
            if excluded or known:
                sentences += self._tick_cluster(cluster.name, excluded, known)
        registered = {cluster.name for cluster in views.clusters()}
        return sentences + [
            f"the cordon of broker {cordon.broker_id} waits: cluster {cordon.cluster} is registered no longer"
            for cordon in cordons
            if cordon.cluster not in registered
        ]

    def _tick_cluster(self, cluster: str, excluded: frozenset[int], cordons: Collection[Cordon]) -> list[str]:
        try:
            admin = self._admin_for(cluster)
            seen = _look(cluster, excluded, admin)
            step = cordoning.step(cluster, excluded, cordons, _brokers(seen, cordons, admin), self._now_ms())
            self._store_step(cluster, step)
            revisions = {str(each.broker_id): each.revision for each in cordons}
            revisions |= {str(each.broker_id): each.revision + 1 for each in step.put}
            notes = self._send(cluster, AlterConfigs(step.changes), revisions, admin) if step.changes else []
            notes += self._send(cluster, SettleDebts(step.debts), revisions, admin) if step.debts else []
            strayed = self._guard(seen, admin) if self._guard is not None else []
        except GuardianError as error:
            return [f"the cordons of cluster {cluster} wait: {error}"]
        return [*step.sentences, *notes, *strayed]

    def _store_step(self, cluster: str, step: cordoning.CordonStep) -> None:
        for start in range(0, len(step.put), _AT_ONCE):
            command = placement_pb2.PutCordons(
                cluster=cluster, cordons=[cordon_to_proto(cordon) for cordon in step.put[start : start + _AT_ONCE]]
            )
            self._store.propose(records_pb2.Command(put_cordons=command))
        self._drop(cluster, {cordon.broker_id: cordon.revision for cordon in step.dropped})

    def _drop(self, cluster: str, revisions: Mapping[int, int]) -> None:
        if not revisions:
            return
        gone = [placement_pb2.DropCordon(broker_id=broker, revision=revision) for broker, revision in revisions.items()]
        command = placement_pb2.PutCordons(cluster=cluster, dropped=gone)
        self._store.propose(records_pb2.Command(put_cordons=command))

    def _send(
        self, cluster: str, effect: AlterConfigs | SettleDebts, revisions: Mapping[str, int], admin: KafkaAdmin
    ) -> list[str]:
        """Send what is about cordons that are still at these revisions, while this member leads. What is settled is
        dropped; what no controller takes stays owed."""
        at_s, stored = self._since_boot_s(), self._revisions(cluster)
        current = {name for name, revision in stored.items() if revisions.get(name) == revision}
        if isinstance(effect, AlterConfigs):
            effect = AlterConfigs({key: each for key, each in effect.changes.items() if key.resource_name in current})
        else:
            effect = SettleDebts({key: each for key, each in effect.values.items() if key.resource_name in current})
        with admin.each_change_proven_by(self._proof(cluster, stored, at_s).require):
            outcome = send(admin, effect)
        self._drop(cluster, {int(key.resource_name): stored[key.resource_name] for key in outcome.settled})
        return list(outcome.notes)

    def _revisions(self, cluster: str) -> dict[str, int]:
        """Read the revisions of the cluster's cordons, by broker, while this member leads. Raises Unavailable."""
        cordons = self._store.read_as_leader(_CONFIRM_S).cordons(cluster)
        return {str(cordon.broker_id): cordon.revision for cordon in cordons}

    def _proof(self, cluster: str, stored: Mapping[str, int], at_s: float) -> Proof:
        """That the cordons are still at the revisions that were confirmed at `at_s`."""

        def confirm() -> None:
            if self._revisions(cluster) != stored:
                raise Conflict(f"the cordons of cluster {cluster} were changed meanwhile: the next tick goes on")

        return Proof(confirm, self._since_boot_s, at_s)


def _look(cluster: str, excluded: frozenset[int], admin: KafkaAdmin) -> ClusterLook:
    """Reassignments first: one that ends in between is seen in flight, never as over on replicas from before."""
    reassignments = admin.list_reassignments()
    return ClusterLook(cluster, excluded, admin.describe_cluster(), admin.describe_partitions(), reassignments)


def _brokers(seen: ClusterLook, cordons: Collection[Cordon], admin: KafkaAdmin) -> dict[int, BrokerLook]:
    brokers = sorted(seen.excluded | {cordon.broker_id for cordon in cordons})
    alive = [(BROKER, str(broker)) for broker in brokers if broker in seen.description.brokers]
    configs = admin.describe_configs(alive, [CORDONED])
    effective = admin.effective_configs(alive, [CORDONED])
    found: dict[int, BrokerLook] = {}
    for broker in brokers:
        resource = (BROKER, str(broker))
        found[broker] = BrokerLook(
            # One that lives and does not answer is looked at again, as if it were down.
            is_alive=resource in configs and resource in effective,
            value=configs.get(resource, {}).get(CORDONED),
            knows_cordons=CORDONED in effective.get(resource, {}),
            holds=frozenset(partition for partition, state in seen.partitions.items() if broker in state.replicas),
        )
    return found
