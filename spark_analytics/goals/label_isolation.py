"""Hard: a replica stands only where its topic may live: labels, tenants, and brokers that are to become empty.

Where that is, for each class of partitions, is in the rules (`may_stay`). Dead brokers may hold nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class LabelIsolation(Hard):
    name = "label"
    aliases = ("BrokerSetAwareGoal",)

    def measure(self, placed: Placed) -> float:
        """Replicas that stand where they may not stay."""
        return float(len(_misplaced(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        model = placed.model
        for slot in _misplaced(placed).tolist():
            partition, broker = int(model.slot_partition[slot]), int(placed.slot_broker[slot])
            label = model.broker_label[broker]
            why = (
                "is dead"
                if not model.alive[broker]
                else (
                    f"is for label {model.label_names[label]}" if label >= 0 else "is not for it, or is to become empty"
                )
            )
            yield f"{model.partition(partition)} has a replica on {placed.broker(broker)}, which {why}"


def _misplaced(placed: Placed) -> Ints:
    there = np.flatnonzero(placed.slot_broker >= 0)
    classes = placed.rules.class_of[placed.model.slot_partition[there]]
    return there[~placed.rules.may_stay[classes, placed.slot_broker[there]]]


GOAL = LabelIsolation()
