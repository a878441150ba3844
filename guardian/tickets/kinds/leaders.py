"""leaders: leaders only, so that nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.model.plan import PartitionMove
from guardian.model.tasks import Leaders
from guardian.model.units import human_bytes
from guardian.tickets.kinds.planned import PlannedKind


class LeadersKind(PlannedKind[Leaders]):
    name = Leaders.kind
    task = Leaders

    def misfit(self, task: Leaders, move: PartitionMove) -> str:
        return f"is copied ({human_bytes(move.bytes_to_copy)})" if move.added_brokers or move.log_dir_moves else ""

    def topics_named(self, task: Leaders) -> Sequence[str]:
        return task.topics


KIND = LeadersKind()
