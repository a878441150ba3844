"""add-brokers: new brokers take their share, and only they."""

from __future__ import annotations

from guardian.model.plan import PartitionMove
from guardian.model.tasks import Add
from guardian.tickets.kinds.planned import PlannedKind


class AddBrokers(PlannedKind[Add]):
    name = Add.kind
    task = Add

    def misfit(self, task: Add, move: PartitionMove) -> str:
        others = set(move.added_brokers) - set(task.brokers)
        return f"comes to broker {min(others)}, which is not among those added" if others else ""


KIND = AddBrokers()
