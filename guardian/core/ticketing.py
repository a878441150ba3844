"""What people and policies may do to a ticket. Each act is one transition, or one sentence that says why not.

    act       from                        to
    submit    DRAFT                       PENDING
    approve   PENDING                     APPROVED      (as the approval policy says: approving.py)
    reject    PENDING                     REJECTED
    expire    PENDING, APPROVED           EXPIRED       (the leader does, when its time is over)
    pause     RUNNING                     PAUSED        (what is under way goes on to its end, nothing new starts)
    resume    PAUSED                      RUNNING
    cancel    DRAFT, PENDING, APPROVED    REJECTED      (it never ran)
              RUNNING, PAUSED             CANCELLING    (the executor takes back what is under way)
              ROLLING_BACK                CANCELLING    (what is not on its way back yet stays)
    roll back SUCCEEDED, FAILED,          ROLLING_BACK  (the executor takes back all that was done)
              CANCELLED

All raise Conflict when the ticket is in another state, and InvalidInput when the actor may not do it.
"""

from __future__ import annotations

from guardian.core.approving import POLICY, automatic, why_expired, why_no_way_back, why_not
from guardian.errors import Conflict, InvalidInput
from guardian.model.approval import ApprovalPolicy
from guardian.model.ticket import Ticket, TicketState, TicketTransition

DEFAULT_THROTTLE = 50_000_000  # bytes/s per broker
MIN_THROTTLE = 100_000
MAX_THROTTLE = 1_000_000_000_000  # more than a broker can send; Kafka takes no more than an int64
_MAX_REASON_CHARS = 500

_NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)
_UNDER_WAY = (TicketState.RUNNING, TicketState.PAUSED, TicketState.ROLLING_BACK)
_ENDED = (TicketState.SUCCEEDED, TicketState.FAILED, TicketState.CANCELLED)


def submit(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The draft asks for approval."""
    _require(ticket, (TicketState.DRAFT,), "only a DRAFT ticket can be submitted")
    return _transition(TicketState.PENDING, actor, reason or "submitted", now_ms)


def approve(ticket: Ticket, actor: str, reason: str, now_ms: int, policy: ApprovalPolicy) -> TicketTransition:
    """The executor may start."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be approved")
    expired = why_expired(ticket, now_ms)
    if expired:
        raise Conflict(f"ticket {ticket.id} expires: {expired}")
    refusal = why_not(policy, ticket, actor, now_ms)
    if refusal:
        raise InvalidInput(refusal)
    return _transition(TicketState.APPROVED, actor, reason or "approved", now_ms)


def by_itself(ticket: Ticket, now_ms: int, policy: ApprovalPolicy) -> TicketTransition | None:
    """What the leader does to a ticket without being asked: it expires it, or approves it where a rule says so."""
    expired = why_expired(ticket, now_ms)
    if expired:
        return _transition(TicketState.EXPIRED, POLICY, expired, now_ms)
    rule = automatic(policy, ticket, now_ms)
    if rule is None:
        return None
    return _transition(TicketState.APPROVED, POLICY, f"approved by rule {rule.name!r}", now_ms)


def reject(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The ticket ends without having run."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be rejected")
    return _transition(TicketState.REJECTED, actor, reason or "rejected", now_ms)


def pause(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """Nothing new starts until it is resumed."""
    _require(ticket, (TicketState.RUNNING,), "only a RUNNING ticket can be paused")
    return _transition(TicketState.PAUSED, actor, reason or "paused", now_ms)


def resume(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """It goes on where it is."""
    _require(ticket, (TicketState.PAUSED,), "only a PAUSED ticket can be resumed")
    return _transition(TicketState.RUNNING, actor, reason or "resumed", now_ms)


def roll_back(ticket: Ticket, actor: str, reason: str, now_ms: int, policy: ApprovalPolicy) -> TicketTransition:
    """All that was moved goes back."""
    _require(ticket, _ENDED, "only a ticket that has SUCCEEDED, FAILED or was CANCELLED can be rolled back")
    refusal = why_no_way_back(policy, ticket, actor)
    if refusal:
        raise InvalidInput(refusal)
    return _transition(TicketState.ROLLING_BACK, actor, reason or "rolled back", now_ms)


def cancel(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """A ticket that never ran ends; one that runs is taken back by the executor; one that goes back stops to."""
    _require(ticket, _NEVER_RAN + _UNDER_WAY, "only a ticket that is not over and not being cancelled can be cancelled")
    if ticket.state in _NEVER_RAN:
        return _transition(TicketState.REJECTED, actor, reason or "cancelled before it ran", now_ms)
    return _transition(TicketState.CANCELLING, actor, reason or "cancelled", now_ms)


def set_throttle(
    ticket: Ticket, actor: str, reason: str, now_ms: int, throttle: int, max_throttle: int
) -> TicketTransition:
    """The ticket stays in its state, with other rates."""
    throttle = throttle_asked(throttle)
    max_throttle_asked(max_throttle, throttle)
    if ticket.state.is_over:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: only one that is not over has a throttle to change")
    return _transition(ticket.state, actor, reason or f"throttle {ticket.throttle} -> {throttle} bytes/s", now_ms)


def throttle_asked(asked: int) -> int:
    """0 stands for the default. Raises InvalidInput."""
    throttle = asked or DEFAULT_THROTTLE
    if not MIN_THROTTLE <= throttle <= MAX_THROTTLE:
        raise InvalidInput(
            f"throttle is {throttle} bytes/s: use {MIN_THROTTLE} to {MAX_THROTTLE}, or 0 for the default"
        )
    return throttle


def max_throttle_asked(asked: int, throttle: int) -> int:
    """Up to which rates may rise; 0: no more than `throttle`. Raises InvalidInput."""
    if asked and not throttle <= asked <= MAX_THROTTLE:
        raise InvalidInput(
            f"max_throttle is {asked} bytes/s: use {throttle} (throttle) to {MAX_THROTTLE}, or 0 for throttle itself"
        )
    return asked


def require_reason(reason: str) -> None:
    """Raises InvalidInput."""
    if len(reason) > _MAX_REASON_CHARS:
        raise InvalidInput(f"reason has {len(reason)} characters: use up to {_MAX_REASON_CHARS}")


def _require(ticket: Ticket, states: tuple[TicketState, ...], rule: str) -> None:
    if ticket.state not in states:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: {rule}")


def _transition(state: TicketState, actor: str, reason: str, now_ms: int) -> TicketTransition:
    if not actor:
        raise InvalidInput("actor is empty: say who acts")
    return TicketTransition(state, now_ms, actor, reason)
