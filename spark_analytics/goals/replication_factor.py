"""Hard: every replica has a place, and no broker holds two of one partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class ReplicationFactor(Hard):
    name = "replication-factor"
    aliases: tuple[str, ...] = ()

    def measure(self, placed: Placed) -> float:
        """Replicas without a place, or beside another one of theirs."""
        return float((placed.slot_broker < 0).sum() + len(_doubled(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        model = placed.model
        for slot in np.flatnonzero(placed.slot_broker < 0).tolist():
            yield f"{model.partition(int(model.slot_partition[slot]))} has a replica without a place"
        for slot in _doubled(placed).tolist():
            partition = model.partition(int(model.slot_partition[slot]))
            yield f"{partition} has two replicas on {placed.broker(int(placed.slot_broker[slot]))}"


def _doubled(placed: Placed) -> Ints:
    """[slots] the second one of each pair."""
    order = np.lexsort((placed.slot_broker, placed.model.slot_partition))
    partition, broker = placed.model.slot_partition[order], placed.slot_broker[order]
    same = (partition[1:] == partition[:-1]) & (broker[1:] == broker[:-1]) & (broker[1:] >= 0)
    return np.sort(order[1:][same])


GOAL = ReplicationFactor()
