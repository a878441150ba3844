"""Tickets that are about to be removed, as lines of JSON in a file of the member that leads.

A line has the ticket with its history, its plan and its execution, as `guardian ticket show --output json` names them.
A ticket that is not removed after all, as when the leader dies in between, is written again by whoever leads then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from metastore import keys
from metastore.store import ReadView
from metastore.tables import plans
from protos.guardian.v1 import tickets_pb2


def exported_ticket(view: ReadView, ticket: tickets_pb2.Ticket) -> str:
    """Return a ticket's line, without its end: what is stored of it."""
    plan = plans.serialized_plan(view, ticket.plan_hash) if ticket.plan_hash else None
    execution = view.get(keys.execution(ticket.id))
    parts: dict[str, object] = {"ticket": _as_dict(ticket), "plan": None, "execution": None}
    if plan is not None:
        parts["plan"] = _as_dict(tickets_pb2.Plan.FromString(plan))
    if execution is not None:
        message = tickets_pb2.Execution.FromString(execution)
        for _, task in view.scan(keys.execution_tasks(ticket.id)):
            message.tasks.add().ParseFromString(task)
        parts["execution"] = _as_dict(message)
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append all lines durably, or none of them. Raises OSError.

    Half a line that a crash left is ended: its ticket was not removed, and comes again."""
    is_new = not path.exists()
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
    try:
        size = os.fstat(file).st_size
        try:
            if size and os.pread(file, 1, size - 1) != b"\n":
                _write_all(file, b"\n")
            for line in lines:
                _write_all(file, f"{line}\n".encode())
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
    finally:
        os.close(file)
    if is_new:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _as_dict(message: Message) -> dict[str, object]:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
