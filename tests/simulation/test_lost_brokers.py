"""A broker dies in mid-move: the move waits, is taken back, and a new plan puts what is left elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from guardian.core.slots import ExecutionLimits
from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from tests.simulation.world import CLUSTER, MB, Crash, World, move

T0 = TopicPartition("t", 0)
PATIENCE = ExecutionLimits(broker_patience_s=3.0)


class Planner:
    """Answers at the second question; `moves` is the new plan, or a sentence why there is none."""

    def __init__(self, moves: Sequence[PartitionMove] | str) -> None:
        self.moves = moves
        self.asked = 0

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | str | None:
        assert ticket.moves == len(plan.moves)
        self.asked += 1
        if self.asked % 2:
            return None
        return self.moves if isinstance(self.moves, str) else Plan(CLUSTER, plan.kind, tuple(self.moves))


def world_with_a_dying_broker(planner: Planner | None = None) -> World:
    """Partition 0 goes to broker 3, which dies; partition 1 to broker 4, which lives."""
    world = World(brokers=5, limits=PATIENCE, bytes_per_call=MB // 8, replan=planner)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    return world.ticket(move("t-0", 3, 2), move("t-1", 4, 1), throttle=2 * MB)


def kill_in_mid_move(world: World) -> World:
    while T0 not in world.kafka.peek().reassignments:
        try:
            world.tick()
        except Crash:
            world.new_driver()
    world.kafka.kill_broker(3)
    return world


def test_a_broker_that_is_back_in_time_costs_nothing() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker()).tick(2)
    assert world.execution().tasks[0].missing_since_ms
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (3, 2)
    assert world.execution().tasks[0].missing_since_ms == 0


def test_a_move_to_a_dead_broker_is_taken_back_in_its_old_order_and_the_others_end() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker()).run()
    assert world.state() is TicketState.FAILED
    assert "1 of 2 moves failed; t-0 failed: taken back: broker 3 was down while it copied" in world.reason()
    assert world.is_at(world.execution().tasks[0].move, world.execution().tasks[0].move.original)
    assert world.execution().tasks[1].state is TaskState.DONE
    world.leaves_nothing()


def test_a_move_that_never_started_gives_up_its_dead_broker() -> None:
    world = world_with_a_dying_broker()
    world.kafka.kill_broker(3)
    world.run()
    assert world.state() is TicketState.FAILED
    assert "t-0 failed: broker 3 was down for" in world.reason()
    assert "before it started" in world.reason()


@pytest.mark.parametrize(("after", "late"), [(False, 0), (True, 0), (False, 1)], ids=["before", "after", "late"])
def test_a_new_plan_takes_its_place_whatever_dies_meanwhile(after: bool, late: int) -> None:
    rehearsal = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))).run()
    for die_at in range(1, rehearsal.wire.calls + 1, 3):
        world = world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        kill_in_mid_move(world).run()
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        assert world.reason() == "all 2 moves were seen in Kafka, 1 gave way to a new plan"
        assert world.kafka.peek().partitions[T0].replicas == (5, 2)
        assert world.kafka.peek().partitions[TopicPartition("t", 1)].replicas == (4, 1)
        world.leaves_nothing()


def world_with_more_tickets(*, is_in_the_way: bool) -> World:
    """The new plan goes to broker 5, which belongs to a ticket that runs, or to one that waits for ours."""
    world = World(brokers=6, limits=PATIENCE, bytes_per_call=MB // 8, replan=Planner([move("t-0", 5, 2)]))
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1], 2: [6], 3: [1]}, 2 * MB)
    world.kafka.create_topic("long", {0: [6]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 4, 1), throttle=2 * MB)
    return world.ticket(move("long-0", 5) if is_in_the_way else move("t-3", 5), ticket_id="t-2")


def test_a_new_plan_waits_for_a_ticket_that_runs_on_its_brokers() -> None:
    world = kill_in_mid_move(world_with_more_tickets(is_in_the_way=True)).run()
    assert any("t-1: waits for t-2, on the same brokers as its new plan" in each for each in world.heard)
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED, world.reason()
    assert world.store.ticket("t-2").updated_at_ms < world.store.ticket("t-1").updated_at_ms
    assert isinstance(world.replan, Planner)
    assert world.replan.asked == 4, "one plan, and another one when its brokers were free"
    world.leaves_nothing()


def test_a_new_plan_waits_for_no_ticket_that_waits_for_it() -> None:
    world = kill_in_mid_move(world_with_more_tickets(is_in_the_way=False)).run()
    assert "ticket t-2 waits for t-1, on the same brokers" in world.heard
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED, world.reason()
    world.leaves_nothing()


def test_without_a_new_plan_the_ticket_fails_and_says_why() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker(Planner("nobody has room"))).run()
    assert world.state() is TicketState.FAILED
    assert world.reason().endswith("there is no new plan: nobody has room")
    world.leaves_nothing()


def until_a_plan_is_made(world: World) -> World:
    return world.run_until(lambda: "waits for a new plan" in world.execution().note)


def test_a_ticket_that_is_paused_while_its_new_plan_is_made_gets_it_all_the_same() -> None:
    world = until_a_plan_is_made(kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))))
    assert world.execution().note == "waits for a new plan, since a broker died in mid-move"
    world._told(TicketState.PAUSED, None, "t-1").tick(10)
    assert world.state() is TicketState.PAUSED
    assert world.execution().tasks[-1].state is TaskState.PENDING
    world.resume().run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (5, 2)
    world.leaves_nothing()


def test_what_a_dead_broker_owes_holds_up_no_new_plan() -> None:
    """Its throttle can be put back only through a controller, and none can be reached."""
    world = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)])))
    world.kafka.controllers_reachable = False
    world.run_until(lambda: world.kafka.peek().partitions[T0].replicas == (5, 2))
    world.tick(20)
    assert world.state() is TicketState.RUNNING
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    world.leaves_nothing()


def test_while_a_dead_broker_owes_something_a_plan_that_can_not_be_made_is_asked_for_once() -> None:
    planner = Planner("nobody has room")
    world = kill_in_mid_move(world_with_a_dying_broker(planner))
    world.kafka.controllers_reachable = False
    world.run_until(lambda: planner.asked == 2).tick(20)
    assert (world.state(), planner.asked) == (TicketState.RUNNING, 2)
    world.kafka.controllers_reachable = True
    world.run()
    assert (world.state(), planner.asked) == (TicketState.FAILED, 2)
    assert world.reason().endswith("there is no new plan: nobody has room")
