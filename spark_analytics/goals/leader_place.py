"""Hard: a partition is led from where it may be led (a preferred IDC, no demoted broker), if a replica of it is there.

The replica that leads also comes first in a plan's order, so that Kafka's own preferred leader election keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class LeaderPlace(Hard):
    name = "leader-place"
    aliases = ("PreferredLeaderElectionGoal",)

    def measure(self, placed: Placed) -> float:
        """Partitions that are led from elsewhere though they need not be."""
        return float(len(_misled(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        for partition in _misled(placed).tolist():
            broker = int(placed.slot_broker[placed.leader_slot[partition]])
            yield f"{placed.model.partition(partition)} is led by {placed.broker(broker)}, which should not lead it"


def _misled(placed: Placed) -> Ints:
    model, rules = placed.model, placed.rules
    broker = np.maximum(placed.slot_broker, 0)
    able = (placed.slot_broker >= 0) & rules.may_lead[rules.class_of[model.slot_partition], broker]
    could = np.bincount(model.slot_partition[able], minlength=model.partitions) > 0
    return np.flatnonzero(could & ~able[placed.leader_slot])


GOAL = LeaderPlace()
