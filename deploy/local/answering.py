"""What is asked again while brokers that have just started are too busy to answer, or to know what is so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable
from guardian.model.topology import Cluster

ANSWER_DEADLINE_S = 300.0
_ASK_EVERY_S = 0.5
_Answer = TypeVar("_Answer")


def once_answered(ask: Callable[[], _Answer], deadline_s: float = ANSWER_DEADLINE_S) -> _Answer:
    """Ask, and again while the cluster gives no answer or none that is proven. Raises ClusterUnavailable after that."""
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            return ask()
        except ClusterUnavailable:
            if time.monotonic() > deadline:
                raise
        time.sleep(_ASK_EVERY_S)


def register(client: GuardianClient, cluster: Cluster, labels: Mapping[int, str] | None = None) -> None:
    """Register a cluster whose brokers may have started a moment ago.

    Raises ClusterUnavailable when it gives the members no answer for minutes, and what registering it raises.
    """
    once_answered(lambda: client.register_cluster(cluster, labels=labels))
