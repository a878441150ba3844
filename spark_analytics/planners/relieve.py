"""Relieve full disks: the least data that brings each below the limit, now. Nothing is balanced.

For each disk above the limit, those replicas are chosen whose sizes come to the excess or barely more (choosing.py);
where they go is the search's to say. One that finds no place is left out of the next choice. Where a budget ends before
that, disks that are failing (limits.py) come first, then the fullest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Relieve
from guardian.model.units import human_bytes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.planners import limits
from spark_analytics.planners.arrays import nothing
from spark_analytics.planners.budget import within_bytes
from spark_analytics.planners.choosing import least_sum
from spark_analytics.planners.log_dirs import flagged
from spark_analytics.planners.problem import Problem, Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope, untouchable
from spark_analytics.planners.topics import may_move

_ROUNDS = 12


def solve(model: ClusterModel, task: Relieve, settings: PlannerSettings) -> Solution:
    disks = _disks(model, task)
    excess = np.where(disks, used_bytes(model) - task.limit * model.disk_total_bytes, 0.0)
    may_go = _may_go(model, settings)
    for _ in range(_ROUNDS):
        chosen = _chosen(model, excess, may_go)
        solution = solved(_problem(model, task, settings, excess > 0, chosen))
        stuck = np.array([each.slot for each in solution.found.stuck], dtype=np.int64)
        if not len(stuck):
            break
        may_go[stuck] = False
    kept = within_bytes(solution, settings, _order(model, settings, chosen))
    gone = chosen & (kept.found.slot_log_dir != model.slot_log_dir)
    full = "no other disk was found with room for more of what it holds"
    why = full if kept is solution else "the budget allows no more"
    return replace(kept, unmet=(*kept.unmet, *_left(model, excess, gone, why)))


def _order(model: ClusterModel, settings: PlannerSettings, chosen: Bools) -> Ints:
    """Partitions, by the disk that they leave: of several, by the first."""
    slots = np.flatnonzero(chosen)
    disk = model.log_dir_disk[model.slot_log_dir[slots]]
    fullness = used_bytes(model) / np.maximum(model.disk_total_bytes, 1.0)
    order = np.lexsort((model.slot_load[slots, Resource.DISK], -fullness[disk], ~limits.slow(model, settings)[disk]))
    partitions = model.slot_partition[slots[order]]
    _, first = np.unique(partitions, return_index=True)
    return partitions[np.sort(first)]


def used_bytes(model: ClusterModel) -> Floats:
    """[disks] what the replicas take, or what the disk itself says is taken where that is more."""
    placed = model.slot_log_dir >= 0
    disk = model.log_dir_disk[model.slot_log_dir[placed]]
    held = sums(disk, model.slot_load[placed, Resource.DISK], len(model.disk_total_bytes))
    return np.maximum(held, model.disk_total_bytes - model.disk_usable_bytes)


def _disks(model: ClusterModel, task: Relieve) -> Bools:
    """[disks] those asked for, of brokers that are there."""
    log_dirs = flagged(model, task.log_dirs)
    for broker in task.brokers:
        log_dirs |= model.log_dir_broker == model.broker_index(broker)
    if not task.brokers and not task.log_dirs:
        log_dirs[:] = True
    log_dirs &= model.alive[model.log_dir_broker] & ~model.log_dir_offline
    disks = nothing(len(model.disk_total_bytes))
    disks[model.log_dir_disk[log_dirs]] = True
    return disks


def _may_go(model: ClusterModel, settings: PlannerSettings) -> Bools:
    partitions = may_move(model, settings) & ~untouchable(model)
    return (model.slot_log_dir >= 0) & partitions[model.slot_partition]


def _chosen(model: ClusterModel, excess: Floats, may_go: Bools) -> Bools:
    """[slots] what leaves each disk above the limit."""
    chosen = nothing(model.slots)
    disk = np.where(may_go, model.log_dir_disk[model.slot_log_dir], -1)
    for full in np.flatnonzero(excess > 0).tolist():
        slots = np.flatnonzero(disk == full)
        chosen[slots[least_sum(model.slot_load[slots, Resource.DISK], float(excess[full]))]] = True
    return chosen


def _problem(model: ClusterModel, task: Relieve, settings: PlannerSettings, full: Bools, chosen: Bools) -> Problem:
    """No copy goes onto a disk that is full, nor makes another so: the limit is each disk's, not the broker's."""
    problem = only_what_must(model, settings, Scope(free=nothing(model.slots), must_leave=chosen, mends=False))
    takes = problem.rules.log_dir_may_take & ~full[model.log_dir_disk]
    limit = min(settings.disk_limit, task.limit)
    return replace(problem, rules=replace(problem.rules, log_dir_may_take=takes, disk_limit=limit))


def _left(model: ClusterModel, excess: Floats, goes: Bools, why: str) -> Iterator[str]:
    """Yield what remains too full, in sentences."""
    disk = model.log_dir_disk[model.slot_log_dir[goes]]
    relieved = sums(disk, model.slot_load[goes, Resource.DISK], len(excess))
    for full in np.flatnonzero(excess - relieved > 1e-6 * model.disk_total_bytes).tolist():
        at = model.placement(int(np.flatnonzero(model.log_dir_disk == full)[0]))
        yield (
            f"log dir {at.log_dir} of broker {at.broker} stays {human_bytes(excess[full] - relieved[full])} above the "
            f"limit: {why}"
        )
