"""Partitions that a ticket creates: which requests make them, and when a topic is gone while it is being made.

A task creates one partition, and Kafka creates a topic whole:

    topic does not exist, all of its tasks are under way      one CreateTopics with every partition from 0 on
    topic exists                                              one CreatePartitions with those that follow
    topic does not exist, and one of its tasks is done,       it was deleted meanwhile: nobody wants it back, so
    or the ticket was only to expand it                       the tasks that are left fail

So all tasks of a topic start together: nothing is copied, and they take no slots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from guardian.execution.rules.converging import is_gone
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import CreatePartitions, CreateTopics, Effect, NewTopic
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.plan import Plan
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.registry import kind_of_task

MAX_NEW_PARTITIONS = 10_000  # of one request: a controller refuses more


def topic_configs(plan: Plan) -> dict[str, str]:
    """The configuration that the plan's new topic gets."""
    return dict(kind_of_task(plan.task).topic_configs(plan.task))


def requests(
    wanted: Mapping[TopicPartition, tuple[int, ...]], tasks: Iterable[ExecutionTask], observation: ClusterObservation
) -> tuple[Effect, ...]:
    """Return the requests that create those of the `wanted` partitions that can be created now."""
    by_topic: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for partition, brokers in wanted.items():
        by_topic[partition.topic][partition.partition] = brokers
    there = {partition.topic for partition in observation.partitions}
    # A new plan's tasks stand for those that were given up with a broker.
    made = [task for task in tasks if task.move.is_new and task.state is not TaskState.REVERTED]
    topics: dict[str, NewTopic] = {}
    partitions: dict[TopicPartition, tuple[int, ...]] = {}
    for topic, assignments in by_topic.items():
        if topic in there:
            partitions |= {TopicPartition(topic, number): brokers for number, brokers in assignments.items()}
            continue
        siblings = [task for task in made if task.move.partition.topic == topic]
        if len(siblings) == len(assignments):
            configs = dict(pair for task in siblings for pair in task.topic_configs)
            topics[topic] = NewTopic(assignments, configs)
    effects: list[Effect] = [CreateTopics(topics)] if topics else []
    return (*effects, CreatePartitions(partitions)) if partitions else tuple(effects)


def deleted(tasks: Sequence[ExecutionTask], observation: ClusterObservation) -> frozenset[int]:
    """The tasks under way whose topic was deleted meanwhile, so that what they create is wanted no longer."""
    by_topic: dict[str, list[ExecutionTask]] = defaultdict(list)
    for task in tasks:
        if task.move.is_new:
            by_topic[task.move.partition.topic].append(task)
    there = {partition.topic for partition in observation.partitions}
    return frozenset(
        task.number
        for topic, made in by_topic.items()
        if topic not in there and (_was_there(made) and all(is_gone(each.move.partition, observation) for each in made))
        for task in made
        if task.state is TaskState.RUNNING
    )


def _was_there(tasks: Sequence[ExecutionTask]) -> bool:
    is_expanded = all(task.move.partition.partition > 0 for task in tasks)
    return is_expanded or any(task.state is TaskState.DONE for task in tasks)
