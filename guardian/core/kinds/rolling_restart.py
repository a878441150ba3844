"""rolling-restart: brokers and controllers are restarted, batch after batch (guardian/core/operations)."""

from __future__ import annotations

from guardian.core.kinds.kind import Kind
from guardian.model.operation import AskKind
from guardian.model.tasks import PlanTask


class RollingRestart(Kind[PlanTask]):
    name = AskKind.RESTART.value
    has_size = False


KIND = RollingRestart()
