"""offline-brokers: brokers stay away for a while: excluded, led by others, stopped (guardian/execution/operations)."""

from __future__ import annotations

from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.kind import Kind


class OfflineBrokers(Kind[PlanTask]):
    name = AskKind.OFFLINE.value
    has_size = False


KIND = OfflineBrokers()
