"""Previews and progress of tickets: model <-> protobuf."""

from __future__ import annotations

from guardian.model.tickets.preview import Preview
from guardian.model.tickets.progress import Progress
from guardian.model.wire.fields import ByHand, by_hand, codec, filled
from protos.guardian.v1 import tickets_pb2 as pb

_NOT_KNOWN = -1


preview_to_proto, preview_from_proto = codec(Preview, pb.PreviewTicketReply)
progress_from_proto = codec(Progress, pb.TicketProgress)[1]


def progress_to_proto(ticket_id: str, progress: Progress) -> pb.TicketProgress:
    return filled(pb.TicketProgress(ticket_id=ticket_id, eta_ms=_NOT_KNOWN), progress)


by_hand(
    Progress,
    eta_ms=ByHand(
        lambda message, value: setattr(message, "eta_ms", value),
        lambda message: None if message.eta_ms == _NOT_KNOWN else message.eta_ms,
    ),
)
