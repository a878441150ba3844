"""Tickets of the kinds that create, resize, repair and override, and those that meet other tools, as a client does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, ForeignWork
from guardian.model.federation import Topic
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import CreateTopic, ReplicationFactor
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds import acl_repair, throttle_override
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from tests.unit.member.member import Member, plan

THEIRS = ForeignWork(TopicPartition("theirs", 0), (1, 2), (3, 2))
RULE = AclBinding("TOPIC", "LITERAL", "orders", "User:ann", "*", "READ", "ALLOW")


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


def new(name: str, *brokers: int) -> PartitionMove:
    topic, _, number = name.rpartition("-")
    return PartitionMove(TopicPartition(topic, int(number)), (), tuple(map(ReplicaPlacement, brokers)), is_new=True)


def paused(member: Member, client: GuardianClient, *foreign: ForeignWork) -> str:
    """A ticket that the executor paused because of what other tools move."""
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    client.approve(ticket.id, "bob")
    execution = Execution(ticket.id, (), foreign=foreign)
    for revision, (state, stored) in enumerate([(TicketState.RUNNING, execution), (TicketState.PAUSED, execution)]):
        present = client.ticket(ticket.id)[0].state
        transition = TicketTransition(state, 5, Agent.EXECUTOR, "another tool moves theirs-0")
        member.store.advance(ticket.id, present, transition, stored, revision)
    return ticket.id


def test_a_topic_to_be_created_becomes_a_ticket_and_nothing_is_created_yet(
    member: Member, client: GuardianClient
) -> None:
    task = CreateTopic(Topic("live", "fresh"), 2, 2)
    asked = Plan("live", "create-topic", (new("fresh-0", 1, 2), new("fresh-1", 2, 3)), task=task)
    ticket, resolved = client.create_ticket(asked, author="ann")
    assert (ticket.kind, ticket.moves, ticket.bytes_to_copy) == ("create-topic", 2, 0)
    assert [move.is_new for move in resolved.moves] == [True, True]
    assert not [each for each in member.kafka.peek().partitions if each.topic == "fresh"]
    with pytest.raises(InvalidInput, match="broker 99 of fresh-0 is not in cluster live"):
        client.create_ticket(Plan("live", "create-topic", (new("fresh-0", 99),)), author="ann")


def test_a_replication_factor_changes_in_a_ticket_that_is_for_it(member: Member, client: GuardianClient) -> None:
    more = plan(1, 2, 3)
    with pytest.raises(InvalidInput, match="replication factor from 2 to 3: give 2 brokers, or ask for it"):
        client.create_ticket(more, author="ann")
    ticket, _ = client.create_ticket(replace(more, kind=ReplicationFactor.kind, task=None), author="ann")
    assert ticket.kind == ReplicationFactor.kind
    member.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "2")
    with pytest.raises(InvalidInput, match=r"from 2 to 1, fewer than min.insync.replicas 2"):
        client.create_ticket(replace(plan(1), kind=ReplicationFactor.kind, task=None), author="ann")


def test_access_rules_become_a_ticket_of_what_changes_something(member: Member, client: GuardianClient) -> None:
    asked = acl_repair.KIND.plan("live", AclRepair((RULE,), (replace(RULE, principal="User:bob"),)))
    with pytest.raises(InvalidInput, match="no authorizer"):
        client.create_ticket(asked, author="ann")
    member.kafka.set_acls()
    ticket, resolved = client.create_ticket(asked, author="ann")
    assert ticket.kind == AclRepair.kind
    assert acl_repair.KIND.task_of(resolved) == AclRepair(add=(RULE,))
    assert member.kafka.describe_acls() == ()


def test_what_is_more_than_moves_has_no_preview(member: Member, client: GuardianClient) -> None:
    member.kafka.set_acls()
    asked = acl_repair.KIND.plan("live", AclRepair((RULE,)))
    ticket, _ = client.create_ticket(asked, author="ann")
    with pytest.raises(
        Conflict, match=rf"ticket {ticket.id} \(acl-repair\) is more than moves: `guardian ticket show`"
    ):
        client.preview(ticket.id)
    with pytest.raises(Conflict, match="a plan of kind acl-repair is more than moves"):
        client.preview_plan(asked)
    rate = throttle_override.KIND.plan("live", ThrottleOverride(1, 10**6, time.time_ns() // 1_000_000 + 60_000))
    ticket, _ = client.create_ticket(rate, author="ann")
    with pytest.raises(Conflict, match=r"\(throttle-override\) is more than moves"):
        client.preview(ticket.id)
    history = (TicketTransition(TicketState.PENDING, 5, "ann", "created"),)
    removal = Ticket("t-1", "live", "remove-brokers", TicketState.PENDING, "ann", "", 10**6, 5, 5, history, "k")
    member.store.add_ticket(replace(removal, ask=Ask(AskKind.REMOVE, (2,))))
    with pytest.raises(Conflict, match=r"ticket t-1 \(remove-brokers\) is more than moves"):
        client.preview("t-1")


def test_a_standing_rate_is_for_a_broker_that_lives(client: GuardianClient) -> None:
    until_ms = time.time_ns() // 1_000_000 + 60_000
    ticket, _ = client.create_ticket(
        throttle_override.KIND.plan("live", ThrottleOverride(1, 10**6, until_ms)), author="ann"
    )
    assert ticket.kind == ThrottleOverride.kind
    with pytest.raises(InvalidInput, match="broker 99 is not alive in cluster live"):
        client.create_ticket(throttle_override.KIND.plan("live", ThrottleOverride(99, 10**6, until_ms)), author="ann")


def test_the_throttle_of_a_ticket_changes_until_it_is_over(client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=50_000_000)
    changed = client.set_throttle(ticket.id, 20_000_000, "bob", "the evening peak")
    assert (changed.throttle, changed.state) == (20_000_000, TicketState.PENDING)
    assert changed.history[-1].reason == "throttle 50.0 MB/s -> 20.0 MB/s (the evening peak)"
    assert client.set_throttle(ticket.id, 20_000_000, "bob") == changed
    for rate in (0, 99_999):
        with pytest.raises(InvalidInput, match=f"throttle is {rate} bytes/s: use 100000"):
            client.set_throttle(ticket.id, rate, "bob")
    client.reject(ticket.id, "bob")
    with pytest.raises(Conflict, match="REJECTED"):
        client.set_throttle(ticket.id, 30_000_000, "bob")


def test_other_tools_work_is_adopted_once(member: Member, client: GuardianClient) -> None:
    ticket_id = paused(member, client, THEIRS)
    assert client.adopt(ticket_id, "bob").state is TicketState.RUNNING
    ticket, execution = client.ticket(ticket_id)
    assert execution is not None
    assert [(task.move.partition, task.is_adopted) for task in execution.tasks] == [(THEIRS.partition, True)]
    assert ticket.history[-1].reason == "adopted what another tool moves: theirs-0 to [3, 2]"
    assert client.adopt(ticket_id, "bob") == ticket, "asked again, it has happened"
    with pytest.raises(Conflict, match="only a PAUSED one can adopt"):
        client.adopt(ticket_id, "cleo")


def test_what_is_on_the_brokers_of_a_running_ticket_is_not_adopted(member: Member, client: GuardianClient) -> None:
    ticket_id = paused(member, client, THEIRS)
    other, _ = client.create_ticket(plan(3, 1), author="ann", submit=True)
    other = client.approve(other.id, "bob")
    moves = PartitionMove(TopicPartition("u", 0), (ReplicaPlacement(3),), (ReplicaPlacement(1),))
    begun = Execution(other.id, (ExecutionTask(1, moves),))
    member.store.advance(other.id, other.state, TicketTransition(TicketState.RUNNING, 5, Agent.EXECUTOR, ""), begun, 0)
    client.resume(ticket_id, "bob")  # what he did before must not be taken for the adoption
    again = TicketTransition(TicketState.PAUSED, 6, Agent.EXECUTOR, "another tool moves theirs-0")
    member.store.advance(ticket_id, TicketState.RUNNING, again, None, 0)
    with pytest.raises(Conflict, match=f"what another tool moves: brokers 1, 3 are held by {other.id}; wait"):
        client.adopt(ticket_id, "bob")
    assert client.ticket(ticket_id)[0].state is TicketState.PAUSED


def test_other_tools_work_is_waited_for(member: Member, client: GuardianClient) -> None:
    ticket_id = paused(member, client, THEIRS)
    assert client.wait(ticket_id, "bob", "they need a minute").state is TicketState.PAUSED
    ticket, execution = client.ticket(ticket_id)
    assert execution is not None
    assert [work.is_awaited for work in execution.foreign] == [True]
    assert (ticket.history[-1].actor, ticket.history[-1].reason) == ("bob", "they need a minute")


def test_where_no_other_tool_moves_anything_there_is_nothing_to_say(member: Member, client: GuardianClient) -> None:
    ticket_id = paused(member, client)
    for act in (client.adopt, client.wait):
        with pytest.raises(Conflict, match="no other tool moves anything"):
            act(ticket_id, "bob")
