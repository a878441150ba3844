"""An expansion of a topic in mid-move: its dry run says what is cancelled, and other tools' moves refuse it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.client import GuardianClient
from guardian.errors import Conflict
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from tests.unit.member.member import T0, Member, plan

T1 = TopicPartition("t", 1)
NEW = PartitionMove(T1, (), (ReplicaPlacement(2), ReplicaPlacement(3)), is_new=True)
GROWS = Plan("live", "run-plan", (NEW,))
CANCELS = "first cancels 1 move of ticket {}, which makes it again afterwards: t-0 to [3, 2]"


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    member.kafka.create_topic("t", {0: [1, 2]}, 1_000_000_000)
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


def in_mid_move(member: Member, client: GuardianClient) -> str:
    """A ticket whose one move the executor has just begun."""
    ticket, resolved = client.create_ticket(plan(3, 2), author="ann", submit=True)
    client.approve(ticket.id, "bob")
    task = ExecutionTask(1, resolved.moves[0], TaskState.RUNNING, started_at_ms=5)
    begun = TicketTransition(TicketState.RUNNING, 5, Agent.EXECUTOR, "starts 1 moves")
    member.store.advance(ticket.id, TicketState.APPROVED, begun, Execution(ticket.id, (task,)), 0)
    assert not member.kafka.alter_reassignments({T0: (3, 2)})
    return ticket.id


def test_a_dry_run_names_the_moves_that_are_cancelled_and_so_does_the_preview(
    member: Member, client: GuardianClient
) -> None:
    moves = in_mid_move(member, client)
    made, resolved = client.create_ticket(GROWS, author="ann", dry_run=True)
    assert (made.id, resolved.moves) == ("", (NEW,))
    assert resolved.notes == (f"the ticket {CANCELS.format(moves)}",)
    ticket, _ = client.create_ticket(GROWS, author="ann", submit=True)
    assert client.preview(ticket.id).first == f"it {CANCELS.format(moves).removeprefix('first ')}"
    assert client.preview(ticket.id).rounds[0].requests[0].api == "CreatePartitions"


def test_a_topic_at_rest_is_expanded_without_a_word(client: GuardianClient) -> None:
    assert client.create_ticket(GROWS, author="ann", dry_run=True)[1].notes == ()


def test_a_topic_that_another_tool_moves_is_not_expanded(member: Member, client: GuardianClient) -> None:
    assert not member.kafka.alter_reassignments({T0: (3, 2)})
    with pytest.raises(Conflict, match=r"t-0 is reassigned: .* no ticket of Guardian moves it that could give way"):
        client.create_ticket(GROWS, author="ann", dry_run=True)
    other = replace(NEW, partition=TopicPartition("fresh", 0))
    assert client.create_ticket(replace(GROWS, moves=(other,)), author="ann", dry_run=True)[1].moves == (other,)
