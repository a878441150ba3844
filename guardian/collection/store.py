"""What is collected, and by whom, as this member knows it.

A federation of a thousand brokers changes once a day: what is stored is decoded again only when its bytes have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from guardian.errors import Unavailable
from guardian.model.collection import CollectionAssignment
from guardian.model.topology import Cluster
from guardian.model.wire.collection import assignment_from_proto
from guardian.model.wire.federation import cluster_from_proto
from guardian.replication.store.store import ReplicatedStore
from metastore import keys
from metastore.store import Snapshot, StoreError
from protos.guardian.v1 import collection_pb2, federation_pb2


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
