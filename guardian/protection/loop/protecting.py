"""Carries out protection: each tick looks at the clusters with unhealthy disks, decides, commits the intent, then acts.

    store ── what is held ──▶ look (reporters, Kafka) ──▶ rules.protecting.protect ──▶ commit ──▶ compare and set

The protector keeps nothing that it could not lose but samples: a new leader holds on to what is stored, and goes on
when it has looked for a window. It acts only after a commit or a ReadIndex has confirmed that it still leads. Clusters
are looked at in a thread each: one that does not answer holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol

from guardian.errors import GuardianError
from guardian.execution.loop.proving import Proof, since_boot_s
from guardian.execution.loop.sending import send
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.effects import ConfigKey
from guardian.model.protection import Protection
from guardian.model.quota import GroupMember, GroupMembers, GroupOffsets
from guardian.model.throttle import THROTTLES
from guardian.model.topology import TopicPartition
from guardian.protection.rules.disk_doings import BrokerLook, ClusterLook
from guardian.protection.rules.protecting import (
    ProtectionSettings,
    View,
    protect,
    without_debts,
)
from guardian.protection.rules.protection_levers import brokers_of, topics_of

PATIENCE_S = 5.0
_MAX_CLUSTERS = 32
_MIN_ISR = "min.insync.replicas"


class ProtectionStore(Protocol):
    """What is held, replicated. Called from several threads, of different clusters, at once."""

    def clusters(self) -> Sequence[str]:
        """Registered clusters, and those that something is still held in; a linearizable read. Raises Unavailable."""

    def protection(self, cluster: str) -> Protection:
        """Return what is held in the cluster; nothing at revision 0 before anything was."""

    def held_keys(self, cluster: str) -> frozenset[ConfigKey]:
        """The configuration keys that tickets hold there."""

    def save(self, protection: Protection, did: str) -> None:
        """Stores it in place of the revision that it carries; `did` is for the audit. Raises Conflict when somebody
        else was first, and Unavailable when it can't be known whether it was stored, or when this member leads no
        longer."""

    def confirm(self, cluster: str, revision: int) -> None:
        """Returns once a majority confirms that this member leads and that what is held is at that revision.

        Raises Unavailable when it leads no longer, and Conflict when somebody else has changed it meanwhile.
        """


class Watch(Protocol):
    """Looks at a cluster's disks. A call is of one thread a cluster."""

    def look(self, cluster: str, admin: Callable[[], KafkaAdmin], held: Protection, now_ms: int) -> View | None:
        """None: nothing is unhealthy there, and nothing is held. Raises GuardianError."""

    def tell(self, cluster: str, view: View, remarks: tuple[str, ...]) -> None:
        """Tell what came of the look, for people."""


class Protector:
    """`admin_for` gives the admin of a cluster by name, which one thread at a time uses."""

    def __init__(
        self,
        store: ProtectionStore,
        admin_for: Callable[[str], KafkaAdmin],
        watch: Watch,
        settings: ProtectionSettings,
        now_ms: Callable[[], int],
        since_boot_s: Callable[[], float] = since_boot_s,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._watch = watch
        self._settings = settings
        self._now_ms = now_ms
        self._since_boot_s = since_boot_s
        self._pool = ThreadPoolExecutor(_MAX_CLUSTERS, thread_name_prefix="protector")
        self._ticking: dict[str, Future[list[str]]] = {}

    def tick(self) -> list[str]:
        """One round over all clusters; what was done. Raises Unavailable when the store does not answer."""
        for cluster in self._store.clusters():
            if cluster not in self._ticking:
                self._ticking[cluster] = self._pool.submit(self.tick_cluster, cluster)
        wait(self._ticking.values(), timeout=PATIENCE_S)
        ended = [self._ticking.pop(cluster) for cluster in sorted(self._ticking) if self._ticking[cluster].done()]
        return [sentence for future in ended for sentence in future.result()]

    def close(self) -> None:
        """Returns when the ticks under way have ended."""
        self._pool.shutdown()

    def tick_cluster(self, cluster: str) -> list[str]:
        """One step of one cluster; what can't be done now is said, and tried again at the next tick."""
        try:
            return [f"cluster {cluster}: {sentence}" for sentence in self._step(cluster)]
        except GuardianError as error:
            return [f"protection of cluster {cluster} waits: {error}"]

    def _step(self, cluster: str) -> list[str]:
        held = self._store.protection(cluster)
        view = self._watch.look(cluster, lambda: self._admin_for(cluster), held, self._now_ms())
        if view is None:
            return []
        step = protect(held, view, self._settings, self._now_ms())
        self._watch.tell(cluster, view, step.remarks)
        revision, proof = held.revision, self._proof(cluster, held.revision, None)
        if step.protection != held:
            revision, proof = self._save(step.protection, "; ".join(step.sentences))
        notes: list[str] = []
        for effect in step.effects:
            admin = self._admin_for(cluster)
            with admin.each_change_proven_by(proof.require):
                outcome = send(admin, effect)
            notes += outcome.notes
            proof = self._proof(cluster, revision, None)
            if outcome.settled:
                left = replace(without_debts(step.protection, outcome.settled), revision=revision)
                revision, proof = self._save(left, "")
        return [*step.sentences, *notes]

    def _save(self, protection: Protection, did: str) -> tuple[int, Proof]:
        """The revision that it has from now on. That `save` returned proves that this member leads."""
        at_s = self._since_boot_s()
        self._store.save(protection, did)
        revision = protection.revision + 1
        return revision, self._proof(protection.cluster, revision, at_s)

    def _proof(self, cluster: str, revision: int, at_s: float | None) -> Proof:
        return Proof(lambda: self._store.confirm(cluster, revision), self._since_boot_s, at_s)


def look_at_cluster(admin: KafkaAdmin, looks: Collection[BrokerLook], held: Protection, now_ms: int) -> ClusterLook:
    """All that a decision on these brokers' disks needs, and on what is held. Raises ClusterUnavailable."""
    alive = frozenset(admin.describe_cluster().brokers)
    quotas = admin.describe_client_quotas()
    held_topics = topics_of(held.levers, held.intents)
    held_brokers = brokers_of(held.levers, held.intents)
    offsets = admin.committed_offsets() if looks else GroupOffsets()
    members = admin.group_members() if looks else GroupMembers()
    committed = offsets.by_group
    topics = {partition.topic for look in looks for partition in look.replicas} | held_topics
    topics |= _also_read(topics, committed, members.members)
    partitions = admin.describe_partitions(topics) if topics else {}
    watched = {look.broker for look in looks}
    behind = {
        partition: set(state.replicas) - set(state.isr)
        for partition, state in partitions.items()
        if watched & set(state.replicas) and set(state.replicas) - set(state.isr)
    }
    return ClusterLook(
        at_ms=now_ms,
        brokers=alive,
        partitions=partitions,
        reassignments=admin.list_reassignments() if looks or held_topics else {},
        log_dirs=admin.describe_log_dirs(sorted((watched | {b for each in behind.values() for b in each}) & alive))
        if looks
        else (),
        committed=committed,
        members=members.members,
        silent_coordinators=offsets.silent | members.silent,
        quotas=quotas,
        configs=admin.describe_configs(
            _resources(held_topics | _topics(behind), (held_brokers | watched) & alive), THROTTLES
        ),
        min_isr=_min_isr(admin, _topics(behind) | (held_topics & _topics(partitions))),
    )


def _also_read(
    topics: Collection[str], committed: Mapping[str, Mapping[TopicPartition, int]], members: Collection[GroupMember]
) -> frozenset[str]:
    """Return what else those clients read that read these topics: a quota holds there too, on brokers not looked at."""
    groups = {group for group, offsets in committed.items() if not _topics(offsets).isdisjoint(topics)}
    clients = {member.client_id for member in members if member.group in groups}
    theirs = {member.group for member in members if member.client_id in clients}
    return frozenset(topic for group in theirs for topic in _topics(committed.get(group, {})))


def _topics(partitions: Collection[TopicPartition]) -> frozenset[str]:
    return frozenset(partition.topic for partition in partitions)


def _resources(topics: Collection[str], brokers: Collection[int]) -> list[tuple[str, str]]:
    return [(TOPIC, topic) for topic in sorted(topics)] + [(BROKER, str(broker)) for broker in sorted(brokers)]


def _min_isr(admin: KafkaAdmin, topics: Collection[str]) -> dict[str, int]:
    found = admin.effective_configs([(TOPIC, topic) for topic in sorted(topics)], [_MIN_ISR]) if topics else {}
    return {name: int(values[_MIN_ISR]) for (_, name), values in found.items() if values.get(_MIN_ISR, "").isdigit()}
