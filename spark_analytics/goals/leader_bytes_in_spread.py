"""Soft: leaders of brokers take in alike: what is produced costs twice as much CPU as what is replicated.

The search makes CPU and numbers of leaders even, of which this follows; here it is measured by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from guardian.model.units import beside_mean
from spark_analytics.goals.goal import Placed
from spark_analytics.goals.spread import asked_spread, deviations, worst_spread
from spark_analytics.model.load import scale
from spark_analytics.model.resources import Resource


class LeaderBytesInSpread:
    name = "leader-bytes-in-spread"
    aliases = ("LeaderBytesInDistributionGoal",)
    is_hard: ClassVar[bool] = False
    resources = (Resource.CPU, Resource.LEADERS)

    def target(self, placed: Placed) -> float:
        """Return the spread that is asked for: what this goal follows of is the coarser measure."""
        return asked_spread(placed, self.resources)

    def measure(self, placed: Placed) -> float:
        loads, capacity = placed.load.leader_bytes_in, scale(placed.model)[:, Resource.NW_IN]
        return worst_spread(placed, deviations(placed, loads, capacity))

    def violations(self, placed: Placed) -> Iterator[str]:
        loads, capacity = placed.load.leader_bytes_in, scale(placed.model)[:, Resource.NW_IN]
        deviation = deviations(placed, loads, capacity)
        target = self.target(placed)
        if worst_spread(placed, deviation) > target:
            worst = int(np.nanargmax(deviation))
            yield (
                f"what leaders of {placed.broker(worst)} take in is {beside_mean(deviation[worst])}, "
                f"{target:.1%} was asked"
            )


GOAL = LeaderBytesInSpread()
