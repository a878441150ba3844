"""Hard: a partition keeps its number of replicas, so no broker gets a second one of it.

A broker that a sibling has left in this plan is closed too: going there would copy what that broker already had.
"""

from __future__ import annotations

import numpy as np

from spark_analytics.goals.goal import Answers, answers
from spark_analytics.model.cluster_model import Ints
from spark_analytics.model.placement import Placement


def acceptance(placement: Placement, slots: Ints, log_dirs: Ints) -> Answers:
    """[slots, log dirs] of Acceptance."""
    model = placement.model
    there = model.log_dir_broker[log_dirs]
    others = placement.siblings[slots]
    homes = np.where(others < 0, -1, model.slot_broker[others])
    taken = np.concatenate([placement.sibling_brokers(slots), homes], axis=1)
    return answers((taken[:, :, None] == there[None, None, :]).any(axis=1))
