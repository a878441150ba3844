"""Previews and progress of tickets: model <-> protobuf."""

from __future__ import annotations

from guardian.model.tickets.preview import Preview
from guardian.model.tickets.progress import Progress
from guardian.model.wire.fields import ByHand, by_hand, codec, filled
from protos.guardian.v1 import tickets_pb2 as pb

_NOT_KNOWN = -1
_TIMES = ("eta_ms", "least_ms", "most_ms")


preview_to_proto, preview_from_proto = codec(Preview, pb.PreviewTicketReply)
progress_from_proto = codec(Progress, pb.TicketProgress)[1]


def progress_to_proto(ticket_id: str, progress: Progress) -> pb.TicketProgress:
    unknown = dict.fromkeys(_TIMES, _NOT_KNOWN)
    return filled(pb.TicketProgress(ticket_id=ticket_id, **unknown), progress)


def _or_not_known(name: str) -> ByHand:
    def read(message: pb.TicketProgress) -> int | None:
        value: int = getattr(message, name)
        return None if value == _NOT_KNOWN else value

    return ByHand(lambda message, value: setattr(message, name, value), read)


by_hand(Progress, **{name: _or_not_known(name) for name in _TIMES})
