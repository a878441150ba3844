"""What goes of tickets and plans once it is old: an ended ticket with its execution, and a plan that no ticket has.

The leader names candidates (guardian.server.housekeeping); each member decides about them alike, by the group's clock.
A ticket stays, however old, while something still refers to it:

    a setting     one that it set in Kafka and has not restored
    an exclusion  the exclusion of a broker that it took offline or removed
    a finding     one that calls a person, in a cluster where healing filed the ticket: it would begin anew
"""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.actor import Agent
from guardian.model.ticket import Ticket
from metastore import keys
from metastore.records import Delete, Record
from metastore.store import ReadView
from metastore.tables import events, plans
from metastore.tables.clock import stored_clock
from metastore.tables.proposal import Proposal
from metastore.tables.tickets import stored_execution, stored_ticket
from protos.guardian.v1 import federation_pb2, records_pb2

MAX_NAMED = 100  # tickets, or plans, of one command
_MAX_RECORDS = 10_000  # beyond it a command begins with no further ticket


def handle_trim(
    command: records_pb2.TrimTickets, view: ReadView, _proposal: Proposal
) -> tuple[list[Record], records_pb2.CommandReply]:
    """Remove those of the named tickets and plans that may go; `swept` is how many went."""
    if command.keep_ms < 0:
        raise InvalidInput(f"keep_ms is {command.keep_ms}: use 0 or more")
    for name, named in (("ticket_ids", command.ticket_ids), ("plan_hashes", command.plan_hashes)):
        if len(named) > MAX_NAMED:
            raise InvalidInput(f"{name} has {len(named)} entries: send at most {MAX_NAMED} at a time")
    before_ms = stored_clock(view) - command.keep_ms
    records: list[Record] = []
    swept = 0
    for ticket_id in dict.fromkeys(command.ticket_ids):
        ticket = stored_ticket(view, ticket_id)
        if ticket is not None and len(records) < _MAX_RECORDS and may_go(view, ticket, before_ms):
            records += _ticket_records(view, ticket)
            swept += 1
    for plan_hash in dict.fromkeys(command.plan_hashes):
        if plans.may_go(view, plan_hash, before_ms):
            records += plans.records_of(view, plan_hash)
            swept += 1
    return records, records_pb2.CommandReply(swept=swept)


def may_go(view: ReadView, ticket: Ticket, before_ms: int) -> bool:
    """Whether the ticket ended before that time, since the epoch, and nothing refers to it."""
    if not ticket.state.is_over or ticket.updated_at_ms >= before_ms:
        return False
    execution = stored_execution(view, ticket.id)
    if (execution is not None and execution.throttles) or _has_exclusion(view, ticket):
        return False
    return ticket.author is not Agent.HEALING or all(call.cluster != ticket.cluster for call in events.calls(view))


def _has_exclusion(view: ReadView, ticket: Ticket) -> bool:
    return ticket.ask is not None and any(
        federation_pb2.FederationEntry.FromString(value).exclusion.by_ticket == ticket.id
        for _, value in view.scan(keys.exclusions(ticket.cluster))
    )


def _ticket_records(view: ReadView, ticket: Ticket) -> list[Record]:
    records: list[Record] = [Delete(keys.ticket(ticket.id)), Delete(keys.execution(ticket.id))]
    records += [Delete(key) for key, _ in view.scan(keys.execution_tasks(ticket.id))]
    if ticket.plan_hash:
        records.append(Delete(keys.plan_use(ticket.plan_hash, ticket.id)))
    if ticket.idempotency_key:
        records.append(Delete(keys.ticket_by_idempotency_key(ticket.idempotency_key)))
    return records
