"""Who changed what. One record for each command that changes something on somebody's behalf, also when it is refused.
Another one is for calls that never became a command, because whoever made them may not, or did not say who he is.

Not audited: what brokers write (events, claims, ids), what keeps Guardian going (sessions, sweeps, trims, the progress
of an execution, parts of a plan), and what changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guardian.errors import InvalidInput
from guardian.model.actor import Agent
from guardian.model.federation import SharedDocument, document_changes
from guardian.model.text import some
from guardian.model.ticket import TicketState
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import ReadView
from metastore.tables.clock import bounded, stored_clock
from metastore.tables.federation import stored_document
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import federation_pb2, identity_pb2, records_pb2

REFUSED = "refused"
NOBODY = "nobody"  # whose proof was refused, or missing
MAX_REFUSALS = 100
MAX_TIME_MS = 1 << 53
MAX_GATHERED_MS = 3_600_000  # refusals that are alike are gathered before they are recorded
MAX_TRIMMED = 10_000
MAX_SCANNED = 10_000  # records that a page may look at to find those of one actor
_MAX_TEXT_CHARS = 500
_MAX_NAMED = 5

_Description = tuple[str, str]  # subject and detail


def _ticket_added(command: records_pb2.AddTicket) -> _Description:
    ticket = command.ticket
    parts = f", the first of {1 + len(command.following)} of one plan" if command.following else ""
    return f"ticket {ticket.id}", f"{ticket.kind} of cluster {ticket.cluster}, plan {ticket.plan_hash}{parts}"


def _ticket_advanced(command: records_pb2.AdvanceTicket) -> _Description | None:
    if not command.HasField("transition"):
        return None
    known = TicketState._value2member_map_.get(command.transition.state)
    state = known.name if isinstance(known, TicketState) else str(command.transition.state)
    reason = f": {command.transition.reason}" if command.transition.reason else ""
    return f"ticket {command.ticket_id}", f"{state}{reason}"


def _ticket_amended(command: records_pb2.AmendTicket) -> _Description:
    brokers = ", ".join(map(str, (*command.ask.brokers, *command.ask.controllers)))
    reason = f": {command.reason}" if command.reason else ""
    return f"ticket {command.ticket_id}", f"brokers {brokers}{reason}"


def _federation_changed(command: federation_pb2.ChangeFederationRequest, view: ReadView) -> _Description | None:
    """Describe the changes; of documents, which say who may what, also which of their settings came and went."""
    if command.dry_run:
        return None
    subject = some((_change_name(change) for change in command.changes), _MAX_NAMED)
    told = [
        f"{len(command.changes)} changes",
        *(said for each in command.changes if (said := _of_document(each, view))),
    ]
    return subject, "; ".join(told)


def _of_document(change: federation_pb2.FederationChange, view: ReadView) -> str:
    name = change.put.document.name or change.drop.document
    if not name:
        return ""
    try:
        stored = stored_document(view, name)
        before = stored.table if stored is not None else {}
        after = SharedDocument(name, change.put.document.json).table if change.put.document.name else {}
    except InvalidInput:  # which is why the change is refused
        return ""
    return ", ".join(f"{each.sign}{each.setting} {each.text}" for each in document_changes(before, after))


def _partitions_deleted(command: Any) -> _Description:
    names = (f"{part.cluster_id}/{part.topic_id.hex()}-{part.partition}" for part in command.partitions)
    return some(names, _MAX_NAMED), f"{len(command.partitions)} partitions"


_DESCRIBE: dict[str, Callable[[Any], _Description | None]] = {
    "put_cluster": lambda put: (f"cluster {put.cluster.name}", f"{len(put.cluster.brokers)} brokers"),
    "put_protection": lambda put: (f"protection of cluster {put.protection.cluster}", put.did) if put.did else None,
    "drop_cluster": lambda drop: (f"cluster {drop.name}", ""),
    "register_reporter": lambda told: (f"broker {told.broker_id} of cluster {told.cluster_id}", told.reporter),
    "add_ticket": _ticket_added,
    "advance_ticket": _ticket_advanced,
    "amend_ticket": _ticket_amended,
    "delete_partitions": _partitions_deleted,
    "raise_level": lambda raised: ("feature level", str(raised.level)),
}


def record(kind: str, command: Any, view: ReadView, proposal: Proposal, error: str) -> Put | None:
    """The record of a command that changed something, or was refused with `error`; None when it is not audited. `view`
    is the store before the command."""
    if kind == "change_federation":
        description = _federation_changed(command, view)
    else:
        describe = _DESCRIBE.get(kind)
        description = describe(command) if describe is not None else None
    if description is None:
        return None
    subject, detail = description
    at_ms = max(0, proposal.at_ms)
    message = federation_pb2.AuditRecord(
        at_ms=at_ms,
        index=proposal.index,
        actor=_shortened(proposal.actor or Agent.GUARDIAN),
        agent=proposal.agent if proposal.actor else identity_pb2.AGENT_GUARDIAN,  # type: ignore[arg-type]  # its number
        proof=proposal.proof,  # type: ignore[arg-type]  # likewise
        action=kind,
        subject=_shortened(subject),
        detail=_shortened(detail),
        error=_shortened(error),
    )
    return Put(keys.audit(at_ms, proposal.index), message.SerializeToString(deterministic=True))


def handle_refusals(command: records_pb2.RecordRefusals, view: ReadView, proposal: Proposal) -> Decision:
    """A record for each. Those of one command never share a time, which is part of a record's key."""
    if len(command.refusals) > MAX_REFUSALS:
        raise InvalidInput(f"refusals has {len(command.refusals)} entries: send at most {MAX_REFUSALS} at a time")
    records: list[Record] = []
    at_ms, clock_ms = 0, stored_clock(view)
    for refusal in sorted(command.refusals, key=lambda each: each.at_ms):
        at_ms = max(at_ms + 1, min(bounded(refusal.at_ms, clock_ms, MAX_GATHERED_MS), MAX_TIME_MS))
        times = f"{refusal.times} times, " if refusal.times > 1 else ""
        message = federation_pb2.AuditRecord(
            at_ms=at_ms,
            index=proposal.index,
            actor=_shortened(refusal.who or NOBODY),
            action=REFUSED,
            subject=_shortened(refusal.what),
            detail=_shortened(f"{times}from {refusal.address or 'an unknown address'}"),
            error=_shortened(refusal.why),
        )
        records.append(Put(keys.audit(at_ms, proposal.index), message.SerializeToString(deterministic=True)))
    return records, records_pb2.CommandReply()


def handle_trim(command: records_pb2.TrimAudit, view: ReadView, _proposal: Proposal) -> Decision:
    """Forgets at most `max_records` (0: MAX_TRIMMED) that are older than `keep_ms` by the group's clock; `swept` is how
    many went."""
    if command.keep_ms < 0:
        raise InvalidInput(f"keep_ms is {command.keep_ms}: use 0 or more")
    limit = min(command.max_records or MAX_TRIMMED, MAX_TRIMMED)
    before_ms = max(0, stored_clock(view) - command.keep_ms)
    found = view.scan(keys.Table.AUDIT.prefix, keys.audit_before(before_ms), limit)
    return [Delete(key) for key, _ in found], records_pb2.CommandReply(swept=len(found))


def page(
    view: ReadView, from_ms: int, until_ms: int, actor: str, after: bytes, limit: int
) -> tuple[list[federation_pb2.AuditRecord], bytes]:
    """Return at most `limit` records of a time (`until_ms` 0: no end) and, unless it is empty, of one actor; newest
    first.

    `after` is the key that the former page ended with; the second result is this page's, b"" when that was all. A page
    for one actor may be short, or empty, and not the last: it looks at MAX_SCANNED records at most.
    """
    start = max(after + b"\x00" if after else b"", keys.audit_before(until_ms) if until_ms else b"")
    scanned = MAX_SCANNED if actor else limit
    rows = view.scan(keys.Table.AUDIT.prefix, start, scanned)
    found: list[federation_pb2.AuditRecord] = []
    for key, value in rows:
        if keys.decode_audit(key)[0] < from_ms:
            return found, b""
        message = federation_pb2.AuditRecord.FromString(value)
        if not actor or message.actor == actor:
            found.append(message)
            if len(found) == limit:
                return found, key
    return found, rows[-1][0] if len(rows) == scanned else b""


def _change_name(change: federation_pb2.FederationChange) -> str:
    which = change.WhichOneof("change")
    if which is None:
        return "nothing"
    kind = change.put.WhichOneof("entry") if which == "put" else change.drop.WhichOneof("key")
    if kind is None:
        return f"{which} nothing"
    named = getattr(change.put if which == "put" else change.drop, kind)
    return f"{which} {kind} {_name(named)}"


def _name(named: Any) -> str:
    """The words that people name an entry, or an entry's key, by."""
    if isinstance(named, str):
        return named
    if isinstance(named, federation_pb2.Machine):
        return named.host
    if isinstance(named, federation_pb2.Topic | federation_pb2.TopicKey):
        return f"{named.cluster}/{named.name}"
    if isinstance(named, federation_pb2.Exclusion | federation_pb2.ExclusionKey):
        return f"{named.cluster}/{named.broker_id}"
    return str(named.name)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[: _MAX_TEXT_CHARS - 3]}..."
