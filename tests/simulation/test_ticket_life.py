"""A ticket that is paused, resumed and rolled back, with the driver dying between any two of its calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState, TicketTransition
from tests.simulation.sweeping import DEATHS
from tests.simulation.test_crashes import FOREIGN_ENTRY, FOREIGN_RATE, is_at_target, mixed_world, tiered_world
from tests.simulation.world import MB, Crash, World, move

pytestmark = pytest.mark.slow

Story = Callable[[World], None]


def turn(world: World, state: TicketState, ticket_id: str = "t-1") -> None:
    """What a person does."""
    ticket = world.store.ticket(ticket_id)
    world.store.advance(ticket_id, ticket.state, TicketTransition(state, world.kafka.now_ms, "ann", "asked"), None, 0)


def tick(world: World, ticks: int = 1) -> None:
    """A driver that died is followed by a new one."""
    for _ in range(ticks):
        try:
            world.tick()
        except Crash:
            world.new_driver()


def until(world: World, holds: Callable[[], bool], ticks: int = 400) -> None:
    for _ in range(ticks):
        if holds():
            return
        tick(world)
    raise AssertionError(f"not so after {ticks} ticks: {world.said}")


def in_flight(world: World) -> set[str]:
    now = world.kafka.peek()
    inside = {str(tp) for log_dir in now.log_dirs for tp in log_dir.future_replicas}
    return {str(tp) for tp in now.reassignments} | inside


def throttles(world: World) -> list[str]:
    """Ours, on brokers and topics."""
    return [
        f"{resource} {key}"
        for resource, values in world.kafka.peek().configs.items()
        for key, value in values.items()
        if "throttled" in key and (resource, key, value) not in (FOREIGN_RATE, FOREIGN_ENTRY)
    ]


def narrow_world() -> World:
    """One move at a time into each broker, so that a ticket has tasks that wait, and two stages."""
    world = World(brokers=4, limits=ExecutionLimits(per_broker_in=1, per_broker_out=2))
    world.kafka.create_topic("t", {n: [1, 2] for n in range(5)}, 2 * MB, write_rate=20_000)
    other = {"/b2/d0": "/b2/d1", "/b2/d1": "/b2/d0"}
    there = other[world.kafka.peek().log_dir_of(move("t-4", 2).partition, 2) or ""]
    return world.ticket(
        move("t-0", "3:/b3/d1", 2, rate=900_000),
        move("t-1", 2, 3, rate=900_000),
        move("t-2", 3, 4),
        move("t-3", 2, 1),
        move("t-4", 1, f"2:{there}"),
        throttle=MB,
    )


def pause_after(ticks: int) -> Story:
    """Paused in mid-move until nothing moves, then resumed."""

    def story(world: World) -> None:
        until(world, lambda: world.state() is not TicketState.APPROVED)
        tick(world, ticks)
        if world.state() is not TicketState.RUNNING:
            return
        turn(world, TicketState.PAUSED)
        started = {task.number for task in world.execution().tasks if task.state is not TaskState.PENDING}
        until(world, lambda: (not in_flight(world) and not throttles(world)) or world.state().is_over)
        tick(world, 3)
        now = {task.number for task in world.execution().tasks if task.state is not TaskState.PENDING}
        assert now == started, "a paused ticket started a move"
        if world.state() is TicketState.PAUSED:
            assert not in_flight(world)
            assert not throttles(world), "nothing moves, so nothing is throttled"
            turn(world, TicketState.RUNNING)
        world.run()

    return story


def roll_back(world: World) -> None:
    world.run()
    turn(world, TicketState.ROLLING_BACK)
    world.run()


def roll_back_what_was_cancelled(world: World) -> None:
    until(world, lambda: world.state() is not TicketState.APPROVED)
    until(world, lambda: any(task.state is TaskState.DONE for task in world.execution().tasks))
    if world.state() is TicketState.RUNNING:
        turn(world, TicketState.CANCELLING)
    roll_back(world)


def stop_the_way_back(world: World) -> None:
    """What is on its way back goes on, the rest stays where it was brought."""
    world.run()
    turn(world, TicketState.ROLLING_BACK)
    until(world, lambda: any(task.state is TaskState.REVERTING for task in world.execution().tasks))
    if world.state() is TicketState.ROLLING_BACK:
        turn(world, TicketState.CANCELLING)
    world.run()


def calls_of(make: Callable[[], World], story: Story) -> int:
    world = make()
    story(world)
    return world.wire.calls


def sweep(make: Callable[[], World], story: Story, after: bool, late: int, deaths: int) -> list[World]:
    """The world at the end of each of so many stories, in each of which the driver dies at another call.

    All calls would take minutes; each case of a test begins at another one.
    """
    ends = []
    calls = calls_of(make, story)
    step = max(calls // deaths, 1)
    for die_at in range(1 + (3 * late + after) % step, calls + 1, step):
        world = make()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        story(world)
        ends.append(world)
    return ends


def is_as_before(world: World) -> None:
    """Replicas, their order, their log dirs and leaders; configurations; nothing in flight."""
    assert world.state() is TicketState.ROLLED_BACK, world.reason()
    for task in world.execution().tasks:
        assert task.state is TaskState.REVERTED, task
        assert world.is_at(task.move, task.move.original), (task, world.kafka.peek().partitions[task.move.partition])
    world.leaves_nothing()


@pytest.mark.parametrize("ticks", [1, 3, 6])
@DEATHS
def test_a_paused_ticket_starts_nothing_and_ends_as_any_other(ticks: int, after: bool, late: int) -> None:
    for world in sweep(narrow_world, pause_after(ticks), after, late, deaths=4):
        is_at_target(world)


@pytest.mark.slow
@pytest.mark.parametrize("make", [mixed_world, narrow_world])
@DEATHS
def test_a_ticket_is_rolled_back_whatever_dies(make: Callable[[], World], after: bool, late: int) -> None:
    for world in sweep(make, roll_back, after, late, deaths=9):
        is_as_before(world)


@pytest.mark.slow
@DEATHS
def test_no_cold_replica_leads_a_tiered_partition_on_the_way_back(after: bool, late: int) -> None:
    """The invariant is checked after each call."""
    for world in sweep(tiered_world, roll_back, after, late, deaths=3):
        is_as_before(world)


@DEATHS
def test_what_a_cancelled_ticket_has_done_goes_back_too(after: bool, late: int) -> None:
    for world in sweep(narrow_world, roll_back_what_was_cancelled, after, late, deaths=5):
        is_as_before(world)


@DEATHS
def test_a_way_back_that_is_stopped_leaves_each_partition_at_one_of_its_two_places(after: bool, late: int) -> None:
    stayed = went = 0
    for world in sweep(narrow_world, stop_the_way_back, after, late, deaths=5):
        assert world.state() in (TicketState.CANCELLED, TicketState.ROLLED_BACK), world.reason()
        for task in world.execution().tasks:
            assert task.state in (TaskState.DONE, TaskState.REVERTED)
            where = task.move.target if task.state is TaskState.DONE else task.move.original
            assert world.is_at(task.move, where), task
            stayed += task.state is TaskState.DONE
            went += task.state is TaskState.REVERTED
        world.leaves_nothing()
    assert stayed
    assert went
