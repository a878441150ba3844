"""What a plan may cost, also where rules force what it copies.

Tasks that even out stop where their budget ends (search). Of those that do only what must be, the ones that are as good
in parts take what comes first and fits, partition by partition, and leave the rest for another plan. What can't be left
out is told, with what it needs.

    bytes    known before: whole partitions are left out
    seconds  known only when a plan is explained, with its stages and lines: the bytes are lessened until they fit
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.text import some
from guardian.model.units import human_bytes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import at
from spark_analytics.planners.problem import Solution

_TRIES = 6
_SHORT_OF = 0.98  # of the bytes that would just fit by the last try
_GOOD = 0.9  # of the time: nearer to it needs no other try


def within_bytes(solution: Solution, settings: PlannerSettings, order: Ints) -> Solution:
    """The same without the partitions that are too much, where `order` [partitions] says who comes first."""
    model, found = solution.problem.model, solution.found
    copied = copied_bytes(model, found.slot_log_dir)
    if copied.sum() <= settings.max_bytes:
        return solution
    left = copied > 0
    spent = 0.0
    for partition in order[copied[order] > 0].tolist():
        if spent + copied[partition] <= settings.max_bytes:
            spent += copied[partition]
            left[partition] = False
    stays = left[model.slot_partition]
    kept = replace(
        found,
        slot_log_dir=np.where(stays, model.slot_log_dir, found.slot_log_dir),
        leader_slot=_led(solution, left),
        stuck=tuple(each for each in found.stuck if not stays[each.slot]),
    )
    which = [model.partition(partition) for partition in np.flatnonzero(left).tolist()]
    are = "is" if len(which) == 1 else "are"
    words = (
        f"{some([str(each) for each in which])} {are} left for another plan: "
        f"{human_bytes(copied[left].sum())} more than the budget allows"
    )
    excused = replace(solution.excused, partitions=solution.excused.partitions | set(which))
    return replace(solution, found=kept, unmet=(*solution.unmet, words), excused=excused)


def _led(solution: Solution, left: Bools) -> Ints:
    """[partitions] what was found; of those left out, the first replica that lives and may lead: that needs no copy."""
    model, rules = solution.problem.model, solution.problem.rules
    broker = model.slot_broker
    lives = at(model.alive, broker, False) & ~at(model.log_dir_offline, model.slot_log_dir, True)
    may = lives & rules.may_lead[rules.class_of[model.slot_partition], np.maximum(broker, 0)]
    leads = np.where(left, model.leader_slot, solution.found.leader_slot)
    for partition in np.flatnonzero(left & ~may[model.leader_slot]).tolist():
        slots = np.arange(model.slot_start[partition], model.slot_start[partition + 1])
        able = slots[may[slots]]
        if not len(able) and not lives[model.leader_slot[partition]]:
            able = slots[lives[slots]]
        if len(able):
            leads[partition] = able[0]
    return leads


def copied_bytes(model: ClusterModel, slot_log_dir: Ints) -> Floats:
    """[partitions] what is copied when replicas of partitions that exist come to lie like that."""
    copies = (slot_log_dir >= 0) & (slot_log_dir != model.slot_log_dir)
    return sums(model.slot_partition[copies], model.slot_load[copies, Resource.DISK], model.partitions)


def within_time(made: Callable[[PlannerSettings], Plan], settings: PlannerSettings) -> Plan:
    """`made` with fewer bytes until the plan ends in time: that of the plans tried which copies most of those that do.

    Where not even what can't be left out ends in time, that.
    """
    plan = made(settings)
    if plan.seconds <= settings.max_seconds:
        return plan
    best = made(replace(settings, max_bytes=0.0))
    if best.seconds > settings.max_seconds:
        return best
    low, high = 0.0, float(plan.bytes_to_copy)
    for _ in range(_TRIES):
        guess = _SHORT_OF * plan.bytes_to_copy * settings.max_seconds / max(plan.seconds, 1e-9)
        most = min(guess if low < guess < high else (low + high) / 2, settings.max_bytes)
        plan = made(replace(settings, max_bytes=most))
        if plan.seconds > settings.max_seconds:
            high = most
            continue
        low, best = most, max(best, plan, key=lambda each: each.bytes_to_copy)
        if best.seconds > _GOOD * settings.max_seconds:
            break
    told = f"{human_bytes(best.bytes_to_copy)} can be copied within max_seconds {settings.max_seconds:g}"
    return replace(best, notes=(*best.notes, told))


def over(plan: Plan, settings: PlannerSettings) -> Iterator[str]:
    """A sentence for each budget that the plan exceeds: only what could not be left out does."""
    rest = "nothing of it can be left out"
    if plan.bytes_to_copy > settings.max_bytes:
        needs = human_bytes(plan.bytes_to_copy)
        yield f"copying needs {needs}, more than max_bytes {human_bytes(settings.max_bytes)}: {rest}"
    if plan.seconds > settings.max_seconds:
        yield f"copying takes at least {plan.seconds:.0f} s, more than max_seconds {settings.max_seconds:g}: {rest}"
    leaders = sum(bool(each.original) and each.original_brokers[0] != each.target_brokers[0] for each in plan.moves)
    if leaders > settings.max_leader_moves:
        yield f"{leaders} leaders change, more than max_leader_moves {settings.max_leader_moves:g}: {rest}"
