"""relieve: the least data that brings full disks below a limit."""

from __future__ import annotations

from guardian.model.tasks import Relieve
from guardian.tickets.kinds.planned import PlannedKind


class RelieveKind(PlannedKind[Relieve]):
    name = Relieve.kind
    task = Relieve


KIND = RelieveKind()
