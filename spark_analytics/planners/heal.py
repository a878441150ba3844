"""Heal: what lies on dead brokers and broken disks, or breaks a rule, finds a place; nothing else moves.

Where a budget ends before that, the partitions with the fewest replicas that live come first, small ones before large.
"""

from __future__ import annotations

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.arrays import nothing
from spark_analytics.planners.budget import copied_bytes, within_bytes
from spark_analytics.planners.problem import Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope, living


def solve(model: ClusterModel, _task: Heal, settings: PlannerSettings) -> Solution:
    solution = solved(only_what_must(model, settings, Scope(free=nothing(model.slots))))
    copied = copied_bytes(model, solution.found.slot_log_dir)
    return within_bytes(solution, settings, np.lexsort((copied, living(model))))
