"""Rates that change at every tick, brokers that die, a driver that dies between any two of its calls: nothing stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pytest

from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.kafka.admin import ConfigResource
from guardian.model.effects import ConfigKey
from guardian.model.execution import AdaptedRate
from guardian.model.owned_setting import OwnedSetting
from guardian.model.ticket import TicketState
from guardian.throttle.model import BrokerReading
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from tests.simulation.world import MB, Crash, InThisThread, Wired, World, move

FOREIGN_RATE = ("BROKER", "1"), "leader.replication.throttled.rate", "777000000"
Changes = Mapping[ConfigResource, Mapping[str, str | None]]
SETTINGS = ThrottleSettings(floor_mb_per_s=0.2, rise_s=0.1, settle_s=0.1, window_s=0.1)


class Restless:
    """Disks that are idle and overloaded by turns, and a line that is now free and now full."""

    def __init__(self, world: World) -> None:
        self._world = world

    def ask(self, _cluster: str, brokers: Collection[int]) -> Callable[[], Around]:
        return lambda: self._seen(brokers)

    def _seen(self, brokers: Collection[int]) -> Around:
        turn = self._world.kafka.now_ms // 700
        readings = {
            broker: BrokerReading(broker, "sda", 0.95 if (turn + broker) % 3 == 0 else 0.1) for broker in brokers
        }
        unseen = frozenset(broker for broker in brokers if (turn + broker) % 7 == 0)
        idcs = {1: "a", 2: "a", 3: "b", 4: "b"}
        return Around(SETTINGS, readings, readings, idcs, {("a", "b"): (turn % 4) * 400_000.0}, unseen)


class AdaptiveWorld(World):
    def new_driver(self) -> Driver:
        store, admin = Wired(self.wire, self.store), Wired(self.wire, self.kafka)
        self.driver = Driver(
            DriverPorts(
                store,  # type: ignore[arg-type]
                lambda _: admin,  # type: ignore[arg-type, return-value]
                surroundings=Restless(self),
            ),
            DriverClocks(lambda: self.kafka.now_ms, since_boot_s=lambda: self.kafka.now_ms / 1000),
            DriverSettings(self.limits),
            pool=InThisThread(),
        )
        return self.driver


def restless_world() -> World:
    world = AdaptiveWorld(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3], 2: [1, 3], 3: [2, 1]}, MB, write_rate=20_000)
    world.kafka.set_config(*FOREIGN_RATE)
    return world.ticket(
        move("t-0", 3, 2, rate=20_000),
        move("t-1", 4, 3, rate=20_000),
        move("t-2", 4, 1, rate=20_000),
        move("t-3", 3, 1, rate=20_000),
        throttle=2 * MB,
    )


def until_over(world: World, on_tick: Callable[[int], None] = lambda _: None) -> None:
    for tick in range(400):
        if not world.store.driven_tickets():
            return
        try:
            on_tick(tick)
            world.tick()
        except Crash:
            world.new_driver()
    raise AssertionError(f"not over: {world.said}")


def has_all_put_back(world: World) -> bool:
    return bool(world.execution().lifted) and not world.execution().throttles


def test_rates_that_change_at_every_tick_are_restored_to_what_they_replaced() -> None:
    world = restless_world()
    seen: set[int] = set()
    until_over(world, lambda _: seen.update(rate.rate for rate in _rates(world)))
    assert world.state() is TicketState.SUCCEEDED
    assert len(seen) > 5
    world.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize(("after", "late"), [(False, 0), (True, 0), (False, 3)], ids=["before", "after", "late"])
def test_a_crash_at_any_call_leaves_no_rate_behind(after: bool, late: int) -> None:
    rehearsal = restless_world()
    until_over(rehearsal)
    for die_at in range(1 + late, rehearsal.wire.calls + 1, max(1, rehearsal.wire.calls // 25)):
        world = restless_world()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        until_over(world)
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        world.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize("are_reachable", [True, False], ids=["controllers", "no controller"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_throttled_broker_dies_its_ticket_is_cancelled_and_its_configuration_is_clean(
    are_reachable: bool, after: bool
) -> None:
    """At any call of the driver as well; without controllers the debt stays until the broker is back."""

    def story(world: World) -> None:
        def on_tick(tick: int) -> None:
            if tick == 5:
                world.kafka.controllers_reachable = are_reachable
                world.kafka.kill_broker(4)
            if tick == 7 and world.state() is TicketState.RUNNING:
                world.cancel()
            if tick == 30 and not are_reachable:
                assert world.state() is TicketState.CANCELLING
                assert any(intent.resource_name == "4" for intent in world.execution().throttles)
                world.kafka.start_broker(4)

        until_over(world, on_tick)
        assert world.state() is TicketState.CANCELLED
        world.leaves_nothing()

    rehearsal = slow_world()
    story(rehearsal)
    for die_at in range(1, rehearsal.wire.calls + 1, max(1, rehearsal.wire.calls // 20)):
        world = slow_world()
        world.wire.die_at, world.wire.after = die_at, after
        story(world)


def slow_world() -> World:
    """Broker 4 has no replica yet, and will not have one for a while."""
    world = restless_world()
    world.kafka.bytes_per_call = 10_000
    return world


def _rates(world: World) -> tuple[AdaptedRate, ...]:
    execution = world.store.execution("t-1")
    return execution.rates if execution else ()


class Sockets:
    """Of brokers that are stopped now and then: a change comes to be a second time, `late` ticks after the first."""

    def __init__(self, world: World, late: int) -> None:
        self._world = world
        self._late = late
        self._alter = world.kafka.alter_configs
        self._due: dict[int, list[Changes]] = {}
        self._now = 0
        self.came_late = 0
        world.kafka.alter_configs = self._alter_and_keep  # type: ignore[method-assign]

    def _alter_and_keep(self, changes: Changes) -> dict[ConfigResource, str]:
        self._due.setdefault(self._now + self._late, []).append(changes)
        return self._alter(changes)

    def on_tick(self, tick: int) -> None:
        self._now = tick
        recorded = {(each.resource_type, each.resource_name) for each in self._world.execution().throttles}
        for changes in self._due.pop(tick, ()):
            # Of a rate that is still held, an older one is taken for somebody else's.
            again = {key: values for key, values in changes.items() if key[0] == "TOPIC" or key not in recorded}
            self.came_late += any(value is not None for values in again.values() for value in values.values())
            self._alter(again)


@pytest.mark.parametrize("late", [1, 2, 3, 4, 5, 6, 8])
def test_a_change_that_comes_to_be_again_after_it_was_put_back_is_put_back_again(late: int) -> None:
    """Seen on real brokers: a leader that was stopped within one call sent lists that its successor had lifted."""
    world = restless_world()
    sockets = Sockets(world.tick(), late)
    until_over(world, sockets.on_tick)
    assert sockets.came_late > 2
    assert world.state() is TicketState.SUCCEEDED
    assert world.execution().lifted == ()
    world.leaves_nothing()


def test_what_somebody_else_lists_and_sets_meanwhile_stays() -> None:
    """Entries of partitions that the ticket does not move, and a rate of a broker that it is done with."""
    world = restless_world().tick()
    theirs = {
        (("TOPIC", "t"), "leader.replication.throttled.replicas"): "1:1",
        (("BROKER", "2"), "leader.replication.throttled.rate"): "12345678",
    }
    has_put_back: list[bool] = []

    def on_tick(_tick: int) -> None:
        has_put_back.append(has_all_put_back(world))
        if has_put_back.count(True) == 1 and has_put_back[-1]:
            for (resource, key), value in theirs.items():
                world.kafka.set_config(resource, key, value)

    until_over(world, on_tick)
    assert True in has_put_back
    for (resource, key), value in theirs.items():
        assert world.config(*resource, key) == value


def test_what_the_protection_of_disks_holds_is_not_taken_for_the_ticket_s_own() -> None:
    """A disk's floor is the rate that the ticket had there last, and its list has the replica that has moved."""
    world = restless_world().tick()
    held: list[OwnedSetting] = []

    def on_tick(_tick: int) -> None:
        lifted = world.execution().lifted
        if not has_all_put_back(world) or held:
            return
        listed = OwnedSetting("TOPIC", "t", "follower.replication.throttled.replicas", ("0:3",), None)
        held.extend((next(each for each in lifted if each.resource_type == "BROKER"), listed))
        world.store.protected = frozenset(map(ConfigKey.of, held))
        for each in held:
            world.kafka.set_config((each.resource_type, each.resource_name), each.key, each.value)

    until_over(world, on_tick)
    assert held
    assert [world.config(each.resource_type, each.resource_name, each.key) for each in held] == [
        each.value for each in held
    ]


@pytest.mark.parametrize("entries", ["0:1,0:2", "0:1,0:2,0:3", "0:3"])
def test_lists_that_stood_there_before_are_as_they_were(entries: str) -> None:
    """Left by another tool, of the very replicas that the ticket lists."""
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    for key in ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"):
        world.kafka.set_config(("TOPIC", "t"), key, entries)
    world.ticket(move("t-0", 3, 2)).run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_ticket_waits_for_a_broker_that_does_not_say_whether_a_rate_is_back() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2)).tick().run_until(lambda: bool(world.execution().lifted))
    describe, is_silent = world.kafka.describe_configs, [True]

    def without_broker_1(
        resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        found = describe(resources, keys)
        return {key: values for key, values in found.items() if key != ("BROKER", "1") or not is_silent}

    world.kafka.describe_configs = without_broker_1  # type: ignore[method-assign]
    world.tick(10)
    assert world.state() is TicketState.RUNNING
    assert "the configuration of broker 1 can't be read until it answers" in world.execution().note
    is_silent.clear()
    assert world.run().leaves_nothing().state() is TicketState.SUCCEEDED
