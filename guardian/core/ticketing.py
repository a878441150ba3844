"""What people and policies may do to a ticket. Each act is one transition, or one sentence that says why not.

    act       from                        to
    submit    DRAFT                       PENDING
    approve   PENDING                     APPROVED      (by somebody else than the author, unless the policy allows it)
    reject    PENDING                     REJECTED
    cancel    DRAFT, PENDING, APPROVED    REJECTED      (it never ran)
              RUNNING, PAUSED             CANCELLING    (the executor takes back what is under way)

All raise Conflict when the ticket is in another state, and InvalidInput when the actor may not do it.
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.errors import Conflict, InvalidInput
from guardian.model.ticket import Ticket, TicketState, TicketTransition

_NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)
_UNDER_WAY = (TicketState.RUNNING, TicketState.PAUSED)


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Who may approve. `author_may_approve` is for a laptop with one person: four eyes otherwise."""

    author_may_approve: bool = False


def submit(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The draft asks for approval."""
    _require(ticket, (TicketState.DRAFT,), "only a DRAFT ticket can be submitted")
    return _transition(TicketState.PENDING, actor, reason or "submitted", now_ms)


def approve(ticket: Ticket, actor: str, reason: str, now_ms: int, policy: ApprovalPolicy) -> TicketTransition:
    """The executor may start."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be approved")
    if actor == ticket.author and not policy.author_may_approve:
        raise InvalidInput(f"actor is {actor!r}, the author of ticket {ticket.id}: somebody else must approve it")
    return _transition(TicketState.APPROVED, actor, reason or "approved", now_ms)


def reject(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The ticket ends without having run."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be rejected")
    return _transition(TicketState.REJECTED, actor, reason or "rejected", now_ms)


def cancel(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """A ticket that never ran ends; one that runs is taken back by the executor."""
    _require(ticket, _NEVER_RAN + _UNDER_WAY, "only a ticket that is not over and not being cancelled can be cancelled")
    if ticket.state in _NEVER_RAN:
        return _transition(TicketState.REJECTED, actor, reason or "cancelled before it ran", now_ms)
    return _transition(TicketState.CANCELLING, actor, reason or "cancelled", now_ms)


def _require(ticket: Ticket, states: tuple[TicketState, ...], rule: str) -> None:
    if ticket.state not in states:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: {rule}")


def _transition(state: TicketState, actor: str, reason: str, now_ms: int) -> TicketTransition:
    if not actor:
        raise InvalidInput("actor is empty: say who acts")
    return TicketTransition(state, now_ms, actor, reason)
