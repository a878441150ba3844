"""The front door of all planners: (model, task, settings) -> Plan.

    task -> its planner -> Solution (what was asked of the search, what it found) -> plan_of -> Plan

Raises InvalidInput with a sentence where a task can't be done at all; what only a part of it can't is in `unmet`.
"""

from __future__ import annotations

from dataclasses import replace

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
    notes = (*plan.notes, *limits.notes(problem.model, settings, plan))
    unmet = (*over(plan, settings), *plan.unmet)
    return replace(plan, task=task, settings=settings, notes=notes, unmet=unmet)


def solve(  # noqa: PLR0911  # one for each kind
    model: ClusterModel, task: Task, settings: PlannerSettings
) -> Solution:
    """Where replicas go and who leads, without the reasons. Raises InvalidInput."""
    match task:
        case Balance():
            return evening.balance(model, task, settings)
        case Leaders():
            return evening.lead(model, task, settings)
        case Isolate():
            return isolate.solve(model, task, settings)
        case MigrateIdc():
            return migrate_idc.solve(model, task, settings)
        case Remove():
            return remove.solve(model, task, settings)
        case Add():
            return add.solve(model, task, settings)
        case CreateTopic():
            return preallocate.create(model, task, settings)
        case ExpandTopic():
            return preallocate.expand(model, task, settings)
        case ReplicationFactor():
            return replication_factor.solve(model, task, settings)
        case EmptyDisk():
            return empty_disk.solve(model, task, settings)
        case Relieve():
            return relieve.solve(model, task, settings)
        case Heal():
            return heal.solve(model, settings)
