"""The Events service: what happened to tickets and throttles, and what happens, on the server's event loop.

Who follows is told from this member's own store as it applies commands: nothing is polled, no thread is held. The first
look is linearizable, so that what was acknowledged before the call is in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import grpc.aio

from guardian.errors import InvalidInput
from guardian.events.loop.sinks import EventSinks
from guardian.model.event import Event, EventKind
from guardian.model.wire.events import event_to_proto
from guardian.replication.store.async_store import AsyncStore
from guardian.replication.store.state import Changes, Views
from guardian.serving.requests import require_cluster
from guardian.serving.sight import shows_sink
from guardian.serving.who_asks import sees, who_asks
from protos.guardian.v1 import events_pb2 as pb
from protos.guardian.v1 import events_pb2_grpc

MAX_LAST = 100_000
_PAGE = 500
_PAUSE_S = 0.05  # between two looks of one watcher, however much is written


class EventsServicer(events_pb2_grpc.EventsServicer):
    """`sinks` sends to those of this member's configuration, if any. Made on the server's event loop."""

    def __init__(self, store: AsyncStore, changes: Changes, sinks: EventSinks | None = None) -> None:
        self._store = store
        self._changes = changes
        self._sinks = sinks

    async def WatchEvents(
        self, request: pb.WatchEventsRequest, context: grpc.aio.ServicerContext[pb.WatchEventsRequest, pb.Event]
    ) -> AsyncIterator[pb.Event]:
        _check(request)
        with self._changes.of_others() as has_changed:
            # Only a fence: a snapshot that is held for as long as somebody follows would keep all that is replaced.
            await self._store.read()
            require_cluster(self._store.read_local(), request.cluster)
            after = request.after
            newest: deque[Event] = deque(maxlen=request.last or None)
            while True:
                page, after = await asyncio.to_thread(_page, self._store.read_local(), after)
                wanted = [event for event in page if _fits(request, event)]
                if request.last:
                    newest.extend(wanted)
                else:
                    for event in wanted:
                        yield event_to_proto(event)
                if len(page) < _PAGE:
                    break
            for event in newest:
                yield event_to_proto(event)
            while request.follow:
                await has_changed.wait()
                has_changed.clear()
                page, after = _page(self._store.read_local(), after)
                for event in page:
                    if _fits(request, event):
                        yield event_to_proto(event)
                if len(page) == _PAGE:
                    has_changed.set()
                await asyncio.sleep(_PAUSE_S)

    async def ListSinks(
        self, request: pb.ListSinksRequest, context: grpc.aio.ServicerContext[pb.ListSinksRequest, pb.ListSinksReply]
    ) -> pb.ListSinksReply:
        reply = pb.ListSinksReply()
        if self._sinks is None:
            return reply
        views = await self._store.read()
        identity = who_asks()
        errors, behind_ms = self._sinks.errors(), await asyncio.to_thread(self._sinks.behind_ms, views)
        newest = await asyncio.to_thread(lambda: views.newest_event_id)
        for sink in self._sinks.sinks:
            if identity is not None and not shows_sink(identity, sink.clusters):
                continue
            delivered = views.event_delivered(sink.name) or 0
            reply.sinks.add(
                name=sink.name,
                delivered=delivered,
                newest=max(delivered, newest),
                behind_ms=behind_ms[sink.name],
                error=errors[sink.name],
            )
        return reply


def _page(views: Views, after: int) -> tuple[tuple[Event, ...], int]:
    page = views.events(after, _PAGE)
    return page, page[-1].id if page else after


def _check(request: pb.WatchEventsRequest) -> None:
    if request.last > MAX_LAST:
        raise InvalidInput(f"last is {request.last}: use up to {MAX_LAST}")
    if request.after >= 1 << 63:
        raise InvalidInput(f"after is {request.after}: use the id of an event")
    if request.from_ms < 0:
        raise InvalidInput(f"from_ms is {request.from_ms}: use milliseconds since the epoch")
    if request.until_ms < 0:
        raise InvalidInput(f"until_ms is {request.until_ms}: use milliseconds since the epoch, or 0 for no end")
    known = {kind.value for kind in EventKind}
    for kind in request.kinds:
        if kind not in known:
            raise InvalidInput(f"kinds has {kind}: use {', '.join(kind.name for kind in EventKind)}")


def _fits(request: pb.WatchEventsRequest, event: Event) -> bool:
    return (
        event.at_ms >= request.from_ms
        and (not request.until_ms or event.at_ms < request.until_ms)
        and (not request.cluster or event.cluster == request.cluster)
        and (not request.ticket_id or event.ticket_id == request.ticket_id)
        and (not request.kinds or event.kind.value in request.kinds)
        and sees(event.cluster)
    )
