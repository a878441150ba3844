"""What rules force: replicas that may not stay where they are, or have no place yet, go first, the largest first."""

from __future__ import annotations

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import scale
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search import kernels
from spark_analytics.search.compiled import compiled, inner, plain
from spark_analytics.search.found import Stuck, Why
from spark_analytics.search.kernels import NOWHERE, State
from spark_analytics.search.rules import Rules

_CANDIDATES = 128
_RACK_GROUPS = 24
# A leader leaves a crowd only where that relieves by so much more: its clients would have to follow it.
_FOR_A_LEADER = 1.03


def forced_of(model: ClusterModel, rules: Rules, away: Bools, weights: Floats) -> Bools:
    """[slots] the replicas that must leave their broker; `away`: it has no other log dir for them.

    `weights` [RESOURCES] say how much each resource counts when those that leave a crowded rack or IDC are chosen.
    """
    goes = np.asarray(rules.may_take.any(axis=1))[rules.class_of][model.slot_partition]
    may_stay = rules.may_stay[rules.class_of[model.slot_partition], np.maximum(model.slot_broker, 0)]
    forced: Bools = (model.slot_broker < 0) | away | ~may_stay
    share, use = _shares(model, weights)
    _part_crowds(
        plain(model.slot_start),
        plain(rules.class_of),
        plain(model.slot_broker),
        plain(model.rack),
        plain(model.idc),
        np.full_like(rules.rack_max, model.slots) if rules.keeps_crowds else plain(rules.rack_max),
        plain(rules.idc_min),
        plain(rules.idc_max),
        share,
        use,
        forced,
    )
    if rules.mends and rules.most_replicas is not None:
        _shed(model, rules.most_replicas, goes, rules.free_to_move, forced)
    return forced


def _shed(model: ClusterModel, most: Ints, goes: Bools, free: Bools, forced: Bools) -> None:
    """Force as many replicas to go as brokers hold too many of: followers first, the smallest, and what may not move at
    the last.
    """
    placed = model.slot_broker >= 0
    stays = placed & ~forced
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[model.leader_slot] = True
    held = np.bincount(model.slot_broker[stays], minlength=model.brokers)
    for broker in np.flatnonzero(held > most).tolist():
        slots = np.flatnonzero(stays & goes & (model.slot_broker == broker))
        order = np.lexsort((model.slot_load[slots, Resource.DISK], leads[slots], ~free[slots]))
        forced[slots[order[: int(held[broker] - most[broker])]]] = True


def crowded(model: ClusterModel, rules: Rules) -> Bools:
    """[partitions] those that have more replicas in some rack now than rules allow."""
    placed = model.slot_broker >= 0
    racks = len(model.rack_names)
    pairs, counts = np.unique(
        model.slot_partition[placed] * racks + model.rack[model.slot_broker[placed]], return_counts=True
    )
    partition = pairs // max(racks, 1)
    found = np.zeros(model.partitions, dtype=np.bool_)
    found[partition[counts > rules.rack_max[rules.class_of[partition]]]] = True
    return found


def _shares(model: ClusterModel, weights: Floats) -> tuple[Floats, Floats]:
    """[slots, RESOURCES] what each replica is of a mean broker's use, leading apart; [brokers, RESOURCES] their sums.

    Leaders hand over for nothing once replicas lie even. A resource that is not used, or has no weight, counts 0.
    """
    load, on = model.slot_load, model.slot_broker
    capacity = scale(model)
    held = [np.bincount(on[on >= 0], load[on >= 0, r], model.brokers) for r in range(RESOURCES)]
    use = np.column_stack(held) / capacity
    mean = use[model.alive].mean(axis=0) if model.alive.any() else np.zeros(RESOURCES)
    factor = np.where(mean > 0, np.sqrt(weights) / np.where(mean > 0, mean, 1.0), 0.0)
    share: Floats = load / capacity[np.maximum(on, 0)] * factor
    return np.ascontiguousarray(share), np.ascontiguousarray(use * factor)


@compiled
def _part_crowds(
    first: Ints,
    class_of: Ints,
    broker: Ints,
    rack: Ints,
    idc: Ints,
    rack_max: Ints,
    idc_min: Ints,
    idc_max: Ints,
    share: Floats,
    use: Floats,
    forced: Bools,
) -> None:
    """As many leave as racks and IDCs hold too many of, and those that others lack; each from the fullest broker.

    `forced` are those that leave anyhow. `use` is what brokers have, less what was chosen to leave. Of two that relieve
    alike the later leaves; the first leads, and leaves where it relieves clearly more.
    """
    for p in range(class_of.shape[0]):
        c = class_of[p]
        low, high = first[p], first[p + 1]
        gone = 0
        for slot in range(low, high):
            if forced[slot]:
                gone += 1
                if broker[slot] >= 0:
                    use[broker[slot]] -= share[slot]
        while True:
            slot = _one_too_many(low, high, c, broker, rack, idc, rack_max, idc_max, share, use, forced)
            if slot < 0:
                break
            forced[slot] = True
            use[broker[slot]] -= share[slot]
            gone += 1
        lack = 0
        for i in range(idc_min.shape[1]):
            lack += max(0, idc_min[c, i] - _kept(low, high, broker, idc, i, forced))
        while gone < lack:
            slot = _one_to_spare(low, high, c, broker, idc, idc_min, share, use, forced)
            if slot < 0:
                break
            forced[slot] = True
            use[broker[slot]] -= share[slot]
            gone += 1


@inner
def _one_too_many(
    low: int,
    high: int,
    c: int,
    broker: Ints,
    rack: Ints,
    idc: Ints,
    rack_max: Ints,
    idc_max: Ints,
    share: Floats,
    use: Floats,
    forced: Bools,
) -> int:
    """Of a rack or IDC with too many the replica that relieves most, of both before of one; -1: none has too many."""
    who = NOWHERE
    crowds, best = 0, 0.0
    for slot in range(low, high):
        if forced[slot]:
            continue
        b = broker[slot]
        i = idc[b]
        crowded = int(_kept(low, high, broker, rack, rack[b], forced) > rack_max[c])
        if i >= 0:
            crowded += int(_kept(low, high, broker, idc, i, forced) > idc_max[c, i])
        relief = _relief(share[slot], use[b]) / (_FOR_A_LEADER if slot == low else 1.0)
        if crowded > crowds or (crowded > 0 and crowded == crowds and relief >= best):
            who, crowds, best = slot, crowded, relief
    return who


@inner
def _one_to_spare(
    low: int,
    high: int,
    c: int,
    broker: Ints,
    idc: Ints,
    idc_min: Ints,
    share: Floats,
    use: Floats,
    forced: Bools,
) -> int:
    """The replica that relieves most of those whose IDC has more than it needs; -1: none has."""
    who = NOWHERE
    best = 0.0
    for slot in range(low, high):
        if forced[slot]:
            continue
        i = idc[broker[slot]]
        if i >= 0 and _kept(low, high, broker, idc, i, forced) <= idc_min[c, i]:
            continue
        relief = _relief(share[slot], use[broker[slot]]) / (_FOR_A_LEADER if slot == low else 1.0)
        if who < 0 or relief >= best:
            who, best = slot, relief
    return who


@inner
def _kept(low: int, high: int, broker: Ints, group: Ints, one: int, forced: Bools) -> int:
    """How many of a partition's replicas stay in this rack or IDC."""
    count = 0
    for slot in range(low, high):
        if not forced[slot]:
            count += int(group[broker[slot]] == one)
    return count


@inner
def _relief(share: Floats, use: Floats) -> float:
    """By how much the sum of squares of a broker's use falls when it gives this away."""
    total = 0.0
    for r in range(share.shape[0]):
        total += share[r] * (2.0 * use[r] - share[r])
    return total


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
