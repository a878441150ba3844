"""create-topic: a topic with its partitions where the plan puts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from guardian.model.directory import Directory
from guardian.model.plan import PartitionMove
from guardian.model.tasks import CreateTopic
from guardian.tickets.kinds.planned import PlannedKind


class CreateTopicKind(PlannedKind[CreateTopic]):
    name = CreateTopic.kind
    task = CreateTopic
    creates = True

    def misfit(self, task: CreateTopic, move: PartitionMove) -> str:
        return f"is not of topic {task.topic.name}" if move.partition.topic != task.topic.name else ""

    def renew(self, task: CreateTopic, cluster: str, directory: Directory) -> CreateTopic:
        return replace(task, topic=directory.topic(cluster, task.topic.name) or task.topic)

    def topic_configs(self, task: CreateTopic) -> Mapping[str, str]:
        return dict(task.configs)


KIND = CreateTopicKind()
