"""The answer of user_tasks: what was asked for lately, and what became of it. Pure.

Tasks that made a ticket are there after the member that was asked has ended, and on all others: the ticket's
idempotency key holds the task's id and its endpoint. What such a task was answered with is told anew from its tickets.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from guardian.model.ticket import Ticket, TicketState

_KEY = "cruise-control:"
_TITLES = ("USER TASK ID", "CLIENT ADDRESS", "START TIME", "STATUS", "REQUEST URL")
_PADDING = 2
ACTIVE, EXECUTING, COMPLETED, FAILED = "Active", "InExecution", "Completed", "CompletedWithError"
_TYPES = {"active": ACTIVE, "in_execution": EXECUTING, "completed": COMPLETED, "completed_with_error": FAILED}


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """`response` is what it was answered with, or how far it is, where this member knows; `ticket_ids` are those that
    it made, the oldest first."""

    id: str
    url: str
    client: str
    started_ms: int
    status: str
    endpoint: str
    response: str = ""
    ticket_ids: tuple[str, ...] = ()


def key_of(task_id: str, endpoint: str, part: str = "") -> str:
    """The idempotency key of the ticket that a task makes: the task makes one, however often it tries.

    `part` tells the tickets apart of a task that makes several.
    """
    return f"{_KEY}{task_id}:{endpoint}{':' if part else ''}{part}"


def task_id_of(ticket: Ticket) -> str:
    """Return the id of the user task that made the ticket; of any other ticket one that is always the same."""
    if ticket.idempotency_key.startswith(_KEY):
        return ticket.idempotency_key.removeprefix(_KEY).partition(":")[0]
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"guardian:{ticket.id}"))


def endpoint_of(ticket: Ticket) -> str:
    """Empty: no user task made it."""
    key = ticket.idempotency_key
    return key.removeprefix(_KEY).partition(":")[2].partition(":")[0] if key.startswith(_KEY) else ""


def status_of(state: TicketState) -> str:
    if state is TicketState.SUCCEEDED:
        return COMPLETED
    if state.is_over:
        return FAILED
    return EXECUTING if state.is_driven else ACTIVE


def status_of_all(states: Collection[TicketState]) -> str:
    """Return the status of a task that made several tickets: it has not failed before all of them are over."""
    found = {status_of(state) for state in states}
    return next(status for status in (EXECUTING, ACTIVE, FAILED, COMPLETED) if status in found)


def infos(known: Iterable[TaskInfo], tickets: Iterable[Ticket], base: str) -> list[TaskInfo]:
    """Those of this member, and those that only tickets know of, the newest first. `base` is the API's path."""
    own = {info.id: info for info in known}
    made: dict[str, list[Ticket]] = defaultdict(list)
    by_id = {ticket.id: ticket for ticket in tickets}
    for ticket in by_id.values():
        first = by_id.get(ticket.part.first, ticket) if ticket.part is not None else ticket  # it alone has the key
        if endpoint_of(first):
            made[task_id_of(first)].append(ticket)
    for task_id, theirs in made.items():
        theirs.sort(key=lambda ticket: (ticket.created_at_ms, ticket.id))
        first, status = theirs[0], status_of_all([ticket.state for ticket in theirs])
        ids = tuple(ticket.id for ticket in theirs)
        found = own.get(task_id)
        if found is None:
            endpoint = endpoint_of(first)
            own[task_id] = TaskInfo(
                task_id, f"POST {base}/{endpoint}", first.author, first.created_at_ms, status, endpoint, "", ids
            )
        elif found.status == COMPLETED:
            own[task_id] = replace(found, status=status, ticket_ids=ids)
    return sorted(own.values(), key=lambda info: (-info.started_ms, info.id))


def chosen(
    found: Iterable[TaskInfo],
    ids: Sequence[str],
    clients: Sequence[str],
    endpoints: Sequence[str],
    types: Sequence[str],
    entries: int,
) -> list[TaskInfo]:
    """Filters that are empty let all pass."""
    states = {_TYPES[each] for each in types}
    names = {each.lower() for each in endpoints}
    return [
        info
        for info in found
        if (not ids or info.id in ids)
        and (not clients or info.client in clients)
        and (not names or info.endpoint in names)
        and (not states or info.status in states)
    ][:entries]


def tasks_document(found: Iterable[TaskInfo], *, with_responses: bool = False) -> dict[str, Any]:
    """Return the answer; without responses it has Cruise Control's keys alone, as Strimzi's Topic Operator requires."""
    return {
        "userTasks": [
            {
                "UserTaskId": info.id,
                "RequestURL": info.url,
                "ClientIdentity": info.client,
                "StartMs": str(info.started_ms),
                "Status": info.status,
                **({"originalResponse": info.response} if with_responses else {}),
                **({"guardian": {"tickets": list(info.ticket_ids)}} if with_responses and info.ticket_ids else {}),
            }
            for info in found
        ],
        "version": 1,
    }


def tasks_text(found: Sequence[TaskInfo], *, with_responses: bool = False) -> str:
    rows = [(info.id, info.client, utc(info.started_ms), info.status, info.url) for info in found]
    lines = table(_TITLES, rows, (20, 20, 20, 10, 20))
    if with_responses:
        for info in found:
            lines += [f"Original response for task {info.id}:", info.response]
    return "\n" + "\n".join(lines)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int]) -> list[str]:
    """Columns as wide as Cruise Control makes them."""
    widths = [
        max(lowest, len(title), *(len(row[number]) for row in rows)) + _PADDING
        if rows
        else max(lowest, len(title)) + _PADDING
        for number, (title, lowest) in enumerate(zip(titles, least, strict=True))
    ]
    return ["".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in (titles, *rows)]


def utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
