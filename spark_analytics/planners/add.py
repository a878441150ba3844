"""Add brokers: they take their share from the others, for the least data that reaches the asked spread.

Nothing moves between the old brokers, nor between their disks, so what was uneven there stays so: balance afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Add
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.arrays import flags
from spark_analytics.planners.problem import Solution, balancing, solved
from spark_analytics.planners.rules import Scope


def solve(model: ClusterModel, task: Add, settings: PlannerSettings) -> Solution:
    taking = flags(model.brokers, [_new_broker(model, broker) for broker in task.brokers])
    problem = balancing(model, settings, Scope(taking=taking, mends=False))
    return solved(replace(problem, targets=replace(problem.targets, disk_level=np.inf)))


def _new_broker(model: ClusterModel, broker: int) -> int:
    index = model.broker_index(broker)
    if not model.alive[index]:
        raise InvalidInput(f"brokers has {broker}, which is down: start it first")
    if model.excluded[index]:
        raise InvalidInput(f"brokers has {broker}, which is excluded from new replicas: lift its exclusion first")
    return index
