"""A large removal goes back in commands of a bearable size."""

from __future__ import annotations

from guardian.execution.operations.step import operate
from guardian.execution.operations.turn import MAX_NEW_TASKS
from guardian.execution.operations.world import OperationWorld
from guardian.execution.rules.executing import Step
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind, BrokerWork, Operation, OperationPhase, Standing
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

REMOVE = Ask(AskKind.REMOVE, (4,))
HISTORY = (TicketTransition(TicketState.ROLLING_BACK, 5, "ann", "because"),)
TICKET = Ticket("t-1", "live", "remove-brokers", TicketState.ROLLING_BACK, "ann", "", 1, 0, 0, HISTORY, ask=REMOVE)
PARTITIONS = 2 * MAX_NEW_TASKS


def moved(number: int, partition: int, origin: int, target: int) -> ExecutionTask:
    move = PartitionMove(TopicPartition("t", partition), (ReplicaPlacement(origin),), (ReplicaPlacement(target),))
    return ExecutionTask(number, move, TaskState.DONE, started_at_ms=1, ended_at_ms=2)


def test_rounds_become_one_some_moves_a_tick_and_nothing_goes_back_before() -> None:
    first = [moved(1 + n, n, 4, 2) for n in range(PARTITIONS)]
    second = [moved(1 + PARTITIONS + n, n, 2, 3) for n in range(PARTITIONS)]
    works = (BrokerWork(4, standing=Standing.DONE),)
    operation = Operation(OperationPhase.SHUT_DOWN, 0, works, first_task=1 + PARTITIONS)
    execution = Execution("t-1", (*first, *second), operation=operation)
    nodes = {broker: BrokerNode(broker, "h", 1) for broker in (1, 2, 3, 4)}
    world = OperationWorld(ClusterObservation(0, nodes, {}, {}, (), {}), frozenset(nodes), {})
    driven: list[Execution] = []

    def move(_state: TicketState, whole: Execution) -> Step:
        driven.append(whole)
        return Step(whole, None, (), "goes back")

    for _ in range(10):
        before = execution.tasks
        execution = operate(TICKET, execution, world, move, 10).execution
        changed = [task for task, old in zip(execution.tasks, before, strict=True) if task != old]
        assert len(changed) <= MAX_NEW_TASKS
        if driven:
            break
        assert changed, "each tick brings it further"
    (whole,) = driven
    back = [task for task in whole.tasks if task.state is TaskState.DONE]
    assert [task.move.original_brokers for task in back] == [(4,)] * PARTITIONS
    assert {task.move.partition for task in back} == {task.move.partition for task in first}
