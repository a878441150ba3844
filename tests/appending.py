"""Appends as a member makes them: checked before they go into the log, and answered by partition afterwards."""

from __future__ import annotations

from metastore import appends
from metastore.commands import append_command
from metastore.records import Record
from metastore.state_machine import MetastoreStateMachine
from metastore.store import ReadView
from metastore.tables import segments
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import raw_pb2
from protos.guardian.v1.tiering_pb2 import AppendSegmentEventsReply, AppendSegmentEventsRequest


def decide(request: bytes, view: ReadView, proposal: Proposal) -> tuple[list[Record], AppendSegmentEventsReply]:
    """Return the records that a serialised request would write, and its reply."""
    checked = appends.check(request)
    records, reply = segments.append(checked.command, view, proposal)
    return records, _reply(checked, reply)


def apply(
    machine: MetastoreStateMachine, request: AppendSegmentEventsRequest, at_ms: int = 1000
) -> AppendSegmentEventsReply:
    """Apply a request as the next entry of the log."""
    checked = appends.check(request.SerializeToString())
    return _reply(checked, machine.apply(machine.applied_index + 1, append_command(checked.command, at_ms)))


def _reply(checked: appends.Checked, reply: bytes) -> AppendSegmentEventsReply:
    results = raw_pb2.RawCommandReply.FromString(reply).segment_events
    return AppendSegmentEventsReply.FromString(checked.merged(results))
