"""Check that a plan does what its kind says, and nothing else: approval rules go by the kind. Pure.

What fits a kind is said by the kind itself (guardian/tickets/kinds).
"""

from __future__ import annotations

from dataclasses import replace

from guardian.model.plan import RUN_PLAN, Plan
from guardian.tickets.kinds.registry import KINDS


def of_its_kind(plan: Plan, *, is_planners: bool) -> Plan:
    """Return the plan, with its originals filled in, as run-plan where it can't bear its kind; a note says why.

    `is_planners`: a planner that is trusted made it. Of others a plan may be a heal that takes replicas only off places
    that are gone, and one that does nothing but change replication factors.
    """
    kind = KINDS.get(plan.kind)
    why = kind.doubt(plan, is_planners=is_planners) if kind is not None else "no kind has that name"
    if not why:
        return plan
    return replace(plan, kind=RUN_PLAN, notes=(*plan.notes, f"kind {plan.kind} became {RUN_PLAN}: {why}"))


def clamped(plan: Plan, now_ms: int) -> Plan:
    """Return the plan as made not later than now: one from the future would never be too old."""
    return replace(plan, made_at_ms=min(max(plan.made_at_ms, 0), now_ms))
