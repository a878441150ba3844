"""A plan that does not fit the cluster any more, or is too old, is made anew before it runs, within its approval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from guardian.errors import ClusterUnavailable, Undecided
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings, Labels
from guardian.kafka.fake import FakeKafka
from guardian.model.federation import Exclusion
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from tests.memory_execution import MemoryExecutionStore
from tests.simulation.directory import MemoryDirectory
from tests.simulation.world import CLUSTER, MB, World, move


class Planner:
    """Answers what it is told to, one after the other."""

    def __init__(self, *answers: Plan | ClusterUnavailable | str | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        assert (ticket.plan_hash, plan.cluster) == ("t-1", CLUSTER)
        self.asked += 1
        return self.answers.pop(0)


def stale_world() -> World:
    """Somebody moved t-0 to 4, 2 after the plan was made; t-1 is as it was."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    world.kafka.alter_reassignments({move("t-0", 3).partition: (4, 2)})
    while world.kafka.list_reassignments():
        pass
    ticket = world.store.ticket("t-1")
    world.store.put(replace(ticket, moves=1, bytes_to_copy=MB), world.store.plan("t-1"))
    return world


def driven(
    world: World, planner: Planner | None, max_plan_age_s: float = 0.0, labels: Labels | None = None
) -> Callable[[], list[str]]:
    world.driver = Driver(
        DriverPorts(world.store, lambda _: world.kafka, replanner=planner, labels=labels),
        DriverClocks(lambda: world.kafka.now_ms),
        DriverSettings(world.limits, tiered_warm_up_s=0, max_plan_age_s=max_plan_age_s),
    )
    return world.driver.tick


def plan(*target: int, name: str = "t-0") -> Plan:
    return Plan(CLUSTER, "balance", (move(name, *target),))


def test_a_stale_plan_is_made_anew_and_runs() -> None:
    world = stale_world()
    tick = driven(world, Planner(None, None, plan(3, 2)))
    assert "waits for a new plan, since the approved one is stale: t-0 is on [4, 2]" in tick()[0]
    tick()
    assert world.state() is TicketState.APPROVED
    tick()
    assert world.state() is TicketState.RUNNING
    assert world.reason().startswith("starts 1 moves of a new plan, since the approved one was stale: t-0 is on [4, 2]")
    assert world.execution().tasks[0].move.original_brokers == (4, 2)
    world.remember()
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.kafka.peek().partitions[move("t-0", 3).partition].replicas == (3, 2)
    world.leaves_nothing()


def test_without_a_new_plan_nothing_is_changed_and_both_reasons_are_told() -> None:
    world = stale_world()
    driven(world, Planner("plans from files can't be made anew"))()
    assert world.state() is TicketState.FAILED
    assert world.reason() == (
        "the plan is stale, nothing was changed: t-0 is on [4, 2], the plan expects it on [1, 2]; "
        "there is no new one: plans from files can't be made anew"
    )
    assert world.store.execution("t-1") is None


@pytest.mark.parametrize("error", [Undecided, ClusterUnavailable])
def test_a_planner_that_could_not_see_the_cluster_is_asked_again_later(error: type[ClusterUnavailable]) -> None:
    world = stale_world()
    planner = Planner(None, error("no controller answers"), None, plan(3, 2))
    tick = driven(world, planner)
    tick()
    for _ in range(3):
        (said,) = tick()
        assert "waits for a new plan (no controller answers), since the approved one is stale: t-0 is on [4, 2]" in said
        assert world.state() is TicketState.APPROVED
    assert planner.asked == 2, "a cluster that stays silent is not asked at each tick"
    world.kafka.now_ms += 10_000
    assert "waits for a new plan, since" in tick()[0]
    tick()
    assert (world.state(), planner.asked) == (TicketState.RUNNING, 4)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Plan(CLUSTER, "balance", (move("t-0", 3, 2), move("t-1", 3, 2))), "it has 2 moves, 1 were approved"),
        (plan(3, 1), "it copies 2.0 MB, 1.0 MB were approved"),
    ],
    ids=["more moves", "more bytes"],
)
def test_a_new_plan_that_does_more_needs_an_approval_of_its_own(made: Plan, why: str) -> None:
    world = stale_world()
    driven(world, Planner(made))()
    assert world.state() is TicketState.FAILED
    assert world.reason().startswith(f"nothing was changed: a new plan needs an approval of its own, {why}")
    assert not world.kafka.list_reassignments()


def test_a_new_plan_with_nothing_to_do_ends_the_ticket() -> None:
    world = stale_world()
    driven(world, Planner(Plan(CLUSTER, "balance", ())))()
    assert (world.state(), world.reason()[:35]) == (TicketState.FAILED, "a new plan has nothing to move, sin")


def test_a_plan_of_old_samples_is_made_anew_though_the_cluster_still_fits_it() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    ticket = world.store.ticket("t-1")
    old = replace(world.store.plan("t-1"), made_at_ms=1)
    world.store.put(replace(ticket, moves=1, bytes_to_copy=MB), old)
    world.kafka.now_ms = 3_600_002
    planner = Planner(None, "the lake can't be read")
    tick = driven(world, planner, max_plan_age_s=3600.0)
    assert "waits for a new plan" in tick()[0]
    tick()
    assert world.state() is TicketState.RUNNING, "it still fits: better late than never"
    assert "as approved, though it was made of samples that are 1 h old, more than 1 h" in world.reason()
    assert planner.asked == 2


def test_a_young_plan_that_fits_asks_for_nothing() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    planner = Planner()
    driven(world, planner, max_plan_age_s=3600.0)()
    assert (planner.asked, world.state()) == (0, TicketState.RUNNING)


def test_a_new_plan_keeps_off_the_brokers_of_other_tickets() -> None:
    world = World(brokers=5)
    world.kafka.create_topic("t", {0: [1, 2], 1: [3, 4]}, MB)
    world.ticket(move("t-0", 2, 1))
    world.kafka.alter_reassignments({move("t-0", 1).partition: (5, 2)})
    while world.kafka.list_reassignments():
        pass
    world.ticket(move("t-1", 4, 3), ticket_id="t-2")
    first = world.store.ticket("t-1")
    world.store.put(replace(first, moves=5, bytes_to_copy=10 * MB), world.store.plan("t-1"))
    planner = Planner(plan(3, 2), plan(3, 2))  # one, and another one when its brokers are free
    tick = driven(world, planner)
    said = tick()
    assert any("waits for t-2, on the same brokers as its new plan" in sentence for sentence in said), said
    for _ in range(40):
        tick()
    assert world.state("t-2") is TicketState.SUCCEEDED
    assert world.state("t-1") is TicketState.SUCCEEDED


def test_a_ticket_that_goes_back_waits_for_one_that_runs_on_its_brokers() -> None:
    world = World(brokers=4, bytes_per_call=MB)
    world.kafka.create_topic("t", {0: [1, 2], 1: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2)).run()
    world.ticket(move("t-1", 4, 2), ticket_id="t-2").run_until(lambda: world.state("t-2") is TicketState.RUNNING)
    ticket = world.store.ticket("t-1")
    history = (*ticket.history, replace(ticket.history[-1], state=TicketState.ROLLING_BACK))
    store: MemoryExecutionStore = world.store
    store.put(replace(ticket, state=TicketState.ROLLING_BACK, history=history), store.plan("t-1"))
    world.tick()
    assert "ticket t-1 waits for t-2, on the same brokers" in world.said
    kafka: FakeKafka = world.kafka
    world.run()
    assert (world.state("t-1"), world.state("t-2")) == (TicketState.ROLLED_BACK, TicketState.SUCCEEDED)
    assert kafka.peek().partitions[move("t-0", 1).partition].replicas == (1, 2)


def excluding_world() -> tuple[World, MemoryDirectory]:
    """Somebody excluded broker 3, where the plan goes, after it was approved."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    directory = MemoryDirectory()
    directory.exclusions = (Exclusion(CLUSTER, 3, "ann", "it is sold"),)
    return world, directory


def test_a_plan_onto_a_broker_that_was_excluded_since_does_not_run() -> None:
    world, directory = excluding_world()
    driven(world, None, labels=directory)()
    assert world.state() is TicketState.FAILED
    assert world.reason() == (
        "the plan is stale, nothing was changed: t-0 would come to broker 3, which ann excluded from new replicas: "
        "it is sold"
    )


def test_it_is_made_anew_where_it_can_be() -> None:
    world, directory = excluding_world()
    tick = driven(world, Planner(plan(4, 2)), labels=directory)
    tick()
    assert world.state() is TicketState.RUNNING
    assert [task.move.target_brokers for task in world.execution().tasks] == [(4, 2)]


def test_a_ticket_that_expired_while_nobody_led_does_not_begin() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    world.store.put(replace(world.store.ticket("t-1"), expires_at_ms=world.kafka.now_ms), world.store.plan("t-1"))
    world.tick()
    assert world.state() is TicketState.EXPIRED
    assert "it did not start before" in world.reason()
    assert world.store.execution("t-1") is None
