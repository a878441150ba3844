"""Where Prometheus finds the brokers: its HTTP service discovery, of what their plugins have registered.

Prometheus keeps the targets that it knows while the answer is an error. So a member that may not know the brokers (it
has been cut off, or has just begun) answers one instead of an old list or an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from guardian.errors import Unavailable
from guardian.model.topology import Broker, Cluster
from guardian.replication.store.state import StoreError
from guardian.replication.store.store import ReplicatedStore

MAX_STALENESS_S = 60.0


class BrokerTargets:
    """What a member answers."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store

    def json(self, sees: Callable[[str], bool] = lambda _: True) -> bytes:
        """Return the targets of the clusters that are seen. Raises Unavailable."""
        staleness_s = self._store.status().staleness_s
        if staleness_s is None or staleness_s > MAX_STALENESS_S:
            raise Unavailable("this member does not know the brokers of now: ask another one")
        try:
            clusters = [each for each in self._store.read_local().clusters() if sees(each.name)]
        except StoreError as error:
            raise Unavailable(str(error)) from error
        return json.dumps(targets(clusters)).encode()


def targets(clusters: Iterable[Cluster]) -> list[dict[str, object]]:
    """One group a broker, as Prometheus' http_sd wants them. Pure."""
    return [
        _target(cluster.name, broker)
        for cluster in clusters
        for broker in sorted(cluster.brokers, key=lambda each: each.id)
        if broker.metrics_url
    ]


def _target(cluster: str, broker: Broker) -> dict[str, object]:
    url = urlsplit(broker.metrics_url)
    labels = {"cluster": cluster, "broker": str(broker.id), "rack": broker.rack, "idc": broker.idc}
    place = {"__scheme__": url.scheme, "__metrics_path__": url.path or "/metrics"}
    return {"targets": [url.netloc], "labels": {**{key: value for key, value in labels.items() if value}, **place}}
