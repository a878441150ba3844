"""A topic is expanded in mid-move: what is in flight goes on, and what is new is planned when the rest is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from tests.simulation.sweeping import DEATHS
from tests.simulation.world import CLUSTER, MB, Crash, World, created, move

pytestmark = pytest.mark.slow

T0, T2 = TopicPartition("t", 0), TopicPartition("t", 2)
GREW = "topic t grew from 2 to 3 partitions"


class Planner:
    """Answers at the second question, and empties brokers 1 and 2, or says why it can't."""

    def __init__(self, answer: Sequence[PartitionMove] | str = (move("t-2", 3, 4),)) -> None:
        self.answer = answer
        self.asked = 0

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | str | None:  # noqa: ARG002  (the protocol's name)
        self.asked += 1
        if self.asked % 2:
            return None
        return self.answer if isinstance(self.answer, str) else Plan(CLUSTER, plan.kind, tuple(self.answer))


def emptying(planner: Planner | None = None, *more: PartitionMove) -> World:
    """Both partitions of t go from brokers 1 and 2 to 3 and 4."""
    world = World(brokers=4, bytes_per_call=MB // 4, replan=planner)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    return world.ticket(move("t-0", 3, 4), move("t-1", 4, 3), *more, throttle=2 * MB)


def expanded_in_mid_move(world: World, partition: TopicPartition = T2) -> World:
    """Another tool, or Kafka by itself, puts a new partition where the ticket moves everything away from."""
    while T0 not in world.kafka.peek().reassignments:
        try:
            world.tick()
        except Crash:
            world.new_driver()
    world.kafka.counts_moving = False
    assert not world.kafka.create_partitions({partition: (1, 2)})
    return world


@DEATHS
def test_new_partitions_are_planned_at_the_end_whatever_dies_meanwhile(after: bool, late: int) -> None:
    rehearsal = expanded_in_mid_move(emptying(Planner())).run()
    for die_at in range(1, rehearsal.wire.calls + 1, 3):
        world = emptying(Planner())
        configs = world.kafka.peek().configs
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        expanded_in_mid_move(world).run()
        assert (world.state(), world.reason()) == (TicketState.SUCCEEDED, "all 3 moves were seen in Kafka")
        assert {str(tp): state.replicas for tp, state in world.kafka.peek().partitions.items()} == {
            "t-0": (3, 4),
            "t-1": (4, 3),
            "t-2": (3, 4),
        }
        assert {task.topic_partitions for task in world.execution().tasks} == {3}
        assert world.kafka.peek().configs == configs


def test_moves_that_wait_for_their_turn_go_on_as_planned() -> None:
    planner = Planner()
    world = expanded_in_mid_move(emptying(planner))
    world.run_until(lambda: all(task.state.is_over for task in world.execution().tasks))
    assert planner.asked == 0
    world.run_until(lambda: len(world.execution().tasks) == 3)
    assert any(f"waits for a new plan, since {GREW} in mid-move" in said for said in world.heard)
    assert world.execution().note.startswith(f"goes on with 1 moves of a new plan, since {GREW} in mid-move")


def test_a_topic_that_goes_on_growing_is_planned_as_often() -> None:
    planner = Planner()
    world = expanded_in_mid_move(emptying(planner))
    world.run_until(lambda: len(world.execution().tasks) == 3)
    planner.answer = (move("t-3", 4, 3),)
    world.kafka.create_partitions({TopicPartition("t", 3): (1, 2)})
    world.run()
    assert (world.state(), world.reason()) == (TicketState.SUCCEEDED, "all 4 moves were seen in Kafka")
    assert world.kafka.peek().partitions[TopicPartition("t", 3)].replicas == (4, 3)
    assert planner.asked == 4


def test_what_grows_while_the_plan_is_made_is_not_forgotten() -> None:
    planner = Planner()
    world = expanded_in_mid_move(emptying(planner))
    world.run_until(lambda: planner.asked == 1)
    world.kafka.create_partitions({TopicPartition("t", 3): (1, 2)})
    world.run_until(lambda: len(world.execution().tasks) == 3)
    planner.answer = (move("t-3", 4, 3),)
    world.run()
    assert world.reason() == "all 4 moves were seen in Kafka"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("run-plan can't be made anew", "and what is new was not planned: run-plan can't be made anew"),
        ((), "and a new plan has nothing to move"),
        (
            tuple(move(f"t-{number}", 3, 4) for number in range(3)),
            "and what is new was not planned: it has 3 moves, 2 were approved",
        ),
    ],
    ids=["none", "nothing to move", "beyond"],
)
def test_a_ticket_that_ends_without_a_new_plan_says_what_grew(answer: Sequence[PartitionMove] | str, said: str) -> None:
    world = emptying(Planner(answer))
    if answer and not isinstance(answer, str):
        world.kafka.create_topic("u", {number: [1, 2] for number in range(3)}, MB)
        world.replan = Planner(tuple(move(f"u-{number}", 3, 4) for number in range(3)))
        world.new_driver()
    expanded_in_mid_move(world).run()
    assert (world.state(), world.reason()) == (
        TicketState.SUCCEEDED,
        f"all 2 moves were seen in Kafka; {GREW} meanwhile, {said}",
    )
    assert world.execution().note == f"SUCCEEDED: {world.reason()}"


def test_without_a_planner_the_reason_names_what_grew() -> None:
    world = expanded_in_mid_move(emptying()).run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.reason().endswith(f"{GREW} meanwhile, and what is new was not planned")


def test_what_the_ticket_creates_itself_is_no_growth() -> None:
    planner = Planner()
    world = emptying(planner, created("t-2", 3, 4)).run()
    assert (world.state(), world.reason()) == (TicketState.SUCCEEDED, "all 3 moves were seen in Kafka")
    assert planner.asked == 0


def test_a_ticket_that_fails_for_another_reason_ends_and_names_what_grew() -> None:
    planner = Planner()
    world = World(brokers=4, bytes_per_call=MB // 4, replan=planner)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    world.kafka.create_topic("taken", {0: [1, 2]}, 2 * MB)
    world.ticket(move("t-0", 3, 4), move("t-1", 4, 3), move("taken-0", 3, 4), throttle=2 * MB)
    taken = TopicPartition("taken", 0)
    expanded_in_mid_move(world).run_until(lambda: taken not in world.kafka.peek().reassignments)
    world.kafka.alter_reassignments({taken: (4, 1)})
    world.run()
    assert world.state() is TicketState.FAILED
    assert world.reason().endswith(f"{GREW} meanwhile, and what is new was not planned")
    assert planner.asked == 0


def test_a_ticket_of_before_these_counts_ends_as_ever() -> None:
    planner = Planner()
    world = expanded_in_mid_move(emptying(planner))
    before = world.execution()
    old = replace(before, tasks=tuple(replace(task, topic_partitions=0) for task in before.tasks))
    world.store.advance("t-1", world.state(), None, old, before.revision)
    world.run()
    assert (world.reason(), planner.asked) == ("all 2 moves were seen in Kafka", 0)


def test_what_the_new_plan_moves_once_more_goes_back_in_two_steps() -> None:
    world = expanded_in_mid_move(emptying(Planner((move("t-0", 4, 3), move("t-2", 3, 4))))).run()
    assert world.reason() == "all 4 moves were seen in Kafka"
    assert world.kafka.peek().partitions[T0].replicas == (4, 3)
    ticket = world.store.ticket("t-1")
    world.store.put(replace(ticket, state=TicketState.ROLLING_BACK), world.store.plan("t-1"))
    world.run()
    assert (world.state(), world.reason()) == (TicketState.ROLLED_BACK, "4 of 4 moves are as before")
    assert {str(tp): state.replicas for tp, state in world.kafka.peek().partitions.items()} == {
        "t-0": (1, 2),
        "t-1": (2, 1),
        "t-2": (1, 2),
    }


def test_a_paused_ticket_is_planned_anew_and_starts_it_when_it_goes_on() -> None:
    world = expanded_in_mid_move(emptying(Planner()))
    world.run_until(lambda: all(task.state.is_over for task in world.execution().tasks))
    assert world.state() is TicketState.RUNNING
    world._told(TicketState.PAUSED, None, "t-1").tick(20)
    assert world.state() is TicketState.PAUSED
    assert [task.state for task in world.execution().tasks] == [TaskState.DONE, TaskState.DONE, TaskState.PENDING]
    world.resume().run()
    assert (world.state(), world.reason()) == (TicketState.SUCCEEDED, "all 3 moves were seen in Kafka")
