"""A standing rate of a broker, set and ended by a ticket of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.kinds.requested import Facts
from guardian.tickets.kinds.throttle_override import KIND, ThrottleOverride
from tests.simulation.world import CLUSTER, MB, World, move

RATE = "follower.replication.throttled.rate"


def world_with_a_move(rate: int, until_ms: int, throttle: int = 5 * MB) -> World:
    """A long copy onto broker 3 at 5 MB/s, and an approved standing rate for that broker."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 60 * MB)
    world.ticket(move("t-0", 3, 2), throttle=throttle)
    plan = KIND.plan(CLUSTER, ThrottleOverride(3, rate, until_ms))
    ticket = Ticket("t-2", CLUSTER, ThrottleOverride.kind, TicketState.APPROVED, "ann", "t-2", 0, 1, 0)
    world.store.put(ticket, plan)
    return world


def test_it_holds_until_its_time_is_over_and_the_copy_goes_on_as_before() -> None:
    world = world_with_a_move(2 * MB, until_ms=8_000)
    world.run_until(lambda: world.config("BROKER", 3, RATE) == str(2 * MB))
    assert world.config("BROKER", 1, "leader.replication.throttled.rate") == str(5 * MB)
    world.run_until(lambda: world.state("t-2") is TicketState.SUCCEEDED)
    assert world.kafka.now_ms >= 8_000
    assert world.reason("t-2").startswith("its time is over: broker 3")
    world.run_until(lambda: world.config("BROKER", 3, RATE) == str(5 * MB))
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_ticket_without_a_throttle_is_held_by_none_and_the_note_says_so() -> None:
    world = world_with_a_move(2 * MB, until_ms=10**15, throttle=0)
    world.run_until(lambda: bool(world.kafka.peek().reassignments)).tick(2)
    assert world.config("BROKER", 3, RATE) is None
    note = "copies of all tickets but those without a throttle take no more than 2.0 MB/s of broker 3"
    assert world.store.plan("t-2").notes == (note,)


def test_cancelled_it_holds_no_longer() -> None:
    world = world_with_a_move(2 * MB, until_ms=10**15)
    world.run_until(lambda: world.config("BROKER", 3, RATE) == str(2 * MB)).cancel("t-2")
    world.run().leaves_nothing()
    assert world.state("t-2") is TicketState.CANCELLED
    assert world.state() is TicketState.SUCCEEDED


def test_a_higher_rate_than_a_ticket_asks_for_changes_nothing() -> None:
    world = world_with_a_move(50 * MB, until_ms=10**15)
    world.run_until(lambda: world.config("BROKER", 3, RATE) is not None).tick(3)
    assert world.config("BROKER", 3, RATE) == str(5 * MB)


@pytest.mark.parametrize(
    ("standing", "sentence"),
    [
        (lambda: ThrottleOverride(9, MB, 1), "broker 9 is not alive in cluster live: choose from 1, 2"),
        (lambda: ThrottleOverride(1, 5, 1), "rate is 5 bytes/s: use 100000 to"),
    ],
)
def test_a_wrong_one_is_refused(standing: Callable[[], ThrottleOverride], sentence: str) -> None:
    world = World(brokers=2)
    with pytest.raises(InvalidInput, match=sentence):
        KIND.resolved(KIND.plan(CLUSTER, standing()), Facts(frozenset(world.kafka.describe_cluster().brokers)), 0)


def test_a_plan_without_the_task_is_refused() -> None:
    with pytest.raises(InvalidInput, match="task of the plan is no throttle-override"):
        KIND.task_of(Plan(CLUSTER, ThrottleOverride.kind, ()))
