"""Why somebody may approve a ticket, or may not: what each rule says, and what is given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenApproval:
    """An approval as the ticket's history has it."""

    actor: str
    at_ms: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Hold what a rule that is about the ticket says now. `against_ticket` keeps everybody from approving by it,
    `against_actor` who asks; empty: nothing does."""

    rule: str
    approvers: tuple[str, ...] = ()
    automatic: bool = False
    author_may_approve: bool = False
    against_ticket: str = ""
    against_actor: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalExplanation:
    """`needed` approvals are missing; `refusal` says why `actor` may not give one now; empty: he may. `file` is the
    policy's, `revision` that of the stored one; neither: it has the default rules."""

    ticket_id: str
    state: str
    author: str
    actor: str
    needed: int = 0
    given: tuple[GivenApproval, ...] = ()
    verdicts: tuple[RuleVerdict, ...] = ()
    refusal: str = ""
    file: str = ""
    revision: int = 0
