"""Hard: a broker holds at most so many replicas: files, memory and restarts cost by the replica, however small it is.

The number is the setting max_replicas; one that holds more already takes none, and sheds where the task mends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints
from spark_analytics.model.resources import Resource


@dataclass(frozen=True)
class ReplicaCapacity(Hard):
    name = "replica-capacity"
    aliases = ("ReplicaCapacityGoal",)

    def measure(self, placed: Placed) -> float:
        """Brokers with too many."""
        return float(len(self._over(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        most = placed.rules.most_replicas
        if most is None:
            return
        held, alive = placed.load.broker[:, Resource.REPLICAS], placed.model.alive
        for broker in self._over(placed).tolist():
            yield (
                f"{placed.broker(broker)} holds {held[broker]:.0f} replicas, above {most[broker]}: "
                f"the cluster's {held.sum():.0f} have {alive.sum()} brokers, which may hold {most[alive].sum():.0f}"
            )

    def _over(self, placed: Placed) -> Ints:
        if placed.rules.most_replicas is None:
            return np.zeros(0, dtype=np.int64)
        held = placed.load.broker[:, Resource.REPLICAS]
        return np.flatnonzero(placed.model.alive & (held > placed.rules.most_replicas))


GOAL = ReplicaCapacity()
