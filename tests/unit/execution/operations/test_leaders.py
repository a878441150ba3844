"""Leaders away from brokers and back, by the order of replicas alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from guardian.execution.operations.leaders import GOAL, are_back, away, bring_back, restored, still_led
from guardian.execution.operations.turn import MAX_NEW_TASKS, Turn
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation, PartitionState
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind, Operation, OperationPhase
from guardian.model.plan import PartitionMove
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState, TopicPartition


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def world(states: Mapping[int, PartitionState], away_brokers: tuple[int, ...] = ()) -> OperationWorld:
    nodes = {broker: BrokerNode(broker, "h", 1) for broker in (1, 2, 3, 4)}
    partitions = {partition(number): state for number, state in states.items()}
    observation = ClusterObservation(0, nodes, partitions, {}, (), {})
    marked = dict.fromkeys(away_brokers, BrokerState.MAINTENANCE)
    return OperationWorld(observation, frozenset(nodes), {}, states=marked)


def orders(moves: list[PartitionMove]) -> dict[int, tuple[int, ...]]:
    return {move.partition.partition: move.target_brokers for move in moves}


def test_whoever_leads_least_takes_over_and_the_leaving_broker_goes_to_the_end() -> None:
    states = {
        0: PartitionState(1, (1, 2, 3), (1, 2, 3)),
        1: PartitionState(1, (1, 2, 3), (1, 2, 3)),
        2: PartitionState(2, (2, 3, 4), (2, 3, 4)),
    }
    assert orders(away(world(states), [1], ())) == {0: (3, 2, 1), 1: (2, 3, 1)}


def test_a_preferred_leader_that_does_not_lead_now_is_put_behind_too() -> None:
    assert orders(away(world({0: PartitionState(2, (1, 2, 3), (1, 2, 3))}), [1], ())) == {0: (2, 3, 1)}


def test_who_is_out_of_sync_or_about_to_go_does_not_take_over() -> None:
    state = PartitionState(1, (1, 2, 3), (1, 3))
    assert orders(away(world({0: state}), [1], ())) == {0: (3, 2, 1)}
    whole = PartitionState(1, (1, 2, 3), (1, 2, 3))
    assert orders(away(world({0: whole}, away_brokers=(2,)), [1], ())) == {0: (3, 2, 1)}


def test_what_nobody_else_can_lead_stays() -> None:
    alone = world({0: PartitionState(1, (1,), (1,)), 1: PartitionState(1, (1, 2), (1,))})
    assert away(alone, [1], ()) == []
    assert still_led(alone, [1]) == ""
    assert still_led(world({0: PartitionState(1, (1, 2), (1, 2))}), [1]) == "broker 1 still leads t-0"


def test_what_is_busy_is_left_to_a_later_look() -> None:
    states = {0: PartitionState(1, (1, 2), (1, 2))}
    assert away(world(states), [1], {partition(0)}) == []


def turn(*tasks: ExecutionTask) -> Turn:
    ask = Ask(AskKind.RESTART, (1,), hook="h")
    ticket = Ticket("t-1", "live", ask.kind, TicketState.RUNNING, "ann", "", 1, 0, 0, ask=ask)
    operation = Operation(OperationPhase.LEADERS_BACK, 0)
    execution = Execution("t-1", tasks, operation=operation)
    return Turn(ticket, ask, execution, operation, world({}), _no_move, 5)


def test_the_way_back_is_the_task_reverted() -> None:
    (move,) = away(world({0: PartitionState(1, (1, 2), (1, 2))}), [1], ())
    done = ExecutionTask(3, move, TaskState.DONE, ended_at_ms=9)
    before = turn(done, ExecutionTask(4, move, TaskState.FAILED), ExecutionTask(5, move))
    assert not are_back(before)
    after = bring_back(before)
    assert [task.state for task in after.execution.tasks] == [TaskState.REVERTING, TaskState.FAILED, TaskState.REVERTED]
    assert after.execution.tasks[0].move.original_brokers == (1, 2)
    assert are_back(after)


def test_more_leaders_than_one_command_bears_go_back_one_after_the_other() -> None:
    (move,) = away(world({0: PartitionState(1, (1, 2), (1, 2))}), [1], ())
    after = bring_back(turn(*(ExecutionTask(1 + n, move, TaskState.DONE) for n in range(MAX_NEW_TASKS + 5))))
    states = Counter(task.state for task in after.execution.tasks)
    assert states == {TaskState.REVERTING: MAX_NEW_TASKS, TaskState.DONE: 5}
    assert not are_back(after)
    again = bring_back(after)
    assert again.execution == after.execution, "those under way come first"


def test_another_tickets_order_is_restored_where_it_still_stands() -> None:
    (move,) = away(world({0: PartitionState(1, (1, 2), (1, 2))}), [1], ())
    assert move.goal == GOAL
    as_left = world({0: PartitionState(2, (2, 1), (2, 1))})
    assert orders(restored(as_left, [move], [])) == {0: (1, 2)}
    out_of_sync = world({0: PartitionState(2, (2, 1), (2,))})
    assert restored(out_of_sync, [move], []) == []
    changed = world({0: PartitionState(2, (2, 3), (2, 3))})
    assert restored(changed, [move], []) == []
    (restoring,) = restored(as_left, [move], [])
    assert restored(as_left, [move], [ExecutionTask(1, restoring, TaskState.DONE)]) == []


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")
