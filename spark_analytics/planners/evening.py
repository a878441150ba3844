"""Balance brokers, disks and leaders together, or leaders alone: as even as asked, for the least data.

What breaks a rule is mended first, whatever it costs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Leaders
from spark_analytics.model.cluster_model import Bools, ClusterModel
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import flags
from spark_analytics.planners.problem import Problem, Solution, balancing, solved
from spark_analytics.planners.rules import Scope
from spark_analytics.planners.topics import named, partitions_of
from spark_analytics.search.search import leaders

_REPLICAS_ONLY = [Resource.NW_IN, Resource.DISK, Resource.REPLICAS]


def balance(model: ClusterModel, task: Balance, settings: PlannerSettings) -> Solution:
    return solved(balancing(model, settings, Scope(partitions=_partitions(model, task.topics))))


def lead(model: ClusterModel, task: Leaders, settings: PlannerSettings) -> Solution:
    not_leading = flags(model.brokers, [model.broker_index(broker) for broker in task.away_from])
    scope = Scope(partitions=_partitions(model, task.topics), not_leading=not_leading)
    problem = _of_leaders(balancing(model, settings, scope))
    return Solution(
        problem, leaders(model, problem.rules, problem.targets, problem.budget), problem.unmet, problem.notes
    )


def _of_leaders(problem: Problem) -> Problem:
    """Ask no targets of leaders that they can't change."""
    cv, most = problem.targets.cv.copy(), problem.targets.max_over_mean.copy()
    cv[_REPLICAS_ONLY] = most[_REPLICAS_ONLY] = np.inf
    return replace(problem, targets=replace(problem.targets, cv=cv, max_over_mean=most, disk_level=np.inf))


def _partitions(model: ClusterModel, topics: tuple[str, ...]) -> Bools | None:
    return partitions_of(model, named(model, topics)) if topics else None
