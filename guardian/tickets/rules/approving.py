"""May this person approve this ticket now, or does it need no person? Decided from the policy's rules. Pure.

    ticket ──▶ which rules are about it (kind, cluster, author) ──▶ which hold now (limits, windows) ──▶ whom they let

One rule that lets is enough. Where none does, the sentence says what each rule about the ticket has against it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

from guardian.model.actor import Agent, reads_as_agent
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule
from guardian.model.tickets.explanation import ApprovalExplanation, GivenApproval, RuleVerdict
from guardian.model.tickets.sequence import where
from guardian.model.units import human_bytes
from guardian.tickets.kinds.registry import kind_of

_NAMED = 3


def why_not(policy: ApprovalPolicy, ticket: Ticket, actor: str, now_ms: int) -> str:
    """Say why the actor may not approve the ticket now, in one sentence; empty when he may."""
    about = [rule for rule in policy.rules if _is_about(rule, ticket)]
    against = {rule.name: _against(rule, ticket, now_ms) or _against_actor(rule, ticket, actor) for rule in about}
    if any(not why for why in against.values()):
        return ""
    if any(why == _AUTHOR for why in against.values()):
        return f"actor is {actor!r}, the author of ticket {ticket.id}: somebody else must approve it"
    what = f"ticket {ticket.id} ({ticket.kind} of cluster {ticket.cluster} by {ticket.author})"
    if not about:
        return f"actor is {actor!r}, but no rule of the approval policy is about {what}: add one"
    reasons = [f"rule {name!r} {why}" for name, why in against.items()]
    more = f"; {len(reasons) - _NAMED} more rules say no" if len(reasons) > _NAMED else ""
    return f"actor {actor!r} may not approve {what} now: {'; '.join(reasons[:_NAMED])}{more}"


def explain(
    policy: ApprovalPolicy, ticket: Ticket, actor: str, now_ms: int, role_refusal: str = ""
) -> ApprovalExplanation:
    """Return what each rule about the ticket says of the actor. `role_refusal`: why his roles do not let him."""
    is_open = ticket.state in (TicketState.DRAFT, TicketState.PENDING)
    refusal = f"ticket {ticket.id} is {ticket.state.name}: only a PENDING ticket can be approved"
    if ticket.follows_another:
        refusal = f"ticket {ticket.id} is {where(ticket)}: approve that one, for all"
    elif ticket.state is TicketState.PENDING:
        refusal = why_expired(ticket, now_ms) or role_refusal or why_not(policy, ticket, actor, now_ms)
    verdicts = tuple(
        RuleVerdict(
            rule.name,
            rule.approvers,
            rule.automatic,
            rule.author_may_approve,
            _against(rule, ticket, now_ms),
            _against_actor(rule, ticket, actor),
        )
        for rule in policy.rules
        if _is_about(rule, ticket)
    )
    return ApprovalExplanation(
        ticket.id,
        ticket.state.name,
        ticket.author,
        actor,
        needed=int(is_open),
        given=_given(ticket),
        verdicts=verdicts,
        refusal=refusal,
        file=policy.file,
        revision=policy.revision,
    )


def _given(ticket: Ticket) -> tuple[GivenApproval, ...]:
    """Return the approvals in the history. Further lines in that state are amendments."""
    before = (None, *(past.state for past in ticket.history))
    return tuple(
        GivenApproval(past.actor, past.at_ms, past.reason)
        for past, earlier in zip(ticket.history, before, strict=False)
        if past.state is TicketState.APPROVED and earlier is not TicketState.APPROVED
    )


def why_no_way_back(policy: ApprovalPolicy, ticket: Ticket, actor: str) -> str:
    """Say why the actor may not roll the ticket back; empty when he may: who made it, and who may approve its like at
    all.

    To go back is what one does when something is wrong, so it waits for no window and knows no limit.
    """
    about = [rule for rule in policy.rules if _is_about(rule, ticket)]
    if actor == ticket.author or any(_matches(rule.approvers, actor) for rule in about):
        return ""
    lets = sorted({ticket.author, *(name for rule in about for name in rule.approvers)})
    return f"actor {actor!r} may not roll back ticket {ticket.id}: the approval policy lets {', '.join(lets)}"


def automatic(policy: ApprovalPolicy, ticket: Ticket, now_ms: int) -> ApprovalRule | None:
    """The rule that approves the ticket without anybody, now; None when there is none."""
    if ticket.state is not TicketState.PENDING or ticket.follows_another:
        return None
    rules = (rule for rule in policy.rules if rule.automatic and _is_about(rule, ticket))
    return next((rule for rule in rules if not _against(rule, ticket, now_ms)), None)


def why_expired(ticket: Ticket, now_ms: int) -> str:
    """Say why the ticket expires now; empty when it does not."""
    at_ms = expires_at_ms(ticket)
    if not at_ms or now_ms < at_ms:
        return ""
    until = datetime.fromtimestamp(at_ms / 1000, UTC)
    missed = "was not approved" if ticket.state is TicketState.PENDING else "did not start"
    return f"it {missed} before {until:%Y-%m-%d %H:%M:%S} UTC: submit it again if it is still wanted"


def expires_at_ms(ticket: Ticket) -> int:
    """Return when the ticket expires, in ms; 0 where it does not. A draft's time begins when it is submitted. Of a
    sequence only the first ticket expires: the others end with it, and once it runs they wait for as long as that
    takes.
    """
    if ticket.state not in (TicketState.PENDING, TicketState.APPROVED) or not ticket.expires_at_ms:
        return 0
    if ticket.follows_another:
        return 0
    # Later lines in that state are amendments: they give no more time.
    submitted = (past.at_ms for past in ticket.history if past.state is TicketState.PENDING)
    return next(submitted, ticket.created_at_ms) + ticket.expires_at_ms - ticket.created_at_ms


_AUTHOR = "does not let the author approve"


def _is_about(rule: ApprovalRule, ticket: Ticket) -> bool:
    return (
        _is_about_kind(rule, ticket) and _matches(rule.clusters, ticket.cluster) and _is_by(rule.authors, ticket.author)
    )


def _is_about_kind(rule: ApprovalRule, ticket: Ticket) -> bool:
    """Tell whether the rule is about the kind. By itself a rule approves some kinds only where it names them."""
    if rule.automatic and kind_of(ticket).must_be_named:
        return ticket.kind in rule.kinds
    return _matches(rule.kinds, ticket.kind)


def _is_by(authors: tuple[str, ...], author: str) -> bool:
    """Return whether one of the patterns is about the author. One that is the name of an agent means that agent
    only.
    """
    if isinstance(author, Agent):
        return _matches(authors, author)
    return _matches(tuple(pattern for pattern in authors if not reads_as_agent(pattern)), author)


def _against(rule: ApprovalRule, ticket: Ticket, now_ms: int) -> str:
    """Say what the rule has against the ticket at this time; empty when nothing."""
    moves, size = ticket.approved_moves, ticket.approved_bytes
    if (rule.max_bytes or rule.max_moves) and not moves:
        return "limits what is moved, and this ticket does not say how much it moves"
    if rule.max_bytes and size > rule.max_bytes:
        return f"allows {human_bytes(rule.max_bytes)}, and it copies {human_bytes(size)}"
    if rule.max_moves and moves > rule.max_moves:
        return f"allows {rule.max_moves} moves, and it has {moves}"
    at = datetime.fromtimestamp(now_ms / 1000, ZoneInfo(rule.timezone))
    if rule.windows and not any(window.holds(at) for window in rule.windows):
        times = ", ".join(window.text for window in rule.windows)
        return f"holds {times} ({rule.timezone}), and it is {at:%a %H:%M}"
    return ""


def _against_actor(rule: ApprovalRule, ticket: Ticket, actor: str) -> str:
    if not rule.approvers:
        return "lets nobody, it approves by itself"
    if not _matches(rule.approvers, actor):
        return f"lets {', '.join(rule.approvers)}"
    if actor == ticket.author and not rule.author_may_approve:
        return _AUTHOR
    return ""


def _matches(patterns: tuple[str, ...], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
