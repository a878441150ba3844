"""The eight cuts of DESIGN.md, "What can happen to a cluster": who can't reach whom, and what it does.

    1  followers can't reach their leaders        they leave the ISR
    2  leaders can't reach their followers        the ISR shrinks to the leaders
    3  followers can't reach the controllers      fenced, and out of the ISR
    4  leaders can't reach the controllers        fenced, others lead; the old ones serve stale until they learn
    5  followers are alone                        as 1 and 3
    6  leaders are alone                          others lead; what they alone acknowledged is lost
    7  the controller can't reach brokers         all of them are fenced, leaders move
    8  the controller can't reach its quorum      another controller: a short pause

"Followers" and "leaders" are the replicas of the brokers around which the cut runs that follow leaders outside, or lead
followers outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.durability import TopicSettings
from spark_analytics.model.cluster_model import Bools, ClusterModel
from spark_analytics.whatif.damage import Copies, Promise, copies, copies_of_slots


@dataclass(frozen=True, slots=True)
class CutDamage:
    """Partitions. `redundancy`: fewer copies in sync. `acks_all`, `acks_one`: acknowledged writes that may be lost."""

    number: int
    brokers: tuple[int, ...]
    redundancy: int
    unwritable: int
    offline: int
    leaders: int
    stale: int
    acks_one: int
    acks_all: int

    @property
    def gravity(self) -> tuple[int, ...]:
        return self.acks_all, self.offline, self.unwritable, self.acks_one, self.leaders, self.redundancy


def cut_damage(model: ClusterModel, settings: Mapping[str, TopicSettings], number: int, inside: Bools) -> CutDamage:
    """The cut around these brokers [brokers]."""
    flags = _flags(number, copies(model, inside), Promise.of(model, settings))
    return CutDamage(number, tuple(model.broker_ids[inside].tolist()), *(int(each.sum()) for each in flags))


def moves_leaders(number: int) -> bool:
    """Whether others come to lead, and carry more."""
    return number in _TAKEN


def worst_broker(model: ClusterModel, settings: Mapping[str, TopicSettings], number: int) -> CutDamage:
    """The cut around each broker that lives, by itself; the worst of them, the first where several are.

    Raises InvalidInput when none lives.
    """
    if not model.alive.any():
        raise InvalidInput(
            f"no broker of cluster {model.cluster} lives in its model: name the brokers around which to cut"
        )
    promise = Promise.of(model, settings)
    partition, broker = model.slot_partition, model.slot_broker
    alone = Promise(promise.min_isr[partition], promise.promised[partition], promise.unclean[partition])
    rows = broker >= 0
    counts = [
        np.bincount(broker[rows], each[rows], model.brokers).astype(np.int64).tolist()
        for each in _flags(number, copies_of_slots(model), alone)
    ]
    candidates = [
        CutDamage(number, (int(model.broker_ids[each]),), *(count[each] for count in counts))
        for each in np.flatnonzero(model.alive).tolist()
    ]
    return max(candidates, key=lambda each: each.gravity)


_FOLLOWERS = (1, 3, 5)
_SHRUNK = 2
_FENCED = 7
_STALE = (4, 6)  # leaders that are replaced and do not know it
_TAKEN = (4, 6, _FENCED)  # others lead
_ACKNOWLEDGED = (_SHRUNK, 6)  # acks=all counts on those inside alone; fetching followers would stop it in cut 4


def _flags(number: int, have: Copies, promise: Promise) -> tuple[Bools, ...]:
    """[rows] redundancy, unwritable, offline, leaders, stale, acks_one, acks_all, as CutDamage has them."""
    nobody = np.zeros(len(have.in_sync), dtype=np.bool_)
    led, inside, outside = have.leader_inside, have.in_sync_inside, have.left
    taken = led if number in _TAKEN else nobody
    left = inside if number == _SHRUNK else outside
    touched = nobody
    if number in _FOLLOWERS:
        touched = ~led & (inside > 0)
    elif number == _FENCED:
        touched = inside > 0
    elif number == _SHRUNK or number in _TAKEN:
        touched = led
    shrinks = touched & (inside > 0) & (outside > 0)
    unwritable = shrinks & (left < promise.min_isr) & (promise.min_isr <= have.in_sync)
    successor = (outside > 0) | (promise.unclean & (have.replicas > have.replicas_inside))
    replaced = taken & successor if number in _STALE else nobody
    counted = led & successor if number in _ACKNOWLEDGED else nobody
    return (
        shrinks,
        unwritable,
        taken & (outside == 0),
        taken & (outside > 0),
        replaced,
        replaced,
        counted & (promise.promised <= inside),
    )
