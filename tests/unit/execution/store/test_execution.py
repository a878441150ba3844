"""What the executor keeps: a tick's command carries what the tick changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.errors import Conflict, Unavailable
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import records_pb2
from tests.unit.member.member import Member, plan

MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),))


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    ticket = Ticket("t1", "live", "balance", TicketState.PENDING, "ann", member.store.put_plan(plan(2, 3)), 1, 1, 1)
    member.store.add_ticket(ticket)
    yield member
    member.stop()


def test_a_change_carries_the_tasks_that_changed(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ReplicatedExecutionStore(member.store)
    sent: list[int] = []
    propose = member.replica.propose

    def seen(command: bytes, timeout_s: float) -> bytes:
        sent.append(len(records_pb2.Command.FromString(command).advance_ticket.execution.tasks))
        return propose(command, timeout_s)

    monkeypatch.setattr(member.replica, "propose", seen)
    tasks = tuple(ExecutionTask(number, MOVE) for number in range(1, 6))
    execution = Execution("t1", tasks)
    store.advance("t1", TicketState.PENDING, None, execution, 0)
    assert store.execution("t1") == replace(execution, revision=1)
    moved = replace(execution, tasks=(*tasks[:2], replace(tasks[2], state=TaskState.RUNNING), *tasks[3:]), note="runs")
    store.advance("t1", TicketState.PENDING, None, moved, 1)
    assert store.execution("t1") == replace(moved, revision=2)
    store.advance("t1", TicketState.PENDING, None, replace(moved, note="waits"), 2)
    assert store.execution("t1") == replace(moved, note="waits", revision=3)
    assert sent == [5, 1, 0]


def test_whoever_is_behind_is_refused_whatever_it_sends(member: Member) -> None:
    store = ReplicatedExecutionStore(member.store)
    execution = Execution("t1", (ExecutionTask(1, MOVE),))
    store.advance("t1", TicketState.PENDING, None, execution, 0)
    with pytest.raises(Conflict):
        store.advance("t1", TicketState.PENDING, None, replace(execution, note="late"), 0)
    with pytest.raises(Conflict):
        store.advance("t1", TicketState.PENDING, None, replace(execution, note="early"), 2)
    assert store.execution("t1") == replace(execution, revision=1)
    store.confirm("t1", TicketState.PENDING, 1)
    with pytest.raises(Conflict, match="driven on meanwhile"):
        store.confirm("t1", TicketState.PENDING, 0)


def test_a_commit_of_who_leads_no_longer_is_stored_and_proves_nothing(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower hands its commands to the leader, who may drive the ticket on before it has acted."""
    store = ReplicatedExecutionStore(member.store)
    monkeypatch.setattr(member.replica, "is_leader", lambda: False)
    with pytest.raises(Unavailable, match="leads no longer"):
        store.advance("t1", TicketState.PENDING, None, Execution("t1", (ExecutionTask(1, MOVE),)), 0)
    stored = store.execution("t1")
    assert stored is not None
    assert stored.revision == 1
