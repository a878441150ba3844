"""run-plan: whatever a file asks for, or a plan whose stated kind its moves do not bear out."""

from __future__ import annotations

from guardian.model.plan import RUN_PLAN, Plan
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.kind import Kind


class RunPlan(Kind[PlanTask]):
    name = RUN_PLAN

    def doubt(self, plan: Plan, *, is_planners: bool) -> str:
        return ""


KIND = RunPlan()
