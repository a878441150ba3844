"""Pre-allocate: where the partitions of a new topic, or more partitions of one that exists, should be.

They stand where disks and traffic leave most room for what is expected of them, among the machines, racks and data
centres that their label and policy allow. Nothing else moves and nothing is copied. Traffic, of the topic, and size, of
one replica, are as announced. An expanded topic's are shared anew by all its partitions. Where nothing is known, a new
partition is taken to be like the cluster's median one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import CreateTopic, ExpandTopic
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.no_place import limited
from spark_analytics.model.cluster_model import ClusterModel, Floats, PartitionFacts, TopicFacts
from spark_analytics.model.edits import with_changes
from spark_analytics.model.resources import Resource
from spark_analytics.planners.problem import Problem, Solution, only_what_must, solved
from spark_analytics.planners.rules import Scope


@dataclass(frozen=True, slots=True)
class _Expected:
    """Of one partition, in bytes/s and bytes."""

    written: float
    read: float
    size: float


def create(model: ClusterModel, task: CreateTopic, settings: PlannerSettings) -> Solution:
    topic = task.topic
    if topic.name in model.topics:
        raise InvalidInput(f"topic {topic.name} exists in cluster {model.cluster}: expand it, or use another name")
    expected = _Expected(
        topic.expected_bytes_in_per_s / task.partitions,
        topic.expected_bytes_out_per_s / task.partitions,
        float(task.expected_bytes),
    )
    notes: tuple[str, ...] = ()
    if expected == _Expected(0, 0, 0):
        expected = _median(model)
        notes = ("nothing is expected of the topic: its partitions are taken to be like the cluster's median one",)
    facts = TopicFacts(
        topic.name,
        topic.tenant,
        topic.label,
        topic.idc_policy,
        float(topic.expected_bytes_in_per_s),
        float(topic.expected_bytes_out_per_s),
    )
    partitions = _partitions(model, topic.name, range(task.partitions), task.replication_factor, expected)
    edited = with_changes(model, topics=[facts], partitions=partitions)
    return _placed(edited, topic.name, 0, settings, notes)


def expand(model: ClusterModel, task: ExpandTopic, settings: PlannerSettings) -> Solution:
    of_topic = np.flatnonzero(model.partition_topic == model.topic_index(task.topic))
    numbers = model.partition_number[of_topic]
    now = int(numbers.max()) + 1 if len(numbers) else 0
    if task.partitions <= now:
        raise InvalidInput(f"partitions is {task.partitions} and topic {task.topic} has {now}: give a larger number")
    replicas = int(np.diff(model.slot_start)[of_topic].max(initial=1))
    load = model.slot_load[model.slot_start[:-1][of_topic]].sum(axis=0)
    served = model.leader_load[of_topic, Resource.NW_OUT].sum() + load[Resource.NW_OUT]
    expected = _Expected(
        float(load[Resource.NW_IN]) / task.partitions,
        max(0.0, float(served - (replicas - 1) * load[Resource.NW_IN])) / task.partitions,
        float(load[Resource.DISK]) / task.partitions,
    )
    added = range(now, task.partitions)
    edited = with_changes(model, partitions=_partitions(model, task.topic, added, replicas, expected))
    return _placed(edited, task.topic, now, settings)


def _partitions(
    model: ClusterModel, topic: str, numbers: range, replicas: int, expected: _Expected
) -> list[PartitionFacts]:
    """CPU is what the cluster's partitions cost by the byte."""
    follower = _cpu_per_byte(model.slot_load[:, Resource.CPU], model.slot_load[:, Resource.NW_IN])
    leader = _cpu_per_byte(model.leader_load[:, Resource.CPU], model.leader_load[:, Resource.NW_OUT])
    return [
        PartitionFacts(
            TopicPartition(topic, number),
            (),
            write_rate=expected.written,
            read_rate=expected.read,
            size_bytes=round(expected.size),
            unplaced=replicas,
            cpu=follower * expected.written,
            leader_cpu=leader * (expected.read + (replicas - 1) * expected.written),
        )
        for number in numbers
    ]


def _cpu_per_byte(cpu: Floats, traffic: Floats) -> float:
    total = float(traffic.sum())
    return float(cpu.sum()) / total if total > 0 else 0.0


def _median(model: ClusterModel) -> _Expected:
    if not model.partitions:
        return _Expected(0, 0, 0)
    replica = np.median(model.slot_load, axis=0)
    served = float(np.median(model.leader_load[:, Resource.NW_OUT]))
    replicas = float(np.median(np.diff(model.slot_start)))
    written = float(replica[Resource.NW_IN])
    return _Expected(written, max(0.0, served - (replicas - 1) * written), float(replica[Resource.DISK]))


def _placed(
    model: ClusterModel, topic: str, first: int, settings: PlannerSettings, notes: tuple[str, ...] = ()
) -> Solution:
    """Raises InvalidInput when a replica finds no place: a topic is created whole or not at all."""
    new = (model.partition_topic == model.topic_index(topic)) & (model.partition_number >= first)
    problem = only_what_must(model, settings, Scope(partitions=new))
    solution = solved(problem)
    if (solution.found.slot_log_dir[new[model.slot_partition]] < 0).any():
        raise InvalidInput(_no_place(problem, topic, int(np.diff(model.slot_start)[new].max())))
    return replace(solution, notes=notes)


def _no_place(problem: Problem, topic: str, replicas: int) -> str:
    model = problem.model
    partition = int(np.flatnonzero(model.partition_topic == model.topic_index(topic))[-1])
    brokers = int(problem.rules.may_take[problem.rules.class_of[partition]].sum())
    return (
        f"topic {topic} with replication factor {replicas} finds no place on the {brokers} brokers that may hold it, "
        "with their racks, limits and free disk: lower the replication factor or what is expected, or add brokers"
        + limited(problem.rules, int(problem.rules.class_of[partition]))
    )
