"""Hard: as many replicas in each data centre as the topic's IDC policy says, where it has one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class IdcPlacement(Hard):
    name = "idc"
    aliases: tuple[str, ...] = ()

    def measure(self, placed: Placed) -> float:
        """Replicas that are missing in a data centre, or too many there."""
        counts, low, high = _counts(placed)
        return float((np.maximum(low - counts, 0) + np.maximum(counts - high, 0)).sum())

    def violations(self, placed: Placed) -> Iterator[str]:
        model = placed.model
        counts, low, high = _counts(placed)
        for partition, idc in np.argwhere((counts < low) | (counts > high)).tolist():
            count, least, most = counts[partition, idc], low[partition, idc], high[partition, idc]
            wanted = f"at least {least}" if count < least else f"at most {most}"
            name = model.idc_names[idc]
            yield f"{model.partition(partition)} has {count} replicas in {name}, its policy wants {wanted}"


def _counts(placed: Placed) -> tuple[Ints, Ints, Ints]:
    """[partitions, idcs] replicas, and the least and the most of them."""
    model, idcs = placed.model, len(placed.model.idc_names)
    there = placed.slot_broker >= 0
    idc = model.idc[placed.slot_broker[there]]
    key = (model.slot_partition[there] * idcs + idc)[idc >= 0]
    counts = np.bincount(key, minlength=model.partitions * idcs).reshape(model.partitions, idcs)
    return counts, placed.rules.idc_min[placed.rules.class_of], placed.rules.idc_max[placed.rules.class_of]


GOAL = IdcPlacement()
