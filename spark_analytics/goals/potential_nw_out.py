"""Soft: no broker would send more than it can if it came to lead all that it holds, as after the loss of others.

The search makes what brokers send even, and replicas with it; here it is measured by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import Floats
from spark_analytics.model.resources import Resource


class PotentialNwOut:
    """`measure` is the use of the worst broker, as a share of what it can send; 0 where that is not known."""

    name = "potential-nw-out"
    aliases = ("PotentialNwOutGoal",)
    is_hard: ClassVar[bool] = False
    resources = (Resource.NW_OUT,)

    def target(self, placed: Placed) -> float:
        return float(placed.rules.capacity_limit[Resource.NW_OUT])

    def measure(self, placed: Placed) -> float:
        return float(_use(placed).max(initial=0.0))

    def violations(self, placed: Placed) -> Iterator[str]:
        use, limit = _use(placed), self.target(placed)
        over = np.flatnonzero(use > limit)
        for broker in over[np.argsort(-use[over], kind="stable")].tolist():
            yield f"{placed.broker(broker)} would use {use[broker]:.0%} of its nw_out if it led all, above {limit:.0%}"


def _use(placed: Placed) -> Floats:
    use = placed.load.potential_nw_out / placed.model.capacity[:, Resource.NW_OUT]
    return np.where(placed.model.alive, use, 0.0)


GOAL = PotentialNwOut()
