"""Tickets with an ask: stored without a plan, amended only from what the proposer saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.actor import Agent
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind, BrokerWork, Operation, OperationPhase
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.operations import ask_to_proto
from guardian.model.wire.tickets import execution_to_proto, ticket_from_proto, ticket_to_proto, transition_to_proto
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2 as pb

ASK = Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="systemd")
TICKET = Ticket("t1", "live", "remove-brokers", TicketState.PENDING, "ann", "", 10, 10, 10, (), "key", ask=ASK)


class Store:
    """The state machine, with a cluster and a ticket in it."""

    def __init__(self) -> None:
        self.machine = MetastoreStateMachine(MemoryStore())
        self.propose(put_cluster=pb.PutCluster(cluster=cluster_to_proto(Cluster("live", "b:1", "id-1"))))

    def propose(self, **command: object) -> pb.CommandReply:
        message = pb.Command(proposed_at_ms=77, **command)  # type: ignore[arg-type]
        return pb.CommandReply.FromString(
            self.machine.apply(self.machine.applied_index + 1, message.SerializeToString())
        )

    def add(self, ticket: Ticket = TICKET) -> pb.CommandReply:
        return self.propose(add_ticket=pb.AddTicket(ticket=ticket_to_proto(ticket)))

    def amend(self, seen: int, ask: Ask | None = None, **fields: object) -> pb.CommandReply:
        fields = {"ticket_id": "t1", "actor": "bob", "reason": "one more", "at_ms": 20, **fields}
        message = pb.AmendTicket(expected_ask_revision=seen, **fields)  # type: ignore[arg-type]
        if ask is not None:
            message.ask.CopyFrom(ask_to_proto(ask))
        return self.propose(amend_ticket=message)

    def move(self, seen: TicketState, target: TicketState) -> None:
        transition = transition_to_proto(TicketTransition(target, 15, "bob", "because"))
        reply = self.propose(
            advance_ticket=pb.AdvanceTicket(ticket_id="t1", expected_state=seen.value, transition=transition)  # type: ignore[arg-type]
        )
        assert not reply.error

    def ticket(self) -> Ticket:
        ticket = self.machine.read().ticket("t1")
        assert ticket is not None
        return ticket


@pytest.fixture
def store() -> Store:
    store = Store()
    assert not store.add().error
    return store


def test_a_ticket_with_an_ask_needs_no_plan(store: Store) -> None:
    assert store.ticket() == TICKET


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan_hash": "0" * 64}, "yet it has an ask: leave one out"),
        ({"kind": "balance"}, "use that of its ask, remove-brokers"),
    ],
)
def test_an_ask_and_its_ticket_say_the_same(change: dict[str, object], message: str) -> None:
    reply = Store().add(replace(TICKET, **change))  # type: ignore[arg-type]
    assert (reply.error_kind, message in reply.error) == (pb.INVALID, True), reply.error


def test_an_amendment_replaces_the_ask_and_is_in_the_history(store: Store) -> None:
    more = replace(ASK, brokers=(4, 5, 6), revision=55)
    reply = store.amend(0, more)
    assert ticket_from_proto(reply.ticket) == store.ticket()
    assert store.ticket().ask == replace(more, revision=1)
    assert store.ticket().history[-1] == TicketTransition(TicketState.PENDING, 20, "bob", "one more")
    assert store.ticket().state is TicketState.PENDING


def test_of_two_amendments_made_from_the_same_ask_the_second_is_refused(store: Store) -> None:
    assert not store.amend(0, replace(ASK, brokers=(4,))).error
    reply = store.amend(0, replace(ASK, brokers=(6,)))
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == "the ask of ticket t1 is at revision 1 and no longer at 0: look at it again"
    assert store.ticket().ask == replace(ASK, brokers=(4,), revision=1)


def test_an_amendment_is_for_the_state_that_the_proposer_saw(store: Store) -> None:
    store.move(TicketState.PENDING, TicketState.APPROVED)
    more = replace(ASK, brokers=(4, 5, 6))
    reply = store.amend(0, more, expected_state=TicketState.PENDING.value)
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == "ticket t1 is APPROVED and no longer PENDING: look at it again"
    assert store.ticket().ask == ASK
    assert not store.amend(0, more, expected_state=TicketState.APPROVED.value).error


def test_an_approval_is_for_the_ask_that_the_proposer_saw(store: Store) -> None:
    assert not store.amend(0, replace(ASK, brokers=(4, 5, 6))).error
    approval = pb.AdvanceTicket(
        ticket_id="t1",
        expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
        transition=transition_to_proto(TicketTransition(TicketState.APPROVED, 15, "bob", "fine")),
        expected_ask_revision=0,
    )
    reply = store.propose(advance_ticket=approval)
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == "the ask of ticket t1 is at revision 1 and no longer at 0: look at it again"
    assert store.ticket().state is TicketState.PENDING
    approval.expected_ask_revision = 1
    assert not store.propose(advance_ticket=approval).error
    assert store.ticket().state is TicketState.APPROVED


def test_the_throttle_is_amended_without_an_ask(store: Store) -> None:
    assert not store.amend(0, throttle=99).error
    assert (store.ticket().throttle, store.ticket().ask) == (99, ASK)


@pytest.mark.parametrize(
    ("fields", "ask", "kind", "message"),
    [
        ({"ticket_id": "t2"}, ASK, pb.NOT_FOUND, "ticket 't2' does not exist"),
        ({"actor": ""}, ASK, pb.INVALID, "actor is empty"),
        ({}, None, pb.INVALID, "changes nothing of ticket t1"),
        ({}, Ask(AskKind.OFFLINE, (4,)), pb.INVALID, "ticket t1 is remove-brokers and stays that"),
    ],
)
def test_a_wrong_amendment_changes_nothing(
    store: Store, fields: dict[str, object], ask: Ask | None, kind: int, message: str
) -> None:
    reply = store.amend(0, ask, **fields)
    assert (reply.error_kind, message in reply.error) == (kind, True), reply.error
    assert store.ticket() == TICKET


def test_a_ticket_that_is_over_is_not_amended(store: Store) -> None:
    store.move(TicketState.PENDING, TicketState.REJECTED)
    reply = store.amend(0, replace(ASK, brokers=(4,)))
    assert reply.error_kind == pb.CONFLICT
    assert "ticket t1 is REJECTED: it can be amended while it is DRAFT, PENDING" in reply.error


def test_an_operation_is_stored_with_its_execution(store: Store) -> None:
    operation = Operation(OperationPhase.EXCLUDE, 5, (BrokerWork(4), BrokerWork(5)), detail="waits")
    saved = pb.AdvanceTicket(
        ticket_id="t1",
        expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
        execution=execution_to_proto(Execution("t1", (), operation=operation)),
    )
    assert not store.propose(advance_ticket=saved).error
    assert store.machine.read().execution("t1") == Execution("t1", (), revision=1, operation=operation)


@pytest.mark.parametrize(
    ("kind", "state", "is_refused"),
    [
        (AskKind.REMOVE, TicketState.SUCCEEDED, True),
        (AskKind.REMOVE, TicketState.FAILED, True),
        (AskKind.RESTART, TicketState.SUCCEEDED, True),
        (AskKind.OFFLINE, TicketState.SUCCEEDED, False),
        (AskKind.REMOVE, TicketState.PAUSED, False),
    ],
)
def test_a_ticket_does_not_end_in_the_step_that_did_not_see_its_amendment(
    kind: AskKind, state: TicketState, is_refused: bool
) -> None:
    store = Store()
    ask = Ask(kind, (4, 5), hook="systemd")
    assert not store.add(replace(TICKET, kind=kind.value, ask=ask)).error
    store.move(TicketState.PENDING, TicketState.APPROVED)
    store.move(TicketState.APPROVED, TicketState.RUNNING)
    assert not store.amend(0, replace(ask, brokers=(4, 5, 6))).error

    def end(seen: int, revision: int) -> pb.CommandReply:
        operation = Operation(OperationPhase.CLEAN_UP, 5, (BrokerWork(4),), ask_revision=seen)
        return store.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id="t1",
                expected_state=TicketState.RUNNING.value,  # type: ignore[arg-type]
                transition=transition_to_proto(TicketTransition(state, 15, Agent.EXECUTOR, "done")),
                execution=execution_to_proto(Execution("t1", (), operation=operation)),
                expected_execution_revision=revision,
            )
        )

    reply = end(0, 0)
    if not is_refused:
        assert (reply.error, store.ticket().state) == ("", state)
        return
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == ("ticket t1 can't end: it was amended meanwhile, its ask is at revision 1 and no longer at 0")
    assert store.ticket().state is TicketState.RUNNING
    assert store.machine.read().execution("t1") is None
    assert not end(1, 0).error
    assert store.ticket().state is state
