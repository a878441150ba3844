"""empty-disk: log dirs become empty, onto other disks of the broker, then onto other brokers."""

from __future__ import annotations

from guardian.model.plan import PartitionMove
from guardian.model.tasks import EmptyDisk, LogDir
from guardian.tickets.kinds.planned import PlannedKind


class EmptyDiskKind(PlannedKind[EmptyDisk]):
    name = EmptyDisk.kind
    task = EmptyDisk

    def misfit(self, task: EmptyDisk, move: PartitionMove) -> str:
        fills = any(LogDir(each.broker, each.log_dir) in task.log_dirs for each in move.target)
        return "comes to, or stays on, a log dir that is to be emptied" if fills else ""


KIND = EmptyDiskKind()
