"""offline-brokers: brokers stay away for a while: excluded, led by others, stopped (guardian/core/operations)."""

from __future__ import annotations

from guardian.core.kinds.kind import Kind
from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask


class OfflineBrokers(Kind[PlanTask]):
    name = AskKind.OFFLINE.value
    has_size = False


KIND = OfflineBrokers()
