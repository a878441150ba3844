"""Hard: replicas of a partition stand in racks of their own; where racks are too few, they share as little as can be.

How many may share one is in the rules (`rack_max`): 1 wherever enough racks may take the partition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class RackAware(Hard):
    name = "rack"
    aliases = ("RackAwareGoal", "RackAwareDistributionGoal", "KafkaAssignerEvenRackAwareGoal")

    def measure(self, placed: Placed) -> float:
        """Replicas that are one too many in their rack."""
        _, _, excess = _crowded(placed)
        return float(excess.sum())

    def violations(self, placed: Placed) -> Iterator[str]:
        model = placed.model
        for partition, rack, excess in zip(*(values.tolist() for values in _crowded(placed)), strict=True):
            most = int(placed.rules.rack_max[placed.rules.class_of[partition]])
            yield (
                f"{model.partition(partition)} has {most + excess} replicas in rack {model.rack_names[rack]}, "
                f"where it may have {most}"
            )


def _crowded(placed: Placed) -> tuple[Ints, Ints, Ints]:
    """(partition, rack, replicas too many), by partition and rack."""
    model, racks = placed.model, len(placed.model.rack_names)
    there = placed.slot_broker >= 0
    key = model.slot_partition[there] * racks + model.rack[placed.slot_broker[there]]
    pairs, counts = np.unique(key, return_counts=True)
    partition = pairs // racks
    excess = counts - placed.rules.rack_max[placed.rules.class_of[partition]]
    over = excess > 0
    return partition[over], (pairs % racks)[over], excess[over]


GOAL = RackAware()
