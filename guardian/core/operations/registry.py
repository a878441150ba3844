"""Every kind of operation by its name: the only place that tells them apart. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.core.operations import absence, removing, restarting
from guardian.core.operations.kind import OperationKind
from guardian.model.operation import AskKind

OPERATIONS: Mapping[AskKind, OperationKind] = {
    AskKind.REMOVE: removing.KIND,
    AskKind.OFFLINE: absence.OFFLINE,
    AskKind.ONLINE: absence.ONLINE,
    AskKind.RESTART: restarting.KIND,
}
