"""change-replication-factor: more replicas, or fewer."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import ReplicationFactor
from guardian.tickets.kinds.planned import PlannedKind


class ChangeReplicationFactor(PlannedKind[ReplicationFactor]):
    name = ReplicationFactor.kind
    task = ReplicationFactor
    resizes = True

    def doubt(self, plan: Plan, *, is_planners: bool) -> str:
        """Return why the plan can't bear the kind; a file may state it too, where each move changes a replication
        factor."""
        if plan.task is not None:
            return super().doubt(plan, is_planners=is_planners)
        keeps = (move.partition for move in plan.moves if not move.changes_replication_factor)
        return next((f"{partition} keeps its replication factor" for partition in keeps), "")

    def misfit(self, task: ReplicationFactor, move: PartitionMove) -> str:
        count = len(move.target)
        return f"gets {count} replicas, not {task.replication_factor}" if count != task.replication_factor else ""

    def topics_named(self, task: ReplicationFactor) -> Sequence[str]:
        return task.topics


KIND = ChangeReplicationFactor()
