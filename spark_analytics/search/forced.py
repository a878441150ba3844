"""What rules force: replicas that may not stay where they are, or have no place yet, go first, the largest first."""

from __future__ import annotations

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.resources import Resource
from spark_analytics.search import kernels
from spark_analytics.search.compiled import compiled, plain
from spark_analytics.search.found import Stuck, Why
from spark_analytics.search.kernels import State
from spark_analytics.search.rules import Rules

_CANDIDATES = 128
_RACK_GROUPS = 24


def forced_of(model: ClusterModel, rules: Rules, away: Bools) -> Bools:
    """[slots] the replicas that must leave their broker; `away`: it has no other log dir for them."""
    forced = np.zeros(model.slots, dtype=np.bool_)
    goes = np.asarray(rules.may_take.any(axis=1))[rules.class_of][model.slot_partition]
    _find_forced(
        plain(model.slot_start),
        plain(rules.class_of),
        plain(model.slot_broker),
        plain(model.rack),
        plain(model.idc),
        plain(rules.rack_max),
        plain(rules.idc_min),
        plain(rules.idc_max),
        plain(rules.may_stay),
        plain(away),
        forced,
    )
    if rules.mends and rules.most_replicas is not None:
        _shed(model, rules.most_replicas, goes, rules.free_to_move, forced)
    return forced


def _shed(model: ClusterModel, most: Ints, goes: Bools, free: Bools, forced: Bools) -> None:
    """As many as brokers hold too many of: followers first, the smallest, and what may not move at the last."""
    placed = model.slot_broker >= 0
    stays = placed & ~forced
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[model.leader_slot] = True
    held = np.bincount(model.slot_broker[stays], minlength=model.brokers)
    for broker in np.flatnonzero(held > most).tolist():
        slots = np.flatnonzero(stays & goes & (model.slot_broker == broker))
        order = np.lexsort((model.slot_load[slots, Resource.DISK], leads[slots], ~free[slots]))
        forced[slots[order[: int(held[broker] - most[broker])]]] = True


@compiled
def _find_forced(  # noqa: PLR0912 - one rule after another
    first: Ints,
    class_of: Ints,
    broker: Ints,
    rack: Ints,
    idc: Ints,
    rack_max: Ints,
    idc_min: Ints,
    idc_max: Ints,
    may_stay: Bools,
    away: Bools,
    forced: Bools,
) -> None:
    """From where they may not stay, and as many as racks and IDCs hold too many of: the first stays, which leads.

    Where an IDC lacks replicas, later slots leave those that have more than they need.
    """
    idcs = idc_min.shape[1]
    kept = np.zeros(idcs, np.int64)
    for p in range(class_of.shape[0]):
        c = class_of[p]
        kept[:] = 0
        gone = 0
        for slot in range(first[p], first[p + 1]):
            b = broker[slot]
            goes = b < 0 or away[slot] or not may_stay[c, b]
            if not goes:
                same_rack = 0
                for other in range(first[p], slot):
                    if not forced[other] and rack[broker[other]] == rack[b]:
                        same_rack += 1
                i = idc[b]
                goes = same_rack >= rack_max[c] or (i >= 0 and kept[i] >= idc_max[c, i])
            forced[slot] = goes
            if goes:
                gone += 1
            elif idc[b] >= 0:
                kept[idc[b]] += 1
        lack = 0
        for i in range(idcs):
            lack += max(0, idc_min[c, i] - kept[i])
        for slot in range(first[p + 1] - 1, first[p] - 1, -1):
            if gone >= lack:
                break
            if forced[slot]:
                continue
            i = idc[broker[slot]]
            if i < 0 or kept[i] > idc_min[c, i]:
                forced[slot] = True
                gone += 1
                if i >= 0:
                    kept[i] -= 1


def stuck_of(left: Ints, why: Ints) -> tuple[Stuck, ...]:
    return tuple(Stuck(slot, Why(reason)) for slot, reason in sorted(zip(left.tolist(), why.tolist(), strict=True)))


def place(state: State, slots: Ints, lost: Bools, weight: Floats, margin: Floats) -> tuple[Ints, Ints]:
    """Take these replicas from where they are and place them; those that found no place go home, and are returned.

    Where one that goes home finds its broker filled by others of them, these look for another place. Where others of
    its partition crowd its rack or IDC, these go home as well; then each of them tries once more by itself.
    """
    why = np.zeros(len(state.broker), dtype=np.int64)
    was_crowded = np.zeros(len(state.class_of), dtype=np.bool_)
    must = ~state.returns
    must[slots] = True
    going = slots
    while len(going):
        stuck, why[stuck] = _place_once(state, going, weight, margin)
        back, crowds = return_crowding(state, lost, stuck)
        why[back] = np.where(must[back], crowds, 0)
        was_crowded[state.partition[back]] = True
        on = np.unique(state.broker[np.append(stuck, back)])
        on = on[on >= 0]
        full = on[(state.dev[on] > state.ceiling[on]).any(axis=1)]
        going = slots[np.isin(state.broker[slots], full) & (state.broker[slots] != state.home[slots])]
    for slot in np.flatnonzero((why > 0) & was_crowded[state.partition]).reshape(-1, 1):
        why[slot] = 0
        stuck, why[stuck] = _place_once(state, slot, weight, margin)
    left = np.flatnonzero(why)
    return left, why[left]


def return_crowding(state: State, lost: Bools, stuck: Ints) -> tuple[Ints, Ints]:
    """Now that these found no place, others of their partitions go home until none is too many; those, and why.

    `lost` [slots] is what can't be read where it is.
    """
    back, why = stuck[:0], stuck[:0]
    crowds = np.zeros(len(state.broker), dtype=np.int64)
    while True:
        kernels.find_crowding(state, lost, np.unique(state.partition[stuck]), crowds)
        slots = np.flatnonzero(crowds)
        if not len(slots):
            return back, why
        _, first = np.unique(state.partition[slots], return_index=True)
        kernels.put_all(state, slots[first], state.home[slots[first]])
        back, why = np.append(back, slots[first]), np.append(why, crowds[slots[first]])


def _place_once(state: State, slots: Ints, weight: Floats, margin: Floats) -> tuple[Ints, Ints]:
    kernels.put_all(state, slots, np.full(len(slots), -1))
    groups = min(_RACK_GROUPS, int(state.rack.max(initial=0)) + 1)
    each = max(1, _CANDIDATES // (groups * kernels.CRITERIA))
    every = max(1, len(state.pool) // 64)
    why = np.zeros(len(slots), dtype=np.int64)
    heavy = np.argsort(-(state.load[slots] * _scale(state)).max(axis=1), kind="stable")
    ordered = slots[heavy]
    kernels.place_forced(state, ordered, groups, each, every, weight, margin, why)
    stuck = ordered[why > 0]
    kernels.put_all(state, stuck, state.home[stuck])
    return stuck, why[why > 0]


def _scale(state: State) -> Floats:
    """[RESOURCES] the dev that a unit of load makes on the middle broker."""
    used = state.unit[state.pool >= 0]
    return np.median(used, axis=0) if len(used) else np.zeros(state.unit.shape[1])
