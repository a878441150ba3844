"""One Kafka admin connection per registered cluster, made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from guardian.errors import NotFound
from guardian.kafka.admin import KafkaAdmin
from guardian.model.topology import Cluster


class ClusterAdmins:
    """Keeps connections by cluster name, and replaces one when the cluster's registration changed.

    Any thread may ask, but a `KafkaAdmin` serves one thread at a time: these are the executor's, which uses each
    cluster's in one thread. The servicers open their own (`connect_by_name`).
    """

    def __init__(self, cluster: Callable[[str], Cluster | None], connect: Callable[[Cluster], KafkaAdmin]) -> None:
        self._cluster = cluster
        self._connect = connect
        self._admins: dict[str, tuple[Cluster, KafkaAdmin]] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str) -> KafkaAdmin:
        """Raises NotFound for a cluster that is not registered; the connection itself is made at its first call."""
        cluster = registered(self._cluster, name)
        with self._lock:
            known = self._admins.get(name)
            if known is not None and known[0] == cluster:
                return known[1]
        admin = self._connect(cluster)
        with self._lock:
            self._admins[name] = (cluster, admin)
        if known is not None:
            known[1].close()
        return admin

    def close(self) -> None:
        with self._lock:
            admins, self._admins = self._admins, {}
        for _, admin in admins.values():
            admin.close()


def connect_by_name(
    cluster: Callable[[str], Cluster | None], connect: Callable[[Cluster], KafkaAdmin]
) -> Callable[[str], KafkaAdmin]:
    """A function that opens a new connection to a registered cluster; whoever calls it closes what it gets."""

    def open_admin(name: str) -> KafkaAdmin:
        return connect(registered(cluster, name))

    return open_admin


def registered(cluster: Callable[[str], Cluster | None], name: str) -> Cluster:
    """Raises NotFound for a cluster that is not registered."""
    found = cluster(name)
    if found is None:
        raise NotFound(f"cluster {name!r} is not registered: see `guardian cluster list`")
    return found
