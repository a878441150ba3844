"""Soft: leaders of brokers take in alike: what is produced costs twice as much CPU as what is replicated.

The search makes CPU and numbers of leaders even, of which this follows; here it is measured by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from spark_analytics.goals.goal import Placed
from spark_analytics.goals.spread import deviations, worst_cv
from spark_analytics.model.load import scale
from spark_analytics.model.resources import Resource


class LeaderBytesInSpread:
    name = "leader-bytes-in-spread"
    aliases = ("LeaderBytesInDistributionGoal",)
    is_hard: ClassVar[bool] = False
    resources = (Resource.CPU, Resource.LEADERS)

    def target(self, placed: Placed) -> float:
        """What it follows of is the coarser measure."""
        return float(placed.targets.cv[list(self.resources)].max())

    def measure(self, placed: Placed) -> float:
        loads, capacity = placed.load.leader_bytes_in, scale(placed.model)[:, Resource.NW_IN]
        return worst_cv(placed, deviations(placed, loads, capacity))

    def violations(self, placed: Placed) -> Iterator[str]:
        loads, capacity = placed.load.leader_bytes_in, scale(placed.model)[:, Resource.NW_IN]
        deviation = deviations(placed, loads, capacity)
        uneven, target = worst_cv(placed, deviation), self.target(placed)
        if uneven > target:
            worst = int(np.nanargmax(deviation))
            yield (
                f"what leaders of brokers take in varies by {uneven:.1%} around the mean, above {target:.1%}; "
                f"most on {placed.broker(worst)}, {1 + deviation[worst]:.2f}x the mean"
            )


GOAL = LeaderBytesInSpread()
