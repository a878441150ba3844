"""Which tasks go back and when; a ticket that can't is refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import Conflict
from guardian.execution.rules.rolling_back import ending, require_way_back
from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from tests.simulation.world import CLUSTER, MB, World, move

ALIVE = frozenset({1, 2, 3})


def over(state: TicketState = TicketState.SUCCEEDED) -> Ticket:
    return Ticket("t-1", "live", "balance", state, "ann", "h", 0, 0, 0)


def task(state: TaskState, *, started: int = 5) -> ExecutionTask:
    here, there = (tuple(map(ReplicaPlacement, brokers)) for brokers in ((1, 2), (3, 2)))
    return ExecutionTask(1, PartitionMove(TopicPartition("t", 0), here, there), state, started_at_ms=started)


def roll_back(world: World) -> World:
    ticket = world.store.ticket("t-1")
    asked = TicketTransition(TicketState.ROLLING_BACK, world.kafka.now_ms, "ann", "asked")
    world.store.advance("t-1", ticket.state, asked, None, 0)
    return world


def test_what_moved_can_go_back_where_its_brokers_live() -> None:
    require_way_back(over(), Execution("t-1", (task(TaskState.DONE),)), ALIVE, frozenset({3}))


@pytest.mark.parametrize(
    ("tasks", "alive", "barred", "why"),
    [
        ((), ALIVE, frozenset(), "moved nothing that could go back: it is SUCCEEDED"),
        ((task(TaskState.REVERTED),), ALIVE, frozenset(), "moved nothing"),
        ((task(TaskState.FAILED, started=0),), ALIVE, frozenset(), "moved nothing"),
        (
            (task(TaskState.DONE),),
            ALIVE - {1},
            frozenset(),
            "t-0 of ticket t-1 can't go back to broker 1, which is down",
        ),
        ((task(TaskState.DONE),), ALIVE, frozenset({1}), "back to broker 1, which gets no new replicas"),
    ],
)
def test_what_has_no_way_back_is_refused(
    tasks: tuple[ExecutionTask, ...], alive: frozenset[int], barred: frozenset[int], why: str
) -> None:
    with pytest.raises(Conflict, match=why):
        require_way_back(over(), Execution("t-1", tasks), alive, barred)


def test_a_ticket_that_never_began_has_no_way_back() -> None:
    with pytest.raises(Conflict, match="moved nothing"):
        require_way_back(over(TicketState.FAILED), None, ALIVE, frozenset())


def test_it_is_over_only_when_nothing_is_left_to_go_back() -> None:
    assert ending((task(TaskState.DONE),)) is None
    assert ending((task(TaskState.REVERTING),)) is None
    failed = replace(task(TaskState.FAILED), detail="topic t was deleted")
    assert ending((task(TaskState.REVERTED), failed)) == ("1 of 2 moves are as before; t-0 is not: topic t was deleted")


def test_moves_go_back_by_the_slots_of_the_way_there_and_the_last_stage_first() -> None:
    world = World(brokers=4, limits=ExecutionLimits(per_broker_in=1))
    world.kafka.create_topic("t", {n: [1, 2] for n in range(4)}, 4 * MB)
    stages = [replace(move(f"t-{n}", 3, 2), stage=n // 2, goal="spread") for n in range(4)]
    roll_back(world.ticket(*stages).run())
    most, order = 0, []
    while not world.state().is_over:
        world.tick()
        under_way = [t.number for t in world.execution().tasks if t.state is TaskState.REVERTING]
        most = max(most, len(under_way))
        order += [number for number in under_way if number not in order]
    assert most == 1, "one replica at a time into broker 1"
    assert order[:2] in ([3, 4], [4, 3])
    assert world.state() is TicketState.ROLLED_BACK
    world.leaves_nothing()


def test_what_waits_for_its_turn_is_as_it_was_so_that_a_tick_writes_little() -> None:
    """A removal may have moved tens of thousands."""
    world = World(brokers=4, limits=ExecutionLimits(per_broker_in=1))
    world.kafka.create_topic("t", {n: [1, 2] for n in range(6)}, 4 * MB)
    stages = [replace(move(f"t-{n}", 3, 2), stage=n // 3, goal="spread") for n in range(6)]
    roll_back(world.ticket(*stages).run())
    before = world.execution().tasks
    world.tick()
    changed = [new for new, old in zip(world.execution().tasks, before, strict=True) if new != old]
    assert [task.state for task in changed] == [TaskState.REVERTING]


def test_what_another_tool_moved_since_stays_and_is_named() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 3, 2)).run()
    world.kafka.alter_reassignments({TopicPartition("t", 0): (4, 2)})
    while world.kafka.list_reassignments():
        pass
    roll_back(world).run()
    assert world.state() is TicketState.ROLLED_BACK
    assert world.reason() == "1 of 2 moves are as before; t-0 is not: another tool moved it to [4, 2]"
    assert world.kafka.peek().partitions[TopicPartition("t", 1)].replicas == (1, 2)


def test_a_deleted_topic_does_not_hold_up_the_rest() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.kafka.create_topic("u", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2), move("u-0", 3, 2)).run()
    world.kafka.delete_topic("u")
    roll_back(world).run()
    assert "1 of 2 moves are as before; u-0 is not" in world.reason()


def test_what_was_created_stays() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    new = PartitionMove(TopicPartition("new", 0), (), tuple(map(ReplicaPlacement, (2, 3))), is_new=True)
    world.ticket(move("t-0", 3, 2))
    plan = world.store.plan("t-1")
    world.store.put(world.store.ticket("t-1"), Plan(CLUSTER, "create-topic", (*plan.moves, new)))
    roll_back(world.run()).run()
    assert world.state() is TicketState.ROLLED_BACK
    assert "new-0 is not: was created by this ticket and stays" in world.reason()
    assert TopicPartition("new", 0) in world.kafka.peek().partitions


def test_a_broker_that_is_down_is_waited_for_a_while_and_the_way_back_can_be_stopped() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    roll_back(world.ticket(move("t-0", 3, 2)).run())
    world.kafka.kill_broker(1)
    world.tick(3)
    assert world.state() is TicketState.ROLLING_BACK
    assert "t-0: waits for broker 1, which is down" in world.said[0]
    world.cancel().run()
    assert world.state() is TicketState.CANCELLED
    assert world.reason() == "0 of 1 moves are as before, 1 were done and stay done"
    assert world.kafka.peek().partitions[TopicPartition("t", 0)].replicas == (3, 2)


def way_back_without(broker: int) -> World:
    """Partition 0 goes back to broker 1, partition 1 to broker 4, and one of them has died."""
    world = World(brokers=4, limits=ExecutionLimits(broker_patience_s=3.0))
    world.kafka.create_topic("t", {0: [1, 2], 1: [4, 2]}, 2 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 3, 2)).run()
    world.kafka.kill_broker(broker)
    world.expect_losses()
    return roll_back(world)


def test_the_way_back_ends_without_a_broker_that_stays_away_and_names_it() -> None:
    """It held the ticket's brokers against healing for as long as that stayed away."""
    world = way_back_without(1).run()
    assert world.state() is TicketState.ROLLED_BACK
    assert world.reason().startswith("1 of 2 moves are as before; t-0 is not: broker 1 was down for")
    assert world.kafka.peek().partitions[TopicPartition("t", 0)].replicas == (3, 2)
    assert world.kafka.peek().partitions[TopicPartition("t", 1)].replicas == (4, 2)
    world.leaves_nothing()


def test_a_broker_that_is_back_in_time_takes_its_replicas_back() -> None:
    world = way_back_without(1).tick(2)
    assert world.execution().tasks[0].missing_since_ms
    world.kafka.start_broker(1)
    world.run()
    assert world.reason() == "2 of 2 moves are as before"


def test_a_broker_that_dies_while_replicas_are_on_their_way_back_to_it_is_given_up() -> None:
    world = World(brokers=4, limits=ExecutionLimits(broker_patience_s=3.0), bytes_per_call=MB // 8)
    world.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    roll_back(world.ticket(move("t-0", 3, 2)).run()).run_until_in_flight("t-0")
    world.kafka.kill_broker(1)
    world.run()
    assert world.state() is TicketState.ROLLED_BACK
    assert "t-0 is not: broker 1 was down for" in world.reason()
    assert sorted(world.kafka.peek().partitions[TopicPartition("t", 0)].replicas) == [2, 3]
    world.leaves_nothing()


def test_what_was_given_up_may_go_back_the_second_time() -> None:
    """Also what was lost on the way there: the patience begins anew with the way back."""
    world = way_back_without(1)
    world.kafka.bytes_per_call = 1
    world.run_until(lambda: world.execution().tasks[0].state is TaskState.FAILED)
    world.kafka.bytes_per_call = MB
    world.cancel().run()
    assert world.state() is TicketState.CANCELLED
    world.kafka.start_broker(1)
    roll_back(world).run()
    assert world.reason() == "2 of 2 moves are as before"
    assert world.kafka.peek().partitions[TopicPartition("t", 0)].replicas == (1, 2)


def test_a_failed_log_dir_does_not_hold_up_the_way_back_for_ever() -> None:
    world = World(brokers=4, limits=ExecutionLimits(broker_patience_s=3.0))
    world.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    held = world.kafka.peek().log_dir_of(TopicPartition("t", 0), 1)
    assert held is not None
    roll_back(world.ticket(move("t-0", 3, 2)).run())
    world.kafka.fail_log_dir(1, held)
    world.run()
    assert world.state() is TicketState.ROLLED_BACK
    assert f"t-0 is not: log dir {held} of broker 1 was down for" in world.reason()
