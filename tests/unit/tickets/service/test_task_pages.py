"""A ticket of 60,000 moves, and one that changes, read and watched in messages that gRPC takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from guardian.client import GuardianClient
from guardian.client.tickets import TicketCalls
from guardian.errors import Conflict, InvalidInput
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from guardian.tickets.service import task_pages
from guardian.tickets.service.task_pages import pages, tasks_behind
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc
from tests.patience import CALL_S, PATIENCE_S
from tests.unit.member.member import Member, plan

DEFAULT_BYTES = 4 << 20  # of a message that a gRPC client takes where nothing is set
TASKS = 40
PLACES = tuple(ReplicaPlacement(broker, f"/var/lib/kafka/data-{broker}") for broker in (101, 102, 103))


def tasks_of(count: int) -> tuple[ExecutionTask, ...]:
    return tuple(
        ExecutionTask(number, PartitionMove(TopicPartition("a.long.name.of.a.topic", number), PLACES, PLACES[::-1]))
        for number in range(1, count + 1)
    )


class Group(TicketCalls):
    """One member that tells of one ticket; before each answer `between` is called."""

    def __init__(self, ticket: Ticket, execution: Execution) -> None:
        self.ticket_now, self.execution = ticket, execution
        self.answers: list[int] = []
        self.between: Callable[[], None] = lambda: None
        self._calls: Any = self

    def read_somewhere(
        self, _: object, request: tickets_pb2.GetTicketRequest
    ) -> tuple[str, tickets_pb2.TicketDetailPage]:
        if self.answers:
            self.between()
        left = tasks_behind(self.execution, request.page_token)
        page = next(pages(self.ticket_now, self.execution, left))
        self.answers.append(page.ByteSize())
        return "m1", page


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client:
        yield client


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages have a few tasks."""
    monkeypatch.setattr(task_pages, "MAX_TASK_BYTES", 1000)


@pytest.fixture
def running(member: Member, client: GuardianClient) -> Ticket:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    client.approve(ticket.id, "bob")
    begun = TicketTransition(TicketState.RUNNING, 5, Agent.EXECUTOR, "begun")
    member.store.advance(ticket.id, TicketState.APPROVED, begun, Execution(ticket.id, tasks_of(TASKS)), 0)
    return client.ticket(ticket.id)[0]


def save(member: Member, ticket: Ticket, *tasks: ExecutionTask, state: TicketState | None = None) -> None:
    """What the executor does: tasks that are not named stay."""
    over = TicketTransition(state, 6, Agent.EXECUTOR, "over") if state is not None else None
    revision = member.store.read().execution_revision(ticket.id)
    member.store.advance(ticket.id, TicketState.RUNNING, over, Execution(ticket.id, tasks, note="on"), revision)


@pytest.mark.slow
def test_60000_tasks_come_in_messages_that_any_client_takes() -> None:
    execution = Execution("t-1", tasks_of(60_000), note="moves", revision=3)
    group = Group(Ticket("t-1", "live", "run-plan", TicketState.RUNNING, "ann", "ab", 1, 1, 1), execution)
    assert group.ticket("t-1") == (group.ticket_now, execution)
    assert len(group.answers) > 2
    assert max(group.answers) < DEFAULT_BYTES


@pytest.mark.usefixtures("small")
def test_one_that_is_saved_between_two_pages_is_told_as_it_is_then() -> None:
    tasks = tasks_of(TASKS)
    before = Execution("t-1", tasks, revision=3)
    now = replace(before, revision=4, tasks=(replace(tasks[0], state=TaskState.DONE), *tasks[1:]))
    group = Group(Ticket("t-1", "live", "run-plan", TicketState.RUNNING, "ann", "ab", 1, 1, 1), before)
    group.between = lambda: setattr(group, "execution", now)
    assert group.ticket("t-1")[1] == now

    def save_again() -> None:
        group.execution = replace(group.execution, revision=group.execution.revision + 1)

    group.between = save_again
    with pytest.raises(Conflict, match="t-1 changes faster than its 1000 pages are read: try again"):
        group.ticket("t-1")


@pytest.mark.usefixtures("small")
def test_a_ticket_is_read_by_pages_from_a_member(member: Member, client: GuardianClient, running: Ticket) -> None:
    with grpc.insecure_channel(member.endpoint) as channel:
        stub = tickets_pb2_grpc.TicketsStub(channel)
        numbers: list[int] = []
        token = ""
        while not numbers or token:
            request = tickets_pb2.GetTicketRequest(ticket_id=running.id, page_token=token)
            page = stub.GetTicket(request, timeout=CALL_S)
            assert 0 < len(page.detail.execution.tasks) < TASKS
            numbers += [task.number for task in page.detail.execution.tasks]
            token = page.next_page_token
    assert numbers == list(range(1, TASKS + 1))
    found, execution = client.ticket(running.id)
    assert (found, execution) == (running, replace(execution, tasks=tasks_of(TASKS)) if execution else None)


@pytest.mark.parametrize("token", ["dC05", "____", "MSAyIDM=", "x"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="page_token is"):
        tasks_behind(Execution("t-1", tasks_of(2)), token)


@pytest.mark.usefixtures("small")
def test_a_watch_tells_all_tasks_once_and_then_those_that_change(
    member: Member, client: GuardianClient, running: Ticket
) -> None:
    tasks, changed = tasks_of(TASKS), replace(tasks_of(TASKS)[7], state=TaskState.RUNNING)
    with grpc.insecure_channel(member.endpoint) as channel:
        stub = tickets_pb2_grpc.TicketsStub(channel)
        stream = stub.WatchTicket(tickets_pb2.GetTicketRequest(ticket_id=running.id), timeout=PATIENCE_S)
        told: list[int] = []
        while len(told) < TASKS:
            told += [task.number for task in next(stream).detail.execution.tasks]
        assert told == list(range(1, TASKS + 1))
        save(member, running, changed)
        assert [task.number for task in next(stream).detail.execution.tasks] == [changed.number]

    ends = replace(tasks[0], state=TaskState.DONE)
    watched = client.watch(running.id)
    _, execution = next(watched)
    assert execution is not None
    assert execution.tasks == (*tasks[:7], changed, *tasks[8:])
    threading.Timer(0.05, save, (member, running, ends), {"state": TicketState.SUCCEEDED}).start()
    last, execution = list(watched)[-1]
    assert execution is not None
    assert (last.state, execution.note) == (TicketState.SUCCEEDED, "on")
    assert execution.tasks == (ends, *tasks[1:7], changed, *tasks[8:])
