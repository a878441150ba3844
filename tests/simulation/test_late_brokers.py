"""A broker that lives and does not answer, as one whose disk hangs: the others' copies are steered on, and what is not
known of it is never taken for something that it said."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka.admin import BROKER, TOPIC
from guardian.model.cluster_state import PartitionState
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.throttle.model import BrokerReading
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from tests.simulation.world import MB, World, move

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Disks:
    """How busy the disk of each broker is."""

    def __init__(self) -> None:
        self.utilisation = dict.fromkeys((1, 2, 3, 4), 0.2)

    def ask(self, _cluster: str, brokers: Collection[int]) -> Callable[[], Around]:
        readings = {broker: BrokerReading(broker, "sda", self.utilisation[broker]) for broker in brokers}
        return lambda: Around(ThrottleSettings(), readings, readings)


def copying() -> tuple[World, Disks]:
    """Broker 3 takes in t-0 from 1 and 2, broker 4 takes in t-1 from 2 and 1."""
    world = World(brokers=4, bytes_per_call=1)
    disks = Disks()
    world.around = disks
    world.new_driver()
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 4, 1), throttle=40 * MB).run_until_in_flight("t-0", "t-1")
    return world.tick(20), disks


def rates(world: World) -> dict[int, int]:
    found = {1: world.config(BROKER, 1, LEADER_RATE), 2: world.config(BROKER, 2, LEADER_RATE)}
    found |= {broker: world.config(BROKER, broker, FOLLOWER_RATE) for broker in (3, 4)}
    return {broker: int(rate or 0) for broker, rate in found.items()}


@pytest.mark.parametrize("only_its_disk", [True, False])
def test_the_rates_of_the_others_fall_while_one_does_not_answer(*, only_its_disk: bool) -> None:
    world, disks = copying()
    before = rates(world)
    world.kafka.hang(3, only_its_disk=only_its_disk)
    disks.utilisation |= dict.fromkeys((1, 3, 4), 1.0)
    world.tick()
    now = rates(world)
    assert now[1] < before[1]
    assert now[4] < before[4]
    assert (now[3] < before[3]) is only_its_disk, "its own too, where it still takes what it is told"
    assert world.state() is TicketState.RUNNING
    world.kafka.go_on(3)
    disks.utilisation |= dict.fromkeys((1, 3, 4), 0.2)
    world.kafka.bytes_per_call = MB
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_copy_between_log_dirs_stays_throttled_while_its_broker_does_not_tell_of_it() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", "1:/b1/d1", 2), throttle=MB)
    world.run_until(lambda: any(each.future_replicas for each in world.kafka.peek().log_dirs))
    world.kafka.hang(1, only_its_disk=True)
    for _ in range(4):
        assert world.tick().config(BROKER, 1, LOG_DIR_RATE) == str(MB)
    assert world.execution().tasks[0].detail == "waits for broker 1 to tell where its replica is"
    world.kafka.go_on(1)
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_what_has_arrived_does_not_become_less_while_nobody_tells_of_it() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), throttle=5 * MB)
    world.run_until(lambda: world.execution().tasks[0].copied_bytes > 0 if world.store.execution("t-1") else False)
    before = world.execution().tasks[0].copied_bytes
    world.kafka.hang(3)
    world.tick()
    assert world.execution().tasks[0].copied_bytes == before
    world.kafka.go_on(3)
    world.run()


def test_nobody_else_has_moved_a_partition_as_long_as_a_broker_that_should_hold_it_is_silent() -> None:
    """One answer alone, from a broker that lags behind, is no reason to give a move up."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2)).tick()
    view, t0 = world.kafka.view, TopicPartition("t", 0)
    stale = PartitionState(4, (4,), (4,))
    for broker in (1, 2, 3):
        world.kafka.hang(broker)
    world.kafka.view = lambda topics: replace(view(topics), partitions={t0: stale})  # type: ignore[method-assign]
    world.tick(3)
    assert world.execution().tasks[0].state is not TaskState.FAILED
    assert "waits for the brokers to agree on its replicas" in world.said[0]
    world.kafka.view = view  # type: ignore[method-assign]
    for broker in (1, 2, 3):
        world.kafka.go_on(broker)
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_destination_that_is_down_stays_on_the_lists_for_when_it_is_back() -> None:
    """Its reassignment stays in Kafka meanwhile: it copies from its first moment on, before anybody looks."""
    world = World(brokers=4, bytes_per_call=1)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), throttle=5 * MB).run_until_in_flight("t-0").tick(3)

    def throttle() -> dict[str, str]:
        configs = world.kafka.peek().configs
        rates = {f"{key} of {b}": value for b in "123" for key, value in configs[BROKER, b].items()}
        return {**configs[TOPIC, "t"], **rates}

    before = throttle()
    assert before["follower.replication.throttled.replicas"] == "0:3"
    world.kafka.kill_broker(3)
    for _ in range(5):
        assert throttle() == before
        world.tick()
    world.kafka.start_broker(3)
    assert throttle() == before
    world.kafka.bytes_per_call = MB
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_destination_that_is_down_keeps_its_slot() -> None:
    world = World(brokers=4, bytes_per_call=1, limits=ExecutionLimits(per_broker_in=1, per_broker_out=1))
    world.kafka.create_topic("t", {0: [1, 2], 1: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 4, 2)).run_until_in_flight("t-0")
    world.kafka.kill_broker(3)
    world.tick(3)
    assert not world.kafka.peek().reassignments.keys() - {TopicPartition("t", 0)}
    assert world.execution().tasks[1].detail == "waits for a slot: out of broker 1 has none left"
