"""online-brokers: brokers come back: started, in sync, leading what they led before (guardian/execution/operations)."""

from __future__ import annotations

from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.kind import Kind


class OnlineBrokers(Kind[PlanTask]):
    name = AskKind.ONLINE.value
    has_size = False


KIND = OnlineBrokers()
