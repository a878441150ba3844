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

Of a sequence of tickets, which carries a plan that is larger than one, only the first is submitted, approved and
rejected, for all. What else an act on one part means for the others: guardian.model.tickets.sequence.

All raise Conflict when the ticket is in another state, and InvalidInput when the actor may not do it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from guardian.errors import Conflict, InvalidInput
from guardian.model.actor import Agent
from guardian.model.operation import Ask
from guardian.model.plan import RUN_PLAN, Plan
from guardian.model.tasks import PlanTask
from guardian.model.throttle import DEFAULT_THROTTLE, MAX_THROTTLE, MIN_THROTTLE
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.model.tickets.sequence import where
from guardian.model.units import human_duration, rate_text, rates_text
from guardian.tickets.kinds.registry import kind_of_task
from guardian.tickets.rules.approving import automatic, why_expired, why_no_way_back, why_not

_MAX_REASON_CHARS = 500

_NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)
_WITHOUT_APPROVAL = (TicketState.DRAFT, TicketState.PENDING)
_UNDER_WAY = (TicketState.RUNNING, TicketState.PAUSED, TicketState.ROLLING_BACK)
_ENDED = (TicketState.SUCCEEDED, TicketState.FAILED, TicketState.CANCELLED)


def submit(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The draft asks for approval."""
    _require(ticket, (TicketState.DRAFT,), "only a DRAFT ticket can be submitted")
    _require_first(ticket, "submit")
    return _transition(TicketState.PENDING, actor, reason or "submitted", now_ms)


def approve(ticket: Ticket, actor: str, reason: str, now_ms: int, policy: ApprovalPolicy) -> TicketTransition:
    """The executor may start."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be approved")
    _require_first(ticket, "approve")
    expired = why_expired(ticket, now_ms)
    if expired:
        raise Conflict(f"ticket {ticket.id} expires: {expired}")
    refusal = why_not(policy, ticket, actor, now_ms)
    if refusal:
        raise InvalidInput(refusal)
    return _transition(TicketState.APPROVED, actor, reason or "approved", now_ms)


def by_itself(ticket: Ticket, now_ms: int, policy: ApprovalPolicy) -> TicketTransition | None:
    """Decide what the leader does to a ticket without being asked: it expires it, or approves it where a rule says
    so.
    """
    expired = why_expired(ticket, now_ms)
    if expired:
        return _transition(TicketState.EXPIRED, Agent.POLICY, expired, now_ms)
    rule = automatic(policy, ticket, now_ms)
    if rule is None:
        return None
    return _transition(TicketState.APPROVED, Agent.POLICY, f"approved by rule {rule.name!r}", now_ms)


def reject(ticket: Ticket, actor: str, reason: str, now_ms: int) -> TicketTransition:
    """The ticket ends without having run."""
    _require(ticket, (TicketState.PENDING,), "only a PENDING ticket can be rejected")
    _require_first(ticket, "reject")
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
    ticket: Ticket,
    actor: str,
    reason: str,
    now_ms: int,
    throttle: int,
    max_throttle: int,
    policy: ApprovalPolicy,
) -> TicketTransition:
    """The ticket stays in its state, with other rates, where `require_rate_allowed` allows them."""
    throttle = throttle_asked(throttle)
    max_throttle_asked(max_throttle, throttle)
    if ticket.state.is_over:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: only one that is not over has a throttle to change")
    require_rate_allowed(policy, ticket, max(throttle, max_throttle), actor, now_ms)
    return _transition(ticket.state, actor, reason or throttle_change(ticket.throttle, throttle), now_ms)


def throttle_change(before: int, after: int) -> str:
    """Return such as `throttle 50.0 MB/s -> 20.0 MB/s`; 0: none."""
    was, now = rates_text(before, after)
    return f"throttle {was if before else 'none'} -> {now if after else 'none'}"


def approved_throttle(ticket: Ticket) -> int:
    """The highest rate that was approved, or is asked for where nothing was approved yet; bytes/s."""
    asked = max(ticket.throttle, ticket.max_throttle) if ticket.throttle else MAX_THROTTLE
    return asked if ticket.state in _WITHOUT_APPROVAL else ticket.approved_throttle or asked


def require_rate_allowed(policy: ApprovalPolicy, ticket: Ticket, most: int, actor: str, now_ms: int) -> int:
    """The highest rate that counts as approved once rates may rise to `most` (bytes/s); 0 before an approval.

    A ticket may be slowed by anybody. Above what was approved only those bring it who may approve it, and what is not
    approved yet its author, or somebody could approve what he made of it himself. Raises InvalidInput.
    """
    limit = approved_throttle(ticket)
    is_approved = ticket.state not in _WITHOUT_APPROVAL
    if most <= limit:
        return limit if is_approved else 0
    now, then = rates_text(limit, most)
    rise = f"the throttle of ticket {ticket.id} would rise from {now} to {then}"
    if not is_approved:
        if actor == ticket.author:
            return 0
        raise InvalidInput(f"{rise}, and it is not approved: only its author, {ticket.author}, may ask for more")
    why = why_not(policy, ticket, actor, now_ms)
    if why:
        raise InvalidInput(f"{rise}, more than was approved: {why}")
    return most


def require_adoptable(
    policy: ApprovalPolicy, ticket: Ticket, moves: int, size_bytes: int, actor: str, now_ms: int
) -> None:
    """Raises InvalidInput where the actor may not approve the ticket with so many moves and bytes more."""
    larger = replace(
        ticket, moves=ticket.approved_moves + moves, bytes_to_copy=ticket.approved_bytes + size_bytes, part=None
    )
    why = why_not(policy, larger, actor, now_ms)
    if why:
        raise InvalidInput(f"what ticket {ticket.id} would adopt was not approved with it: {why}")


def why_another(ticket: Ticket, made: Plan | None, author: str, cluster: str, asked: Plan | Ask) -> str:
    """Say why a request is another one than that which made the ticket, though their idempotency keys are the same;
    empty where it is its repetition. `made` is the ticket's plan.

    A ticket's plan lacks what was so already when it was made, and a standing rate's end is counted from the request. A
    plan that a planner made may be made once more for the repetition, from a cluster that has moved on: then it is the
    same when its task is.
    """
    if author != ticket.author:
        return f"{ticket.author} made it, and {author} asks"
    if cluster != ticket.cluster:
        return f"that is {ticket.kind} of cluster {ticket.cluster}, and this {asked.kind} of {cluster}"
    if isinstance(asked, Ask):
        if ticket.ask is None or ticket.ask.kind is not asked.kind:
            return f"that is {ticket.kind}, and this {asked.kind}"
        is_amended = ticket.ask.revision > 0
        return "" if is_amended or replace(asked, revision=0) == ticket.ask else "that asks for something else"
    is_other_kind = ticket.kind not in (asked.kind, RUN_PLAN)  # run-plan is what a kind becomes that is not believed
    if ticket.ask is not None or is_other_kind:
        return f"that is {ticket.kind} of cluster {ticket.cluster}, and this {asked.kind} of {cluster}"
    wanted = {(move.partition, move.target) for move in asked.moves}
    is_same = made is None or (
        (asked.is_ordered or all((move.partition, move.target) in wanted for move in made.moves))
        and made.settings == asked.settings
        and _is_repeated(made.task, asked.task)
    )
    return "" if is_same else "that carries another plan"


def _is_repeated(made: PlanTask | None, asked: PlanTask | None) -> bool:
    if made is None or asked is None or made.kind != asked.kind:
        return made == asked
    return kind_of_task(made).is_repeated(made, asked)


def why_other_terms(ticket: Ticket, throttle: int, max_throttle: int, expires_in_ms: int) -> str:
    """Say what a request with the key of this ticket asks for otherwise than that which made it; empty where it is its
    repetition. Compared are bytes/s, as `throttle_asked` and `max_throttle_asked` give them, and for how long the
    ticket may wait. Of that, 0 means as the policy says, which may be another one by now, so that it fits any;
    negative: for ever.

    A ticket that was changed since it was made (its history stays in one state) no longer tells its first throttle.
    """
    made = ticket.throttle, ticket.max_throttle
    was_changed = any(before.state is after.state for before, after in pairwise(ticket.history))
    if (throttle, max_throttle) != made and not was_changed:
        return f"that has {_rates(*made)}, and this {_rates(throttle, max_throttle)}"
    lasts_ms = ticket.expires_at_ms - ticket.created_at_ms if ticket.expires_at_ms else 0
    if expires_in_ms and max(expires_in_ms, 0) != lasts_ms:
        return f"that expires {_after(lasts_ms)}, and this {_after(expires_in_ms)}"
    return ""


def _rates(throttle: int, max_throttle: int) -> str:
    rate = f"throttle {rate_text(throttle)}" if throttle else "no throttle"
    return f"{rate} (up to {rate_text(max_throttle)})" if max_throttle else rate


def _after(lasts_ms: int) -> str:
    return f"after {human_duration(lasts_ms)}" if lasts_ms > 0 else "never"


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


def _require_first(ticket: Ticket, act: str) -> None:
    if ticket.follows_another and ticket.part is not None:
        raise Conflict(f"ticket {ticket.id} is {where(ticket)}: {act} {ticket.part.first}, which is for all parts")


def _transition(state: TicketState, actor: str, reason: str, now_ms: int) -> TicketTransition:
    if not actor:
        raise InvalidInput("actor is empty: say who acts")
    return TicketTransition(state, now_ms, actor, reason)
