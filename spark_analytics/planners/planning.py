"""The front door of all planners: (model, task, settings) -> Plan.

    task -> its planner -> Solution (what was asked of the search, what it found) -> plan_of -> Plan

Raises InvalidInput with a sentence where a task can't be done at all; what only a part of it can't is in `unmet`.
"""

from __future__ import annotations

from dataclasses import fields, replace

from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.plan import CONFIG_SETTING, Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    ClientTraffic,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    LogDir,
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
        settings=_shown(task) + _shown(settings),
        unmet=solution.unmet,
        notes=solution.notes,
        excused=solution.excused,
        joins=solution.joins,
    )
    plan = plan_of(model, problem.model, problem.rules, solution.found, asked, task.kind)
    notes = (*plan.notes, *limits.notes(problem.model, settings, plan))
    return replace(plan, notes=notes, unmet=(*over(plan, settings), *plan.unmet))


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


def _shown(asked: Task | PlannerSettings) -> tuple[tuple[str, str], ...]:
    """What is not as it would be by itself, by name; of a new topic's configuration each key."""
    shown = tuple(
        (field.name, _word(value))
        for field in fields(asked)
        if field.name != "configs" and (value := getattr(asked, field.name)) != field.default
    )
    configs = asked.configs if isinstance(asked, CreateTopic) else ()
    return shown + tuple((f"{CONFIG_SETTING}{name}", value) for name, value in configs)


def _word(value: object) -> str:
    match value:
        case tuple():
            return ", ".join(_word(each) for each in value)
        case Machine(host=name) | IdcPolicy(name=name) | Topic(name=name):
            return name
        case LogDir():
            return f"{value.broker}:{value.path}"
        case ClientTraffic():
            return f"{value.topic} from {value.idc}"
        case _:
            return str(value)
