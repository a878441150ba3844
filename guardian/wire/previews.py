"""Previews and progress of tickets: model <-> protobuf."""

from __future__ import annotations

from guardian.model.preview import Preview
from guardian.model.progress import Progress
from guardian.wire.fields import filled, read
from protos.guardian.v1 import tickets_pb2 as pb

_NOT_KNOWN = -1


def preview_to_proto(preview: Preview) -> pb.PreviewTicketReply:
    return filled(pb.PreviewTicketReply(), preview)


def preview_from_proto(message: pb.PreviewTicketReply) -> Preview:
    return read(Preview, message)


def progress_to_proto(ticket_id: str, progress: Progress) -> pb.TicketProgress:
    return pb.TicketProgress(
        ticket_id=ticket_id,
        total_bytes=progress.total_bytes,
        copied_bytes=progress.copied_bytes,
        bytes_per_s=progress.bytes_per_s,
        eta_ms=_NOT_KNOWN if progress.eta_ms is None else progress.eta_ms,
    )


def progress_from_proto(message: pb.TicketProgress) -> Progress:
    eta_ms = None if message.eta_ms == _NOT_KNOWN else message.eta_ms
    return Progress(message.total_bytes, message.copied_bytes, message.bytes_per_s, eta_ms)
