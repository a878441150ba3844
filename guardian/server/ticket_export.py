"""Tickets that are about to be removed, as lines of JSON in a file of the member that leads.

A line has the ticket with its history, its plan and its execution, as `guardian ticket show --output json` names them.
A member that dies between the line and the removal leaves a ticket that the next leader writes again, to its own file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from guardian.wire.plans import plan_to_proto
from guardian.wire.tickets import execution_to_proto, ticket_to_proto
from metastore.views import Views


def exported_ticket(views: Views, ticket_id: str) -> str:
    """Return a ticket's line, without its end; "" where there is no such ticket."""
    ticket = views.ticket(ticket_id)
    if ticket is None:
        return ""
    plan = views.plan(ticket.plan_hash) if ticket.plan_hash else None
    execution = views.execution(ticket_id)
    parts = {
        "ticket": _as_dict(ticket_to_proto(ticket)),
        "plan": _as_dict(plan_to_proto(plan)) if plan is not None else None,
        "execution": _as_dict(execution_to_proto(execution)) if execution is not None else None,
    }
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Append all lines durably, or none of them. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
    try:
        size = os.fstat(file).st_size
        content = "".join(f"{line}\n" for line in lines).encode()
        try:
            _write_all(file, content)
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _as_dict(message: Message) -> dict[str, object]:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
