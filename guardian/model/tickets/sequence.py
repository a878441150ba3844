"""What becomes of the other parts of a sequence when one part changes its state. Pure; members apply it alike.

    part k becomes                         the other parts
    PENDING, APPROVED (only part 1 can)    all behind it become that too: one approval
    REJECTED, EXPIRED, FAILED,             those behind it that never ran: REJECTED
    CANCELLING, CANCELLED
    CANCELLING, while it went back         all that go back: CANCELLING
    ROLLING_BACK                           those behind it that never ran: REJECTED; that ended: ROLLING_BACK

A part runs when the one before it has SUCCEEDED, and goes back when those behind it have gone back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from guardian.errors import Conflict, InvalidInput
from guardian.model.ticket import Ticket, TicketState, TicketTransition

MAX_PARTS = 100  # one command may change all of them, and has room for so many events (metastore/tables/events.py)
NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)
_TOGETHER = (TicketState.PENDING, TicketState.APPROVED)
_STOPS = (
    TicketState.REJECTED,
    TicketState.EXPIRED,
    TicketState.FAILED,
    TicketState.CANCELLING,
    TicketState.CANCELLED,
)
_ENDED = (TicketState.SUCCEEDED, TicketState.FAILED, TicketState.CANCELLED)
_UNDER_WAY = (TicketState.RUNNING, TicketState.PAUSED)


def carried(
    ticket: Ticket, line: TicketTransition, others: Iterable[Ticket], begun: Collection[str]
) -> dict[str, TicketTransition]:
    """Return the transitions of the other parts, by id, that come with this one of `ticket`; in order of their ids.

    `ticket` is in the state before; `begun` are the ids of parts that have moved something. Raises Conflict where the
    others do not allow it.
    """
    part = ticket.part
    if part is None:
        return {}
    if part.number > 1 and line.state in _TOGETHER:
        raise Conflict(f"ticket {ticket.id} is {where(ticket)}: {part.first} becomes {line.state.name}, for all")
    found: dict[str, TicketTransition] = {}
    for other in others:
        if other.part is None or other.id == ticket.id:
            continue
        state = _state_of(ticket, line, other, other.part.number > part.number, other.id in begun)
        if state is not None and state is not TicketState.REJECTED:
            found[other.id] = line
        elif state is not None:
            found[other.id] = replace(line, state=state, reason=f"{ticket.id} is {line.state.name}: {line.reason}")
    return found


def _state_of(
    ticket: Ticket, line: TicketTransition, other: Ticket, is_behind: bool, has_begun: bool
) -> TicketState | None:
    """Return what the other part becomes; None: it stays as it is."""
    if line.state is TicketState.CANCELLING and ticket.state is TicketState.ROLLING_BACK:
        return TicketState.CANCELLING if other.state is TicketState.ROLLING_BACK else None
    if not is_behind:
        return None
    if line.state in _TOGETHER:
        return line.state if other.state is ticket.state else None
    is_back = line.state is TicketState.ROLLING_BACK
    if other.state in NEVER_RAN and (is_back or line.state in _STOPS):
        return TicketState.REJECTED
    if not is_back:
        return None
    if other.state in (*_UNDER_WAY, TicketState.CANCELLING):
        raise Conflict(
            f"ticket {ticket.id} is {where(ticket)}, and {other.id}, which came after it, is {other.state.name}: "
            "cancel that first, then roll back"
        )
    return TicketState.ROLLING_BACK if other.state in _ENDED and has_begun else None


def where(ticket: Ticket) -> str:
    """Return `part 2 of 5 of t-1a2b3c4d`; empty for a ticket that stands alone."""
    part = ticket.part
    return f"part {part.number} of {part.count} of {part.first}" if part is not None else ""


def require_sequence(tickets: list[Ticket]) -> None:
    """Raises InvalidInput where new tickets are not all parts of one sequence, in order, alike but for their moves."""
    first = tickets[0]
    if first.part is None and len(tickets) == 1:
        return
    if not 1 < len(tickets) <= MAX_PARTS:
        raise InvalidInput(f"the sequence of {first.id}: wrong size (got {len(tickets)}); use 2 to {MAX_PARTS} parts")
    for number, ticket in enumerate(tickets, start=1):
        part = ticket.part
        if part is None or (part.first, part.number, part.count) != (first.id, number, len(tickets)):
            raise InvalidInput(
                f"part of ticket {ticket.id}: wrong (got {where(ticket) or 'none'}); use {number} of {len(tickets)} of "
                f"{first.id}"
            )
        if ticket.id != part.ids[number - 1]:
            raise InvalidInput(f"id of {where(ticket)}: wrong (got {ticket.id}); use {part.ids[number - 1]}")
        if _common(ticket) != _common(first):
            raise InvalidInput(f"{where(ticket)}: differs from the first part; give them the same terms")


def _common(ticket: Ticket) -> tuple[object, ...]:
    return (
        ticket.cluster,
        ticket.kind,
        ticket.state,
        ticket.author,
        ticket.throttle,
        ticket.max_throttle,
        ticket.ask,
        ticket.tenants,
        ticket.part and (ticket.part.moves, ticket.part.bytes_to_copy),
    )
