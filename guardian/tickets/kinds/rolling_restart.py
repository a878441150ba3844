"""rolling-restart: brokers and controllers are restarted, batch after batch (guardian/execution/operations)."""

from __future__ import annotations

from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.kind import Kind


class RollingRestart(Kind[PlanTask]):
    name = AskKind.RESTART.value
    has_size = False


KIND = RollingRestart()
