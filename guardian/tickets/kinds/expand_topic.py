"""expand-topic: more partitions of a topic."""

from __future__ import annotations

from guardian.model.plan import PartitionMove
from guardian.model.tasks import ExpandTopic
from guardian.tickets.kinds.planned import PlannedKind


class ExpandTopicKind(PlannedKind[ExpandTopic]):
    name = ExpandTopic.kind
    task = ExpandTopic
    creates = True

    def misfit(self, task: ExpandTopic, move: PartitionMove) -> str:
        return f"is not of topic {task.topic}" if move.partition.topic != task.topic else ""


KIND = ExpandTopicKind()
