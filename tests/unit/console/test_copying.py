"""What is copied where, found once for all brokers of a cluster."""

from __future__ import annotations

from guardian.console.copying import Copies, copies_by_broker
from guardian.model.execution import AdaptedRate, Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

MB = 1_000_000
TICKET = Ticket("t-1", "live", "balance", TicketState.RUNNING, "ann", "h", MB, 0, 0, ())


def task(number: int, here: tuple[int, ...], there: tuple[int, ...], state: TaskState, at_ms: int = 0) -> ExecutionTask:
    move = PartitionMove(
        TopicPartition("t", number),
        tuple(map(ReplicaPlacement, here)),
        tuple(map(ReplicaPlacement, there)),
        10 * MB,
    )
    return ExecutionTask(number, move, state, started_at_ms=at_ms)


def test_what_runs_comes_first_at_every_broker_that_has_a_part_in_it() -> None:
    tasks = (
        task(0, (1, 2), (3, 2), TaskState.DONE, 1),
        task(1, (1, 2), (3, 2), TaskState.PENDING),
        task(2, (1, 2), (3, 2), TaskState.RUNNING, 9),
        task(3, (3,), (1,), TaskState.RUNNING, 5),
    )
    rates = (AdaptedRate(7 * MB, 3), AdaptedRate(5 * MB, line=("sh", "sz")))
    found = copies_by_broker([(TICKET, Execution("t-1", tasks, rates=rates))])
    assert list(found) == [1, 2, 3]
    assert [(each.task.number, each.is_into) for each in found[3].moving] == [(3, False), (2, True), (1, True)]
    assert [(each.task.number, each.is_into) for each in found[1].moving] == [(3, True), (2, False), (1, False)]
    assert [each.task.number for each in found[2].moving] == [2, 1]
    assert [rate.rate for _, rate in found[3].rates] == [7 * MB], "a line is no broker"
    assert found[1].rates == ()


def test_nothing_runs() -> None:
    assert copies_by_broker([]) == {}
    assert Copies() == Copies((), ())
