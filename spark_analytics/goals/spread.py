"""The form that goals of evenness share: brokers that may hold the same partitions use a resource alike.

Use is relative to capacity, so that a small machine carries less than a large one; counts are as they are. Brokers are
held against the mean of their pool, and the worst pool speaks for the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guardian.model.units import beside_mean
from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import Floats
from spark_analytics.model.load import scale
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


def worst_spread(placed: Placed, deviation: Floats) -> float:
    """Return the spread of the least even pool."""
    return max(0.0, float(np.nanmax(deviation))) if placed.counts.any() else 0.0


def asked_spread(placed: Placed, resources: Sequence[Resource]) -> float:
    """Return the coarsest that is asked of these; inf where nothing is."""
    return float(placed.targets.max_over_mean[list(resources)].max()) - 1


@dataclass(frozen=True)
class Spread:
    """`measure` is the spread (max/mean - 1) of the least even pool; `violations` are brokers above what is asked."""

    is_hard: ClassVar[bool] = False
    resource: Resource
    name: str
    aliases: tuple[str, ...]

    @property
    def resources(self) -> tuple[Resource, ...]:
        return (self.resource,)

    def target(self, placed: Placed) -> float:
        return asked_spread(placed, self.resources)

    def measure(self, placed: Placed) -> float:
        return worst_spread(placed, self._deviations(placed))

    def violations(self, placed: Placed) -> Iterator[str]:
        deviation, word = self._deviations(placed), self.resource.name.lower()
        most = self.target(placed)
        above = np.flatnonzero(np.nan_to_num(deviation, nan=-1.0) > most + _ROUNDING)
        for broker in above[np.argsort(-deviation[above], kind="stable")].tolist():
            yield f"{placed.broker(broker)} {word} {beside_mean(deviation[broker])}, {most:.1%} was asked"

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
