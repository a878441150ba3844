"""Hard: nothing new goes to a broker that is excluded, dead or closed to the topic, nor to a log dir that is broken."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Ints


class Exclusion(Hard):
    name = "exclusion"
    aliases: tuple[str, ...] = ()

    def measure(self, placed: Placed) -> float:
        """Replicas that came to where nothing may come."""
        return float(len(_unwelcome(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        for slot in _unwelcome(placed).tolist():
            partition = placed.model.partition(int(placed.model.slot_partition[slot]))
            log_dir = placed.log_dir(int(placed.slot_log_dir[slot]))
            yield f"{partition} would go to {log_dir}, which may take nothing of it"


def _unwelcome(placed: Placed) -> Ints:
    model, rules = placed.model, placed.rules
    came = np.flatnonzero((placed.slot_log_dir >= 0) & (placed.slot_log_dir != model.slot_log_dir))
    classes = rules.class_of[model.slot_partition[came]]
    same_broker = placed.slot_broker[came] == model.slot_broker[came]
    welcome = same_broker | rules.may_take[classes, placed.slot_broker[came]]
    return np.asarray(came[~(welcome & rules.log_dir_may_take[placed.slot_log_dir[came]])])


GOAL = Exclusion()
