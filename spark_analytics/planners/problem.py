"""What a planner hands to the search, and what comes back.

task + model + settings -> Problem (edited model, rules, targets, budget) -> find -> Solution -> Plan (planning.py)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from guardian.model.plan import Excused
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.goals import log_dirs, registry, topic_spread
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.planners.rules import Scope, compiled
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.rules import Rules
from spark_analytics.search.search import find

_COUNTS = [Resource.REPLICAS, Resource.LEADERS]
_OF_LOG_DIRS = frozenset((log_dirs.BYTES_SPREAD.name, log_dirs.IO_SPREAD.name))
_USES = [Resource.CPU, Resource.NW_IN, Resource.NW_OUT, Resource.DISK]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """`model` has new partitions, brokers and policies already; `unmet` says what no placement can keep.

    `notes` is what an operator should know of what was asked.
    """

    model: ClusterModel
    rules: Rules
    targets: Targets
    budget: Budget = field(default_factory=Budget)
    weights: Floats | None = None
    unmet: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """`unmet` says what of the task could not be done and why, `notes` what else an operator should know.

    `excused` names what `unmet` speaks of, for the checker; `joins` are machines by the broker id they will have.
    """

    problem: Problem
    found: Found
    unmet: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    excused: Excused = field(default_factory=Excused)
    joins: tuple[tuple[int, str], ...] = ()


def balancing(model: ClusterModel, settings: PlannerSettings, scope: Scope) -> Problem:
    """Build the problem of making brokers as even as the settings ask, within their budget."""
    rules, unmet = compiled(model, settings, scope)
    notes = goal_notes(settings)
    return Problem(model, rules, targets_of(settings), budget_of(settings), weights_of(settings), unmet, notes)


def only_what_must(model: ClusterModel, settings: PlannerSettings, scope: Scope) -> Problem:
    """Nothing moves but what a rule forces or has no place yet; that goes where it makes the cluster most even."""
    rules, unmet = compiled(model, settings, scope)
    return Problem(model, rules, Targets.none(), Budget(), weights_of(settings), unmet)


def solved(problem: Problem) -> Solution:
    found = find(problem.model, problem.rules, problem.targets, problem.budget, problem.weights)
    return Solution(problem, found, problem.unmet, problem.notes)


def targets_of(settings: PlannerSettings) -> Targets:
    """Return how even the settings ask for, of the resources that their goals name."""
    targets = Targets.default()
    cv, most = targets.cv.copy(), targets.max_over_mean.copy()
    for spread, resources in ((settings.target_spread, _USES), (settings.count_spread, _COUNTS)):
        if spread is not None:
            asked = Targets.of_spread(spread)
            cv[resources], most[resources] = asked.cv[resources], asked.max_over_mean[resources]
    left_out = ~_asked(settings)
    cv[left_out] = most[left_out] = np.inf
    return Targets(
        cv,
        most,
        disk_level=settings.disk_spread if _names(settings, _OF_LOG_DIRS) else np.inf,
        topic_spread=settings.topic_spread and _names(settings, {topic_spread.GOAL.name}),
    )


def _names(settings: PlannerSettings, goals: Collection[str]) -> bool:
    """Return whether one of these goals is asked for; all are where none is named."""
    return not settings.goals or any(registry.goal(name).name in goals for name in settings.goals)


def goal_notes(settings: PlannerSettings) -> tuple[str, ...]:
    """Hard goals are kept by every plan: to name nothing else asks for nothing more."""
    if not settings.goals or not all(registry.goal(name).is_hard for name in settings.goals):
        return ()
    named = ", ".join(settings.goals)
    return (
        f"goals names {named}: what breaks a rule is mended, and nothing is made more even; name a spread for that",
    )


def _asked(settings: PlannerSettings) -> Bools:
    """[RESOURCES] named by a goal, or by none; a weight of 0 leaves one out."""
    asked = np.full(RESOURCES, not settings.goals)
    for goal in settings.goals:
        asked[list(registry.resources(goal))] = True
    weights = weights_of(settings)
    return asked if weights is None else asked & (weights > 0)


def weights_of(settings: PlannerSettings) -> Floats | None:
    if not settings.weights:
        return None
    weights = np.ones(RESOURCES)
    for goal, weight in settings.weights:
        weights[list(registry.resources(goal))] = weight
    return weights


def budget_of(settings: PlannerSettings) -> Budget:
    """Time is that of the busiest broker: so many bytes in or out of it at the throttle."""
    return Budget(
        bytes=settings.max_bytes,
        leader_moves=settings.max_leader_moves,
        broker_bytes=settings.max_seconds * settings.throttle,
    )
