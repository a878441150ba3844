"""Events are written by the command that makes them happen: one for each change, none for what was refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.actor import Agent
from guardian.model.event import Event, EventKind
from guardian.model.owned_setting import OwnedSetting
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.wire.events import event_from_proto, event_to_proto
from guardian.model.wire.tickets import execution_to_proto, transition_to_proto
from protos.guardian.v1 import events_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.test_tickets import EXECUTION, TICKET, Store

HEADER = replace(EXECUTION, tasks=())


@pytest.fixture
def store() -> Store:
    return Store()


def events(store: Store, after: int = 0, limit: int = 100) -> tuple[Event, ...]:
    return store.machine.read().events(after, limit)


def advance(
    store: Store,
    seen: TicketState,
    target: TicketState | None,
    throttles: tuple[OwnedSetting, ...] | None,
    revision: int = 0,
) -> str:
    command = pb.AdvanceTicket(ticket_id="t1", expected_state=seen.name, expected_execution_revision=revision)
    if target is not None:
        command.transition.CopyFrom(transition_to_proto(TicketTransition(target, 20, Agent.EXECUTOR, "begins")))
    if throttles is not None:
        command.execution.CopyFrom(execution_to_proto(replace(HEADER, throttles=throttles)))
    return store.propose(advance_ticket=command).error


def test_what_is_done_is_told_in_its_order_and_what_is_refused_is_not(store: Store) -> None:
    store.add(TICKET)
    store.add(TICKET)  # the same idempotency key: nothing happens
    store.move(TicketState.PENDING, TicketState.APPROVED)
    store.move(TicketState.PENDING, TicketState.REJECTED)  # it is that no longer
    assert advance(store, TicketState.APPROVED, TicketState.RUNNING, HEADER.throttles) == ""
    found = events(store)
    assert [event.kind for event in found] == [
        EventKind.TICKET_CREATED,
        EventKind.TICKET_MOVED,
        EventKind.TICKET_MOVED,
        EventKind.THROTTLE_CHANGED,
    ]
    assert [event.to_state for event in found][:3] == [TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING]
    assert [event.id for event in found] == sorted({event.id for event in found})
    assert [event.at_ms for event in found] == [10, 20, 20, 77]
    assert found[3].changes[0].after == "10"


def test_a_tick_that_changes_no_throttle_tells_nothing(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    advance(store, TicketState.APPROVED, TicketState.RUNNING, HEADER.throttles)
    before = events(store)
    assert advance(store, TicketState.RUNNING, None, HEADER.throttles, 1) == ""
    assert events(store) == before
    assert advance(store, TicketState.RUNNING, None, (), 2) == ""
    [gone] = events(store)[len(before) :]
    assert (gone.changes[0].before, gone.changes[0].after) == ("10", "")


def test_each_change_of_very_many_is_told(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    many = tuple(replace(HEADER.throttles[0], resource_name=str(broker)) for broker in range(160))
    assert advance(store, TicketState.APPROVED, TicketState.RUNNING, many) == ""
    throttles = [event for event in events(store) if event.kind is EventKind.THROTTLE_CHANGED]
    assert [(len(event.changes), event.left_out) for event in throttles] == [(100, 0), (60, 0)]
    assert [event.id for event in events(store)] == sorted({event.id for event in events(store)})


def test_events_are_read_in_pages(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    store.move(TicketState.APPROVED, TicketState.REJECTED)
    first = events(store, limit=2)
    assert len(first) == 2
    [last] = events(store, after=first[-1].id)
    assert last.to_state is TicketState.REJECTED
    assert events(store, after=last.id) == ()


def test_the_newest_event_is_known_without_reading_the_others(store: Store) -> None:
    assert store.machine.read().newest_event_id == 0
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    assert store.machine.read().newest_event_id == events(store)[-1].id
    put(store, cursors=[events_pb2.SinkCursor(sink="a", delivered=7)])  # in the same table, behind all events
    assert store.machine.read().newest_event_id == events(store)[-1].id
    put(store, trim_below=events(store)[-1].id + 1)
    assert store.machine.read().newest_event_id == 0


def put(store: Store, **fields: object) -> pb.CommandReply:
    return store.propose(put_events=events_pb2.PutEvents(**fields))  # type: ignore[arg-type]


def test_a_sinks_cursor_never_goes_back(store: Store) -> None:
    assert store.machine.read().event_delivered("a") is None
    put(store, cursors=[events_pb2.SinkCursor(sink="a", delivered=7), events_pb2.SinkCursor(sink="b")])
    put(store, cursors=[events_pb2.SinkCursor(sink="a", delivered=5)])
    assert store.machine.read().event_delivered("a") == 7
    assert store.machine.read().event_delivered("b") == 0
    assert "sink has 0 characters" in put(store, cursors=[events_pb2.SinkCursor()]).error


STORM = events_pb2.Call(cluster="live", finding="storm healing", sentence="6 of 10 brokers", since_ms=5)


def test_what_calls_a_person_is_told_once_when_it_begins_and_once_when_it_ends(store: Store) -> None:
    other = events_pb2.Call(cluster="other", finding="storm healing", sentence="2 of 3 brokers", since_ms=6)
    put(store, ended=[STORM])  # nobody is called: nothing happens
    put(store, raised=[STORM, STORM])
    put(store, raised=[events_pb2.Call(cluster="live", finding="storm healing", sentence="7 of 10"), other])
    assert [call.sentence for call in store.machine.read().calls()] == ["6 of 10 brokers", "2 of 3 brokers"]
    put(store, ended=[STORM])
    put(store, ended=[STORM])
    assert [call.cluster for call in store.machine.read().calls()] == ["other"]
    put(store, raised=[STORM])
    assert [(event.kind, event.cluster, event.finding) for event in events(store)] == [
        (EventKind.FINDING_RAISED, "live", "storm healing"),
        (EventKind.FINDING_RAISED, "other", "storm healing"),
        (EventKind.FINDING_ENDED, "live", "storm healing"),
        (EventKind.FINDING_RAISED, "live", "storm healing"),
    ]
    assert events(store)[0].summary == "storm healing of cluster live calls a person: 6 of 10 brokers"
    assert events(store)[2].summary == "storm healing of cluster live is over"


def test_a_call_without_a_finding_or_too_many_are_refused(store: Store) -> None:
    assert "finding has 0 characters" in put(store, raised=[events_pb2.Call()]).error
    many = [events_pb2.Call(finding=f"storm {number}") for number in range(101)]
    assert "raised has 101: use up to 100" in put(store, raised=many).error
    assert events(store) == ()


def test_old_events_go_and_cursors_stay(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    put(store, cursors=[events_pb2.SinkCursor(sink="a", delivered=7)])
    first, second = events(store)
    assert put(store, trim_below=second.id).swept == 1
    assert events(store) == (second,)
    assert put(store, trim_below=second.id + 1, max_trimmed=10).swept == 1
    assert events(store) == ()
    assert store.machine.read().event_delivered("a") == 7
    assert first.id < second.id


def test_an_event_survives_the_wire(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    advance(store, TicketState.APPROVED, TicketState.RUNNING, HEADER.throttles)
    for event in events(store):
        assert event_from_proto(events_pb2.Event.FromString(event_to_proto(event).SerializeToString())) == event
