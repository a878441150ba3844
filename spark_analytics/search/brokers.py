"""The level of brokers: raise the weights until the targets hold, then send home what need not have moved.

leaders    hand over first: that copies nothing
stages     all weights grow together, so that what relieves most per byte moves first
then       only the weights of what is not met yet, and not proven out of reach, grow, until nothing changes any more
give back  replicas, then leaders go home while what was reached holds
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.model.cluster_model import Bools, Floats, Ints
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search import kernels
from spark_analytics.search.bounds import Least
from spark_analytics.search.goal import Targets
from spark_analytics.search.kernels import State

_STAGES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
_FINE_STAGES = tuple(0.02 * 1.2**n for n in range(21))
_MORE = 60
_EXCHANGING = 24
# A target that is met by so much lets its price fall again: it may have risen out of all proportion.
_EASY = 0.97
_EASING = 0.85
_STALLED = 8
_SIDE = 0.25
_CANDIDATES = 64
_RACK_GROUPS = 24
# Targets are aimed at from a little below, so that giving back has something to give.
_CV_SAFETY = 0.998
_MAX_SAFETY = 0.992
_LEAST_GAIN = 1e-6
_LEADER_GAINS_FIRST = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 0.0)
_LEADER_GAINS = (3e-3, 3e-4, 0.0)
_LEADER_ROUNDS = 8
_NOT_ASKED = 1e9
# CPU so near to what is proven of it while other targets are kept is not bought at their cost: none of them would hold.
_NEAR = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """Targets, where they can be reached, from a little below: so that giving back has something to give.

    What is proven out of reach is aimed at from above what was proven, and no weight is raised for it in the end.

    `margin` is the dev above which the objective grows steeply; `weights` are at least those of the final prices.
    """

    asked: Bools  # [RESOURCES]
    insisted: Bools  # [RESOURCES] asked, and not proven out of reach
    cv: Floats  # [RESOURCES]
    max_over_mean: Floats  # [RESOURCES]
    margin: Floats  # [RESOURCES]
    weights: Floats  # [RESOURCES] how much each counts when a broker is chosen for a replica that must move
    least: Least


def aim_of(state: State, targets: Targets, weights: Floats, bound: Least) -> Aim:
    asked = (weights > 0) & (np.isfinite(targets.cv) | np.isfinite(targets.max_over_mean))
    cv = np.where(np.isfinite(targets.cv), targets.cv, _NOT_ASKED)
    most = np.where(np.isfinite(targets.max_over_mean), targets.max_over_mean, _NOT_ASKED)
    beyond = (bound.cv_with_others > cv) | (bound.max_with_others > most)
    beyond |= bound.cv_with_others > np.maximum(_NEAR * cv, bound.cv)
    # No further above what is proven than the target is above nothing: of a task that is about few topics, most of what
    # is proven is what it may not move, and a share of that may be more than all that it may.
    above = np.minimum(np.hypot(bound.cv_with_others * 1.2, cv), bound.cv_with_others + cv)
    cv = np.where(beyond, above, cv) * _CV_SAFETY
    most = np.where(beyond, np.maximum(bound.max_with_others, 1.0) + most - 1, most)
    most = np.where(asked, np.minimum(most, _within_limits(state)), most)
    inside = 1 + (most - 1) * _MAX_SAFETY
    _, start = spread_of(state)
    most = np.where(start <= most, np.maximum(inside, start), inside)
    return Aim(asked, asked & ~beyond, cv, most, most - 1, np.where(weights > 0, weights, 0.0), bound)


def _within_limits(state: State) -> Floats:
    """[RESOURCES] the max/mean that keeps brokers within their limits, of pools where one is above; inf: none is."""
    most = np.full(RESOURCES, np.inf)
    for k in range(_pools(state)):
        inside = state.pool == k
        ceiling = state.ceiling[inside].min(axis=0)
        over = (state.dev[inside] > state.ceiling[inside]).any(axis=0) & (ceiling > 0)
        most = np.where(over, np.minimum(most, 1 + ceiling), most)
    return most


def spread_of(state: State) -> tuple[Floats, Floats]:
    """cv and max/mean of each resource: of the worst pool."""
    cv, most = np.zeros(state.dev.shape[1]), np.ones(state.dev.shape[1])
    for k in range(_pools(state)):
        use = 1 + state.dev[state.pool == k]
        mean = np.maximum(use.mean(axis=0), 1e-12)
        used = state.unit[state.pool == k].max(axis=0) > 0
        cv = np.where(used, np.maximum(cv, use.std(axis=0) / mean), cv)
        most = np.where(used, np.maximum(most, use.max(axis=0) / mean), most)
    return cv, most


def relax(state: State, aim: Aim) -> None:
    """Until the targets hold, or nothing more can be done about them, or the budget is spent."""
    if (_shortfall(state, aim, aim.asked) <= 1).all():
        return
    final = _prices(state, aim)
    _hand_over(state, aim, final, _LEADER_GAINS_FIRST)
    limited = bool(np.isfinite(state.budget[kernels.BYTES]))
    stages = _FINE_STAGES if limited else _STAGES
    short = _Shortage(len(stages))
    price, met = final, _shortfall(state, aim, aim.asked) <= 1
    while not met.all() and short.is_worth_another():
        if short.stage < len(stages):
            price = final * stages[short.stage]
        else:
            far = _shortfall(state, aim, aim.insisted)
            eased = np.where(far < _EASY, np.maximum(price * _EASING, np.minimum(price, final)), price)
            price = np.where(met, eased, price * short.raised(far))
        before = (state.broker.copy(), state.leader.copy()) if limited else None
        _stage(state, aim, price, 2 if short.stage < len(stages) else 1)
        if short.is_stuck():
            _exchange(state, aim, price)
        if before is not None and state.spent[kernels.BYTES] > state.budget[kernels.BYTES]:
            _within_budget(state, before, price, aim)
            break
        far = _shortfall(state, aim, aim.asked if short.stage + 1 < len(stages) else aim.insisted)
        met = far <= 1
        short.saw(far)
    _give_back(state, aim)


class _Shortage:
    """How far the targets are, stage by stage: when to insist, and when to give up."""

    def __init__(self, stages: int) -> None:
        self.stage = 0
        self._stages = stages
        self._least = np.inf
        self._stalled = 0
        self._rounds = np.zeros(0)

    def saw(self, far: Floats) -> None:
        """`far` [RESOURCES] is how many times the target each is."""
        self.stage += 1
        if not len(self._rounds):
            self._rounds = np.zeros(len(far))
        self._rounds = np.where(far > 1, self._rounds + 1, 0)
        short = float(np.maximum(far - 1, 0).sum())
        if self.stage > self._stages:
            self._stalled = 0 if short < 0.98 * self._least else self._stalled + 1
        self._least = min(self._least, short)

    def raised(self, far: Floats) -> Floats:
        """The factor of each price: the longer a target is missed, the more, and most when nothing came of the last."""
        patience = np.maximum(self._rounds - self._stages, 0)
        least = min(1.03 + 0.1 * self._stalled, 1.4)
        factor: Floats = np.clip(far, least, 1.4) ** np.minimum(1 + patience / 4, 3)
        return np.minimum(factor, 2.0)

    def is_stuck(self) -> bool:
        return self._stalled > 0

    def is_worth_another(self) -> bool:
        return self.stage < self._stages + _MORE and self._stalled < _STALLED


def _stage(state: State, aim: Aim, price: Floats, times: int) -> None:
    groups = min(_RACK_GROUPS, int(state.rack.max()) + 1)
    each = max(1, _CANDIDATES // (groups * kernels.CRITERIA))
    every = max(1, len(state.pool) // 256)
    for _ in range(times):
        kernels.sweep(state, _worst_first(state, aim), groups, each, every, price, aim.margin, _LEAST_GAIN)
        _hand_over(state, aim, price, _LEADER_GAINS)


def _exchange(state: State, aim: Aim, price: Floats) -> None:
    """Exchange replicas by the brokers that are furthest off in what is not met."""
    short = _shortfall(state, aim, aim.insisted) > 1
    worst = np.where(state.pool >= 0, state.dev[:, short].max(axis=1, initial=-1.0), -np.inf)
    order = np.argsort(-worst, kind="stable")[: min(_EXCHANGING, int((state.pool >= 0).sum()))].astype(np.int64)
    groups = min(_RACK_GROUPS, int(state.rack.max()) + 1)
    kernels.exchange(state, order, groups, 1, price, aim.margin, _LEAST_GAIN)


def _within_budget(state: State, before: tuple[Ints, Ints], price: Floats, aim: Aim) -> None:
    """Back to before this stage, and on from there by the most relief per byte as far as the budget goes."""
    after = state.broker.copy()
    kernels.restore(state, *before)
    moving = np.flatnonzero(after != state.broker)
    relief = ((state.load[moving] * _unit(state)) * price).sum(axis=1) / (state.price[moving] + _LEAST_GAIN)
    order = moving[np.argsort(-relief, kind="stable")]
    kernels.go_towards(state, order, after[order])
    _hand_over(state, aim, price, _LEADER_GAINS)


def _unit(state: State) -> Floats:
    unit: Floats = np.median(state.unit[state.pool >= 0], axis=0)
    return unit


def relax_leaders(state: State, aim: Aim) -> None:
    """The same with leaders only."""
    if (_shortfall(state, aim, aim.asked) <= 1).all():
        return
    price = _prices(state, aim)
    for _ in range(_LEADER_ROUNDS):
        _hand_over(state, aim, price, _LEADER_GAINS_FIRST)
        met = _shortfall(state, aim, aim.asked) <= 1
        if met.all():
            break
        price = np.where(met, price, price * 1.3)
    _give_back(state, aim)


def _prices(state: State, aim: Aim) -> Floats:
    """Disk priced for its target. The others are cheap per byte: a part of their price reaches as much."""
    dev = state.dev[state.pool >= 0]
    final = np.array([_weight_for(dev[:, r], aim.cv[r]) for r in range(dev.shape[1])]) * aim.weights
    final[np.arange(len(final)) != Resource.DISK] *= _SIDE
    return np.where(aim.asked, final, 0.0)


def _hand_over(state: State, aim: Aim, price: Floats, gains: tuple[float, ...]) -> None:
    for gain in gains:
        kernels.leader_pass(state, price, aim.margin, gain)


def _shortfall(state: State, aim: Aim, which: Bools) -> Floats:
    """[RESOURCES] how many times what is aimed at each is: 1 or less where that is met, or not one of these."""
    cv, most = spread_of(state)
    far: Floats = np.where(which, np.maximum(cv / aim.cv, 1 + 2 * (most - aim.max_over_mean)), 0.0)
    return far


def _give_back(state: State, aim: Aim) -> None:
    cv, most = spread_of(state)
    cv, most = np.maximum(aim.cv, cv), np.maximum(aim.max_over_mean, most)
    away = np.flatnonzero((state.broker != state.home) & (state.home >= 0))
    away = away[np.argsort(-state.price[away], kind="stable")]
    kernels.give_back(state, away, _pools(state), cv, most)
    led = np.flatnonzero(state.broker[state.leader] != state.leader_home)
    led = led[np.argsort(state.extra[led, Resource.NW_OUT], kind="stable")]
    kernels.give_leaders_back(state, led, _pools(state), cv, most)


def _worst_first(state: State, aim: Aim) -> Ints:
    """Brokers of one pool after another, the worst first."""
    worst = state.dev[:, aim.asked].max(axis=1)
    order = np.lexsort((-worst, state.pool))
    return order[state.pool[order] >= 0].astype(np.int64)


def _pools(state: State) -> int:
    return int(state.pool.max(initial=-1)) + 1


def _weight_for(dev: Floats, cv: float) -> float:
    """The weight at which brokers stop giving just when their cv is the target: half of the band that clips it so."""
    if dev.std() <= cv:
        return 0.05
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        if np.clip(dev, -middle, middle).std() <= cv:
            low = middle
        else:
            high = middle
    return 1 / (4 * max(low, 1e-3))
