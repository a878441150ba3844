"""Tells who leads, and carries how much, once brokers are gone and nothing is rebuilt yet."""

from __future__ import annotations

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, living_slots


def after_loss(model: ClusterModel, inside: Bools) -> Floats:
    """[brokers, RESOURCES] loads when leaders have moved and nothing is rebuilt yet; `inside` [brokers] is lost.

    Kafka takes the next of the replica list that is in sync. Samples tell who holds a partition, not the order of its
    list. So each of those left is reckoned to take over an equal part of what the lost leaders did.
    """
    survives = living_slots(model) & ~inside[model.slot_broker]
    slot, share = _takeovers(model, survives)
    broker = model.slot_broker
    return np.column_stack(
        [
            np.bincount(broker[survives], model.slot_load[survives, column], model.brokers)
            + np.bincount(broker[slot], share * model.leader_load[model.slot_partition[slot], column], model.brokers)
            for column in range(model.slot_load.shape[1])
        ]
    )


def moved_leaders(model: ClusterModel, inside: Bools) -> int:
    """Return how many partitions lose their leader with these brokers [brokers], and have another copy alive."""
    survives = living_slots(model) & ~inside[model.slot_broker]
    has_other = np.bincount(model.slot_partition[survives], minlength=model.partitions) > 0
    leader = model.leader_slot
    return int((living_slots(model)[leader] & inside[model.slot_broker[leader]] & has_other & model.movable).sum())


def _takeovers(model: ClusterModel, survives: Bools) -> tuple[Ints, Floats]:
    """(slots that lead then, the part of its partition that each leads)"""
    stays = survives[model.leader_slot]
    leads = survives & ~stays[model.slot_partition]
    leads[model.leader_slot[stays]] = True
    count = np.bincount(model.slot_partition[leads], minlength=model.partitions)
    slot = np.flatnonzero(leads)
    return slot, 1 / count[model.slot_partition[slot]]
