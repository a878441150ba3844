"""What a maker of plans does with the checker's findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from guardian.errors import GuardianError
from guardian.model.plan import Plan
from spark_analytics.checker.rules import Violation


def checked(plan: Plan, violations: Sequence[Violation]) -> Plan:
    """A plan that does too little is shown, and says so; raises GuardianError for one that does what must not be."""
    broken = [violation for violation in violations if not violation.rule.is_shortfall]
    if broken:
        raise GuardianError(
            f"the plan for cluster {plan.cluster} breaks a rule and is dropped, report this: {broken[0]} "
            f"(violations: {len(broken)})"
        )
    return replace(plan, unmet=(*plan.unmet, *(violation.detail for violation in violations)))
