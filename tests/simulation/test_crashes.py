"""The driver dies between any two of its calls, and another one goes on from the store and Kafka (STYLE.md, 20)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.simulation.sweeping import DEATHS
from tests.simulation.world import MB, Crash, World, move

FOREIGN_RATE = ("BROKER", "1"), "leader.replication.throttled.rate", "777000000"
FOREIGN_ENTRY = ("TOPIC", "t"), "leader.replication.throttled.replicas", "9:1"


def mixed_world() -> World:
    """A move between brokers, one between log dirs, one of both, an order, an election; somebody else's throttles."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3], 2: [1, 3], 3: [1, 2], 4: [4, 1]}, 3 * MB, write_rate=20_000)
    world.kafka.set_config(*FOREIGN_RATE)
    world.kafka.set_config(*FOREIGN_ENTRY)
    log_dirs = world.kafka.peek()
    other = {"/b2/d0": "/b2/d1", "/b2/d1": "/b2/d0"}
    there = other[log_dirs.log_dir_of(move("t-1", 2).partition, 2) or ""]
    return world.ticket(
        move("t-0", "3:/b3/d1", 2, rate=900_000),
        move("t-1", f"2:{there}", 3, rate=900_000),
        move("t-2", 3, 1),
        move("t-3", "4:/b4/d1", "3:/b3/d0", rate=900_000),
        move("t-4", 1, 4),
        throttle=MB,
    )


WARM_UP_S = 6.0
RATE = 900_000


def tiered_world(throttle: int = MB) -> World:
    """Where a replica stays and leads meanwhile; where none does; where the newcomer is not to lead."""
    world = World(brokers=4, tiered_warm_up_s=WARM_UP_S)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1], 2: [1, 3]}, 9 * MB, write_rate=RATE, tiered=True)
    world.least_led = dict.fromkeys(world.kafka.peek().partitions, round(WARM_UP_S * RATE))
    return world.ticket(
        move("t-0", "3:/b3/d1", 2, rate=RATE),
        move("t-1", 3, 4, rate=RATE),
        move("t-2", 3, 4, rate=RATE),
        throttle=throttle,
    )


def is_at_target(world: World) -> None:
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    for task in world.execution().tasks:
        assert task.state is TaskState.DONE
        assert world.is_at(task.move, task.move.target), task.move
    world.leaves_nothing()


def is_taken_back(world: World) -> None:
    assert world.state() is TicketState.CANCELLED
    for task in world.execution().tasks:
        where = task.move.target if task.state is TaskState.DONE else task.move.original
        assert task.state in (TaskState.DONE, TaskState.REVERTED)
        assert world.is_at(task.move, where), (task, world.kafka.peek().partitions[task.move.partition])
    world.leaves_nothing()


def adding(world: World, name: str) -> tuple[int, ...]:
    found = [r.adding for partition, r in world.kafka.peek().reassignments.items() if str(partition) == name]
    return found[0] if found else ()


def run_to_the_end(world: World) -> None:
    world.run()


def cancel_after(ticks: int) -> Callable[[World], None]:
    """Cancels as soon as the ticket runs and so many ticks have passed."""

    def story(world: World) -> None:
        passed = 0
        while passed < ticks or world.state() is TicketState.APPROVED:
            try:
                world.tick()
            except Crash:
                world.new_driver()
            passed += 1
        if world.state() is TicketState.RUNNING:
            world.cancel()
        world.run()

    return story


def calls_of(story: Callable[[World], None]) -> int:
    world = mixed_world()
    story(world)
    return world.wire.calls


@pytest.mark.slow
@DEATHS
def test_a_crash_at_any_call_leads_to_the_same_end(after: bool, late: int) -> None:
    calls = calls_of(run_to_the_end)
    assert calls > 60
    for die_at in range(1, calls + 1):
        world = mixed_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.run()
        is_at_target(world)


@pytest.mark.slow
@pytest.mark.parametrize("ticks", [2, 4, 7])
@DEATHS
def test_a_crash_at_any_call_of_a_cancelled_ticket_leads_back(ticks: int, after: bool, late: int) -> None:
    story = cancel_after(ticks)
    for die_at in range(1 + (ticks + late) % 2, calls_of(story) + 1, 2):  # every second call: others in other cases
        world = mixed_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        story(world)
        if world.state() is TicketState.SUCCEEDED:
            is_at_target(world)
        else:
            is_taken_back(world)


@pytest.mark.slow
@pytest.mark.parametrize("cancel_at", [None, 3, 9, 14])
@DEATHS
def test_whatever_crashes_no_cold_replica_ever_leads_a_tiered_partition(
    cancel_at: int | None, after: bool, late: int
) -> None:
    """The invariant is checked after each call."""
    story = run_to_the_end if cancel_at is None else cancel_after(cancel_at)
    rehearsal = tiered_world()
    story(rehearsal)
    # Of each case other calls: all of them would take a minute.
    for die_at in range(1 + (cancel_at or 0) % 5, rehearsal.wire.calls + 1, 5):
        world = tiered_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        story(world)
        if world.state() is TicketState.SUCCEEDED:
            is_at_target(world)
        else:
            is_taken_back(world)


def test_a_cancel_that_comes_too_late_for_the_last_step_makes_no_cold_replica_the_leader() -> None:
    """By the time it reaches Kafka none of the original replicas is left; copies are quick, so all come back cold."""
    world = tiered_world(throttle=100 * MB)
    world.run_until(lambda: 4 in adding(world, "t-1"))
    world.kafka.bytes_per_call = 1
    alter = world.kafka.alter_reassignments

    def late(
        targets: Mapping[TopicPartition, tuple[int, ...] | None], replication_factor_may_change: bool = False
    ) -> dict[TopicPartition, str]:
        world.kafka.bytes_per_call = 100 * MB
        while None in targets.values() and world.kafka.peek().reassignments:
            world.kafka.advance()
        return alter(targets, replication_factor_may_change)

    world.kafka.alter_reassignments = late  # type: ignore[method-assign]
    world.cancel()
    world.run()
    assert TaskState.REVERTED in {task.state for task in world.execution().tasks}
    is_taken_back(world)


@pytest.mark.parametrize("seed", range(20))
def test_many_crashes_and_a_cluster_that_comes_and_goes_change_nothing_in_the_end(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (a seeded story, not cryptography)
    world = mixed_world()
    cancel_at = chance.choice([None, chance.randrange(2, 12)])
    for tick in range(400):
        if not world.store.driven_tickets():
            break
        world.kafka.reachable = chance.random() > 0.2
        world.wire.die_at = world.wire.calls + chance.randrange(1, 25)
        world.wire.after = chance.random() < 0.5
        world.wire.late = chance.choice([0, 0, 2])
        if tick == cancel_at and world.state() is TicketState.RUNNING:
            world.cancel()
        try:
            world.tick()
        except Crash:
            world.new_driver()
    if world.state() is TicketState.SUCCEEDED:
        is_at_target(world)
    else:
        is_taken_back(world)
