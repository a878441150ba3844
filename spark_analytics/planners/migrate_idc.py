"""Migrate topics, a tenant or a whole cluster to other data centres: they get a placement policy, and what it says.

A policy speaks of data centres in which the cluster has brokers; to another cluster no reassignment leads. It says of
each replication factor that the topics have where their replicas live. Leaders follow the policy's preferred data
centre. What the lines cost is told before, while it copies, and after (lines.py). Where a budget ends before that, the
partitions with most traffic for their bytes come first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import MigrateIdc
from spark_analytics.model.cluster_model import Bools, ClusterModel
from spark_analytics.model.resources import Resource
from spark_analytics.planners.budget import copied_bytes, within_bytes
from spark_analytics.planners.lines import cost_notes
from spark_analytics.planners.problem import Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope
from spark_analytics.planners.topics import named, partitions_of, shown
from spark_analytics.search.search import leaders


def solve(model: ClusterModel, task: MigrateIdc, settings: PlannerSettings) -> Solution:
    topics = named(model, task.topics or (() if task.tenant else ("*",)), task.tenant)
    partitions = partitions_of(model, topics)
    _require_possible(model, task, topics)
    edited = _with_policy(model, task, topics)
    problem = only_what_must(edited, settings, Scope(partitions=partitions))
    solution = solved(problem)
    if not solution.found.forced.any():  # all replicas stand right: only leaders may have to move
        solution = replace(solution, found=leaders(edited, problem.rules, problem.targets))
    copied = copied_bytes(edited, solution.found.slot_log_dir)
    traffic = edited.slot_load[edited.leader_slot, Resource.NW_IN] + edited.leader_load[:, Resource.NW_OUT]
    solution = within_bytes(solution, settings, np.argsort(-traffic / np.maximum(copied, 1.0), kind="stable"))
    return replace(solution, notes=cost_notes(edited, solution.found, partitions, task.clients))


def _require_possible(model: ClusterModel, task: MigrateIdc, topics: Bools) -> None:
    policy = task.policy
    replicas = np.diff(model.slot_start)
    concerned = partitions_of(model, topics)
    asked = [policy.of_factor(factor) for factor in np.unique(replicas[concerned]).tolist()] or [policy]
    for idc in sorted({idc for each in asked for idc, _ in each.replicas}):
        if idc not in model.idc_names:
            raise InvalidInput(
                f"policy {policy.name} places replicas in {idc}, where cluster {model.cluster} has no broker: "
                "add brokers there; to another cluster topics are mirrored, not moved"
            )
    differs = concerned & ~np.isin(replicas, policy.factors)
    if differs.any():
        of = np.zeros(len(model.topics), dtype=np.bool_)
        of[model.partition_topic[differs]] = True
        raise InvalidInput(
            f"policy {policy.name} does not say where {replicas[differs][0]} replicas live, as {shown(model, of)} have "
            "them: add it to the policy's other_factors, or change the replication factor first"
        )


def _with_policy(model: ClusterModel, task: MigrateIdc, topics: Bools) -> ClusterModel:
    known = {policy.name: policy for policy in model.policies}
    if known.get(task.policy.name, task.policy) != task.policy:
        raise InvalidInput(
            f"policy {task.policy.name} is another one in the directory of cluster {model.cluster}: "
            "change it there, or use another name"
        )
    policies = tuple(policy for _, policy in sorted({**known, task.policy.name: task.policy}.items()))
    code = {policy.name: index for index, policy in enumerate(policies)}
    new_code = np.array([*(code[policy.name] for policy in model.policies), -1], dtype=np.int64)
    topic_policy = np.where(topics, code[task.policy.name], new_code[model.topic_policy])
    topic_policy.setflags(write=False)
    return replace(model, policies=policies, topic_policy=topic_policy)
