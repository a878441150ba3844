"""relieve: the least data that brings full disks below a limit."""

from __future__ import annotations

from guardian.core.kinds.planned import PlannedKind
from guardian.model.tasks import Relieve


class RelieveKind(PlannedKind[Relieve]):
    name = Relieve.kind
    task = Relieve


KIND = RelieveKind()
