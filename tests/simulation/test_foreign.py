"""Another tool reassigns on the same cluster: the ticket pauses, adopts or waits, whatever dies meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.errors import Conflict
from guardian.model.effects import ConfigKey
from guardian.model.execution import TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.simulation.operations import OperationsWorld
from tests.simulation.sweeping import DEATHS
from tests.simulation.world import MB, Crash, World, move

T0 = TopicPartition("t", 0)
THEIRS = TopicPartition("theirs", 0)


def world_with_two() -> World:
    """A ticket of two moves on brokers 1 to 3; the other tool will move a topic of its own to broker 4."""
    world = World(brokers=4, bytes_per_call=MB // 4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    world.kafka.create_topic("theirs", {0: [1, 2]}, 4 * MB)
    return world.ticket(move("t-0", 3, 2), move("t-1", "2:/b2/d1", 3), throttle=MB)


def until_paused(world: World, moves_to: tuple[int, ...] = (4, 2)) -> World:
    """The other tool begins as soon as the ticket runs; the driver may die on the way."""
    while world.state() is TicketState.APPROVED:
        step(world)
    world.kafka.alter_reassignments({THEIRS: moves_to})
    while world.state() is TicketState.RUNNING:
        step(world)
    assert world.state() is TicketState.PAUSED
    assert "another tool moves theirs-0 to [4, 2]" in world.reason()
    return world


def test_what_the_protection_of_disks_holds_is_not_said_to_be_somebody_elses() -> None:
    rate = "replica.alter.log.dirs.io.max.bytes.per.second"
    world = world_with_two()
    for broker in "12":
        world.kafka.set_config(("BROKER", broker), rate, "5000")
    world.store.protected = frozenset({ConfigKey("BROKER", "1", rate)})
    assert "throttles that are not Guardian's stand on broker 2:" in until_paused(world).reason()


def step(world: World) -> None:
    try:
        world.tick()
    except Crash:
        world.new_driver()


def adopted(world: World) -> None:
    until_paused(world).adopt().run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    tasks = world.execution().tasks
    assert [str(task.move.partition) for task in tasks if task.is_adopted] == ["theirs-0"]
    assert all(task.state is TaskState.DONE and world.is_at(task.move, task.move.target) for task in tasks)
    world.leaves_nothing()


def awaited(world: World) -> None:
    until_paused(world).wait().run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert [task.is_adopted for task in world.execution().tasks] == [False, False]
    assert world.kafka.peek().partitions[THEIRS].replicas == (4, 2)
    world.leaves_nothing()


def adopted_and_cancelled(world: World) -> None:
    until_paused(world).adopt()
    step(world)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()
    assert world.state() is TicketState.CANCELLED
    task = next(task for task in world.execution().tasks if task.is_adopted)
    assert set(task.move.original_brokers) == {1, 2}  # in which order, Kafka told no longer
    assert world.is_at(task.move, task.move.target if task.state is TaskState.DONE else task.move.original)
    world.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize("story", [adopted, awaited, adopted_and_cancelled])
@DEATHS
def test_whatever_dies_it_comes_to_the_same_end(story: Callable[[World], None], after: bool, late: int) -> None:
    rehearsal = world_with_two()
    story(rehearsal)
    for die_at in range(1, rehearsal.wire.calls + 1, 2 if late else 1):
        world = world_with_two()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        story(world)


def test_a_paused_ticket_starts_nothing_and_finishes_what_it_began() -> None:
    world = until_paused(world_with_two())
    world.kafka.bytes_per_call = 1
    under_way = {task.number for task in world.execution().tasks if task.state is TaskState.RUNNING}
    world.tick(10)
    assert {task.number for task in world.execution().tasks if task.state is not TaskState.PENDING} == under_way
    assert world.state() is TicketState.PAUSED
    assert world.execution().foreign[0].partition == THEIRS


def test_resuming_goes_on_beside_it_and_only_new_work_pauses_again() -> None:
    world = world_with_two()
    world.kafka.create_topic("more", {0: [1, 2]}, 4 * MB)
    until_paused(world).kafka.bytes_per_call = 1
    world.resume().tick(5)
    assert world.state() is TicketState.RUNNING
    world.kafka.alter_reassignments({TopicPartition("more", 0): (4, 2)})
    world.tick(2)
    assert world.state() is TicketState.PAUSED
    assert "another tool moves more-0 to [4, 2]: " in world.reason()


def test_who_said_nothing_is_told_when_it_is_over_and_nothing_starts_by_itself() -> None:
    world = until_paused(world_with_two())
    world.run_until(lambda: not world.execution().foreign)
    assert world.state() is TicketState.PAUSED
    assert world.reason() == "what other tools moved is over: guardian ticket resume t-1"
    with pytest.raises(Conflict, match="no other tool moves anything"):
        world.adopt()
    world.resume().run()
    assert world.state() is TicketState.SUCCEEDED


def test_adopting_the_move_of_a_partition_of_ones_own_gives_way_to_it() -> None:
    world = World(brokers=4, bytes_per_call=MB // 4)
    world.kafka.create_topic("t", {0: [1, 2]}, 4 * MB)
    world.ticket(move("t-0", 3, 2))
    world.kafka.alter_reassignments({T0: (4, 2)})
    world.run_until(lambda: world.state() is TicketState.PAUSED)
    world.adopt().run()
    assert world.state() is TicketState.FAILED
    assert "t-0 failed: gave way to what another tool does with the partition" in world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (4, 2)
    world.leaves_nothing()


def test_a_ticket_of_guardian_on_the_same_cluster_is_no_foreign_work() -> None:
    world = World(brokers=6, bytes_per_call=MB // 4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [4, 5]}, 4 * MB)
    world.ticket(move("t-0", 3, 2)).ticket(move("t-1", 6, 5), ticket_id="t-2")
    world.run_until_in_flight("t-0", "t-1").run()
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED
    assert not any(past.state is TicketState.PAUSED for past in world.store.ticket("t-1").history)


def test_others_throttles_are_named_and_left_alone() -> None:
    world = world_with_two()
    world.kafka.set_config(("BROKER", "2"), "leader.replication.throttled.rate", "777")
    world.remember()
    until_paused(world)
    assert "throttles that are not Guardian's stand on broker 2" in world.reason()
    world.wait().run()
    assert world.config("BROKER", 2, "leader.replication.throttled.rate") == "777"


@pytest.mark.parametrize("kind", [AskKind.REMOVE, AskKind.RESTART, AskKind.OFFLINE])
def test_a_ticket_of_brokers_that_is_approved_meanwhile_starts_and_pauses(kind: AskKind) -> None:
    world = OperationsWorld(5).topic("t", {0: [3, 4]}).topic("theirs", {0: [1, 2]}, 40 * MB)
    world.ask(Ask(kind, (4,), hook="systemd", shutdown=kind is not AskKind.RESTART))
    world.kafka.alter_reassignments({THEIRS: (5, 2)})
    world.run_until(lambda: world.state() is TicketState.PAUSED, max_ticks=5)
    assert "another tool moves theirs-0 to [5, 2]" in world.reason()
    world.advance(TicketState.RUNNING).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
