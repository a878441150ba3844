"""Events: protobuf <-> model."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.event import Call, Event, EventKind, ThrottleChange
from guardian.model.ticket import TicketState
from guardian.wire.tickets import ticket_state_from_proto
from protos.guardian.v1 import events_pb2 as pb


def event_to_proto(event: Event) -> pb.Event:
    return pb.Event(
        id=event.id,
        at_ms=event.at_ms,
        kind=event.kind.name,
        cluster=event.cluster,
        summary=event.summary,
        ticket_id=event.ticket_id,
        ticket_kind=event.ticket_kind,
        author=event.author,
        actor=event.actor,
        reason=event.reason,
        from_state=event.from_state.name if event.from_state is not None else None,
        to_state=event.to_state.name if event.to_state is not None else None,
        moves=event.moves,
        bytes_to_copy=event.bytes_to_copy,
        changes=[
            pb.ThrottleChange(
                scope=change.scope, key=change.key, before=change.before, after=change.after, why=change.why
            )
            for change in event.changes
        ],
        left_out=event.left_out,
        finding=event.finding,
    )


def event_from_proto(message: pb.Event) -> Event:
    """Raises InvalidInput when a field is wrong."""
    try:
        kind = EventKind(message.kind)
    except ValueError:
        raise InvalidInput(
            f"kind of event {message.id} is {message.kind}: use one of {', '.join(kind.name for kind in EventKind)}"
        ) from None
    return Event(
        id=message.id,
        at_ms=message.at_ms,
        kind=kind,
        cluster=message.cluster,
        summary=message.summary,
        ticket_id=message.ticket_id,
        ticket_kind=message.ticket_kind,
        author=message.author,
        actor=message.actor,
        reason=message.reason,
        from_state=_state(message.from_state),
        to_state=_state(message.to_state),
        moves=message.moves,
        bytes_to_copy=message.bytes_to_copy,
        changes=tuple(
            ThrottleChange(change.scope, change.key, change.before, change.after, change.why)
            for change in message.changes
        ),
        left_out=message.left_out,
        finding=message.finding,
    )


def call_to_proto(call: Call) -> pb.Call:
    return pb.Call(cluster=call.cluster, finding=call.finding, sentence=call.sentence, since_ms=call.since_ms)


def call_from_proto(message: pb.Call) -> Call:
    return Call(message.cluster, message.finding, message.sentence, message.since_ms)


def _state(number: int) -> TicketState | None:
    return ticket_state_from_proto(number) if number else None
