"""Hard: the replicas of a partition stand in as many racks as they do now, or in more.

A partition whose replicas each have a rack of their own keeps that; one that does not (its RF exceeds the racks, or it
was placed badly) never gets worse. So a replica that is alone in its rack may go to a rack without a sibling, or to
another broker of its own rack; a replica that shares its rack with a sibling may go anywhere.
"""

from __future__ import annotations

import numpy as np

from spark_analytics.goals.goal import Answers, answers
from spark_analytics.model.cluster_model import Ints
from spark_analytics.model.placement import Placement


def acceptance(placement: Placement, slots: Ints, log_dirs: Ints) -> Answers:
    """[slots, log dirs] of Acceptance."""
    model = placement.model
    brokers = placement.sibling_brokers(slots)
    racks = np.where(brokers < 0, -1, model.rack[brokers])
    here = model.rack[placement.slot_broker[slots]]
    there = model.rack[model.log_dir_broker[log_dirs]]
    alone = ~(racks == here[:, None]).any(axis=1)
    taken = (racks[:, :, None] == there[None, None, :]).any(axis=1)
    return answers(alone[:, None] & taken)
