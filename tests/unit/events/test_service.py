"""The stream of events, over gRPC: what happened, what happens, and to whom it matters."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.events.loop.sinks import EventSinks
from guardian.events.model import sinks_of
from guardian.events.service import EventsServicer
from guardian.model.event import Event, EventKind
from guardian.model.ticket import TicketState
from protos.guardian.v1 import events_pb2
from tests.patience import PATIENCE_S
from tests.unit.member.member import Member, plan

SINK = {"name": "a", "kind": "webhook", "url": "http://h:1"}


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


def made(client: GuardianClient, *approved: bool) -> list[str]:
    """Tickets, by id: each approved or not."""
    found = []
    for is_approved in approved:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, reason="skew")
        if is_approved:
            client.approve(ticket.id, "ben", "fine")
        found.append(ticket.id)
    return found


def test_what_happened_is_told_by_ticket_kind_and_number(client: GuardianClient) -> None:
    first, second = made(client, True, False)
    assert [(event.ticket_id, event.to_state) for event in client.events()] == [
        (first, TicketState.PENDING),
        (first, TicketState.APPROVED),
        (second, TicketState.PENDING),
    ]
    assert [event.ticket_id for event in client.events(ticket_id=second)] == [second]
    assert [event.kind for event in client.events(kinds=[EventKind.TICKET_MOVED])] == [EventKind.TICKET_MOVED]
    assert [event.ticket_id for event in client.events(last=1)] == [second]
    assert client.events(cluster="live") == client.events()
    with pytest.raises(NotFound, match="cluster 'other' is not registered"):
        client.events(cluster="other")
    assert client.events(after=client.events()[-1].id) == []
    assert client.events(from_ms=1001) == client.events(until_ms=1000) == []
    assert client.events(until_ms=1001) == client.events()


def test_who_follows_is_told_of_what_happens_in_order_and_once(client: GuardianClient, member: Member) -> None:
    [first] = made(client, True)
    told: list[Event] = []
    has_news = threading.Condition()

    def follow() -> None:
        with GuardianClient([member.endpoint]) as watching:
            for event in watching.follow_events(last=1):
                with has_news:
                    told.append(event)
                    has_news.notify_all()
                if len(told) == 3:
                    return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    with has_news:
        assert has_news.wait_for(lambda: told, PATIENCE_S)
    [second] = made(client, True)
    thread.join(PATIENCE_S)
    assert [(event.ticket_id, event.to_state) for event in told] == [
        (first, TicketState.APPROVED),
        (second, TicketState.PENDING),
        (second, TicketState.APPROVED),
    ]


def test_what_can_not_be_asked_is_refused(client: GuardianClient) -> None:
    with pytest.raises(InvalidInput, match="last is 200000: use up to 100000"):
        client.events(last=200_000)
    with pytest.raises(InvalidInput, match="from_ms is -1: use milliseconds since the epoch"):
        client.events(from_ms=-1)
    with pytest.raises(InvalidInput, match="until_ms is -1: use milliseconds since the epoch, or 0 for no end"):
        client.events(until_ms=-1)
    with pytest.raises(InvalidInput, match="after is 18446744073709551615: use the id of an event"):
        client.events(after=(1 << 64) - 1)
    request = events_pb2.WatchEventsRequest(kinds=[9])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="kinds has 9: use TICKET_CREATED, "):
        client._calls.read_stream(lambda stubs: stubs.events.WatchEvents, request)


def test_without_sinks_there_are_none(client: GuardianClient) -> None:
    assert client.sinks() == ()


class Snapshot:
    """Of one event; notes which threads read it."""

    def __init__(self, readers: set[int]) -> None:
        self._readers = readers

    def events(self, after: int, _limit: int) -> tuple[Event, ...]:
        self._readers.add(threading.get_ident())
        return () if after else (Event(7, 5, EventKind.TICKET_CREATED, "live", "made"),)

    @property
    def newest_event_id(self) -> int:
        self._readers.add(threading.get_ident())
        return 9

    def event_delivered(self, _sink: str) -> int:
        return 0


class SnapshotStore:
    """Knows which of its snapshots are still held."""

    def __init__(self) -> None:
        self.held: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self.readers: set[int] = set()

    def read_local(self) -> Snapshot:
        snapshot = Snapshot(self.readers)
        self.held.add(snapshot)
        return snapshot

    async def read(self) -> Snapshot:
        return self.read_local()

    def is_leader(self) -> bool:
        return True


class Quiet:
    """Nothing happens."""

    @contextmanager
    def of_others(self) -> Iterator[asyncio.Event]:
        """Never set."""
        yield asyncio.Event()


def test_who_follows_holds_no_snapshot_and_history_is_read_beside_the_event_loop() -> None:
    async def follow() -> None:
        store, quiet = SnapshotStore(), Quiet()
        events: Any = EventsServicer(store, quiet).WatchEvents(  # type: ignore[arg-type]
            events_pb2.WatchEventsRequest(follow=True),
            None,  # type: ignore[arg-type]
        )
        assert (await anext(events)).id == 7
        waiting = asyncio.ensure_future(anext(events))
        deadline = time.monotonic() + PATIENCE_S
        while store.held:
            assert time.monotonic() < deadline, "a snapshot is held"
            await asyncio.sleep(0.01)
        assert store.readers
        assert threading.get_ident() not in store.readers
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(follow())


def test_how_far_sinks_are_is_read_beside_the_event_loop() -> None:
    async def ask() -> None:
        store = SnapshotStore()
        sinks = EventSinks(store, sinks_of("sinks", [SINK]), 1, lambda: 90_005)  # type: ignore[arg-type]
        servicer = EventsServicer(store, Quiet(), sinks)  # type: ignore[arg-type]
        reply = await servicer.ListSinks(events_pb2.ListSinksRequest(), None)  # type: ignore[arg-type]
        assert [(sink.name, sink.newest, sink.behind_ms) for sink in reply.sinks] == [("a", 9, 90_000)]
        assert threading.get_ident() not in store.readers

    asyncio.run(ask())
