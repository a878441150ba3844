"""Tickets and their executions. Every change says what it expects to find, so two proposers can't both be right.

Adding is idempotent by idempotency key; advancing compares state and execution revision first, and is refused as a
Conflict when somebody else was first. The tickets of a sequence are added in one command, and what one of them becomes
is carried to the others by the command that changes it. No crash comes in between.

    ticket           the ticket
    ticket index     of its cluster: ticks of the leader read the open tickets, however many have ended
    ticket order     where it is in lists: a page of one reads about as many tickets as it has
    plan             how many tickets have it: one that none has may go
    execution        all of it but its tasks
    execution task   one task, so that a tick of the executor writes those that it changed and no others
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.model.execution import Execution
from guardian.model.federation import APPROVAL_POLICY
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import (
    MAX_TROUBLES,
    VALID_TRANSITIONS,
    Ticket,
    TicketState,
    TicketTransition,
    key_was_used,
)
from guardian.model.tickets import sequence
from guardian.model.topology import require_broker_id
from guardian.model.wire.operations import ask_from_proto
from guardian.model.wire.tickets import (
    execution_from_proto,
    execution_to_proto,
    ticket_from_proto,
    ticket_state_from_proto,
    ticket_to_proto,
    transition_from_proto,
)
from metastore import keys
from metastore.records import Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables import plans, ticket_index, ticket_order
from metastore.tables.clock import bounded, stored_clock
from metastore.tables.clusters import require_cluster
from metastore.tables.federation import document_revision
from metastore.tables.packed_executions import unpacked
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2, tickets_pb2

_AMENDABLE = (
    TicketState.DRAFT,
    TicketState.PENDING,
    TicketState.APPROVED,
    TicketState.RUNNING,
    TicketState.PAUSED,
)
_AMENDABLE_ASKS = (AskKind.REMOVE, AskKind.RESTART)
MAX_NAME_CHARS = 200  # of an id or an idempotency key
_MAX_OF_TROUBLE = 1000  # brokers, or log dirs
_MAX_PLACE_CHARS = 4096  # of the subject or a log dir: paths have up to so many


def handle_add(command: records_pb2.AddTicket, view: ReadView, _proposal: Proposal) -> Decision:
    """Stores a new ticket, or answers with the one that the same idempotency key made.

    Raises Conflict where that is of another cluster, without a word of it: who asks may not see it.
    """
    ticket = ticket_from_proto(command.ticket)
    _require_name("id", ticket.id)
    if len(ticket.idempotency_key) > MAX_NAME_CHARS:
        raise InvalidInput(f"idempotency_key has {len(ticket.idempotency_key)} characters: use up to {MAX_NAME_CHARS}")
    earlier = _made_before(view, ticket)
    if earlier is not None:
        return [], _reply(earlier)
    tickets = [ticket, *map(ticket_from_proto, command.following)]
    sequence.require_sequence(tickets)
    for each in tickets:
        _require_new(view, each)
    records: list[Record] = [*map(_put_ticket, tickets), *_indexed(view, ((None, each) for each in tickets))]
    records += plans.use(view, Counter(each.plan_hash for each in tickets if each.plan_hash))
    if ticket.idempotency_key:
        records.append(Put(keys.ticket_by_idempotency_key(ticket.idempotency_key), ticket.id.encode()))
    return records, _reply(ticket)


def _require_new(view: ReadView, ticket: Ticket) -> None:
    if ticket.state not in (TicketState.DRAFT, TicketState.PENDING):
        raise InvalidInput(f"state of a new ticket is {ticket.state.name}: use DRAFT or PENDING")
    if ticket.follows_another and stored_ticket(view, ticket.id) is not None:
        raise Conflict(f"id {ticket.id} is another ticket's: choose a new one")
    require_cluster(view, ticket.cluster)
    _require_sound_troubles(ticket)
    if ticket.ask is not None:
        _require_ask_only(ticket)
    elif not plans.is_complete(view, ticket.plan_hash):
        raise NotFound(f"plan {ticket.plan_hash!r} is not stored: put all of it before its ticket")


def handle_amend(command: records_pb2.AmendTicket, view: ReadView, proposal: Proposal) -> Decision:
    """Changes what a ticket asks for or its throttle; its history says who did, in the state that it is in."""
    ticket = stored_ticket(view, command.ticket_id)
    if ticket is None:
        raise NotFound(f"ticket {command.ticket_id!r} does not exist: `guardian ticket list` shows those that do")
    if ticket.state not in _AMENDABLE:
        allowed = ", ".join(state.name for state in _AMENDABLE)
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: it can be amended while it is {allowed}")
    if command.HasField("expected_state"):
        _require_state(ticket, command.expected_state)
    if not command.actor:
        raise InvalidInput(f"actor is empty: say who amends ticket {ticket.id}")
    amended = ticket
    if command.HasField("ask"):
        amended = replace(amended, ask=_amended_ask(ticket, command))
    if command.HasField("throttle"):
        amended = replace(amended, throttle=command.throttle)
    if command.HasField("max_throttle"):
        amended = replace(amended, max_throttle=command.max_throttle)
    if command.HasField("approved_throttle"):
        amended = replace(amended, approved_throttle=command.approved_throttle)
    if amended == ticket:
        raise InvalidInput(f"the command changes nothing of ticket {ticket.id}: give another ask or throttle")
    at_ms = _bounded(view, command.at_ms, proposal)
    line = TicketTransition(ticket.state, at_ms, command.actor, command.reason or "amended")
    amended = replace(amended, updated_at_ms=at_ms, history=(*ticket.history, line))
    return [_put_ticket(amended), *map(_put_ticket, _with_its_rates(view, amended, line))], _reply(amended)


def _with_its_rates(view: ReadView, amended: Ticket, line: TicketTransition) -> list[Ticket]:
    """Return the other parts of the sequence that are not over, with the rates of this one: they are common to all."""
    return [
        replace(
            other,
            throttle=amended.throttle,
            max_throttle=amended.max_throttle,
            approved_throttle=amended.approved_throttle,
            updated_at_ms=line.at_ms,
            history=(*other.history, replace(line, state=other.state)),
        )
        for other in other_parts(view, amended)
        if other.state in _AMENDABLE
    ]


def _amended_ask(ticket: Ticket, command: records_pb2.AmendTicket) -> Ask:
    if ticket.ask is None:
        raise InvalidInput(f"ticket {ticket.id} carries a plan and asks for no brokers: make a new ticket instead")
    _require_ask_revision(ticket, command.expected_ask_revision)
    ask = replace(ask_from_proto(command.ask), revision=ticket.ask.revision + 1)
    if ask.kind != ticket.ask.kind:
        raise InvalidInput(f"kind of the ask is {ask.kind}: ticket {ticket.id} is {ticket.ask.kind} and stays that")
    return ask


def handle_advance(command: records_pb2.AdvanceTicket, view: ReadView, proposal: Proposal) -> Decision:
    """Moves a ticket to another state, saves its execution, or both."""
    command = unpacked(command)
    ticket = stored_ticket(view, command.ticket_id)
    if ticket is None:
        raise NotFound(f"ticket {command.ticket_id!r} does not exist: `guardian ticket list` shows those that do")
    _require_state(ticket, command.expected_state)
    if command.HasField("expected_ask_revision"):
        _require_ask_revision(ticket, command.expected_ask_revision)
    if command.HasField("expected_policy_revision"):
        _require_policy_revision(view, command.expected_policy_revision)
    if command.HasField("transition"):
        _require_amendment_seen(ticket, command)
    records: list[Record] = []
    if command.HasField("transition"):
        at_ms = _bounded(view, command.transition.at_ms, proposal)
        former, ticket = ticket, _moved(ticket, transition_from_proto(command.transition), at_ms)
        moved = {former.id: (former, ticket)} | _carried(view, former, ticket.history[-1])
        records += [*(_put_ticket(after) for _, after in moved.values()), *_indexed(view, moved.values())]
    if command.HasField("execution"):
        records += _save(view, ticket, command)
    if not records:
        raise InvalidInput(f"the command changes nothing of ticket {ticket.id}: give a transition or an execution")
    return records, _reply(ticket)


def stored_ticket(view: ReadView, ticket_id: str) -> Ticket | None:
    """The ticket, or None when there is none of that id."""
    value = view.get(keys.ticket(ticket_id))
    return ticket_from_proto(tickets_pb2.Ticket.FromString(value)) if value is not None else None


def other_parts(view: ReadView, ticket: Ticket) -> list[Ticket]:
    """Return the other tickets of its sequence, in the order in which they run; none for one that stands alone."""
    ids = ticket.part.ids if ticket.part is not None else ()
    found = (stored_ticket(view, each) for each in ids if each != ticket.id)
    return [other for other in found if other is not None]


def open_messages(
    view: ReadView, cluster: str | None = None, states: Collection[TicketState] | None = None
) -> Iterator[tickets_pb2.Ticket]:
    """Yield the tickets of a cluster, or of all, that are not over, as they are stored; those in some states (None: in
    any)."""
    values = view.get_many([keys.ticket(ticket_id) for ticket_id in ticket_index.open_ids(view, cluster, states)])
    return (tickets_pb2.Ticket.FromString(value) for value in values if value is not None)


def open_tickets(
    view: ReadView, cluster: str | None = None, states: Collection[TicketState] | None = None
) -> Iterator[Ticket]:
    """Yield the tickets of a cluster, or of all, that are not over; those in some states (None: in any)."""
    return map(ticket_from_proto, open_messages(view, cluster, states))


def stored_execution(view: ReadView, ticket_id: str) -> Execution | None:
    """The ticket's execution, its tasks by number, or None when none was saved yet."""
    value = view.get(keys.execution(ticket_id))
    if value is None:
        return None
    message = tickets_pb2.Execution.FromString(value)
    for _, task in view.scan(keys.execution_tasks(ticket_id)):
        message.tasks.add().ParseFromString(task)
    return execution_from_proto(message)


def execution_revision(view: Lookup, ticket_id: str) -> int:
    """Return how often the ticket's execution was saved; 0: not yet."""
    value = view.get(keys.execution(ticket_id))
    return tickets_pb2.Execution.FromString(value).revision if value is not None else 0


def _made_before(view: ReadView, ticket: Ticket) -> Ticket | None:
    if ticket.idempotency_key:
        earlier_id = view.get(keys.ticket_by_idempotency_key(ticket.idempotency_key))
        earlier = stored_ticket(view, earlier_id.decode()) if earlier_id is not None else None
        if earlier is not None and earlier.cluster != ticket.cluster:
            raise Conflict(key_was_used(ticket.idempotency_key))
        if earlier_id is not None:
            return earlier
    namesake = stored_ticket(view, ticket.id)
    if namesake is None:
        return None
    if _identity(namesake) != _identity(ticket):
        raise Conflict(f"id {ticket.id} is another ticket's: choose a new one")
    return namesake


def _identity(ticket: Ticket) -> tuple[str, str, str]:
    return ticket.cluster, ticket.idempotency_key, ticket.plan_hash


def _bounded(view: Lookup, at_ms: int, proposal: Proposal) -> int:
    """Return a proposer's stamp as near to the group's clock as its command's (metastore.tables.clock)."""
    return bounded(at_ms, stored_clock(view)) if at_ms else proposal.at_ms


def _carried(view: ReadView, ticket: Ticket, line: TicketTransition) -> dict[str, tuple[Ticket, Ticket]]:
    """Return what else of the ticket's sequence moves on with it: as it was and as it is then, by id."""
    others = {other.id: other for other in other_parts(view, ticket)}
    begun = [ticket_id for ticket_id in others if view.get(keys.execution(ticket_id)) is not None]
    lines = sequence.carried(ticket, line, others.values(), begun)
    return {
        ticket_id: (others[ticket_id], _moved(others[ticket_id], each, line.at_ms)) for ticket_id, each in lines.items()
    }


def _moved(ticket: Ticket, transition: TicketTransition, at_ms: int) -> Ticket:
    transition = replace(transition, at_ms=at_ms)
    if transition.state not in VALID_TRANSITIONS[ticket.state]:
        allowed = ", ".join(sorted(state.name for state in VALID_TRANSITIONS[ticket.state])) or "nothing: it is over"
        raise InvalidInput(
            f"ticket {ticket.id} can't go from {ticket.state.name} to {transition.state.name}: it can become {allowed}"
        )
    if not transition.actor:
        raise InvalidInput(f"actor is empty: say who moves ticket {ticket.id} to {transition.state.name}")
    return replace(
        ticket,
        state=transition.state,
        updated_at_ms=transition.at_ms,
        history=(*ticket.history, transition),
    )


def _save(view: Lookup, ticket: Ticket, command: records_pb2.AdvanceTicket) -> list[Record]:
    """The execution as it comes, and those of its tasks that come along; the others stay as they are."""
    execution = execution_from_proto(command.execution)
    if execution.ticket_id != ticket.id:
        raise InvalidInput(f"ticket_id of the execution is {execution.ticket_id!r}: use {ticket.id!r}")
    revision = execution_revision(view, ticket.id)
    if revision != command.expected_execution_revision:
        raise Conflict(
            f"execution of ticket {ticket.id} is at revision {revision} and no longer at "
            f"{command.expected_execution_revision}: look at it again"
        )
    message = execution_to_proto(replace(execution, revision=revision + 1))
    tasks = {keys.execution_task(ticket.id, task.number): task for task in message.tasks}
    if len(tasks) != len(message.tasks):
        raise InvalidInput(f"tasks of the execution of ticket {ticket.id} has a number twice: give each task once")
    records: list[Record] = [Put(key, task.SerializeToString(deterministic=True)) for key, task in tasks.items()]
    message.ClearField("tasks")
    records.append(Put(keys.execution(ticket.id), message.SerializeToString(deterministic=True)))
    return records


def _require_state(ticket: Ticket, message: tickets_pb2.TicketState) -> None:
    expected = ticket_state_from_proto(message)
    if ticket.state is not expected:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name} and no longer {expected.name}: look at it again")


def _require_ask_revision(ticket: Ticket, expected: int) -> None:
    revision = ticket.ask.revision if ticket.ask is not None else 0
    if revision != expected:
        raise Conflict(
            f"the ask of ticket {ticket.id} is at revision {revision} and no longer at {expected}: look at it again"
        )


def _require_policy_revision(view: ReadView, expected: int) -> None:
    revision = document_revision(view, APPROVAL_POLICY)
    if revision != expected:
        raise Conflict(
            f"the approval policy was changed meanwhile (revision {revision}, and no longer {expected}): decide "
            "anew by the one in force (guardian ticket approvals)"
        )


def _require_amendment_seen(ticket: Ticket, command: records_pb2.AdvanceTicket) -> None:
    """An amendment that was acknowledged is carried out: the ticket does not end in the step that did not see it."""
    if ticket.state is not TicketState.RUNNING or ticket.ask is None or ticket.ask.kind not in _AMENDABLE_ASKS:
        return
    if not command.execution.HasField("operation") or not ticket_state_from_proto(command.transition.state).is_over:
        return
    seen = command.execution.operation.ask_revision
    if seen != ticket.ask.revision:
        raise Conflict(
            f"ticket {ticket.id} can't end: it was amended meanwhile, its ask is at revision {ticket.ask.revision} and "
            f"no longer at {seen}"
        )


def _require_ask_only(ticket: Ticket) -> None:
    if ticket.plan_hash:
        raise InvalidInput(f"plan_hash of ticket {ticket.id} is {ticket.plan_hash!r}, yet it has an ask: leave one out")
    if ticket.ask is not None and ticket.kind != ticket.ask.kind:
        raise InvalidInput(f"kind of ticket {ticket.id} is {ticket.kind!r}: use that of its ask, {ticket.ask.kind}")


def _require_sound_troubles(ticket: Ticket) -> None:
    if len(ticket.troubles) > MAX_TROUBLES:
        raise InvalidInput(f"troubles: too many (got {len(ticket.troubles)}); use up to {MAX_TROUBLES}")
    if len({(each.kind, each.subject, each.brokers) for each in ticket.troubles}) < len(ticket.troubles):
        raise InvalidInput("troubles: one is named twice; keep one of them")
    for number, trouble in enumerate(ticket.troubles):
        longest = max(map(len, (trouble.subject, *trouble.log_dirs)))
        for field, size, most in (
            ("brokers", len(trouble.brokers), _MAX_OF_TROUBLE),
            ("log_dirs", len(trouble.log_dirs), _MAX_OF_TROUBLE),
            ("subject and log_dirs", longest, _MAX_PLACE_CHARS),
        ):
            if size > most:
                raise InvalidInput(f"troubles[{number}].{field}: too long (got {size}); use up to {most}")
        for broker in trouble.brokers:
            require_broker_id(broker)


def _require_name(field: str, value: str) -> None:
    if not 1 <= len(value) <= MAX_NAME_CHARS:
        raise InvalidInput(f"{field} of the ticket has {len(value)} characters: use 1 to {MAX_NAME_CHARS}")


def _indexed(view: Lookup, moved: Iterable[tuple[Ticket | None, Ticket]]) -> list[Record]:
    """Return what brings the indices up to date for tickets, each as it was (None: it was not) and as it is."""
    changes, records = [], list[Record]()
    for former, ticket in moved:
        state = former.state if former is not None else None
        changes.append(ticket_index.Change(ticket.cluster, ticket.id, state, ticket.state, ticket.created_at_ms))
        before = ticket_to_proto(former) if former is not None else None
        records += ticket_order.updates(before, ticket_to_proto(ticket))
    return [*ticket_index.updates(view, changes), *records]


def _put_ticket(ticket: Ticket) -> Put:
    return Put(keys.ticket(ticket.id), ticket_to_proto(ticket).SerializeToString(deterministic=True))


def _reply(ticket: Ticket) -> records_pb2.CommandReply:
    return records_pb2.CommandReply(ticket=ticket_to_proto(ticket))
