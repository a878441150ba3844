"""The review board: tickets, as Cruise Control's two-step review shows requests. Pure.

    ticket                         review
    PENDING                        PENDING_REVIEW   it waits for the approval policy, or for a person
    APPROVED                       APPROVED         the executor takes it up; nothing has to be sent again
    RUNNING and after              SUBMITTED
    REJECTED, EXPIRED              DISCARDED

A draft is nobody's business yet. A review's id is the number that the ticket's id is in hexadecimal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from guardian.errors import NotFound
from guardian.model.ticket import Ticket, TicketState
from guardian.rest.cruise_control.user_tasks import endpoint_of, table, utc

_ID = re.compile(r"t-([0-9a-f]{8})")
_TITLES = ("ID", "SUBMITTER_ADDRESS", "SUBMISSION_TIME", "STATUS", "ENDPOINT_WITH_PARAMS", "REASON")
_DISCARDED = (TicketState.REJECTED, TicketState.EXPIRED)


def review_id(ticket_id: str) -> int:
    """0 for an id that is none of Guardian's own."""
    match = _ID.fullmatch(ticket_id)
    return int(match[1], 16) if match else 0


def ticket_id(review: int) -> str:
    """Raises NotFound for a number that no ticket has."""
    if not 0 <= review < 1 << 32:
        raise NotFound(f"review {review} does not exist: see review_board")
    return f"t-{review:08x}"


def status_of(state: TicketState) -> str:
    if state is TicketState.PENDING:
        return "PENDING_REVIEW"
    if state is TicketState.APPROVED:
        return "APPROVED"
    return "DISCARDED" if state in _DISCARDED else "SUBMITTED"


def board(tickets: Iterable[Ticket], ids: Collection[int] = ()) -> list[Ticket]:
    """Return the tickets of the board by the time at which they were made; `ids` empty: all."""
    found = [ticket for ticket in tickets if ticket.state is not TicketState.DRAFT and review_id(ticket.id)]
    return sorted(
        (ticket for ticket in found if not ids or review_id(ticket.id) in ids),
        key=lambda ticket: (ticket.created_at_ms, ticket.id),
    )


def board_document(tickets: Iterable[Ticket]) -> dict[str, Any]:
    return {
        "RequestInfo": [
            {
                "Id": review_id(ticket.id),
                "SubmitterAddress": ticket.author,
                "SubmissionTimeMs": ticket.created_at_ms,
                "Status": status_of(ticket.state),
                "EndpointWithParams": _request(ticket),
                "Reason": ticket.history[-1].reason if ticket.history else "",
                "guardian": {"ticket": ticket.id, "kind": ticket.kind, "state": ticket.state.name},
            }
            for ticket in tickets
        ],
        "version": 1,
    }


def board_text(tickets: Iterable[Ticket]) -> str:
    rows = [
        (
            str(review_id(ticket.id)),
            ticket.author,
            utc(ticket.created_at_ms),
            status_of(ticket.state),
            _request(ticket),
            ticket.history[-1].reason if ticket.history else "",
        )
        for ticket in tickets
    ]
    return "\n" + "\n".join(table(_TITLES, rows, (2, 17, 16, 6, 20, 6)))


def _request(ticket: Ticket) -> str:
    return f"{endpoint_of(ticket).upper() or ticket.kind} ({ticket.id})"
