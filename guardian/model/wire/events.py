"""Events: protobuf <-> model."""

from __future__ import annotations

from guardian.model.event import Call, Event
from guardian.model.wire.fields import codec
from protos.guardian.v1 import events_pb2 as pb

event_to_proto, event_from_proto = codec(Event, pb.Event)
call_to_proto, call_from_proto = codec(Call, pb.Call)
