"""Answers that take as long as something lasts: a ticket until it is over, and the member's state as an archive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from guardian.client import GuardianClient
from guardian.errors import GuardianError, Overloaded
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto
from guardian.rest.forwarding import answers
from guardian.rest.parts import RestParts
from guardian.rest.schemas import as_dict
from guardian.security.model.identity import Role
from guardian.security.rules.permitting import Where
from guardian.security.rules.routing import VIEW, RouteRule, access
from protos.guardian.v1 import tickets_pb2

_LOOK_S = 1.0
_SILENT_LOOKS = 15  # then a comment is sent: whoever waits learns that the member is there
_MOST_WATCHED = 50  # at a time at a member
_RETRY_MS = 5_000
_SNAPSHOT = RouteRule(Where.EVERYWHERE, (Role.ADMIN,))
Get = Callable[..., Callable[[Callable[..., Any]], Any]]


def add_streams(get: Get, parts: RestParts) -> None:
    """Add the routes, by `get`, which registers a handler under a path with what OpenAPI says of it."""
    watching: set[object] = set()

    @get("/tickets/{ticket_id}/watch", _described("text/event-stream", "Each event is a TicketDetail."), "tickets")
    @access(VIEW)
    @answers("Tickets/WatchTicket")
    async def watch(request: Request, ticket_id: str) -> Response:
        """The ticket now and after every change, until it is over, as server-sent events."""
        if len(watching) >= _MOST_WATCHED:
            raise Overloaded(f"{len(watching)} tickets are watched at this member already: ask another one", _RETRY_MS)
        client = parts.client_for(parts.user_of(request))
        first = await run_in_threadpool(_detail, client, ticket_id)
        mark = object()

        async def told() -> AsyncIterator[bytes]:
            watching.add(mark)
            try:
                async for event in _events(client, ticket_id, first):
                    yield event
            finally:
                watching.discard(mark)

        return StreamingResponse(told(), media_type="text/event-stream")

    @get("/raft/snapshot", _described("application/x-tar", "The archive."), "group")
    @access(_SNAPSHOT)
    @answers("Raft/SaveSnapshot")
    def snapshot(request: Request) -> Response:
        """A member's state as of one index, as a tar archive with checksums; cut off, it is none."""
        found: Iterator[bytes] = parts.client_for(parts.user_of(request)).snapshot_parts()
        first = next(found, b"")  # what refuses it is a problem, and no archive
        name = {"Content-Disposition": 'attachment; filename="guardian-snapshot.tar"'}
        return StreamingResponse(chain([first], found), media_type="application/x-tar", headers=name)


async def _events(client: GuardianClient, ticket_id: str, first: _Seen) -> AsyncIterator[bytes]:
    told: _Seen | None = None
    now, silent = first, 0
    while True:
        if now != told:
            told, silent = now, 0
            yield f"data: {json.dumps(as_dict(now.detail()))}\n\n".encode()
        if now.ticket.state.is_over:
            return
        await asyncio.sleep(_LOOK_S)
        silent += 1
        if silent % _SILENT_LOOKS == 0:
            yield b": nothing new\n\n"
        try:
            now = await run_in_threadpool(_detail, client, ticket_id)
        except GuardianError as error:
            yield f"event: problem\ndata: {json.dumps(str(error))}\n\n".encode()
            return


class _Seen(NamedTuple):
    ticket: Ticket
    execution: Execution | None

    def detail(self) -> tickets_pb2.TicketDetail:
        """Return it as it is told."""
        execution = execution_to_proto(self.execution) if self.execution else None
        return tickets_pb2.TicketDetail(ticket=ticket_to_proto(self.ticket), execution=execution)


def _detail(client: GuardianClient, ticket_id: str) -> _Seen:
    return _Seen(*client.ticket(ticket_id))


def _described(kind: str, what: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": what, "content": {kind: {"schema": {"type": "string"}}}}}
