"""Tickets of a sequence in the store: added together, and what one becomes is carried to the others by one command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketPart, TicketState, TicketTransition, part_id
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto, transition_to_proto
from metastore.tables import ticket_retention
from metastore.tables.tickets import open_tickets
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tickets_pb2
from tests.unit.metastore.test_tickets import TICKET, Store

S = TicketState
IDS = ("t1", "t1-2", "t1-3")


def parts(count: int = 3) -> list[Ticket]:
    return [
        replace(
            TICKET,
            id=part_id("t1", number),
            idempotency_key="key-1" if number == 1 else "",
            part=TicketPart("t1", number, count, 9, 900, 3 * (count + 1 - number), 300 * (count + 1 - number)),
        )
        for number in range(1, count + 1)
    ]


class Sequence(Store):
    def add_all(self, first: Ticket, *following: Ticket) -> pb.CommandReply:
        add = pb.AddTicket(ticket=ticket_to_proto(first), following=map(ticket_to_proto, following))
        return self.propose(add_ticket=add)

    def become(self, ticket_id: str, state: TicketState, *, begins: bool = False) -> str:
        """Return why not; empty where it did."""
        ticket = self.views.ticket(ticket_id)
        assert ticket is not None
        line = TicketTransition(state, 50, "bob", "because")
        advance = pb.AdvanceTicket(
            ticket_id=ticket_id,
            expected_state=ticket.state.value,  # type: ignore[arg-type]
            transition=transition_to_proto(line),
            execution=execution_to_proto(Execution(ticket_id, ())) if begins else None,
        )
        return self.propose(advance_ticket=advance).error

    @property
    def states(self) -> list[TicketState]:
        found = [self.views.ticket(each) for each in IDS]
        return [each.state for each in found if each is not None]

    def reason(self, ticket_id: str) -> str:
        ticket = self.views.ticket(ticket_id)
        assert ticket is not None
        return ticket.history[-1].reason


@pytest.fixture
def store() -> Sequence:
    store = Sequence()
    assert not store.add_all(*parts()).error
    return store


def run_all(store: Sequence) -> None:
    store.become("t1", S.APPROVED)
    for each in IDS:
        assert not store.become(each, S.RUNNING, begins=True)
        assert not store.become(each, S.SUCCEEDED)


def test_all_are_stored_or_none(store: Sequence) -> None:
    assert [store.views.ticket(each) for each in IDS] == parts()
    again = store.add_all(*parts())
    assert (again.error, again.ticket.id) == ("", "t1")
    assert len(list(open_tickets(store.machine.read()._snapshot))) == 3


def test_the_audit_log_says_how_many_tickets_one_plan_became(store: Sequence) -> None:
    records, _ = store.views.audit_page(0, 0, "", b"", 10)
    (added,) = (each for each in records if each.subject == "ticket t1")
    assert added.detail.endswith(", the first of 3 of one plan")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (parts()[:1], r"the sequence of t1: wrong size (got 1); use 2 to 100 parts"),
        (parts()[:2], r"part of ticket t1: wrong (got part 1 of 3 of t1); use 1 of 2 of t1"),
        ([*parts()[:2], replace(parts()[2], throttle=5)], "part 3 of 3 of t1: differs from the first part"),
        ([*parts()[:2], replace(parts()[2], id="t9")], "id of part 3 of 3 of t1: wrong (got t9); use t1-3"),
        ([*parts()[:2], replace(parts()[2], plan_hash="0" * 64)], "is not stored: put all of it before its ticket"),
    ],
)
def test_a_sequence_that_is_none_changes_nothing(wrong: list[Ticket], why: str) -> None:
    store = Sequence()
    assert why in store.add_all(*wrong).error
    assert store.states == []


def test_one_approval_is_for_all(store: Sequence) -> None:
    assert "t1-2 is part 2 of 3 of t1: t1 becomes APPROVED, for all" in store.become("t1-2", S.APPROVED)
    assert store.states == [S.PENDING] * 3
    assert not store.become("t1", S.APPROVED)
    assert store.states == [S.APPROVED] * 3
    assert store.reason("t1-3") == "because"


@pytest.mark.parametrize("state", [S.REJECTED, S.EXPIRED])
def test_what_ends_the_first_before_it_runs_ends_all(store: Sequence, state: TicketState) -> None:
    store.become("t1", S.APPROVED)
    assert not store.become("t1", state)
    assert store.states == [state, S.REJECTED, S.REJECTED]
    assert store.reason("t1-3") == f"t1 is {state.name}: because"


@pytest.mark.parametrize("state", [S.FAILED, S.CANCELLING])
def test_what_stops_a_part_ends_those_behind_it(store: Sequence, state: TicketState) -> None:
    store.become("t1", S.APPROVED)
    store.become("t1", S.RUNNING, begins=True)
    store.become("t1", S.SUCCEEDED)
    store.become("t1-2", S.RUNNING, begins=True)
    assert not store.become("t1-2", state)
    assert store.states == [S.SUCCEEDED, state, S.REJECTED]


def test_the_way_back_takes_those_behind_it_that_ran(store: Sequence) -> None:
    store.become("t1", S.APPROVED)
    for each in IDS[:2]:
        store.become(each, S.RUNNING, begins=True)
        store.become(each, S.SUCCEEDED)
    assert not store.become("t1", S.ROLLING_BACK)
    assert store.states == [S.ROLLING_BACK, S.ROLLING_BACK, S.REJECTED]
    assert not store.become("t1-2", S.CANCELLING)
    assert store.states == [S.CANCELLING, S.CANCELLING, S.REJECTED]


def test_a_part_that_never_began_has_no_way_back(store: Sequence) -> None:
    store.become("t1", S.APPROVED)
    store.become("t1", S.RUNNING, begins=True)
    store.become("t1", S.SUCCEEDED)
    store.become("t1-2", S.FAILED)
    store.become("t1", S.ROLLING_BACK)
    assert store.states == [S.ROLLING_BACK, S.FAILED, S.REJECTED]


def test_nothing_goes_back_while_a_later_part_runs(store: Sequence) -> None:
    store.become("t1", S.APPROVED)
    store.become("t1", S.RUNNING, begins=True)
    store.become("t1", S.SUCCEEDED)
    store.become("t1-2", S.RUNNING, begins=True)
    assert "t1-2, which came after it, is RUNNING: cancel that first" in store.become("t1", S.ROLLING_BACK)
    assert store.states == [S.SUCCEEDED, S.RUNNING, S.APPROVED]


def test_rates_are_common_to_all_that_are_not_over(store: Sequence) -> None:
    store.become("t1", S.APPROVED)
    store.become("t1", S.RUNNING, begins=True)
    store.become("t1", S.SUCCEEDED)
    amend = pb.AmendTicket(ticket_id="t1-2", actor="ann", throttle=7, max_throttle=9, approved_throttle=9)
    assert not store.propose(amend_ticket=amend).error
    found = [store.views.ticket(each) for each in IDS]
    assert [(each.throttle, each.max_throttle) for each in found if each] == [(10_000_000, 0), (7, 9), (7, 9)]
    assert [each.history[-1].actor for each in found if each] == ["bob", "ann", "ann"]


def test_no_part_is_forgotten_before_all_are_old(store: Sequence) -> None:
    run_all(store)
    view = store.machine.read()._snapshot

    def may_go(before_ms: int) -> list[bool]:
        stored = [tickets_pb2.Ticket.FromString(ticket_to_proto(each).SerializeToString()) for each in store_tickets()]
        return [ticket_retention.may_go(view, each, before_ms) for each in stored]

    def store_tickets() -> list[Ticket]:
        return [each for each in map(store.views.ticket, IDS) if each is not None]

    assert may_go(51) == [True] * 3
    assert may_go(50) == [False] * 3
    waiting = Sequence()
    waiting.add_all(*parts())
    waiting.become("t1", S.APPROVED)
    waiting.become("t1", S.RUNNING, begins=True)
    waiting.become("t1", S.SUCCEEDED)
    first = waiting.views.ticket("t1")
    assert first is not None
    assert not ticket_retention.may_go(waiting.machine.read()._snapshot, ticket_to_proto(first), 10**9)
