"""Events: protobuf <-> model."""

from __future__ import annotations

from guardian.model.event import Call, Event
from guardian.wire.fields import filled, read
from protos.guardian.v1 import events_pb2 as pb


def event_to_proto(event: Event) -> pb.Event:
    return filled(pb.Event(), event)


def event_from_proto(message: pb.Event) -> Event:
    """Raises InvalidInput when a field is wrong."""
    return read(Event, message)


def call_to_proto(call: Call) -> pb.Call:
    return filled(pb.Call(), call)


def call_from_proto(message: pb.Call) -> Call:
    return read(Call, message)
