"""online-brokers: brokers come back: started, in sync, leading what they led before (guardian/core/operations)."""

from __future__ import annotations

from guardian.core.kinds.kind import Kind
from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask


class OnlineBrokers(Kind[PlanTask]):
    name = AskKind.ONLINE.value
    has_size = False


KIND = OnlineBrokers()
