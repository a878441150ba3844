"""Collection, wired to the group: each member's way to the assignment, and the leader's decisions on it.

Both look once a second, and a federation of a thousand brokers changes once a day: what is stored is decoded again only
when its bytes have changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import NamedTuple

from guardian.core.assigning import assign
from guardian.errors import Conflict, Unavailable
from guardian.model.collection import BrokerKey, CollectionAssignment
from guardian.model.topology import Cluster
from guardian.server.store import ReplicatedStore
from guardian.wire.collection import assignment_from_proto, assignment_to_proto
from guardian.wire.federation import cluster_from_proto
from metastore import keys
from metastore.store import Snapshot, StoreError
from protos.guardian.v1 import collection_pb2, federation_pb2, records_pb2


class Registered(NamedTuple):
    """What is collected, and by whom, as this member knows it. The same objects as long as nothing has changed."""

    clusters: tuple[Cluster, ...]
    assignment: CollectionAssignment


class KnownFederation:
    """This member's own store, possibly behind, read by any thread."""

    def __init__(
        self, store: ReplicatedStore, on_clusters: Callable[[tuple[Cluster, ...]], None] = lambda _: None
    ) -> None:
        """`on_clusters` gets them when they have changed."""
        self._store = store
        self._on_clusters = on_clusters
        self._lock = threading.Lock()
        self._index = -1  # of the last command that is known here
        self._clusters: dict[bytes, tuple[bytes, Cluster]] = {}  # by key: as stored, and decoded
        self._assignment = b""
        self._registered = Registered((), CollectionAssignment())

    def clusters(self) -> tuple[Cluster, ...]:
        """Raises Unavailable."""
        return self.registered().clusters

    def registered(self) -> Registered:
        """Raises Unavailable, the one error that a collector's thread knows of a store."""
        try:
            snapshot = self._store.read_local().snapshot
            with self._lock:
                if snapshot.applied_index > self._index:
                    self._read(snapshot)
                    self._index = snapshot.applied_index
                return self._registered
        except StoreError as error:
            raise Unavailable(str(error)) from error

    def _read(self, snapshot: Snapshot) -> None:
        before = self._registered
        now = Registered(self._decoded_clusters(snapshot), self._decoded_assignment(snapshot))
        if now.clusters is not before.clusters:
            self._on_clusters(now.clusters)
        if now.clusters is not before.clusters or now.assignment is not before.assignment:
            self._registered = now

    def _decoded_clusters(self, snapshot: Snapshot) -> tuple[Cluster, ...]:
        stored = dict(snapshot.scan(keys.Table.CLUSTER.prefix))
        if stored == {key: value for key, (value, _) in self._clusters.items()}:
            return self._registered.clusters
        self._clusters = {key: (value, self._decoded(key, value)) for key, value in stored.items()}
        return tuple(cluster for _, cluster in self._clusters.values() if not cluster.sampling_paused)

    def _decoded(self, key: bytes, value: bytes) -> Cluster:
        known = self._clusters.get(key)
        if known is not None and known[0] == value:
            return known[1]
        return cluster_from_proto(federation_pb2.Cluster.FromString(value))

    def _decoded_assignment(self, snapshot: Snapshot) -> CollectionAssignment:
        stored = snapshot.get(keys.collection()) or b""
        if stored == self._assignment:
            return self._registered.assignment
        decoded = assignment_from_proto(collection_pb2.CollectionAssignment.FromString(stored))
        self._assignment = stored
        return decoded


class ReplicatedCollectionGroup:
    """guardian.reporter.membership.CollectionGroup over the store."""

    def __init__(self, store: ReplicatedStore, known: KnownFederation) -> None:
        self._store = store
        self._known = known

    def assignment(self) -> CollectionAssignment:
        return self._known.registered().assignment

    def staleness_s(self) -> float | None:
        return self._store.status().staleness_s

    def join(self, member: str, incarnation: str) -> None:
        join = records_pb2.JoinCollection(member=member, incarnation=incarnation)
        self._store.propose(records_pb2.Command(join_collection=join))

    def ack(self, member: str, incarnation: str, generation: int) -> None:
        ack = records_pb2.AckCollection(member=member, incarnation=incarnation, generation=generation)
        self._store.propose(records_pb2.Command(ack_collection=ack))


class CollectionAssigner:
    """What the leader does about it, once a tick."""

    def __init__(
        self, store: ReplicatedStore, known: KnownFederation, delay_s: float, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._known = known
        self._delay_ms = int(delay_s * 1000)
        self._now_ms = now_ms
        self._settled: tuple[Registered, Collection[str]] | None = None  # nothing was to be done about this

    def tick(self) -> list[str]:
        """Returns what was done, a sentence each. Raises GuardianError when the decision can't be committed."""
        registered, live = self._known.registered(), self._store.status().live_members
        if self._settled is not None and self._settled[0] is registered and self._settled[1] == live:
            return []
        before = registered.assignment
        after = assign(before, _reported(registered.clusters), live, self._now_ms(), self._delay_ms)
        if after is before:
            # Of a member that is gone something is to be done in time.
            is_waiting = any(seat.gone_since_ms for seat in before.seats.values())
            self._settled = None if is_waiting else (registered, live)
            return []
        command = records_pb2.Command(put_collection=records_pb2.PutCollection(assignment=assignment_to_proto(after)))
        try:
            self._store.propose(command)
        except Conflict:
            return []  # somebody joined or let go meanwhile: the next tick knows
        return _told(before, after, self._delay_ms)


def _reported(clusters: Collection[Cluster]) -> set[BrokerKey]:
    """Those that can be collected."""
    return {
        BrokerKey(cluster.name, broker.id)
        for cluster in clusters
        for broker in cluster.brokers
        if broker.reporter_endpoint
    }


def _told(before: CollectionAssignment, after: CollectionAssignment, delay_ms: int) -> list[str]:
    shares = Counter(before.owners.values())
    said = []
    for member, seat in before.seats.items():
        now = after.seats.get(member)
        if now is None:
            said.append(f"{member} has been gone for {delay_ms / 1000:g} s: its {shares[member]} brokers go to others")
        elif now.gone_since_ms and not seat.gone_since_ms:
            said.append(f"{member} is gone: its {shares[member]} brokers stay its own for {delay_ms / 1000:g} s")
    moving = sum(key not in before.moves for key in after.moves)
    return [*said, f"{moving} brokers move to members that have fewer"] if moving else said
