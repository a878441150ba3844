"""A ProtectionStore in memory, for tests and rehearsals: the same compare-and-set as the replicated one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from guardian.errors import Conflict
from guardian.model.effects import ConfigKey
from guardian.model.protection import Protection


class MemoryProtectionStore:
    """Implements `guardian.protection.loop.protecting.ProtectionStore`; `held` are the keys that tickets hold."""

    def __init__(self, *clusters: str) -> None:
        self.held: frozenset[ConfigKey] = frozenset()
        self.did: list[str] = []
        self._clusters = clusters
        self._protections: dict[str, Protection] = {}
        self._lock = threading.Lock()

    def clusters(self) -> Sequence[str]:
        return self._clusters

    def protection(self, cluster: str) -> Protection:
        with self._lock:
            return self._protections.get(cluster, Protection(cluster))

    def held_keys(self, _cluster: str) -> frozenset[ConfigKey]:
        return self.held

    def save(self, protection: Protection, did: str) -> None:
        with self._lock:
            self._require(protection.cluster, protection.revision)
            self._protections[protection.cluster] = replace(protection, revision=protection.revision + 1)
            if did:
                self.did.append(did)

    def confirm(self, cluster: str, revision: int) -> None:
        """The only member always leads; what is held may have been changed meanwhile all the same."""
        with self._lock:
            self._require(cluster, revision)

    def _require(self, cluster: str, revision: int) -> None:
        stored = self._protections.get(cluster, Protection(cluster)).revision
        if stored != revision:
            raise Conflict(
                f"protection of cluster {cluster} is at revision {stored}, expected was {revision}: look again"
            )
