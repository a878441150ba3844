"""What happened, kept for those who watch: written by the command that makes it happen, forgotten when it is old.

event    id -> the event; the id is the command's log index, and a number within it
cursor   sink -> the last event that it was given
call     cluster, finding -> what calls a person until it ends
"""

from __future__ import annotations

from collections.abc import Sequence

from guardian.errors import InvalidInput
from guardian.model import eventing
from guardian.model.event import Call, Event
from guardian.model.wire.events import call_from_proto, event_from_proto, event_to_proto
from guardian.model.wire.protection import protection_from_proto
from guardian.model.wire.tickets import execution_from_proto, ticket_from_proto
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import ReadView, Snapshot
from metastore.tables.overlay import Overlay
from metastore.tables.proposal import Decision, Proposal
from metastore.tables.protection import stored_protection
from metastore.tables.tickets import stored_ticket
from protos.guardian.v1 import events_pb2, protection_pb2, records_pb2, tickets_pb2

MAX_TRIMMED = 5000
MAX_SINKS = 100
MAX_CALLS = 100  # of each kind in one command
_MAX_NAME_CHARS = 200
_MAX_FINDING_CHARS = 1000
_MAX_SENTENCE_CHARS = 2000
_SOURCES = frozenset({"add_ticket", "advance_ticket", "amend_ticket", "put_protection", "put_events"})
_MAX_ID = (1 << 64) - 1
_SHIFT = 8  # of what one command makes: up to 200 of calls, or MAX_EVENTS of throttles and one of the ticket


def last_event_id(index: int) -> int:
    """The greatest that an event of the command at this log index, or of one before it, may have."""
    return ((index + 1) << _SHIFT) - 1


def follow(kind: str, records: Sequence[Record], view: ReadView, proposal: Proposal) -> list[Record]:
    """The events of what the command of this kind is about to write, as records."""
    if kind not in _SOURCES:
        return []
    found: list[Event] = []
    first = proposal.index << _SHIFT
    after = Overlay(view, records)
    for key, value in records:
        event_id = first + len(found)
        if key.startswith(keys.Table.CALL.prefix):
            found += _of_call(event_id, view.get(key), value, proposal)
        elif value is None:
            continue
        elif key.startswith(keys.Table.TICKET.prefix):
            ticket = ticket_from_proto(tickets_pb2.Ticket.FromString(value))
            event = eventing.of_ticket(event_id, stored_ticket(view, ticket.id), ticket)
            found += [event] if event is not None else []
        elif key.startswith(keys.Table.EXECUTION.prefix):
            found += _of_execution(event_id, key, value, view, after, proposal)
        elif key.startswith(keys.Table.PROTECTION.prefix):
            protection = protection_from_proto(protection_pb2.ProtectionState.FromString(value))
            was = stored_protection(view, protection.cluster)
            found += eventing.of_protection(event_id, proposal.at_ms, was, protection)
    return [Put(keys.event(event.id), event_to_proto(event).SerializeToString(deterministic=True)) for event in found]


def _of_call(event_id: int, before: bytes | None, after: bytes | None, proposal: Proposal) -> list[Event]:
    stored = after if after is not None else before
    if stored is None:
        return []
    call = call_from_proto(events_pb2.Call.FromString(stored))
    return [eventing.of_call(event_id, proposal.at_ms, call, is_over=after is None)]


def _of_execution(
    event_id: int, key: bytes, value: bytes, view: ReadView, after: ReadView, proposal: Proposal
) -> list[Event]:
    now = tickets_pb2.Execution.FromString(value)
    was = tickets_pb2.Execution.FromString(view.get(key) or b"")
    ticket, earlier = stored_ticket(after, now.ticket_id), stored_ticket(view, now.ticket_id)
    if ticket is None:
        return []
    was_over = earlier is not None and earlier.state.is_over
    # Most ticks change neither: messages are compared before they are taken apart.
    if now.throttles == was.throttles and now.rates == was.rates and was_over == ticket.state.is_over:
        return []
    before = execution_from_proto(was) if was.ticket_id else None
    return eventing.of_throttles(
        event_id,
        proposal.at_ms,
        ticket,
        before,
        execution_from_proto(now),
        was_over=was_over,
    )


def handle_put(command: events_pb2.PutEvents, view: ReadView, _proposal: Proposal) -> Decision:
    """Notes how far sinks have come and what calls a person, and forgets old events; `swept` is how many went."""
    if len(command.cursors) > MAX_SINKS:
        raise InvalidInput(f"cursors has {len(command.cursors)}: use up to {MAX_SINKS}")
    records: list[Record] = []
    for cursor in command.cursors:
        if not 1 <= len(cursor.sink) <= _MAX_NAME_CHARS:
            raise InvalidInput(f"sink has {len(cursor.sink)} characters: use 1 to {_MAX_NAME_CHARS}")
        known = delivered(view, cursor.sink)
        if known is None or cursor.delivered > known:
            records.append(Put(keys.event_sink(cursor.sink), cursor.delivered.to_bytes(8, "big")))
    records += _calls(command, view)
    gone: list[Record] = []
    if command.trim_below:
        limit = min(command.max_trimmed or MAX_TRIMMED, MAX_TRIMMED)
        end = keys.event(command.trim_below)
        gone = [Delete(key) for key, _ in view.scan(keys.events(), b"", limit) if key < end]
    return records + gone, records_pb2.CommandReply(swept=len(gone))


def _calls(command: events_pb2.PutEvents, view: ReadView) -> list[Record]:
    """Whoever says it again, as a new leader may, changes nothing."""
    for name, count in (("raised", len(command.raised)), ("ended", len(command.ended))):
        if count > MAX_CALLS:
            raise InvalidInput(f"{name} has {count}: use up to {MAX_CALLS}")
    found: dict[bytes, Record] = {}
    for call in command.raised:
        key = _call_key(call)
        if view.get(key) is None:
            short = events_pb2.Call(
                cluster=call.cluster,
                finding=call.finding,
                sentence=call.sentence[:_MAX_SENTENCE_CHARS],
                since_ms=call.since_ms,
            )
            found.setdefault(key, Put(key, short.SerializeToString(deterministic=True)))
    for call in command.ended:
        key = _call_key(call)
        if view.get(key) is not None:
            found[key] = Delete(key)
    return list(found.values())


def _call_key(call: events_pb2.Call) -> bytes:
    if not 1 <= len(call.finding) <= _MAX_FINDING_CHARS:
        raise InvalidInput(f"finding has {len(call.finding)} characters: use 1 to {_MAX_FINDING_CHARS}")
    return keys.call(call.cluster, call.finding)


def calls(view: ReadView) -> tuple[Call, ...]:
    """Return what calls a person now, by cluster."""
    return tuple(call_from_proto(events_pb2.Call.FromString(value)) for _, value in view.scan(keys.Table.CALL.prefix))


def page(view: ReadView, after: int, limit: int) -> tuple[Event, ...]:
    """The next events behind the one with this id, oldest first."""
    rows = view.scan(keys.events(), keys.event(after + 1), limit)
    return tuple(event_from_proto(events_pb2.Event.FromString(value)) for _, value in rows)


def newest_id(snapshot: Snapshot) -> int:
    """The id of the newest event that is kept, by one look; 0: none is."""
    prefix = keys.events()
    found = snapshot.floor(prefix, keys.event(_MAX_ID))
    return int.from_bytes(found[0][len(prefix) :], "big") if found is not None else 0


def delivered(view: ReadView, sink: str) -> int | None:
    """The last event that the sink was given; None: it was never given any."""
    value = view.get(keys.event_sink(sink))
    return int.from_bytes(value, "big") if value is not None else None
