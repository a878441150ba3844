"""The form that goals of evenness share: brokers that may hold the same partitions use a resource alike.

Use is relative to capacity, so that a small machine carries less than a large one; counts are as they are. Brokers are
held against the mean of their pool, and the worst pool speaks for the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import Floats
from spark_analytics.model.load import cv, scale
from spark_analytics.model.resources import Resource

_ROUNDING = 1e-9


def deviations(placed: Placed, loads: Floats, capacity: Floats) -> Floats:
    """[brokers] use / mean use of its pool - 1; nan for those that do not count."""
    found = np.full(placed.model.brokers, np.nan)
    for pool in np.unique(placed.pool[placed.counts]).tolist():
        inside = placed.counts & (placed.pool == pool)
        use = loads[inside] / capacity[inside]
        found[inside] = use / use.mean() - 1 if use.sum() > 0 else 0.0
    return found


def worst_cv(placed: Placed, deviation: Floats) -> float:
    """The coefficient of variation of the least even pool."""
    pools = np.unique(placed.pool[placed.counts]).tolist()
    return max((cv(1 + deviation[placed.counts & (placed.pool == pool)]) for pool in pools), default=0.0)


@dataclass(frozen=True)
class Spread:
    """`measure` is the standard deviation over the mean; `violations` also name brokers too far above the mean."""

    is_hard: ClassVar[bool] = False
    resource: Resource
    name: str
    aliases: tuple[str, ...]

    @property
    def resources(self) -> tuple[Resource, ...]:
        return (self.resource,)

    def target(self, placed: Placed) -> float:
        return float(placed.targets.cv[self.resource])

    def measure(self, placed: Placed) -> float:
        return worst_cv(placed, self._deviations(placed))

    def violations(self, placed: Placed) -> Iterator[str]:
        deviation, word = self._deviations(placed), self.resource.name.lower()
        uneven = worst_cv(placed, deviation)
        if uneven > self.target(placed) + _ROUNDING:
            yield f"{word} of brokers varies by {uneven:.1%} around the mean, above {self.target(placed):.1%}"
        most = float(placed.targets.max_over_mean[self.resource])
        above = np.flatnonzero(np.nan_to_num(1 + deviation) > most + _ROUNDING)
        for broker in above[np.argsort(-deviation[above], kind="stable")].tolist():
            yield f"{placed.broker(broker)} {word} at {1 + deviation[broker]:.2f}x the mean, above {most:.2f}x"

    def _deviations(self, placed: Placed) -> Floats:
        return deviations(placed, placed.load.broker[:, self.resource], scale(placed.model)[:, self.resource])


GOALS = (
    Spread(Resource.CPU, "cpu-spread", ("CpuUsageDistributionGoal",)),
    # Produced bytes and replicated ones.
    Spread(Resource.NW_IN, "nw-in-spread", ("NetworkInboundUsageDistributionGoal",)),
    # To consumers and to followers.
    Spread(Resource.NW_OUT, "nw-out-spread", ("NetworkOutboundUsageDistributionGoal",)),
    # The fullest broker sets how long data can be kept.
    Spread(Resource.DISK, "disk-spread", ("DiskUsageDistributionGoal", "KafkaAssignerDiskUsageDistributionGoal")),
    # Restarts, files and fetch sessions cost by the replica.
    Spread(Resource.REPLICAS, "replica-spread", ("ReplicaDistributionGoal",)),
    # Requests cost by the partition that is led, and so does a failover.
    Spread(Resource.LEADERS, "leader-spread", ("LeaderReplicaDistributionGoal",)),
)
