"""Change the replication factor: more replicas are placed like new ones, fewer are chosen by whose going helps most.

A replica goes before another when, in this order,

    it is of no use        its broker is dead or its log dir broken
    it stands wrong        outside the label, or in a data centre above the policy's number
    racks keep            another replica shares its rack, so that no rack is lost
    it does not lead       leaders stay unless all else is equal to them or worse
    it relieves            the broker that is fullest of all that hold one, in its fullest resource

Nothing is moved to make up for it. Where a budget ends before all have more replicas, the smallest partitions come
first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import ReplicationFactor
from spark_analytics.explaining.no_place import limited
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.edits import with_changes, with_placement
from spark_analytics.model.load import load_now, scale
from spark_analytics.planners.arrays import nothing
from spark_analytics.planners.budget import copied_bytes, within_bytes
from spark_analytics.planners.problem import Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope, compiled, untouchable, untouchable_words
from spark_analytics.planners.topics import named, partitions_of, shown
from spark_analytics.search.rules import Rules


def solve(model: ClusterModel, task: ReplicationFactor, settings: PlannerSettings) -> Solution:
    topics = named(model, task.topics)
    asked = partitions_of(model, topics)
    left = untouchable(model)
    partitions = asked & ~left
    _require_brokers(model, task, settings, topics)
    missing = np.where(partitions, task.replication_factor - np.diff(model.slot_start), 0)
    fewer = drops(model, settings, np.maximum(-missing, 0))
    more = np.repeat(np.arange(model.partitions), np.maximum(missing, 0))
    edited = _led_rightly(model, with_changes(model, add_slots=more, remove_slots=fewer), settings, fewer)
    scope = Scope(partitions=partitions, free=edited.slot_log_dir < 0, mends=False)
    solution = _whole(solved(only_what_must(edited, settings, scope)))
    copied = copied_bytes(edited, solution.found.slot_log_dir)
    solution = within_bytes(solution, settings, np.argsort(copied, kind="stable"))
    return replace(solution, unmet=(*solution.unmet, *untouchable_words(model, asked & left)))


def _led_rightly(model: ClusterModel, edited: ClusterModel, settings: PlannerSettings, fewer: Ints) -> ClusterModel:
    """Let a partition whose leader goes be led by the first of those left that may lead it, where one may."""
    bereft = nothing(model.partitions)
    bereft[model.slot_partition[fewer[np.isin(fewer, model.leader_slot)]]] = True
    if not bereft.any():
        return edited
    rules, _ = compiled(edited, settings, Scope(partitions=bereft))
    may_lead = rules.may_lead[rules.class_of[edited.slot_partition], edited.slot_broker] & (edited.slot_log_dir >= 0)
    leader_slot = edited.leader_slot.copy()
    for partition in np.flatnonzero(bereft).tolist():
        start, end = edited.slot_start[partition : partition + 2].tolist()
        leader_slot[partition] = next((slot for slot in range(start, end) if may_lead[slot]), leader_slot[partition])
    return with_placement(edited, edited.slot_log_dir, leader_slot)


def _whole(solution: Solution) -> Solution:
    """A partition of which one replica finds no place gets none: half of what was asked helps nobody."""
    model, found = solution.problem.model, solution.found
    lacking = nothing(model.partitions)
    lacking[[int(model.slot_partition[each.slot]) for each in found.stuck if model.slot_log_dir[each.slot] < 0]] = True
    if not lacking.any():
        return solution
    kept = np.where(lacking[model.slot_partition], model.slot_log_dir, found.slot_log_dir)
    leads = np.where(lacking, model.leader_slot, found.leader_slot)
    return replace(solution, found=replace(found, slot_log_dir=kept, leader_slot=leads))


def _require_brokers(model: ClusterModel, task: ReplicationFactor, settings: PlannerSettings, topics: Bools) -> None:
    partitions = partitions_of(model, topics)
    rules, _ = compiled(model, settings, Scope(partitions=partitions))
    usable = (rules.may_take | rules.may_stay)[rules.class_of[partitions]].sum(axis=1)
    if len(usable) and usable.min() < task.replication_factor:
        of = np.zeros(len(model.topics), dtype=np.bool_)
        of[model.partition_topic[partitions][usable < task.replication_factor]] = True
        raise InvalidInput(
            f"replication_factor is {task.replication_factor}, and only {usable.min()} brokers may hold "
            f"{shown(model, of)}: use up to {usable.min()}, or add brokers"
            + limited(rules, int(rules.class_of[partitions][usable.argmin()]))
        )


def drops(model: ClusterModel, settings: PlannerSettings, fewer: Ints) -> Ints:
    """The slots that go when each partition loses as many replicas as `fewer` says; partitions in the model's order."""
    if not fewer.any():
        return np.zeros(0, dtype=np.int64)
    rules, _ = compiled(model, settings, Scope(partitions=fewer > 0))
    dropping = _Dropping(model, rules, np.diff(model.slot_start) - fewer)
    for partition in np.flatnonzero(fewer).tolist():
        for _ in range(int(fewer[partition])):
            dropping.drop(partition)
    return np.flatnonzero(dropping.gone)


class _Dropping:
    """What is left as replicas go, one by one, until each partition has `factor` [partitions] of them."""

    def __init__(self, model: ClusterModel, rules: Rules, factor: Ints) -> None:
        self._factor = factor
        self.gone = nothing(model.slots)
        self._model, self._rules = model, rules
        self._use: Floats = load_now(model).broker / scale(model)
        self._scale = scale(model)
        self._mean = np.maximum(self._use[model.alive].mean(axis=0), 1e-300)
        self._broker = model.slot_broker

    def drop(self, partition: int) -> None:
        slots = np.arange(self._model.slot_start[partition], self._model.slot_start[partition + 1])
        slots = slots[~self.gone[slots]]
        slot = min(slots.tolist(), key=lambda slot: self._rank(partition, slot, slots))
        self.gone[slot] = True
        broker = self._broker[slot]
        if broker >= 0:
            self._use[broker] -= self._model.slot_load[slot] / self._scale[broker]

    def _rank(self, partition: int, slot: int, left: Ints) -> tuple[bool, bool, bool, bool, float, int]:
        """The least goes first."""
        model, broker = self._model, int(self._broker[slot])
        if broker < 0:
            return False, False, False, False, 0.0, slot
        useful = bool(model.alive[broker] and not model.log_dir_offline[model.slot_log_dir[slot]])
        others = self._broker[left[left != slot]]
        alone = not (model.rack[others[others >= 0]] == model.rack[broker]).any()
        leads = slot == int(model.slot_start[partition])
        fullness = float((self._use[broker] / self._mean).max())
        return useful, self._stands_right(partition, broker, left), alone, leads, -fullness, slot

    def _stands_right(self, partition: int, broker: int, left: Ints) -> bool:
        row = int(self._rules.class_of[partition])
        if not self._rules.may_stay[row, broker]:
            return False
        policy = int(self._model.topic_policy[self._model.partition_topic[partition]])
        idc = int(self._model.idc[broker])
        if policy < 0 or idc < 0:
            return True
        named = self._model.policies[policy].of_factor(int(self._factor[partition]))
        wanted = dict(named.replicas).get(self._model.idc_names[idc], 0)
        brokers = self._broker[left]
        return int((self._model.idc[brokers[brokers >= 0]] == idc).sum()) <= wanted
