"""How long a plan is said to take, against how long the executor and its throttle take on a simulated cluster."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pytest

from guardian.execution.rules.lasting import Asked, Lasting, Left, Pacing, lasting
from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import AdaptedRate
from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.throttle.model import BrokerReading
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from guardian.tickets.rules.progressing import progress
from tests.simulation.world import MB, World, move

LIMITS = ExecutionLimits(per_broker_in=2, slot_bytes=MB)


class Calm:
    """Disks that have room for all that is asked."""

    def __init__(self, settings: ThrottleSettings) -> None:
        self._settings = settings

    def ask(self, _cluster: str, brokers: Collection[int]) -> Callable[[], Around]:
        readings = {broker: BrokerReading(broker, "sda", 0.1) for broker in brokers}
        return lambda: Around(self._settings, readings, readings)


def drawn(seed: int, settings: ThrottleSettings) -> tuple[World, int]:
    """Some partitions of 0.1 to 30 MB on 4 to 6 brokers, each with a move of its own, and a throttle."""
    dice = random.Random(seed)  # noqa: S311  the same each time
    brokers = list(range(1, dice.randint(4, 6) + 1))
    world = World(len(brokers), limits=LIMITS, bytes_per_call=100 * MB, around=Calm(settings))
    moves = []
    written = dice.choice([0, 0, 10_000])
    for number in range(dice.choice([1, 5, 20, 40])):
        lies = dice.sample(brokers, 2)
        other = dice.choice([broker for broker in brokers if broker not in lies])
        size = int(dice.choice([0.1, 0.1, 1, 5, 30]) * MB)
        world.kafka.create_topic(f"t{number}", {0: lies}, size, write_rate=written)
        target = dice.choice([(other, lies[1]), (lies[0], other), (lies[1], lies[0]), (other, lies[0])])
        moves.append(move(f"t{number}-0", *target, rate=written))
    throttle = dice.choice([2, 5, 20]) * MB
    return world.ticket(*moves, throttle=throttle), throttle


def told(world: World, throttle: int, settings: ThrottleSettings) -> Lasting:
    plan = world.store.plan(world.store.ticket("t-1").plan_hash)
    assert isinstance(plan, Plan)
    return lasting(map(Left.whole, plan.moves), Asked(throttle), Pacing(LIMITS, settings))


def measured_s(world: World) -> float:
    began = world.kafka.now_ms
    world.run(max_ticks=3000)
    assert world.state() is TicketState.SUCCEEDED
    return (world.kafka.now_ms - began) / 1000


SETTINGS: Mapping[str, ThrottleSettings] = {
    "adaptive": ThrottleSettings(floor_mb_per_s=0.1),
    "fixed": ThrottleSettings(adaptive=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 60))])
def test_the_executor_takes_as_long_as_is_said(name: str, seed: int) -> None:
    world, throttle = drawn(seed, SETTINGS[name])
    said, took_s = told(world, throttle, SETTINGS[name]), measured_s(world)
    assert said.most_s is not None
    assert said.least_s <= took_s <= said.most_s
    assert said.most_s <= 3 * took_s + 15, "a range so wide tells nothing"


@pytest.mark.slow
def test_what_is_left_is_said_truly_at_any_moment() -> None:
    world, _ = drawn(12, SETTINGS["adaptive"])
    pacing, said = Pacing(LIMITS, SETTINGS["adaptive"]), []
    while world.store.driven_tickets():
        ticket, execution = world.store.ticket("t-1"), world.store.execution("t-1")
        far = progress(ticket, execution, world.kafka.now_ms, pacing)
        if far.least_ms is not None and far.most_ms is not None:
            said.append((world.kafka.now_ms, far.least_ms, far.most_ms))
        world.tick()
    end_ms = world.kafka.now_ms
    assert len(said) > 10
    for at_ms, least_ms, most_ms in said:
        assert least_ms <= end_ms - at_ms <= most_ms or end_ms - at_ms < 3000, (at_ms, least_ms, most_ms, end_ms)


def test_a_rate_that_fell_is_taken_to_stay_low() -> None:
    moved = move("t-0", 3, 2)
    left = Left(replace(moved, original=(ReplicaPlacement(1), ReplicaPlacement(2))), 100e6)
    rising = Asked(10 * MB, 0, (AdaptedRate(2 * MB, 3, changed_at_ms=99_000),), 100_000)
    fallen = replace(rising, rates=(AdaptedRate(2 * MB, 3, changed_at_ms=99_000, trouble=5 * MB),))
    stuck = replace(rising, rates=(AdaptedRate(2 * MB, 3, changed_at_ms=1000),))
    known = [lasting([left], asked, Pacing()).most_s or 0.0 for asked in (rising, fallen, stuck)]
    assert known[0] < 60 < known[1] == known[2]


def test_without_a_throttle_nothing_bounds_it() -> None:
    left = Left.whole(replace(move("t-0", 3, 2), original=(ReplicaPlacement(1), ReplicaPlacement(2)), size_bytes=MB))
    assert lasting([left], Asked(0), Pacing()).most_s is None
    assert lasting([], Asked(5 * MB), Pacing()) == Lasting(0.0, 0.0)
