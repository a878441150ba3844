"""The search for a better placement: what rules force, then brokers, then the log dirs inside each.

find(model, rules, targets)      replicas and leaders
leaders(model, rules, targets)   leaders only: nothing is copied

What becomes of a replica, in the words of these modules:

    must_leave   leaves its log dir: the task says so, or its log dir is broken or to be emptied
    away         of these, those for which their broker has no other log dir
    evicted      leaves its broker: is away, may not stay, shares a rack or an IDC, is one too many; or has no place yet
    homeless     has a broker and found no log dir there: looks for another broker
    stuck        found no place at all, and stays where it is
    forced       evicted or must_leave, or moved so that brokers lead as many of a topic as they must: a rule said so
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, living_slots
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search import brokers, disks, forced, kernels, preparing
from spark_analytics.search.bounds import Least, least, stays_in_pools, strict
from spark_analytics.search.brokers import Aim
from spark_analytics.search.found import Found, Stuck, Why
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.kernels import State
from spark_analytics.search.rules import Rules

# Replicas that fit on their broker but on none of its log dirs look for another broker so often.
_ROUNDS = 3


def find(
    model: ClusterModel, rules: Rules, targets: Targets, budget: Budget | None = None, weights: Floats | None = None
) -> Found:
    """Replicas and leaders where `rules` allow and `targets` ask, for the least data. Same input, same answer.

    `weights` [RESOURCES]: how much a resource counts beside the others (1); 0 leaves it out.
    """
    weights = np.ones(RESOURCES) if weights is None else weights
    room = disks.room_of(model, rules)
    must_leave, away = disks.leaving(model, rules, room)
    evicted = forced.forced_of(model, rules, away, weights)
    total, largest = disks.room_by_broker(model, rules, room)
    state = preparing.state_of(model, rules, targets, budget or Budget(), evicted, total, largest)
    must = evicted | must_leave
    proven = _Proven.of(model, rules, targets, state, evicted, ~rules.free_to_move & ~must)
    aim = brokers.aim_of(state, targets, weights, proven.least)

    lost = ~living_slots(model)
    left, why = _place(state, aim, lost, np.flatnonzero(evicted))
    state.waits[left] = True
    _lead(model, rules, state, aim, must, copies=True)
    brokers.relax(state, aim)
    if len(left):
        left, why = _place(state, aim, lost, left)
    log_dirs, left, why = _to_log_dirs(model, rules, targets, state, aim, must_leave, lost, left, why)
    _lead(model, rules, state, aim, must)
    return _found(model, targets, state, proven, log_dirs, must, forced.stuck_of(left, why))


def _to_log_dirs(
    model: ClusterModel,
    rules: Rules,
    targets: Targets,
    state: State,
    aim: Aim,
    must_leave: Bools,
    lost: Bools,
    left: Ints,
    why: Ints,
) -> tuple[tuple[Ints, Floats], Ints, Ints]:
    """([slots] log dirs, [brokers] how level they are), and what found no place and why."""
    slot_log_dir, level, homeless = disks.level(model, rules, targets, state.broker, must_leave, _left(state))
    for _ in range(_ROUNDS):
        homeless = np.setdiff1d(homeless, left)
        if not len(homeless):
            break
        state.largest[np.unique(state.broker[homeless])] = -1.0
        more, hindered = _place(state, aim, lost, homeless)
        left, why = np.append(left, more), np.append(why, hindered)
        slot_log_dir, level, homeless = disks.level(model, rules, targets, state.broker, must_leave, _left(state))
    homeless = np.setdiff1d(homeless, left)
    kernels.put_all(state, homeless, state.home[homeless])
    back, crowds = forced.return_crowding(state, lost, homeless)
    slot_log_dir[back] = model.slot_log_dir[back]
    must = ~state.returns[back] | must_leave[back]
    left, why = np.concatenate([left, homeless, back[must]]), np.append(why, np.full(len(homeless), Why.DISK_ROOM))
    why = np.append(why, crowds[must])
    stays = (slot_log_dir < 0) & (model.slot_log_dir >= 0)
    return (np.where(stays, model.slot_log_dir, slot_log_dir), level), left, why


def leaders(model: ClusterModel, rules: Rules, targets: Targets, budget: Budget | None = None) -> Found:
    """The same with leaders only: no replica moves, not even one that breaks a rule."""
    nothing = np.zeros(model.slots, dtype=np.bool_)
    none = np.zeros(model.brokers)
    state = preparing.state_of(model, rules, targets, budget or Budget(), nothing, none, none)
    proven = _Proven.of(model, rules, targets, state, nothing, ~nothing)
    aim = brokers.aim_of(state, targets, np.ones(RESOURCES), proven.least)
    _lead(model, rules, state, aim, nothing)
    brokers.relax_leaders(state, aim)
    placed = model.slot_log_dir.copy(), np.zeros(model.brokers)
    return _found(model, targets, state, proven, placed, nothing, ())


def _lead(model: ClusterModel, rules: Rules, state: State, aim: Aim, must: Bools, copies: bool = False) -> None:
    """Leaders stand where they may; of a task that mends all do, of others those of partitions that it moves."""
    which = rules.mends | (state.broker[state.leader] != state.leader_home)
    which[model.slot_partition[must]] = True
    kernels.settle_leaders(state, which, aim.weights, aim.margin)
    if rules.mends and len(state.must_lead):
        kernels.lead_as_many_as_must(state, copies, aim.weights, aim.margin, must)


def _left(state: State) -> Floats:
    """[brokers + 1] the bytes that the budget leaves for copies within each broker, and within all."""
    left: Floats = np.append(
        state.budget[kernels.BROKER_BYTES] - state.copied_in,
        state.budget[kernels.BYTES] - state.spent[kernels.BYTES],
    )
    return np.maximum(left, 0.0).astype(np.float64)


def _place(state: State, aim: Aim, lost: Bools, slots: Ints) -> tuple[Ints, Ints]:
    if not len(slots):
        return slots, slots
    return forced.place(state, slots, lost, aim.weights, aim.margin)


@dataclass(frozen=True, slots=True, eq=False)
class _Proven:
    """What was proven before anything moved, and of what: loads that do not come, or that go, are not a part of it."""

    least: Least
    pool_of_slot: Ints
    still: Bools  # [slots] those that stay at home
    crowded: Bools  # [partitions] may have more replicas in a rack than rules allow, since they have them now

    @classmethod
    def of(
        cls, model: ClusterModel, rules: Rules, targets: Targets, state: State, evicted: Bools, still: Bools
    ) -> _Proven:
        where = preparing.pools_of_slots(model, rules, state.pool, evicted)
        crowded = forced.crowded(model, rules) & rules.keeps_crowds
        return cls(least(state, where, still, crowded, targets), where, still, crowded)

    def at_last(self, model: ClusterModel, targets: Targets, state: State, stuck: tuple[Stuck, ...]) -> Least:
        """Proven anew where it spoke of something else than came."""
        where = np.where(state.broker >= 0, state.pool[state.broker], -1)
        still = self.still & (state.broker == state.home)
        same = (where == self.pool_of_slot).all() and (still == self.still).all() and stays_in_pools(state, where)
        if same and not stuck:
            return self.least
        broken = self.crowded.copy()
        broken[[model.slot_partition[each.slot] for each in stuck]] = True
        return least(state, where, still, broken, targets)


def _found(
    model: ClusterModel,
    targets: Targets,
    state: State,
    proven: _Proven,
    log_dirs: tuple[Ints, Floats],
    must: Bools,
    stuck: tuple[Stuck, ...],
) -> Found:
    cv, most = brokers.spread_of(state)
    met = (cv <= targets.cv) & (most <= targets.max_over_mean)
    bound = proven.at_last(model, targets, state, stuck)
    if not met[[Resource.NW_OUT, Resource.LEADERS]].all():
        bound = strict(bound)
    return Found(
        slot_log_dir=log_dirs[0],
        leader_slot=state.leader,
        forced=must,
        met=met,
        cv=cv,
        max_over_mean=most,
        least_cv=bound.cv_with_others,
        least_max=bound.max_with_others,
        disk_level=log_dirs[1],
        stuck=stuck,
        least_with_others=(bound.cv_with_others > bound.cv) | (bound.max_with_others > bound.max_over_mean),
    )
