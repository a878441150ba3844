"""When an approved plan is too old to run, and what one that was made anew may do without being approved again. Pure.

approved ──▶ still fits the cluster, young enough ──▶ runs
         ──▶ a partition of it was moved          ──▶ is made anew ──▶ no more than was approved ──▶ runs
         ──▶ its input is older than allowed      ──▶ is made anew          more ──▶ FAILED, nothing was changed
"""

from __future__ import annotations

from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.model.units import human_bytes, human_duration

# The cluster lives on between approval and start: a plan of today moves a little more or less than that of yesterday.
_MARGIN = 1.25


def why_old(plan: Plan, max_age_ms: int, now_ms: int) -> str:
    """Why the plan should be made anew though the cluster still fits it; empty when it need not."""
    age_ms = now_ms - plan.made_at_ms
    if not plan.made_at_ms or not max_age_ms or age_ms <= max_age_ms:
        return ""
    return f"it was made of samples that are {human_duration(age_ms)} old, more than {human_duration(max_age_ms)}"


def why_beyond(ticket: Ticket, plan: Plan) -> str:
    """Why the new plan needs an approval of its own; empty when that of the ticket covers it."""
    if plan.cluster != ticket.cluster:
        return f"it is for cluster {plan.cluster}"
    if len(plan.moves) > ticket.moves * _MARGIN:
        return f"it has {len(plan.moves)} moves, {ticket.moves} were approved"
    if plan.bytes_to_copy > ticket.bytes_to_copy * _MARGIN:
        return f"it copies {human_bytes(plan.bytes_to_copy)}, {human_bytes(ticket.bytes_to_copy)} were approved"
    return ""
