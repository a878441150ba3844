"""What a loss or a cut does to the data: the rules of guardian/health/rules/durability.py, over arrays.

in sync     a replica counts as in sync where its broker lives and its log dir is online: a model knows no ISR
offline     had somebody in sync, and has nobody left
unwritable  has fewer left in sync than min.insync.replicas, and had enough: acks=all is refused
one copy    a single copy is left of several: the next loss takes it offline
exposed     min.insync.replicas of the replicas or more are inside, so an acknowledgement may have come from there
            alone: lost if the disks are lost too and the ISR had shrunk to them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guardian.model.durability import Loss, Scope, TopicSettings
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, living_slots
from spark_analytics.model.resources import Resource

_ROUNDING = 1e-9
KAFKA_DEFAULT = TopicSettings(min_isr=1, is_unclean=False)


@dataclass(frozen=True, slots=True)
class Damage:
    """Partitions, and bytes of one copy of those that are exposed. `leaders` have to move."""

    leaders: int
    offline: int
    unwritable: int
    one_copy: int
    exposed: int
    exposed_bytes: int
    topics: tuple[TopicDamage, ...]  # the worst first


@dataclass(frozen=True, slots=True)
class TopicDamage:
    topic: str
    offline: int
    unwritable: int
    exposed: int


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """Settings of each partition's topic, as arrays."""

    min_isr: Ints  # [partitions]
    promised: Ints  # [partitions] copies that an acknowledgement stands for at least
    unclean: Bools  # [partitions]

    @classmethod
    def of(cls, model: ClusterModel, settings: Mapping[str, TopicSettings]) -> Promise:
        """Topics without settings have Kafka's defaults."""
        each = [settings.get(topic, KAFKA_DEFAULT) for topic in model.topics]
        min_isr = np.array([one.min_isr for one in each], dtype=np.int64)[model.partition_topic]
        unclean = np.array([one.is_unclean for one in each], dtype=np.bool_)[model.partition_topic]
        return cls(min_isr, np.where(unclean, 1, min_isr), unclean)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """What partitions have now, and how much of it is inside what is lost. [partitions] each."""

    in_sync: Ints
    replicas: Ints
    in_sync_inside: Ints
    replicas_inside: Ints
    leader_inside: Bools

    @property
    def left(self) -> Ints:
        return np.asarray(self.in_sync - self.in_sync_inside)


def copies(model: ClusterModel, inside: Bools) -> Copies:
    """`inside` [brokers]"""
    placed = model.slot_log_dir >= 0
    synced = living_slots(model)
    there = placed & inside[model.slot_broker]
    leader = model.leader_slot
    return Copies(
        in_sync=_per_partition(model, synced),
        replicas=_per_partition(model, placed),
        in_sync_inside=_per_partition(model, synced & there),
        replicas_inside=_per_partition(model, there),
        leader_inside=np.asarray(there[leader] & synced[leader] & model.movable),
    )


def copies_of_slots(model: ClusterModel) -> Copies:
    """[slots] instead of [partitions]: what is lost is the broker of each slot, by itself."""
    placed = model.slot_log_dir >= 0
    synced = living_slots(model)
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[model.leader_slot] = model.movable
    return Copies(
        in_sync=_per_partition(model, synced)[model.slot_partition],
        replicas=_per_partition(model, placed)[model.slot_partition],
        in_sync_inside=synced.astype(np.int64),
        replicas_inside=placed.astype(np.int64),
        leader_inside=leads & synced,
    )


def _per_partition(model: ClusterModel, flags: Bools) -> Ints:
    return np.bincount(model.slot_partition[flags], minlength=model.partitions)


def damage(model: ClusterModel, settings: Mapping[str, TopicSettings], inside: Bools) -> Damage:
    """What losing these brokers at once does."""
    promise, have = Promise.of(model, settings), copies(model, inside)
    offline = (have.in_sync > 0) & (have.left == 0)
    unwritable = (have.left > 0) & (have.left < promise.min_isr) & (promise.min_isr <= have.in_sync)
    exposed = (have.replicas_inside > 0) & (have.replicas_inside >= promise.promised)
    size = model.slot_load[model.leader_slot, Resource.DISK]
    return Damage(
        leaders=int(have.leader_inside.sum()),
        offline=int(offline.sum()),
        unwritable=int(unwritable.sum()),
        one_copy=int(((have.left == 1) & (have.in_sync > 1)).sum()),
        exposed=int(exposed.sum()),
        exposed_bytes=round(float(size[exposed].sum())),
        topics=_topics(model, offline, unwritable, exposed),
    )


_MAX_TOPICS = 20


def _topics(model: ClusterModel, *flags: Bools) -> tuple[TopicDamage, ...]:
    count = len(model.topics)
    hurt = np.column_stack([np.bincount(model.partition_topic[each], minlength=count) for each in flags])
    worst = np.lexsort((np.arange(count), -hurt[:, 2], -hurt[:, 1], -hurt[:, 0]))[:_MAX_TOPICS]
    return tuple(TopicDamage(model.topics[at], *hurt[at].tolist()) for at in worst.tolist() if hurt[at].any())


def losses(model: ClusterModel, settings: Mapping[str, TopicSettings], scope: Scope) -> tuple[Loss, ...]:
    """Each broker that lives, each rack or each IDC of several, lost by itself; the worst first."""
    group, names = _groups(model, scope)
    if len(names) < (1 if scope is Scope.BROKER else 2):
        return ()
    promise = Promise.of(model, settings)
    synced = living_slots(model)
    now = _per_partition(model, synced)
    width = len(names)
    slot_group = np.where(model.slot_log_dir >= 0, group[model.slot_broker], -1)
    there = slot_group >= 0
    keys, at = np.unique(model.slot_partition[there] * width + slot_group[there], return_inverse=True)
    partition, of = keys // width, keys % width
    inside = np.bincount(at, synced[there], len(keys))
    held = np.bincount(at, minlength=len(keys))
    left, min_isr = now[partition] - inside, promise.min_isr[partition]
    was_online = now[partition] > 0
    leader = model.leader_slot
    leads = np.flatnonzero(there[leader] & synced[leader] & model.movable)
    leaders = np.bincount(slot_group[leader[leads]], minlength=width)
    counts = [
        np.bincount(of[flags], minlength=width)
        for flags in (
            was_online & (left == 0),
            (left > 0) & (left < min_isr) & (min_isr <= now[partition]),
            held >= promise.promised[partition],
        )
    ]
    brokers = [tuple(model.broker_ids[group == each].tolist()) for each in range(width)]
    order = np.lexsort((np.arange(width), -leaders, -counts[2], -counts[1], -counts[0]))
    return tuple(
        Loss(scope, names[each], brokers[each], int(leaders[each]), *(int(count[each]) for count in counts))
        for each in order.tolist()
    )


def _groups(model: ClusterModel, scope: Scope) -> tuple[Ints, tuple[str, ...]]:
    """[brokers] the group of each, -1: none; and their names. A rack that only one broker calls its own is none."""
    if scope is Scope.BROKER:
        ids = np.flatnonzero(model.alive)
        group = np.full(model.brokers, -1)
        group[ids] = np.arange(len(ids))
        return group, tuple(str(each) for each in model.broker_ids[ids].tolist())
    if scope is Scope.IDC:
        return model.idc, model.idc_names
    named = [at for at, name in enumerate(model.rack_names) if not name.startswith("(")]
    code = np.full(len(model.rack_names), -1)
    code[named] = np.arange(len(named))
    return code[model.rack], tuple(model.rack_names[at] for at in named)


def after_loss(model: ClusterModel, inside: Bools) -> Floats:
    """[brokers, RESOURCES] loads when leaders have moved and nothing is rebuilt yet; `inside` [brokers] is lost.

    Kafka takes the next of the replica list that is in sync. Samples tell who holds a partition, not the order of its
    list, so each of those left is reckoned to take over an equal part of what the lost leaders did.
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


def _takeovers(model: ClusterModel, survives: Bools) -> tuple[Ints, Floats]:
    """(slots that lead then, the part of its partition that each leads)"""
    stays = survives[model.leader_slot]
    leads = survives & ~stays[model.slot_partition]
    leads[model.leader_slot[stays]] = True
    count = np.bincount(model.slot_partition[leads], minlength=model.partitions)
    slot = np.flatnonzero(leads)
    return slot, 1 / count[model.slot_partition[slot]]


def heaviest_loss(model: ClusterModel, loads: Floats, limits: Floats) -> int | None:
    """The broker whose leaders, led by others, bring one of them highest above a limit; None: no loss brings any there.

    `loads` [brokers, RESOURCES] are those of now, `limits` [WITH_CAPACITY] shares of capacity.
    """
    lives = living_slots(model)
    lost = model.slot_broker[model.leader_slot][model.slot_partition]
    takes = lives & lives[model.leader_slot][model.slot_partition] & (model.slot_broker != lost)
    count = np.bincount(model.slot_partition[takes], minlength=model.partitions)
    slot = np.flatnonzero(takes)
    pair, at = np.unique(lost[slot] * model.brokers + model.slot_broker[slot], return_inverse=True)
    worst, found = 1 + _ROUNDING, None
    for column, limit in enumerate(limits.tolist()):
        part = model.leader_load[model.slot_partition[slot], column] / count[model.slot_partition[slot]]
        more, taker = np.bincount(at, part, len(pair)), pair % model.brokers
        use = (loads[taker, column] + more) / (limit * model.capacity[taker, column])
        use = np.where(more > 0, use, 0.0)
        if len(use) and use.max() > worst:
            worst, found = float(use.max()), int(pair[use.argmax()] // model.brokers)
    return found
