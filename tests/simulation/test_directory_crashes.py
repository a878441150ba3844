"""Tickets that say something in the directory: the driver dies between any two calls, on the way there and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.tasks import Isolate, MigrateIdc
from guardian.model.ticket import TicketState
from guardian.model.topology import Broker
from tests.simulation.directory import MemoryDirectory
from tests.simulation.world import MB, Crash, World, move

_SAYING_CALLS = 30  # the last ones, in which it says what it says: moves are swept elsewhere
DEATHS = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@dataclass(frozen=True)
class Story:
    world: World
    directory: MemoryDirectory

    def seen(self) -> object:
        """All that the directory says. An entry that says nothing is as good as none."""
        entries = self.directory.of_topics.items()
        topics = {name: topic for name, topic in entries if topic != Topic("live", name)}
        return self.directory.cluster, topics, dict(self.directory.machines)


def growing() -> Story:
    topics = [Topic("live", "t", owner="ann"), Topic("live", "u", label="red"), Topic("live", "v", label="gold")]
    directory = MemoryDirectory([Broker(each) for each in (1, 2, 3, 4)], topics)
    world = World(labels=directory)
    for name in ("t", "u", "v", "w"):
        world.kafka.create_topic(name, {0: [1, 2]}, 2 * MB)
    task = Isolate("gold", ("t", "u", "v", "w"), brokers=(3, 4))
    return Story(world.ticket(move("t-0", 3, 4), move("u-0", 4, 3), task=task), directory)


def shrinking() -> Story:
    brokers = [Broker(1, label="gold"), Broker(2), Broker(3, label="gold"), Broker(4, label="gold")]
    machines = [Machine(f"m{each}", cluster="live", broker_id=each, label="gold") for each in (1, 2, 3)]
    directory = MemoryDirectory(brokers, [Topic("live", "t", label="gold")], machines=machines)
    world = World(labels=directory)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    task = Isolate("gold", release=2)
    moves = move("t-0", 3, 4), move("t-1", 4, 3)
    return Story(world.ticket(*moves, task=task), directory)


def migrating() -> Story:
    topics = [Topic("live", "t", idc_policy="home"), Topic("live", "u", owner="ann")]
    policies = [IdcPolicy("home", (("shanghai", 2),)), IdcPolicy("away", (("suzhou", 2),))]
    directory = MemoryDirectory([Broker(each) for each in (1, 2, 3, 4)], topics, policies)
    world = World(labels=directory)
    for name in ("t", "u", "w"):
        world.kafka.create_topic(name, {0: [1, 2]}, 2 * MB)
    moves = [move(f"{name}-0", 3, 4) for name in ("t", "u", "w")]
    return Story(world.ticket(*moves, task=MigrateIdc(policies[1])), directory)


STORIES = pytest.mark.parametrize("make", [growing, shrinking, migrating])
Make = Callable[[], Story]


def there(story: Story) -> Story:
    story.world.run()
    assert story.world.state() is TicketState.SUCCEEDED, story.world.reason()
    return story


def there_and_back(story: Story) -> Story:
    return and_back(there(story))


def and_back(story: Story) -> Story:
    story.world.roll_back().run()
    assert story.world.state() is TicketState.ROLLED_BACK, story.world.reason()
    story.world.leaves_nothing()
    return story


@STORIES
def test_there_and_back_without_a_crash(make: Make) -> None:
    before = make().seen()
    assert there(make()).seen() != before
    assert there_and_back(make()).seen() == before


@pytest.mark.slow
@STORIES
@DEATHS
def test_a_crash_at_any_call_leads_to_the_same_directory(make: Make, after: bool) -> None:
    before, said = make().seen(), there(make()).seen()
    rehearsal = there_and_back(make())
    for die_at in range(1 + after, rehearsal.world.wire.calls + 1, 2):  # every second call: the others in other cases
        story = make()
        story.world.wire.die_at, story.world.wire.after = die_at, after
        assert there(story).seen() == said
        assert and_back(story).seen() == before


@pytest.mark.slow
@STORIES
@DEATHS
def test_cancelled_at_any_tick_and_dead_at_any_call_it_says_all_or_nothing(make: Make, after: bool) -> None:
    before, said = make().seen(), there(make()).seen()
    ticks = ticks_of(make())
    for tick in range(ticks - 3, ticks + 1):  # those about its end
        calls = cancelled_after(make(), tick).world.wire.calls
        for die_at in range(calls - _SAYING_CALLS + after, calls + 1, 2):
            story = make()
            story.world.wire.die_at, story.world.wire.after = die_at, after
            cancelled_after(story, tick)
            ended = story.world.state()
            assert ended in (TicketState.CANCELLED, TicketState.SUCCEEDED)
            assert story.seen() == (said if ended is TicketState.SUCCEEDED else before), (tick, die_at)
            story.world.roll_back().run()
            assert story.seen() == before, (tick, die_at)


def ticks_of(story: Story) -> int:
    ticks = 0
    while story.world.store.driven_tickets():
        story.world.tick()
        ticks += 1
    return ticks


def cancelled_after(story: Story, ticks: int) -> Story:
    world, passed = story.world, 0
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
