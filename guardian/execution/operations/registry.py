"""Every kind of operation by its name: the only place that tells them apart. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.execution.operations import absence, removing, restarting
from guardian.execution.operations.kind import OperationKind
from guardian.model.operation import AskKind

OPERATIONS: Mapping[AskKind, OperationKind] = {
    AskKind.REMOVE: removing.KIND,
    AskKind.OFFLINE: absence.OFFLINE,
    AskKind.ONLINE: absence.ONLINE,
    AskKind.RESTART: restarting.KIND,
}
