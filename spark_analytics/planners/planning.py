"""The front door of all planners: (model, task, settings) -> Plan.

    task -> its planner -> Solution (what was asked of the search, what it found) -> plan_of -> Plan

Raises InvalidInput with a sentence where a task can't be done at all; what only a part of it can't is in `unmet`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.plan import plan_of
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners import (
    add,
    added,
    empty_disk,
    evening,
    heal,
    isolate,
    limits,
    migrate_idc,
    preallocate,
    relieve,
    remove,
    replication_factor,
)
from spark_analytics.planners.budget import over, within_time
from spark_analytics.planners.problem import Solution


def make(model: ClusterModel, task: Task, settings: PlannerSettings | None = None) -> Plan:
    """The plan for one cluster. The same input gives the same plan."""
    asked = settings or PlannerSettings()
    return within_time(lambda budget: explained(model, task, asked, solve(model, task, budget)), asked)


def explained(model: ClusterModel, task: Task, settings: PlannerSettings, solution: Solution) -> Plan:
    """The plan that a solution comes to, with its reasons."""
    problem = solution.problem
    asked = Asked(
        targets=problem.targets,
        budget=problem.budget,
        throttle=round(settings.throttle),
        unmet=solution.unmet,
        notes=solution.notes,
        excused=solution.excused,
        joins=solution.joins,
    )
    plan = plan_of(model, problem.model, problem.rules, solution.found, asked, task.kind)
    notes = (*plan.notes, *added.notes(problem.rules), *limits.notes(problem.model, settings, plan))
    unmet = (*over(plan, settings), *plan.unmet)
    return replace(plan, task=task, settings=settings, notes=notes, unmet=unmet)


_SOLVERS: Mapping[type[Task], Callable[[ClusterModel, Any, PlannerSettings], Solution]] = {
    Balance: evening.balance,
    Leaders: evening.lead,
    Isolate: isolate.solve,
    MigrateIdc: migrate_idc.solve,
    Remove: remove.solve,
    Add: add.solve,
    CreateTopic: preallocate.create,
    ExpandTopic: preallocate.expand,
    ReplicationFactor: replication_factor.solve,
    EmptyDisk: empty_disk.solve,
    Relieve: relieve.solve,
    Heal: heal.solve,
}


def solve(model: ClusterModel, task: Task, settings: PlannerSettings) -> Solution:
    """Decide where replicas go and who leads, without the reasons. Raises InvalidInput."""
    return _SOLVERS[type(task)](model, task, settings)
