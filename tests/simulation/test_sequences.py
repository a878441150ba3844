"""A plan in three tickets, one after the other, with the driver dying between any two of its calls."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance
from guardian.model.ticket import MAX_EXECUTION_BYTES, Ticket, TicketPart, TicketState, part_id
from tests.simulation.sweeping import DEATHS
from tests.simulation.test_ticket_life import Story, sweep, tick, turn, until
from tests.simulation.world import CLUSTER, MB, World, move

pytestmark = pytest.mark.slow

PARTS: tuple[tuple[PartitionMove, ...], ...] = (
    (move("t-0", 3, 2), move("t-1", 1, 3)),
    (move("t-2", 3, 2), move("t-3", 3, 1)),
    (move("t-4", 2, 4),),
)
ANEW = move("t-4", 3, 4)  # what a planner makes of the last part by then
IDS = tuple(part_id("t-1", number) for number in (1, 2, 3))
S = TicketState


def three_parts(replan: Replan | None = None, max_ticket_bytes: int = MAX_EXECUTION_BYTES) -> World:
    world = World(brokers=4, replan=replan, max_ticket_bytes=max_ticket_bytes)
    world.kafka.create_topic("t", {n: [1, 2] for n in range(5)}, 2 * MB, write_rate=20_000)
    for number, moves in enumerate(PARTS, start=1):
        left = sum(map(len, PARTS[number - 1 :]))
        place = TicketPart("t-1", number, len(PARTS), 5, 14 * MB, left, 14 * MB)
        world.ticket(*moves, ticket_id=IDS[number - 1], part=place)
    return world


class Replan:
    """Answers with what is left of the whole plan, as a planner does that is asked for the same task."""

    def __init__(self, last: PartitionMove = ANEW, *, is_reversed: bool = False) -> None:
        self.last = last
        self.world: World | None = None
        self.is_reversed = is_reversed

    def replan(self, ticket: Ticket, plan: Plan) -> Plan:
        assert self.world is not None
        whole = (*PARTS[0], *PARTS[1], self.last)
        left = [each for each in whole if not self.world.is_at(each, each.target)]
        left = [replace(each, goal="even") for each in (reversed(left) if self.is_reversed else left)]
        return Plan(CLUSTER, ticket.kind, tuple(left), task=plan.task, settings=plan.settings)


def states(world: World) -> list[TicketState]:
    return [world.state(each) for each in IDS]


def somebody_moves(world: World, moved: PartitionMove, *replicas: int) -> None:
    """Another tool, to the end, while no part runs."""
    world.kafka.alter_reassignments({moved.partition: replicas})
    while world.kafka.list_reassignments():
        pass


def is_in_turn(world: World) -> None:
    """At no moment does a part run before the one before it has succeeded."""
    now = states(world)
    for before, after in pairwise(now):
        if after not in (S.APPROVED, S.REJECTED):
            assert before in (S.SUCCEEDED, S.ROLLING_BACK, S.ROLLED_BACK, S.CANCELLING, S.CANCELLED), now


def run(world: World) -> None:
    for _ in range(400):
        is_in_turn(world)
        if not world.store.driven_tickets():
            return
        tick(world)
    raise AssertionError(f"not over: {world.said}")


def all_moved(world: World) -> bool:
    return all(world.is_at(each, each.target) for moves in PARTS for each in moves)


@DEATHS
def test_parts_run_one_after_the_other_whatever_dies(after: bool, late: int) -> None:
    for world in sweep(three_parts, run, after, late, deaths=6):
        assert states(world) == [S.SUCCEEDED] * 3
        assert all_moved(world)
        world.leaves_nothing()


def test_a_part_says_which_one_it_waits_for() -> None:
    world = three_parts()
    tick(world)
    assert "ticket t-1-2 waits for t-1, part 1 of 3 of t-1" in world.said
    assert "ticket t-1-3 waits for t-1-2, part 2 of 3 of t-1" in world.said
    assert states(world) == [S.RUNNING, S.APPROVED, S.APPROVED]


def cancel_the_second(world: World) -> None:
    until(world, lambda: world.state("t-1-2") is S.RUNNING)
    turn(world, S.CANCELLING, "t-1-2")
    run(world)


@DEATHS
def test_who_cancels_a_part_cancels_all_that_follow(after: bool, late: int) -> None:
    for world in sweep(three_parts, cancel_the_second, after, late, deaths=4):
        assert states(world) == [S.SUCCEEDED, S.CANCELLED, S.REJECTED]
        assert world.is_at(PARTS[0][0], PARTS[0][0].target)
        assert world.kafka.peek().partitions[PARTS[2][0].partition].replicas == (1, 2)
        world.leaves_nothing()


def test_a_part_that_fails_ends_those_behind_it() -> None:
    world = three_parts()
    until(world, lambda: world.state("t-1") is S.SUCCEEDED)
    somebody_moves(world, PARTS[1][0], 4, 2)  # and what comes from a file can't be planned anew
    until(world, lambda: not world.store.driven_tickets())
    assert states(world) == [S.SUCCEEDED, S.FAILED, S.REJECTED]
    assert world.reason("t-1-3").startswith("t-1-2 is FAILED: the plan is stale, nothing was changed")


def back(world: World) -> None:
    run(world)
    turn(world, S.ROLLING_BACK, "t-1")
    order: list[str] = []
    for _ in range(400):
        order += [each for each in IDS if world.state(each) is S.ROLLED_BACK and each not in order]
        if not world.store.driven_tickets():
            break
        tick(world)
    assert order == ["t-1-3", "t-1-2", "t-1"]


@DEATHS
def test_the_way_back_begins_with_the_last_part(after: bool, late: int) -> None:
    for world in sweep(three_parts, back, after, late, deaths=4):
        assert states(world) == [S.ROLLED_BACK] * 3
        assert {state.replicas for state in world.kafka.peek().partitions.values()} == {(1, 2)}
        world.leaves_nothing()


def stop_the_way_back(world: World) -> None:
    run(world)
    turn(world, S.ROLLING_BACK, "t-1")
    until(world, lambda: world.state("t-1-2") is S.ROLLING_BACK and world.state("t-1-3") is S.ROLLED_BACK)
    turn(world, S.CANCELLING, "t-1-2")
    run(world)


def test_who_stops_one_on_its_way_back_stops_all() -> None:
    world = three_parts()
    stop_the_way_back(world)
    assert states(world) == [S.CANCELLED, S.CANCELLED, S.ROLLED_BACK]
    world.leaves_nothing()


@pytest.mark.parametrize("story", [run, cancel_the_second, back])
def test_no_part_begins_before_its_turn(story: Story) -> None:
    story(three_parts())


def with_a_planner(replan: Replan, max_ticket_bytes: int = MAX_EXECUTION_BYTES) -> World:
    """The three parts, of a plan that a planner made."""
    world = three_parts(replan, max_ticket_bytes)
    replan.world = world
    for each in IDS:
        ticket = world.store.ticket(each)
        plan = world.store.plan(ticket.plan_hash)
        world.store.put(ticket, Plan(CLUSTER, plan.kind, plan.moves, settings=PlannerSettings(), task=Balance()))
    return world


def test_what_a_part_that_was_planned_anew_leaves_is_done_by_those_behind_it() -> None:
    """The new plan begins with the last part's move, and a ticket holds two: the last part has the rest of it."""
    world = with_a_planner(Replan(PARTS[2][0], is_reversed=True), max_ticket_bytes=120)
    until(world, lambda: world.state("t-1") is S.SUCCEEDED)
    somebody_moves(world, PARTS[1][0], 4, 2)
    run(world)
    assert states(world) == [S.SUCCEEDED] * 3, [world.reason(each) for each in IDS]
    assert [str(task.move.partition) for task in world.execution("t-1-2").tasks] == ["t-4", "t-3"]
    assert [str(task.move.partition) for task in world.execution("t-1-3").tasks] == ["t-2"]
    assert all_moved(world)
    world.leaves_nothing()


def test_a_stale_part_is_planned_anew_with_all_that_follows() -> None:
    """Somebody has moved what part 2 would: the new plan has what is left, and the last part finds nothing to do."""
    world = with_a_planner(Replan())
    until(world, lambda: world.state("t-1") is S.SUCCEEDED)
    somebody_moves(world, PARTS[1][0], 4, 2)
    run(world)
    assert states(world) == [S.SUCCEEDED] * 3, [world.reason(each) for each in IDS]
    assert all(world.is_at(each, each.target) for each in (*PARTS[0], *PARTS[1], ANEW))
    moved = {task.move.partition.partition for task in world.execution("t-1-2").tasks if task.state is TaskState.DONE}
    assert 4 in moved
    assert not world.execution("t-1-3").tasks
    world.leaves_nothing()
