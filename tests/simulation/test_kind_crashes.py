"""Topics that are created and expanded, replication factors that change: the driver dies between any two calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.acl import AclBinding
from guardian.model.execution import TaskState
from guardian.model.federation import Topic
from guardian.model.tasks import CreateTopic, ReplicationFactor
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds import acl_repair
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.requested import Facts
from tests.simulation.sweeping import DEATHS
from tests.simulation.world import CLUSTER, MB, Crash, World, created, move


def making_world() -> World:
    """A topic of three partitions with its configuration, on log dirs of choice."""
    world = World(brokers=4)
    world.kafka.create_topic("old", {0: [1, 2]}, 2 * MB)
    return world.ticket(
        created("new-0", "1:/b1/d1", 2),
        created("new-1", "2:/b2/d1", "3:/b3/d0"),
        created("new-2", 4, "1:/b1/d1"),
        kind="create-topic",
        task=CreateTopic(Topic(CLUSTER, "t"), 3, 2, configs=(("retention.ms", "3600000"),)),
    )


def growing_world() -> World:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3]}, 2 * MB)
    return world.ticket(created("t-2", "3:/b3/d1", 4), created("t-3", 4, "1:/b1/d0"), kind="expand-topic")


def resizing_world() -> World:
    """More replicas, fewer, other ones at the same time; one whose leader goes."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3, 4], 2: [1, 3, 4], 3: [3]}, 3 * MB, write_rate=20_000)
    return world.ticket(
        move("t-0", 1, 2, "3:/b3/d1", rate=900_000),
        move("t-1", 3, 4),
        move("t-2", 4, 2, rate=900_000),
        move("t-3", 1, 3, rate=900_000),
        throttle=MB,
        kind=ReplicationFactor.kind,
    )


def is_at_target(world: World) -> None:
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    for task in world.execution().tasks:
        assert task.state is TaskState.DONE
        assert world.is_at(task.move, task.move.target), task.move


def is_made(world: World) -> None:
    is_at_target(world)
    assert world.config("TOPIC", "new", "retention.ms") == "3600000"
    assert {tp.partition for tp in world.kafka.peek().partitions if tp.topic == "new"} == {0, 1, 2}


def is_resized(world: World) -> None:
    is_at_target(world)
    world.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "check", "most"),
    [(making_world, is_made, 30), (growing_world, is_at_target, 30), (resizing_world, is_resized, 60)],
    ids=["create", "expand", "resize"],
)
@DEATHS
def test_a_crash_at_any_call_leads_to_the_same_end(
    make: Callable[[], World], check: Callable[[World], None], most: int, after: bool, late: int
) -> None:
    rehearsal = make()
    rehearsal.run()
    check(rehearsal)
    assert rehearsal.wire.calls >= most / 3
    for die_at in range(1 + after, rehearsal.wire.calls + 1, 2):  # every second call: the others in other cases
        world = make()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.run()
        check(world)


def cancelled_after(world: World, ticks: int) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("ticks", [1, 2, 3, 5, 8])
@DEATHS
def test_a_cancelled_change_of_the_replication_factor_leads_back(ticks: int, after: bool, late: int) -> None:
    rehearsal = resizing_world()
    cancelled_after(rehearsal, ticks)
    for die_at in range(1 + (ticks + late) % 2, rehearsal.wire.calls + 1, 2):
        world = resizing_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        cancelled_after(world, ticks)
        assert world.state() in (TicketState.CANCELLED, TicketState.SUCCEEDED)
        for task in world.execution().tasks:
            where = task.move.target if task.state is TaskState.DONE else task.move.original
            assert task.state in (TaskState.DONE, TaskState.REVERTED)
            assert world.is_at(task.move, where), (task, world.kafka.peek().partitions[task.move.partition])
        world.leaves_nothing()


@pytest.mark.parametrize("ticks", [1, 2, 3, 4])
def test_a_cancelled_creation_makes_the_whole_topic_or_none_of_it(ticks: int) -> None:
    world = making_world()
    cancelled_after(world, ticks)
    there = {tp.partition for tp in world.kafka.peek().partitions if tp.topic == "new"}
    states = {task.state for task in world.execution().tasks}
    assert (there, states) in [(set(), {TaskState.REVERTED}), ({0, 1, 2}, {TaskState.DONE})], world.said


def test_a_topic_that_is_deleted_while_it_is_made_is_not_made_again() -> None:
    world = making_world()
    world.run_until(lambda: TopicPartition("new", 0) in world.kafka.peek().partitions)
    world.kafka.kill_broker(4)  # so that one of its partitions is not done yet
    world.run_until(lambda: any(task.state is TaskState.DONE for task in world.execution().tasks))
    world.kafka.delete_topic("new")
    world.kafka.start_broker(4)
    world.run()
    assert world.state() is TicketState.FAILED
    assert "topic new was deleted" in world.reason()
    assert not [tp for tp in world.kafka.peek().partitions if tp.topic == "new"]


def test_a_topic_that_is_deleted_before_it_is_expanded_fails_its_ticket() -> None:
    world = growing_world()
    world.tick()
    world.kafka.delete_topic("t")
    world.run()
    assert world.state() is TicketState.FAILED
    assert "topic t was deleted" in world.reason()


def test_partitions_that_another_tool_adds_meanwhile_are_left_as_they_are() -> None:
    world = growing_world()
    world.tick()
    world.kafka.create_partitions({TopicPartition("t", 2): (1, 2)})
    world.run()
    assert world.state() is TicketState.FAILED
    assert "t-2 failed: another tool created it on [1, 2]" in world.reason()
    assert world.kafka.peek().partitions[TopicPartition("t", 2)].replicas == (1, 2)
    assert world.kafka.peek().partitions[TopicPartition("t", 3)].replicas == (4, 1)


def test_a_topic_is_not_created_while_one_of_its_brokers_is_down() -> None:
    world = making_world()
    world.tick()
    world.kafka.kill_broker(4)
    world.tick(3)
    assert not [tp for tp in world.kafka.peek().partitions if tp.topic == "new"]
    assert "waits for broker 4, which is down" in world.said[0]
    world.kafka.start_broker(4)
    world.run()
    is_made(world)


@pytest.mark.parametrize("make", [making_world, growing_world], ids=["create", "expand"])
def test_what_is_created_waits_for_a_dead_broker_only_so_long(make: Callable[[], World]) -> None:
    """Kafka creates a topic whole and adds partitions without a gap, so the others can't be created either."""
    world = make()
    world.limits = ExecutionLimits(broker_patience_s=3.0)
    world.new_driver()
    before = set(world.kafka.peek().partitions)
    world.tick()
    world.kafka.kill_broker(3)
    world.expect_losses()
    world.run()
    assert world.state() is TicketState.FAILED
    assert "failed: broker 3 was down for" in world.reason()
    assert "before it was created" in world.reason()
    assert "failed: can't be created without" in world.reason()
    assert set(world.kafka.peek().partitions) == before


def test_replicas_go_only_when_those_that_stay_are_in_sync() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2, 3]}, 20 * MB)
    world.kafka.kill_broker(2)
    world.kafka.start_broker(2)
    world.ticket(move("t-0", 1, 2), kind=ReplicationFactor.kind)
    partition = TopicPartition("t", 0)
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.kafka.peek().partitions[partition].isr == (1, 2)


def test_a_min_insync_that_was_raised_meanwhile_holds_the_replicas() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2, 3]})
    world.ticket(move("t-0", 1, 2), kind=ReplicationFactor.kind)
    world.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "3")
    world.tick(4)
    assert world.kafka.peek().partitions[TopicPartition("t", 0)].replicas == (1, 2, 3)
    assert "2 replicas are fewer than min.insync.replicas 3" in world.execution().tasks[0].detail
    world.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "2")
    world.run()
    assert world.state() is TicketState.SUCCEEDED


def rule(topic: str, principal: str = "User:ann") -> AclBinding:
    return AclBinding("TOPIC", "LITERAL", topic, principal, "*", "READ", "ALLOW")


def repairing_world() -> World:
    """Two rules to add, one of which is there already; one to take out; one that is nobody's business."""
    world = World(brokers=1)
    world.kafka.set_acls(rule("there"), rule("unused"), rule("other"))
    asked = AclRepair((rule("there"), rule("missing"), rule("missing", "User:bob")), (rule("unused"),))
    facts = Facts(frozenset(), world.kafka.describe_acls())
    plan = acl_repair.KIND.resolved(acl_repair.KIND.plan(CLUSTER, asked), facts, 0)
    kind = AclRepair.kind
    world.store.put(Ticket("t-1", CLUSTER, kind, TicketState.APPROVED, "ann", "t-1", 0, 0, 0), plan)
    return world


@DEATHS
def test_access_rules_are_put_right_whatever_dies(after: bool, late: int) -> None:
    rehearsal = repairing_world().run()
    for die_at in range(1, rehearsal.wire.calls + 1):
        world = repairing_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.run()
        assert world.state() is TicketState.SUCCEEDED
        assert world.reason() == "2 access rules were added and 1 taken out"
        expected = {rule("there"), rule("other"), rule("missing"), rule("missing", "User:bob")}
        assert set(world.kafka.describe_acls()) == expected


@pytest.mark.parametrize("ticks", [1, 2, 3])
def test_cancelling_puts_the_access_rules_back(ticks: int) -> None:
    world = repairing_world()
    before = set(world.kafka.describe_acls())
    cancelled_after(world, ticks)
    is_done = world.state() is TicketState.SUCCEEDED
    assert is_done or (world.state() is TicketState.CANCELLED and set(world.kafka.describe_acls()) == before)
