"""The form that goals of capacity share: no broker uses more of a resource than a share of what it has.

A broker that is beyond the limit already breaks the goal as long as it stays there; a plan only may not add to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Floats, Ints
from spark_analytics.model.resources import Resource


@dataclass(frozen=True)
class Capacity(Hard):
    resource: Resource
    name: str
    aliases: tuple[str, ...]

    def measure(self, placed: Placed) -> float:
        """Brokers beyond the limit."""
        return float(len(self._over(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        use, limit = self._use(placed), float(placed.rules.capacity_limit[self.resource])
        for broker in self._over(placed).tolist():
            name = self.resource.name.lower()
            yield f"{placed.broker(broker)} uses {use[broker]:.0%} of its {name}, above {limit:.0%}"

    def _use(self, placed: Placed) -> Floats:
        return np.asarray(placed.load.broker[:, self.resource] / placed.model.capacity[:, self.resource])

    def _over(self, placed: Placed) -> Ints:
        """The worst first."""
        use = self._use(placed)
        over = np.flatnonzero(placed.model.alive & (use > placed.rules.capacity_limit[self.resource] * (1 + 1e-9)))
        return over[np.argsort(-use[over], kind="stable")]


GOALS = (
    # Above 70 % request queues grow faster than load does.
    Capacity(Resource.CPU, "cpu-capacity", ("CpuCapacityGoal",)),
    # Replication catches up through it.
    Capacity(Resource.NW_IN, "nw-in-capacity", ("NetworkInboundCapacityGoal",)),
    # A lagging consumer reads hours in minutes.
    Capacity(Resource.NW_OUT, "nw-out-capacity", ("NetworkOutboundCapacityGoal",)),
    # A full disk takes the broker down.
    Capacity(Resource.DISK, "disk-capacity", ("DiskCapacityGoal",)),
)
