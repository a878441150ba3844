"""stray-replicas: replicas that came to an excluded broker go elsewhere. Guardian makes its plans by itself."""

from __future__ import annotations

from guardian.core.kinds.planned import PlannedKind
from guardian.model.tasks import PlanTask


class StrayReplicas(PlannedKind[PlanTask]):
    name = "stray-replicas"


KIND = StrayReplicas()
