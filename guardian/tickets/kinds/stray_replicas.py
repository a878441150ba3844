"""stray-replicas: replicas that came to an excluded broker go elsewhere. Guardian makes its plans by itself."""

from __future__ import annotations

from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.planned import PlannedKind


class StrayReplicas(PlannedKind[PlanTask]):
    name = "stray-replicas"


KIND = StrayReplicas()
