"""What goes of tickets and plans once it is old: an ended ticket with its execution, and a plan that no ticket has.

The leader names candidates (guardian.replication.loop); each member decides about them alike, by the group's clock.
A ticket stays, however old, while something still refers to it:

    a setting     one that it set in Kafka and has not restored
    an exclusion  one of its own; of a broker that it took offline anybody's, or that it is not active again
    a sequence    one that it is a part of, of which not all parts are old
    a finding     one that calls a person, in a cluster where healing filed the ticket: it would begin anew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from guardian.errors import InvalidInput
from guardian.model.operation import AskKind
from guardian.model.ticket import TicketState, part_id
from metastore import keys
from metastore.records import Delete, Record
from metastore.store import ReadView
from metastore.tables import events, plans, ticket_index, ticket_order
from metastore.tables.clock import stored_clock
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import federation_pb2, identity_pb2, records_pb2, tickets_pb2

MAX_NAMED = 100  # tickets, or plans, of one command
_MAX_RECORDS = 10_000  # beyond it a command begins with no further ticket
_OVER = frozenset(state.value for state in TicketState if state.is_over)


def handle_trim(command: records_pb2.TrimTickets, view: ReadView, _proposal: Proposal) -> Decision:
    """Remove those of the named tickets and plans that may go; `swept` is how many went."""
    if command.keep_ms < 0:
        raise InvalidInput(f"keep_ms is {command.keep_ms}: use 0 or more")
    for name, named in (("ticket_ids", command.ticket_ids), ("plan_hashes", command.plan_hashes)):
        if len(named) > MAX_NAMED:
            raise InvalidInput(f"{name} has {len(named)} entries: send at most {MAX_NAMED} at a time")
    before_ms = stored_clock(view) - command.keep_ms
    records: list[Record] = []
    uses: Counter[str] = Counter()
    changes: list[ticket_index.Change] = []
    for ticket, removal in selected(view, command.ticket_ids, before_ms):
        records += removal
        records += ticket_order.updates(ticket, None)
        changes.append(
            ticket_index.Change(ticket.cluster, ticket.id, TicketState(ticket.state), None, ticket.created_at_ms)
        )
        if ticket.plan_hash:
            uses[ticket.plan_hash] -= 1
    records += ticket_index.updates(view, changes) + plans.use(view, uses)
    swept = len(changes)
    for plan_hash in dict.fromkeys(command.plan_hashes):
        if plans.may_go(view, plan_hash, before_ms):
            records += plans.records_of(plan_hash)
            swept += 1
    return records, records_pb2.CommandReply(swept=swept)


def selected(
    view: ReadView, ticket_ids: Iterable[str], before_ms: int
) -> Iterator[tuple[tickets_pb2.Ticket, list[Record]]]:
    """Yield those of the named tickets that one command removes, each with what removes it."""
    count = 0
    for ticket_id in dict.fromkeys(ticket_ids):
        value = view.get(keys.ticket(ticket_id))
        ticket = tickets_pb2.Ticket.FromString(value) if value is not None else None
        if ticket is not None and may_go(view, ticket, before_ms):
            removal = _removal(view, ticket)
            yield ticket, removal
            count += len(removal)
            if count >= _MAX_RECORDS:
                return


def may_go(view: ReadView, ticket: tickets_pb2.Ticket, before_ms: int) -> bool:
    """Return whether the ticket ended before that time, since the epoch, and nothing refers to it."""
    if not _is_old(ticket, before_ms) or not all(_is_old(each, before_ms) for each in _parts(view, ticket)):
        return False
    execution = tickets_pb2.Execution.FromString(view.get(keys.execution(ticket.id)) or b"")
    if execution.throttles or (ticket.HasField("ask") and _has_broker_away(view, ticket)):
        return False
    return ticket.author_agent != identity_pb2.AGENT_HEALING or all(
        call.cluster != ticket.cluster for call in events.calls(view)
    )


def _is_old(ticket: tickets_pb2.Ticket, before_ms: int) -> bool:
    return ticket.state in _OVER and ticket.updated_at_ms < before_ms


def _parts(view: ReadView, ticket: tickets_pb2.Ticket) -> Iterator[tickets_pb2.Ticket]:
    """Yield what is stored of the ticket's sequence."""
    for number in range(1, ticket.part.count + 1):
        value = view.get(keys.ticket(part_id(ticket.part.first, number)))
        if value is not None:
            yield tickets_pb2.Ticket.FromString(value)


def _has_broker_away(view: ReadView, ticket: tickets_pb2.Ticket) -> bool:
    """Return whether an exclusion is the ticket's, or a broker that it took offline is excluded or not active."""
    exclusions = (
        federation_pb2.FederationEntry.FromString(value).exclusion
        for _, value in view.scan(keys.exclusions(ticket.cluster))
    )
    offline = set(ticket.ask.brokers) if ticket.kind == AskKind.OFFLINE else set()
    if any(each.by_ticket == ticket.id or each.broker_id in offline for each in exclusions):
        return True
    cluster = federation_pb2.Cluster.FromString(view.get(keys.cluster(ticket.cluster)) or b"")
    return any(each.id in offline and each.state != federation_pb2.ACTIVE for each in cluster.brokers)


def _removal(view: ReadView, ticket: tickets_pb2.Ticket) -> list[Record]:
    records: list[Record] = [Delete(keys.ticket(ticket.id)), Delete(keys.execution(ticket.id))]
    records += [Delete(key) for key, _ in view.scan(keys.execution_tasks(ticket.id))]
    if ticket.idempotency_key:
        records.append(Delete(keys.ticket_by_idempotency_key(ticket.idempotency_key)))
    return records
