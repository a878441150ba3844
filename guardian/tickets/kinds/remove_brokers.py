"""remove-brokers: brokers become empty; the ticket of an operation then stops and unregisters them."""

from __future__ import annotations

from guardian.model.plan import PartitionMove
from guardian.model.tasks import Remove
from guardian.tickets.kinds.planned import PlannedKind


class RemoveBrokers(PlannedKind[Remove]):
    name = Remove.kind
    task = Remove

    def misfit(self, task: Remove, move: PartitionMove) -> str:
        filled = set(move.added_brokers) & set(task.brokers)
        return f"comes to broker {min(filled)}, which is to be removed" if filled else ""


KIND = RemoveBrokers()
