"""Empty disks: replicas go to other log dirs of their broker while there is room, to other brokers where there is not.

Between log dirs of one broker no line and no other broker is used, so that is tried first, for all of them. Where a
budget ends before that, small replicas come first: the most of them can be saved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import EmptyDisk
from spark_analytics.model.cluster_model import ClusterModel, Ints
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import flags, nothing
from spark_analytics.planners.budget import copied_bytes, within_bytes
from spark_analytics.planners.log_dirs import flagged, slots_on
from spark_analytics.planners.problem import Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope


def solve(model: ClusterModel, task: EmptyDisk, settings: PlannerSettings) -> Solution:
    log_dirs = flagged(model, task.log_dirs)
    scope = Scope(
        free=nothing(model.slots),
        must_leave=slots_on(model, log_dirs),
        taking=flags(model.brokers, model.log_dir_broker[log_dirs]),
        emptied=log_dirs,
        mends=False,
    )
    inside = solved(only_what_must(model, settings, scope))
    if not inside.found.stuck:
        return _within(inside, settings)
    half_way = _after(model, inside.found.slot_log_dir)
    still = replace(scope, must_leave=slots_on(half_way, log_dirs), taking=None)
    rest = solved(only_what_must(half_way, settings, still))
    problem = only_what_must(model, settings, replace(scope, taking=None))
    forced = inside.found.forced | rest.found.forced
    return _within(replace(rest, problem=problem, found=replace(rest.found, forced=forced)), settings)


def _after(model: ClusterModel, slot_log_dir: Ints) -> ClusterModel:
    """The model with these copies made, and what they came from not yet gone."""
    copies = slot_log_dir != model.slot_log_dir
    disk, size = model.log_dir_disk[slot_log_dir[copies]], model.slot_load[copies, Resource.DISK]
    taken = sums(disk, size, len(model.disk_total_bytes))
    return replace(model, slot_log_dir=slot_log_dir, disk_usable_bytes=model.disk_usable_bytes - taken)


def _within(solution: Solution, settings: PlannerSettings) -> Solution:
    copied = copied_bytes(solution.problem.model, solution.found.slot_log_dir)
    return within_bytes(solution, settings, np.argsort(copied, kind="stable"))
