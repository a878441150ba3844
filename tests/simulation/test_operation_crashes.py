"""The driver dies between any two of its calls in the middle of an operation, and another one goes on (STYLE.md, 20).

After every single call: min ISR holds, leaders are there, nothing is on a broker that left, most controllers live.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from guardian.errors import Conflict
from guardian.execution.operations.step import amended
from guardian.kafka.admin import BROKER
from guardian.model.actor import Agent
from guardian.model.effects import ConfigKey
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, AskKind, HookAction, HookKey, OperationPhase, Standing
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState, TopicPartition
from tests.simulation.operations import OperationsWorld
from tests.simulation.sweeping import DEATHS, sweep, tick, tick_until
from tests.simulation.world import CLUSTER, MB

pytestmark = pytest.mark.slow

ORDER = (
    OperationPhase.VALIDATE,
    OperationPhase.EXCLUDE,
    OperationPhase.PLAN,
    OperationPhase.EXECUTE,
    OperationPhase.GATE,
    OperationPhase.LEADERS_AWAY,
    OperationPhase.SHUT_DOWN,
    OperationPhase.CLEAN_UP,
    OperationPhase.RESTART,
    OperationPhase.START,
    OperationPhase.IN_SYNC,
    OperationPhase.LEADERS_BACK,
    OperationPhase.FINALIZE,
)
Make = Callable[[], OperationsWorld]
Story = Callable[[OperationsWorld], None]
Check = Callable[[OperationsWorld], None]


# Removal.


def removal_world(shutdown: bool = True, hook: str = "systemd") -> OperationsWorld:
    """Brokers 4 and 5 leave; one partition is on both of them."""
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 1], 1: [5, 2], 2: [4, 5], 3: [1, 2]}, 2 * MB)
    return world.ask(Ask(AskKind.REMOVE, (4, 5), shutdown=shutdown, hook=hook if shutdown else ""))


EVERY_TICKS = 4  # between two new topics
LAST_PHASES = (OperationPhase.SHUT_DOWN, OperationPhase.CLEAN_UP)  # they last a few ticks
LAST_DRAINED = 4  # so many of them on brokers that leave: else these would never be empty


def run_while_topics_come(world: OperationsWorld) -> None:
    """New topics all along, by turns on brokers that leave and where Kafka would put them: not on excluded ones. What
    is on a broker that is down or gone is refused."""
    made: Counter[OperationPhase | None] = Counter()
    drained = 0
    for number in range(600):
        if not world.store.driven_tickets():
            break
        now = phase_of(world)
        if now is OperationPhase.SHUT_DOWN and "late" not in world.topics() and 5 in world.kafka.peek().brokers:
            world.topic("late", {0: [3, 5]}, MB // 4)
        elif number % EVERY_TICKS == 0 or now in LAST_PHASES:
            on_leaving = drained < LAST_DRAINED and number % (2 * EVERY_TICKS) == 0
            kept = sorted({1, 2, 3} - world.federation.excluded.keys())
            replicas = [4 + drained % 2, kept[number % len(kept)]] if on_leaving else kept[:2]
            if set(replicas) <= world.kafka.peek().brokers.keys():
                world.topic(f"new{number}", {0: replicas}, MB // 4)
                made[now] += 1
                drained += on_leaving
        tick(world)
    assert not world.store.driven_tickets(), f"not over: {world.said}"
    if world.wire.die_at >= 0:
        return  # a death may leave no tick between two phases
    assert made[OperationPhase.EXECUTE]
    assert "late" in world.topics()
    assert made[OperationPhase.SHUT_DOWN] + made[OperationPhase.CLEAN_UP]


def is_removed(world: OperationsWorld) -> None:
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.on(4, 5) == []
    assert world.kafka.registered_brokers() == {1: False, 2: False, 3: False}
    assert world.federation.excluded == {}
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
    world.leaves_no_throttle().is_whole()


@pytest.mark.slow
@DEATHS
def test_a_removal_comes_to_its_end_wherever_it_is_interrupted(after: bool, late: int) -> None:
    sweep(removal_world, run_while_topics_come, is_removed, after, late, every=8)


def test_a_removal_without_shutdown_leaves_its_exclusions_with_owner_and_reason() -> None:
    def check(world: OperationsWorld) -> None:
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        assert world.on(4, 5) == []
        assert sorted(world.kafka.registered_brokers() or ()) == [1, 2, 3, 4, 5]
        why = "removed by ticket t-1"
        assert world.federation.excluded == {b: Exclusion(CLUSTER, b, "ann", why, by_ticket="t-1") for b in (4, 5)}
        world.leaves_no_throttle()

    sweep(lambda: removal_world(shutdown=False), run_to_the_end, check, after=False, late=0, every=11)


def test_a_roll_back_under_way_and_a_removal_that_is_approved_meanwhile_both_end() -> None:
    """The removal begins at once and plans moves on the brokers between which the other goes back."""
    world = OperationsWorld(5).topic("t", {0: [1, 2], 1: [5, 4]}, 20 * MB)
    moved = PartitionMove(
        TopicPartition("t", 0),
        (ReplicaPlacement(1), ReplicaPlacement(2)),
        (ReplicaPlacement(3), ReplicaPlacement(2)),
        size_bytes=20 * MB,
    )
    world.store.put(
        Ticket("t-1", CLUSTER, "balance", TicketState.APPROVED, "ann", "t-1", 5 * MB, 0, 0),
        Plan(CLUSTER, "balance", (moved,)),
    )
    world.run()
    world.advance(TicketState.ROLLING_BACK).tick(2)
    assert world.execution("t-1").throttles
    world.ask(Ask(AskKind.REMOVE, (2,)), "t-2").run()
    assert (world.state("t-1"), world.state("t-2")) == (TicketState.ROLLED_BACK, TicketState.SUCCEEDED)
    assert world.store.ticket("t-1").updated_at_ms < world.store.ticket("t-2").updated_at_ms
    world.leaves_no_throttle()


def cancelled_at(phase: OperationPhase) -> Story:
    """Cancelled as soon as that phase is stored, or, where a driver died over it, the next one that was."""

    def is_there(world: OperationsWorld) -> bool:
        now = phase_of(world)
        return now is not None and ORDER.index(now) >= ORDER.index(phase)

    def story(world: OperationsWorld) -> None:
        tick_until(world, lambda: is_there(world) or world.state().is_over)
        if world.state() is TicketState.RUNNING:
            world.advance(TicketState.CANCELLING)
        world.run()

    return story


REMOVAL_PHASES = (
    OperationPhase.VALIDATE,
    OperationPhase.EXECUTE,
    OperationPhase.SHUT_DOWN,
    OperationPhase.CLEAN_UP,
)


def is_unmarked(world: OperationsWorld) -> None:
    """A removal was cancelled: who was stopped stays so."""
    if world.state() is TicketState.SUCCEEDED:
        is_removed(world)
        return
    assert world.state() is TicketState.CANCELLED, world.reason()
    assert world.federation.excluded == {}
    assert BrokerState.DRAINING not in world.federation.states.values()
    world.leaves_no_throttle()
    if not world.machines.away:
        world.is_whole()


@pytest.mark.parametrize("phase", REMOVAL_PHASES)
@DEATHS
def test_a_cancelled_removal_leaves_no_mark(phase: OperationPhase, after: bool, late: int) -> None:
    deaths = sweep(removal_world, cancelled_at(phase), is_unmarked, after, late, 41, OperationsWorld.state)
    assert TicketState.CANCELLED in deaths.ends


@pytest.mark.slow
@DEATHS
def test_a_removal_is_amended_to_more_and_fewer_brokers_while_it_runs(after: bool, late: int) -> None:
    def make() -> OperationsWorld:
        world = OperationsWorld(6)
        world.topic("t", {0: [4, 1], 1: [5, 2], 2: [4, 5], 3: [6, 2], 4: [6, 4]}, 3 * MB)
        return world.ask(Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="systemd"))

    def story(world: OperationsWorld) -> None:
        reach(world, OperationPhase.EXECUTE)
        amend(world, 4, 6)
        world.run()

    def check(world: OperationsWorld) -> None:
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        assert world.on(4, 6) == []
        assert sorted(world.kafka.registered_brokers() or ()) == [1, 2, 3, 5]
        assert world.federation.excluded == {}
        assert world.federation.states[5] is BrokerState.ACTIVE
        world.leaves_no_throttle()

    sweep(make, story, check, after, late, every=29)


def test_what_is_gone_or_leaving_already_succeeds_at_once_and_what_overlaps_takes_the_rest() -> None:
    world = removal_world()
    reach(world, OperationPhase.EXECUTE)
    world.ask(Ask(AskKind.REMOVE, (4, 9), shutdown=True, hook="systemd"), "t-2")
    world.run_until(lambda: world.state("t-2") is TicketState.SUCCEEDED)
    assert world.state() is TicketState.RUNNING
    assert world.reason("t-2") == "broker 9 not in the cluster; broker 4: ticket t-1 removes it"
    world.run()
    is_removed(world)
    world.ask(Ask(AskKind.REMOVE, (4, 5)), "t-3").run()
    assert (world.state("t-3"), world.reason("t-3")) == (TicketState.SUCCEEDED, "brokers 4, 5 not in the cluster")


def test_a_removal_that_the_replication_factor_forbids_changes_nothing_and_says_how_many_could_go() -> None:
    world = OperationsWorld(4)
    world.topic("t", {0: [2, 3, 4]})
    world.ask(Ask(AskKind.REMOVE, (3, 4))).run()
    assert world.state() is TicketState.FAILED
    assert world.reason() == (
        "nothing was changed: t-0 has 3 replicas, and without brokers 3, 4 only 2 brokers could hold them: "
        "1 of the 2 brokers asked for could go"
    )
    assert world.federation.excluded == {}
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}


def test_a_broker_that_votes_in_the_quorum_is_not_removed() -> None:
    world = OperationsWorld(4)
    world.machines_quorum(3, 3, 100, 101)
    world.ask(Ask(AskKind.REMOVE, (3, 4))).run()
    assert world.state() is TicketState.FAILED
    assert "broker 3 votes in the controllers' quorum" in world.reason()


def test_what_the_planner_says_can_not_go_is_refused_before_anything_changed() -> None:
    world = OperationsWorld(3)
    world.topic("t", {0: [1, 3]})
    world.federation.excluded[2] = Exclusion(CLUSTER, 2, "bob", "slow")
    world.ask(Ask(AskKind.REMOVE, (3,))).run()
    assert world.state() is TicketState.FAILED
    assert "without broker 3 only 1 brokers could hold them" in world.reason()
    assert list(world.federation.excluded) == [2]


def test_another_persons_exclusion_serves_and_stays() -> None:
    world = removal_world(shutdown=False)
    theirs = Exclusion(CLUSTER, 4, "bob", "slow disk")
    world.federation.excluded[4] = theirs
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.federation.excluded[4] == theirs
    assert world.federation.excluded[5].who == "ann"


def bob_for(world: OperationsWorld, ms: int) -> Exclusion:
    """A person's exclusion of broker 4 that ends by itself."""
    theirs = Exclusion(CLUSTER, 4, "bob", "slow disk", until_ms=world.kafka.now_ms + ms)
    world.federation.excluded[4] = theirs
    return theirs


def ours(broker: int) -> Exclusion:
    return Exclusion(CLUSTER, broker, "ann", "removed by ticket t-1", by_ticket="t-1")


def never_open(world: OperationsWorld) -> None:
    """Before every tick of a drain that began, both brokers are kept from new replicas."""
    while world.store.driven_tickets():
        before = phase_of(world)
        if before in (OperationPhase.EXECUTE, OperationPhase.SHUT_DOWN):
            assert world.federation.exclusions(CLUSTER).keys() >= {4, 5}, before
        tick(world)


@pytest.mark.slow
def test_a_persons_exclusion_that_ends_in_mid_drain_is_followed_by_the_tickets_own_without_a_gap() -> None:
    def make() -> OperationsWorld:
        world = OperationsWorld(5)
        world.topic("t", {0: [4, 1], 1: [5, 2], 2: [4, 5], 3: [1, 2]}, 100 * MB)
        bob_for(world, 70_000)  # the ticket's own takes its place a minute before
        return world.ask(Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="systemd"))

    def story(world: OperationsWorld) -> None:
        theirs = world.federation.excluded[4]
        tick_until(world, lambda: world.federation.excluded.get(4) == ours(4))
        assert phase_of(world) in (OperationPhase.PLAN, OperationPhase.EXECUTE)
        assert world.kafka.now_ms < theirs.until_ms
        never_open(world)

    sweep(make, story, is_removed, after=False, late=0, every=90)


def test_a_removal_without_shutdown_ends_with_an_exclusion_that_has_no_end() -> None:
    world = removal_world(shutdown=False)
    theirs = bob_for(world, 3_600_000)
    reach(world, OperationPhase.EXECUTE)
    world.tick(3)
    assert world.federation.excluded[4] == theirs, "it serves while the ticket looks after it"
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.federation.excluded == {broker: ours(broker) for broker in (4, 5)}


def test_a_cancelled_removal_leaves_a_persons_exclusion_that_has_an_end() -> None:
    world = removal_world()
    theirs = bob_for(world, 3_600_000)
    reach(world, OperationPhase.EXECUTE)
    world.advance(TicketState.CANCELLING).run()
    assert world.federation.excluded == {4: theirs}


@pytest.mark.parametrize(
    ("phase", "shutdown"),
    [
        (OperationPhase.PLAN, True),
        (OperationPhase.EXECUTE, True),
        (OperationPhase.SHUT_DOWN, True),
        (OperationPhase.PLAN, False),
        (OperationPhase.EXECUTE, False),
    ],
)
def test_an_exclusion_that_is_lifted_by_hand_in_mid_drain_is_put_again(phase: OperationPhase, shutdown: bool) -> None:
    world = removal_world(shutdown=shutdown)
    tick_until(world, lambda: bool(world.federation.excluded) and phase_of(world) is phase)
    world.federation.lift_exclusions(list(world.federation.excluded.values()))
    assert world.federation.states[4] is BrokerState.ACTIVE
    world.tick()
    assert world.federation.excluded == {broker: ours(broker) for broker in (4, 5)}
    assert [world.federation.states[broker] for broker in (4, 5)] == [BrokerState.DRAINING] * 2
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    if shutdown:
        is_removed(world)
    else:
        assert world.federation.excluded == {broker: ours(broker) for broker in (4, 5)}
        assert [world.federation.states[broker] for broker in (4, 5)] == [BrokerState.DRAINING] * 2


def test_a_removal_that_is_rolled_back_leaves_another_one_its_marks() -> None:
    """The first only empties the broker, so the second, which is to stop it, goes on with it."""
    world = removal_world(shutdown=False)
    world.run()
    world.ask(Ask(AskKind.REMOVE, (4, 5), shutdown=True), "t-2")
    tick_until(world, lambda: world.begun("t-2") and world.operation("t-2").phase is OperationPhase.SHUT_DOWN)
    world.advance(TicketState.ROLLING_BACK)
    tick_until(world, lambda: world.state().is_over)
    assert world.state() is TicketState.ROLLED_BACK, world.reason()
    tick_until(world, lambda: world.federation.excluded.keys() == {4, 5})
    assert {each.why for each in world.federation.excluded.values()} == {"removed by ticket t-2"}
    assert [world.federation.states[broker] for broker in (4, 5)] == [BrokerState.DRAINING] * 2


def test_a_broker_that_was_draining_before_is_so_after_a_cancel_wherever_it_is_interrupted() -> None:
    def make() -> OperationsWorld:
        world = removal_world()
        world.federation.states[4] = BrokerState.DRAINING
        return world

    def check(world: OperationsWorld) -> None:
        assert world.state() is TicketState.CANCELLED, world.reason()
        assert world.federation.excluded == {}
        assert world.federation.states[4] is BrokerState.DRAINING
        assert world.federation.states[5] is BrokerState.ACTIVE

    sweep(make, cancelled_at(OperationPhase.EXECUTE), check, after=True, late=0, every=17)


def test_a_stuck_drain_says_which_partition_and_why_and_goes_on_when_it_can() -> None:
    world = removal_world()
    reach(world, OperationPhase.PLAN)
    world.kafka.kill_broker(3)
    world.topic("wide", {0: [1, 2, 4]}, MB)
    world.run_until(lambda: "wide-0" in world.operation().detail)
    assert world.operation().detail == (
        "1 replicas are still on brokers 4, 5, such as wide-0 on broker 4: "
        "broker 4 can't go: there is no place for wide-0"
    )
    world.kafka.start_broker(3)
    world.run()
    is_removed(world)


def test_a_stop_hook_that_fails_pauses_and_is_run_again_when_resumed() -> None:
    world = removal_world()
    world.machines.refusals[4] = 1
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert "hook systemd could not stop node 4: exit 1" in world.reason()
    world.tick(3)
    assert world.state() is TicketState.PAUSED
    world.advance(TicketState.RUNNING).run()
    is_removed(world)
    assert [node for action, node in world.machines.log if action is HookAction.STOP].count(4) == 2


def test_without_a_hook_a_person_is_waited_for() -> None:
    world = removal_world(hook="")
    reach(world, OperationPhase.SHUT_DOWN)
    world.tick(3)
    assert "stop them by hand: no hook was named; waits for brokers 4, 5" in world.operation().detail
    world.kafka.kill_broker(4)
    world.kafka.kill_broker(5)
    world.run()
    is_removed(world)


def test_a_broker_that_is_down_only_for_the_moment_is_not_unregistered() -> None:
    world = removal_world(hook="")
    reach(world, OperationPhase.SHUT_DOWN)
    world.tick(2)
    world.kafka.kill_broker(4)
    world.tick()
    world.kafka.start_broker(4)
    world.tick(8)
    assert world.operation().phase is OperationPhase.SHUT_DOWN
    assert 4 in (world.kafka.registered_brokers() or ())


def test_a_paused_removal_begins_nothing_new() -> None:
    world = removal_world()
    reach(world, OperationPhase.PLAN)
    world.advance(TicketState.PAUSED).tick(6)
    assert world.on(4, 5) == ["t-0", "t-1", "t-2"]
    assert world.execution().tasks == ()
    world.advance(TicketState.RUNNING).run()
    is_removed(world)


def test_a_leaving_broker_that_dies_in_the_middle_is_drained_from_the_other_replicas() -> None:
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 1], 1: [4, 2], 2: [3, 4]}, 5 * MB)
    world.ask(Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd"))
    world.run_until(lambda: bool(world.kafka.peek().reassignments))
    world.kafka.kill_broker(4)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.on(4) == []
    assert 4 not in (world.kafka.registered_brokers() or ())
    # Who looks dead from here may run, cut off: it is stopped all the same.
    assert world.machines.log == [(HookAction.STOP, 4)]


def test_a_broker_that_is_dead_already_is_removed_and_its_replicas_are_made_anew() -> None:
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 1], 1: [5, 2], 2: [3, 4]}, 2 * MB)
    world.kafka.kill_broker(4)
    world.kafka.kill_broker(5)
    world.ask(Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="systemd")).run()
    is_removed(world)
    assert world.machines.log == [(HookAction.STOP, 4), (HookAction.STOP, 5)]


def test_the_only_copy_on_a_dead_broker_is_no_reason_to_lose_it() -> None:
    world = OperationsWorld(4)
    world.topic("t", {0: [4], 1: [4, 1]}, 2 * MB)
    world.lows.add(TopicPartition("t", 0))
    world.kafka.kill_broker(4)
    world.ask(Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd")).run()
    assert world.state() is TicketState.FAILED
    assert world.reason() == "nothing was changed: t-0 has no replica in sync to copy from"
    assert world.kafka.registered_brokers() == {1: False, 2: False, 3: False, 4: True}


def test_a_broker_that_takes_replicas_over_dies_and_the_rest_is_planned_anew() -> None:
    world = OperationsWorld(6)
    world.topic("t", {0: [4, 1], 1: [4, 2], 2: [5, 4]}, 5 * MB)
    world.ask(Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd"))
    world.run_until(lambda: bool(world.kafka.peek().reassignments))
    adding = {broker for each in world.kafka.peek().reassignments.values() for broker in each.adding}
    world.kafka.kill_broker(max(adding))
    world.run(max_ticks=3000)
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.on(4) == []


def test_an_amendment_that_can_not_be_carried_out_pauses_and_what_it_let_go_is_excluded_no_more() -> None:
    world = OperationsWorld(5)
    world.topic("t", {0: [1, 5], 1: [3, 2, 1]}, 5 * MB)
    world.federation.excluded[4] = Exclusion(CLUSTER, 4, "bob", "slow")
    world.ask(Ask(AskKind.REMOVE, (5,), shutdown=True, hook="systemd"))
    reach(world, OperationPhase.EXECUTE)
    amend(world, 2, 3)
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert "t-1 has 3 replicas, and without brokers 2, 3 only 2 brokers could hold them: 1 of the 2" in world.reason()
    assert list(world.federation.excluded) == [4]
    assert world.federation.states[5] is BrokerState.ACTIVE
    amend(world, 2)
    world.advance(TicketState.RUNNING).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.on(2) == []
    assert list(world.federation.excluded) == [4]


# Rolling restart.


def restart_world(controllers: tuple[int, ...] = (), batch_limit: int = 0) -> OperationsWorld:
    """Six brokers in three racks, a replica in each; one topic has its preferred leaders elsewhere."""
    world = OperationsWorld(6, min_isr=2, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5], 3: [4, 5, 6], 4: [5, 6, 1], 5: [6, 1, 2]}, MB)
    ask = Ask(AskKind.RESTART, (1, 2, 3, 4, 5, 6), controllers, hook="systemd", batch_limit=batch_limit)
    return world.ask(ask)


def is_restarted(*nodes: int) -> Check:
    fresh = restart_world().orders()

    def check(world: OperationsWorld) -> None:
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        assert {node for _, node in world.machines.log} == set(nodes)
        assert world.orders() == fresh
        assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
        assert world.federation.excluded == {}
        world.leaves_no_throttle().is_whole()

    return check


@pytest.mark.slow
@DEATHS
def test_a_rolling_restart_comes_to_its_end_wherever_it_is_interrupted(after: bool, late: int) -> None:
    sweep(restart_world, run_to_the_end, is_restarted(1, 2, 3, 4, 5, 6), after, late, every=12)


@pytest.mark.slow
@DEATHS
def test_controllers_are_restarted_last_and_the_active_one_at_the_very_end(after: bool, late: int) -> None:
    def check(world: OperationsWorld) -> None:
        is_restarted(1, 2, 3, 4, 5, 6, 100, 101, 102)(world)
        order = list(dict.fromkeys(node for _, node in world.machines.log))
        assert set(order[:6]) == {1, 2, 3, 4, 5, 6}
        assert order[6:] == [101, 102, 100]

    sweep(lambda: restart_world((100, 101, 102)), run_to_the_end, check, after, late, every=61)


def test_a_batch_is_of_one_rack_and_the_first_crash_free_restart_asks_each_hook_once() -> None:
    world = restart_world()
    batches: list[tuple[int, ...]] = []
    while world.store.driven_tickets():
        world.tick()
        batch = world.operation().batch
        if batch and (not batches or batches[-1] != batch):
            batches.append(batch)
    assert batches == [(1, 4), (2, 5), (3, 6)]
    assert sorted(node for _, node in world.machines.log) == [1, 2, 3, 4, 5, 6]


def test_a_batch_limit_of_one_restarts_one_by_one() -> None:
    world = restart_world(batch_limit=1)
    while world.store.driven_tickets():
        world.tick()
        assert len(world.machines.away) <= 1
    is_restarted(1, 2, 3, 4, 5, 6)(world)


def test_a_restart_that_would_go_below_min_isr_is_refused_with_numbers_or_accepted_by_a_person() -> None:
    def make(accept: bool) -> OperationsWorld:
        world = OperationsWorld(3, min_isr=2)
        world.topic("t", {0: [1, 2], 1: [2, 3, 1]})
        world.lows.add(TopicPartition("t", 0))
        return world.ask(Ask(AskKind.RESTART, (1, 2, 3), hook="h", accept_unavailable=accept))

    world = make(accept=False).run()
    assert world.state() is TicketState.FAILED
    assert world.reason().startswith("nothing was changed: t-0 has 2 replicas and needs 2 in sync")
    assert world.machines.log == []
    assert make(accept=True).run().state() is TicketState.SUCCEEDED


@pytest.mark.parametrize(
    "phase", [OperationPhase.LEADERS_AWAY, OperationPhase.RESTART, OperationPhase.IN_SYNC, OperationPhase.LEADERS_BACK]
)
def test_the_first_sign_of_harm_stops_it_and_it_goes_on_when_resumed(phase: OperationPhase) -> None:
    """Broker 5 is in no partition of the first batch's under min ISR; it dies by itself."""
    world = OperationsWorld(6, min_isr=1, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5], 3: [4, 5, 6], 4: [5, 6, 1], 5: [6, 1, 2]}, MB, 100_000)
    world.kafka.bytes_per_call = 15_000  # what was missed takes a while
    before = world.orders()
    world.ask(Ask(AskKind.RESTART, (1, 2, 3, 4, 5, 6), hook="systemd"))
    reach(world, phase)
    restarted = len(world.machines.log)
    world.kafka.kill_broker(5)
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert world.reason() == "stopped at the first sign of harm: broker 5 is down"
    world.tick(10)
    assert len(world.machines.log) == restarted
    world.kafka.bytes_per_call = MB
    world.kafka.start_broker(5)
    world.tick(10)
    world.advance(TicketState.RUNNING).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.orders() == before
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}


def test_no_batch_begins_while_a_partition_lacks_a_replica() -> None:
    world = restart_world()
    world.kafka.kill_broker(6)
    world.tick(12)
    assert world.machines.log == []
    assert world.operation().detail == "waits until the cluster is well: broker 6 is down"
    world.kafka.start_broker(6)
    world.run()
    is_restarted(1, 2, 3, 4, 5, 6)(world)


def test_who_is_out_of_sync_from_the_start_is_restarted_first_and_the_others_once_all_is_well() -> None:
    world = restart_world(batch_limit=1)
    log_dir = next(each.path for each in world.kafka.describe_log_dirs([4]) if each.replicas)
    world.kafka.fail_log_dir(4, log_dir)
    world.kafka.mend_log_dir(4, log_dir)
    world._behind |= {(tp, 4) for tp, state in world.kafka.peek().partitions.items() if 4 not in state.isr}
    reach(world, OperationPhase.RESTART)
    world.tick(4)
    assert [node for _, node in world.machines.log] == [4]
    world.run(pauses=True)
    is_restarted(1, 2, 3, 4, 5, 6)(world)


def test_who_falls_out_of_sync_after_the_first_batch_is_no_reason_to_go_on() -> None:
    world = restart_world(batch_limit=1)
    done = Standing.DONE
    world.run_until(lambda: world.begun("t-1") and any(each.standing is done for each in world.operation().brokers))
    log_dir = next(each.path for each in world.kafka.describe_log_dirs([6]) if each.replicas)
    world.kafka.fail_log_dir(6, log_dir)
    world._behind |= {(tp, 6) for tp, state in world.kafka.peek().partitions.items() if 6 not in state.isr}
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert [node for _, node in world.machines.log] == [1]


def test_the_old_trouble_of_a_partition_is_waited_for_unless_it_is_accepted() -> None:
    for accepted in ((), ("old-0",)):
        world = OperationsWorld(6, min_isr=1, racks=3)
        world.topic("old", {0: [1, 2]})
        world.lows.add(TopicPartition("old", 0))
        world.kafka.fail_log_dir(2, next(each.path for each in world.kafka.describe_log_dirs([2]) if each.replicas))
        world.topic("t", {0: [1, 2, 3], 1: [4, 5, 6]})
        world.ask(Ask(AskKind.RESTART, (3,), hook="systemd", accepted_partitions=accepted))
        world.tick(12)
        assert bool(world.machines.log) is bool(accepted)


def test_a_broker_that_is_down_for_good_is_waited_for_unless_it_is_accepted() -> None:
    for accepted in ((), (6,)):
        world = OperationsWorld(6, min_isr=1, racks=3)
        world.topic("t", {0: [1, 2, 3], 1: [4, 5, 6]})
        world.kafka.kill_broker(6)
        world.ask(Ask(AskKind.RESTART, (3,), hook="systemd", accepted_brokers=accepted))
        world.tick(12)
        assert bool(world.machines.log) is bool(accepted), world.said


def test_a_broker_that_does_not_come_back_in_time_pauses_and_a_cancel_gives_the_others_their_leaders_back() -> None:
    world = restart_world(batch_limit=1)
    world.machines.away_ms = 10_000_000
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert world.reason() == "broker 1 was not back 60 s after its restart began"
    assert [node for _, node in world.machines.log] == [1]
    world.kafka.start_broker(1)
    world.tick(2)
    world.advance(TicketState.CANCELLING).run()
    assert world.state() is TicketState.CANCELLED
    assert world.orders() == restart_world().orders()
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}


def test_a_restart_hook_that_fails_pauses_and_is_run_again_when_resumed() -> None:
    world = restart_world(batch_limit=1)
    world.machines.refusals[2] = 1
    world.run(pauses=True)
    assert world.state() is TicketState.PAUSED
    assert world.reason() == "hook systemd could not restart node 2: exit 1"
    world.tick(3)
    world.advance(TicketState.RUNNING).run()
    is_restarted(1, 2, 3, 4, 5, 6)(world)


def watch_leaders(world: OperationsWorld) -> list[tuple[int, list[str]]]:
    """What each node leads though another replica could, when its hook is asked for."""
    seen: list[tuple[int, list[str]]] = []
    carry_out = world.machines.carry_out

    def watched(key: HookKey) -> tuple[int, bool]:
        partitions = world.kafka.peek().partitions.items()
        led = [str(tp) for tp, state in partitions if state.leader == key.node and len(state.isr) > 1]
        seen.append((key.node, led))
        return carry_out(key)

    world.machines.carry_out = watched  # type: ignore[method-assign]
    return seen


def test_a_hook_that_is_run_again_after_a_pause_finds_a_broker_that_leads_nothing() -> None:
    world = restart_world(batch_limit=1)
    world.machines.refusals[2] = 1
    seen = watch_leaders(world)
    world.run(pauses=True)
    world.topic("new", {0: [2, 3, 4], 1: [2, 4, 5]})
    world.tick()
    world.advance(TicketState.RUNNING).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert [node for node, _ in seen].count(2) == 2
    assert [led for _, led in seen if led] == []
    assert {partition: leader for partition, (leader, _) in world.orders().items() if "new" in partition} == {
        "new-0": 2,
        "new-1": 2,
    }


def test_what_comes_to_lead_while_a_restart_is_refused_gives_the_lead_away_first() -> None:
    """A topic that can't spare the broker holds the restart up, and meanwhile another one comes."""
    world = restart_world(batch_limit=1)
    seen = watch_leaders(world)
    reach(world, OperationPhase.LEADERS_AWAY)
    world.topic("tight", {0: [2, 1]})
    world.run_until(lambda: phase_of(world) is OperationPhase.RESTART)
    assert seen == []
    world.topic("new", {0: [1, 2, 3]})
    world.tick(3)
    assert seen == []
    world.kafka.set_config(("TOPIC", "tight"), "min.insync.replicas", "1")
    world.configs["TOPIC", "tight"] = world.kafka.peek().configs["TOPIC", "tight"]
    world.run_until(lambda: bool(seen))
    assert seen == [(1, [])]


RESTART_PHASES = (
    OperationPhase.VALIDATE,
    OperationPhase.LEADERS_AWAY,
    OperationPhase.RESTART,
    OperationPhase.LEADERS_BACK,
)


def is_restarted_in_part(world: OperationsWorld) -> None:
    assert world.state() in (TicketState.CANCELLED, TicketState.SUCCEEDED), world.reason()
    assert world.orders() == restart_world().orders()
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
    assert world.federation.excluded == {}
    world.leaves_no_throttle().is_whole()


@pytest.mark.parametrize("phase", RESTART_PHASES)
@DEATHS
def test_a_cancelled_restart_gives_all_leaders_back(phase: OperationPhase, after: bool, late: int) -> None:
    deaths = sweep(restart_world, cancelled_at(phase), is_restarted_in_part, after, late, 47, OperationsWorld.state)
    assert TicketState.CANCELLED in deaths.ends


def test_a_restart_that_is_cancelled_before_its_hook_took_the_broker_down_waits_for_it() -> None:
    world = restart_world(batch_limit=1)
    world.machines.down_ms = 20_000
    world.run_until(lambda: bool(world.machines.log))
    asked_at_ms = world.kafka.now_ms
    world.advance(TicketState.CANCELLING).run()
    assert world.state() is TicketState.CANCELLED
    assert world.reason() == "leaders as before"
    while world.kafka.now_ms < asked_at_ms + 40_000:  # whatever the hook had still to do is done
        world.kafka.advance()
        world.machines.let_pass()
    assert world.machines.log == [(HookAction.RESTART, 1)]
    assert world.orders() == restart_world().orders()
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}


def test_a_quorum_without_a_majority_to_spare_is_not_touched() -> None:
    world = restart_world((100,))
    world.kafka.quorum = None
    world.run()
    assert "the controllers' quorum can't be read" in world.reason()
    world = OperationsWorld(3, controllers=1)
    world.ask(Ask(AskKind.RESTART, (1,), (100,), hook="h")).run()
    assert world.state() is TicketState.FAILED
    assert "the quorum has 1 voters, so it has no majority without controller 100" in world.reason()


def test_combined_nodes_go_one_by_one_after_the_plain_brokers_and_the_active_one_last() -> None:
    world = OperationsWorld(5, racks=1)
    world.topic("t", {0: [1, 2, 3], 1: [3, 4, 5]})
    world.machines_quorum(2, 1, 2, 3)
    world.ask(Ask(AskKind.RESTART, (1, 2, 3, 4, 5), hook="h")).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert [node for _, node in world.machines.log][-3:] == [1, 3, 2]


def test_a_restart_is_amended_while_it_runs() -> None:
    world = restart_world(batch_limit=1)
    reach(world, OperationPhase.RESTART)
    amend(world, 1, 2, 3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert [node for _, node in world.machines.log] == [1, 2, 3]


def a_quorum_of_three(*asks: Ask) -> OperationsWorld:
    world = OperationsWorld(6, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [4, 5, 6]})
    for number, ask in enumerate(asks, start=1):
        world.ask(ask, f"t-{number}")
    return world


@pytest.mark.parametrize(
    "asks",
    [
        [Ask(AskKind.RESTART, (), (101,), hook="h"), Ask(AskKind.RESTART, (), (102,), hook="h")],
        [Ask(AskKind.RESTART, (1,), hook="h"), Ask(AskKind.RESTART, (2,), hook="h")],
        [Ask(AskKind.OFFLINE, (1,), shutdown=True, hook="h"), Ask(AskKind.RESTART, (2,), hook="h")],
        [Ask(AskKind.OFFLINE, (1,), shutdown=True, hook="h"), Ask(AskKind.OFFLINE, (2,), shutdown=True, hook="h")],
    ],
    ids=["controllers", "combined", "offline beside restart", "offline twice"],
)
def test_two_tickets_together_leave_the_controllers_their_majority(asks: list[Ask]) -> None:
    """The world's own check after each call. A node goes down some seconds after its hook was asked for, so that each
    ticket alone sees that all have caught up."""
    world = a_quorum_of_three(*asks)
    if asks[0].brokers:
        world.machines_quorum(3, 1, 2, 3)
    world.machines.down_ms = 5000
    world.machines.away_ms = 5000
    world.run_until(lambda: world.state() is TicketState.SUCCEEDED)
    if asks[0].kind is AskKind.OFFLINE and asks[1].kind is AskKind.RESTART:
        world.tick(30)
        assert "without controller 2 and node 1, away or about to go, 1 of" in world.operation("t-2").detail
        world.ask(Ask(AskKind.ONLINE, asks[0].brokers, hook="h"), "t-3")
    world.run()
    is_refused = asks[1].kind is AskKind.OFFLINE
    assert world.state("t-2") is (TicketState.FAILED if is_refused else TicketState.SUCCEEDED), world.reason("t-2")


def test_a_broker_that_does_not_come_back_is_no_longer_said_to_be_away_so_that_healing_sees_it() -> None:
    world = restart_world(batch_limit=1)
    world.machines.away_ms = 10_000_000
    world.run(pauses=True)
    world.tick(2)
    assert world.state() is TicketState.PAUSED
    assert world.federation.broker_states(CLUSTER)[1] is BrokerState.ACTIVE
    # Its batch is no longer kept from healing, and all else is from others.
    dead = restart_task_of_healing(world, broker=1)
    world.tick(3)
    assert world.state(dead) is TicketState.RUNNING
    world.ask(Ask(AskKind.OFFLINE, (6,)), "t-3").tick(3)
    assert world.state("t-3") is TicketState.APPROVED
    # Resumed, it is on its way again, and who it waits for is away by our doing.
    world.run_until(lambda: world.state(dead) is not TicketState.RUNNING)
    world.advance(TicketState.RUNNING).tick(2)
    assert world.federation.broker_states(CLUSTER)[1] is BrokerState.MAINTENANCE
    world.machines._start(1)
    world.advance(TicketState.CANCELLING).run()
    assert world.state() is TicketState.CANCELLED
    assert world.federation.broker_states(CLUSTER)[1] is BrokerState.ACTIVE


def restart_task_of_healing(world: OperationsWorld, broker: int) -> str:
    """A ticket of healing that takes one replica off the broker."""
    now = world.kafka.peek()
    partition, state = next((tp, st) for tp, st in sorted(now.partitions.items()) if broker in st.replicas)
    free = min(now.brokers.keys() - set(state.replicas))
    target = tuple(ReplicaPlacement(free if each == broker else each) for each in state.replicas)
    move = PartitionMove(partition, tuple(map(ReplicaPlacement, state.replicas)), target, goal="heal")
    plan = Plan(CLUSTER, "heal", (move,))
    at_ms = world.kafka.now_ms
    ticket = Ticket("t-2", CLUSTER, "heal", TicketState.APPROVED, Agent.HEALING, "h", 5 * MB, at_ms, at_ms, (), "t-2")
    world.store.put(ticket, plan)
    return ticket.id


def test_healing_begins_between_two_batches_and_the_next_one_keeps_off_its_brokers() -> None:
    world = restart_world(batch_limit=1)
    reach(world, OperationPhase.RESTART)
    assert world.operation().batch == (1,)
    world.run_until(lambda: not world.operation().batch)
    heal = restart_task_of_healing(world, broker=6)
    world.run_until(lambda: world.state(heal) is TicketState.SUCCEEDED)
    assert world.state() is TicketState.RUNNING
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()


def test_a_release_that_crashes_once_it_leads_stops_the_restart() -> None:
    world = restart_world(batch_limit=1)
    reach(world, OperationPhase.LEADERS_BACK)
    world.kafka.kill_broker(1)
    world.run(pauses=True)
    assert world.reason() == "stopped at the first sign of harm: node 1 went down again"
    assert [node for _, node in world.machines.log] == [1]


def test_a_broker_that_crashes_after_its_batch_stops_the_restart_at_the_gate() -> None:
    world = restart_world(batch_limit=1)
    world.run_until(
        lambda: any(w.standing is Standing.DONE for w in world.operation().brokers) if world.begun("t-1") else False
    )
    world.kafka.kill_broker(1)
    world.run(pauses=True)
    assert world.reason() == "the cluster is not well after a batch: node 1 went down again"
    assert [node for _, node in world.machines.log] == [1]


def test_what_is_down_in_maintenance_is_left_out_with_a_sentence() -> None:
    world = OperationsWorld(6, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5], 3: [4, 5, 6]}, MB)
    world.ask(Ask(AskKind.RESTART, (1, 2, 3, 4, 5, 6), hook="systemd"))
    world.federation.states[4] = BrokerState.MAINTENANCE
    world.kafka.kill_broker(4)
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.reason() == (
        "nodes 1, 2, 3, 5, 6 restarted, leaders as before; broker 4: down and in maintenance, so it is not restarted: "
        "bring it online (guardian broker online)"
    )
    world.ask(Ask(AskKind.RESTART, (4,), hook="h"), "t-2").run()
    assert world.state("t-2") is TicketState.FAILED
    assert "broker 4: down and in maintenance" in world.reason("t-2")


def test_a_restart_takes_along_a_broker_that_waits_to_be_stopped_for_good() -> None:
    """Its removal says DRAINING of it and the restart MAINTENANCE: neither may undo the other's word for ever."""
    world = OperationsWorld(6, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}, MB)
    world.ask(Ask(AskKind.RESTART, (1, 2, 3, 4, 5, 6), hook="systemd", batch_limit=1))
    reach(world, OperationPhase.RESTART)
    world.ask(Ask(AskKind.REMOVE, (6,), shutdown=True), "t-2")
    world.run_until(lambda: world.state().is_over)
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert 6 in {node for _, node in world.machines.log}
    tick_until(world, lambda: world.federation.states[6] is BrokerState.DRAINING)
    assert (world.state("t-2"), world.operation("t-2").phase) == (TicketState.RUNNING, OperationPhase.SHUT_DOWN)
    world.advance(TicketState.CANCELLING, "t-2")
    tick_until(world, lambda: world.state("t-2").is_over)
    assert world.federation.states[6] is BrokerState.ACTIVE
    assert world.federation.excluded == {}


# Offline and online.


def absence_world() -> OperationsWorld:
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 1, 2], 1: [5, 2, 4], 2: [1, 4, 5], 3: [2, 3, 5], 4: [3, 1, 4]}, MB)
    return world.ask(Ask(AskKind.OFFLINE, (4, 5), shutdown=True, hook="systemd"))


def away_and_back(world: OperationsWorld) -> None:
    world.run()
    is_offline(world)
    assert world.machines.away == {4, 5}
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2").run()


@pytest.mark.slow
@DEATHS
def test_brokers_go_offline_and_come_back_with_everything_as_it_was(after: bool, late: int) -> None:
    sweep(absence_world, away_and_back, is_back, after, late, every=8)


@pytest.mark.parametrize("ticks", [2, 3, 4])
@DEATHS
def test_a_cancelled_offline_ticket_gives_all_of_it_back(ticks: int, after: bool, late: int) -> None:
    fresh = absence_world().orders()

    def story(world: OperationsWorld) -> None:
        for _ in range(ticks):
            tick(world)
        if world.state() is TicketState.RUNNING:
            world.advance(TicketState.CANCELLING)
        world.run()
        for broker in (4, 5):
            if not world.kafka.peek().brokers.get(broker):
                world.kafka.start_broker(broker)
        world.kafka.advance()

    def check(world: OperationsWorld) -> None:
        if world.state() is TicketState.SUCCEEDED:  # before anybody came to cancel it
            is_offline(world)
            return
        assert world.state() is TicketState.CANCELLED
        assert world.federation.excluded == {}
        assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
        world.leaves_no_throttle()
        assert {name: order for name, (_, order) in world.orders().items()} == {
            name: order for name, (_, order) in fresh.items()
        }

    deaths = sweep(absence_world, story, check, after, late, 17, OperationsWorld.state)
    assert TicketState.CANCELLED in deaths.ends


def test_an_offline_ticket_is_rolled_back() -> None:
    world = absence_world()
    fresh = world.orders()
    world.store.put(world.without_shutdown("t-1"), world.no_plan())
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    world.advance(TicketState.ROLLING_BACK).run()
    assert world.state() is TicketState.ROLLED_BACK
    assert world.orders() == fresh
    assert world.federation.excluded == {}


def test_brokers_that_partitions_can_not_spare_together_are_not_taken_offline() -> None:
    world = OperationsWorld(5, min_isr=2)
    world.topic("t", {0: [4, 5, 2], 1: [5, 4, 1]})
    world.ask(Ask(AskKind.OFFLINE, (4, 5))).run()
    assert world.state() is TicketState.FAILED
    assert world.reason() == (
        "nothing was changed: brokers 4, 5 must not be offline at once: t-0 has 3 of 3 replicas in sync, would have 1 "
        "without brokers 4, 5, and needs 2 (and 1 more partition)"
    )


def test_nothing_follows_while_a_hook_still_runs_though_its_broker_is_down_or_up_already() -> None:
    """A broker is fenced long before its process is gone."""
    world = absence_world()
    world.machines.answer_ms = 5_000
    reach(world, OperationPhase.SHUT_DOWN)
    asked_at_ms = world.kafka.now_ms
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.kafka.now_ms - asked_at_ms > 5_000
    assert [work.hook.is_ok for work in world.operation().brokers if work.hook] == [True, True]
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2")
    asked_at_ms = world.kafka.now_ms
    world.run_until(lambda: world.operation("t-2").phase is OperationPhase.CLEAN_UP if world.begun("t-2") else False)
    assert world.kafka.now_ms - asked_at_ms > 5_000


def test_a_persons_exclusion_stays_whatever_its_reason_says() -> None:
    """Its ticket is gone from it: what a person writes belongs to that person."""
    world = absence_world().run()
    theirs = Exclusion(CLUSTER, 4, "bob", "taken offline by ticket t-1")
    world.federation.excluded[4] = theirs
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2").run()
    assert world.state("t-2") is TicketState.SUCCEEDED
    assert world.federation.excluded == {4: theirs}
    assert "broker 4 stays excluded" in world.reason("t-2")


def test_an_offline_tickets_exclusion_is_lifted_whatever_its_reason_says() -> None:
    world = absence_world().run()
    for broker, exclusion in world.federation.excluded.items():
        world.federation.excluded[broker] = replace(exclusion, why=f"the rack of broker {broker} moves")
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2").run()
    assert world.federation.excluded == {}


def test_the_exclusion_that_a_removal_leaves_stays_when_its_broker_comes_online() -> None:
    world = removal_world(shutdown=False).run()
    left = dict(world.federation.excluded)
    assert left.keys() == {4, 5}
    world.ask(Ask(AskKind.ONLINE, (4, 5)), "t-2").run()
    assert world.state("t-2") is TicketState.SUCCEEDED
    assert world.federation.excluded == left


def test_two_offline_tickets_are_undone_in_any_order() -> None:
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 5, 2], 1: [5, 4, 1], 2: [1, 4, 5]})
    fresh = world.orders()
    world.ask(Ask(AskKind.OFFLINE, (4,)), "t-1").run()
    world.ask(Ask(AskKind.OFFLINE, (5,)), "t-2").run()
    assert all(leader not in (4, 5) for leader, _ in world.orders().values())
    world.ask(Ask(AskKind.ONLINE, (4,)), "t-3").run()
    world.ask(Ask(AskKind.ONLINE, (5,)), "t-4").run()
    assert world.state("t-4") is TicketState.SUCCEEDED
    assert world.orders() == fresh
    assert world.federation.excluded == {}


@pytest.mark.parametrize("kind", [AskKind.OFFLINE, AskKind.REMOVE])
def test_what_another_ticket_said_of_a_broker_is_what_it_is_after_an_undo(kind: AskKind) -> None:
    """The first ticket's broker is away, or leaving; the second one asks for it too and is cancelled."""
    marked = BrokerState.MAINTENANCE if kind is AskKind.OFFLINE else BrokerState.DRAINING
    world = OperationsWorld(5)
    world.topic("t", {0: [1, 2], 1: [2, 3], 2: [5, 1]}, 5 * MB)
    world.federation.states[4] = marked
    world.federation.excluded[4] = Exclusion(CLUSTER, 4, "bob", "by another ticket")
    world.ask(Ask(kind, (4, 5)))
    world.run_until(lambda: 5 in world.federation.excluded)
    world.advance(TicketState.CANCELLING).run()
    assert world.state() is TicketState.CANCELLED
    assert (world.federation.states[4], world.federation.states[5]) == (marked, BrokerState.ACTIVE)


def test_who_never_marked_a_broker_unmarks_none() -> None:
    world = removal_world()
    reach(world, OperationPhase.EXECUTE)
    world.ask(Ask(AskKind.REMOVE, (3, 4), shutdown=True, hook="systemd"), "t-2")
    world.run_until(lambda: world.begun("t-2") and world.operation("t-2").phase is not OperationPhase.VALIDATE)
    world.advance(TicketState.CANCELLING, "t-2")
    world.run_until(lambda: world.state("t-2") is TicketState.CANCELLED)
    assert world.federation.states[4] is BrokerState.DRAINING


def test_what_another_removal_gave_up_is_removed_after_all() -> None:
    world = removal_world()
    world.topic("big", {0: [4, 1]}, 20 * MB)
    reach(world, OperationPhase.EXECUTE)
    world.ask(Ask(AskKind.REMOVE, (3, 4), shutdown=True, hook="systemd"), "t-2")
    world.run_until(lambda: world.begun("t-2") and world.operation("t-2").phase is not OperationPhase.VALIDATE)
    assert [work.standing for work in world.operation("t-2").brokers] == [Standing.UNDER_WAY, Standing.ELSEWHERE]
    world.advance(TicketState.CANCELLING)
    world.run()
    assert world.state("t-2") is TicketState.SUCCEEDED, world.reason("t-2")
    assert sorted(world.kafka.registered_brokers() or ()) == [1, 2, 5]
    assert world.on(3, 4) == []


def test_a_broker_that_another_removal_only_empties_is_stopped_by_the_one_that_is_to() -> None:
    world = removal_world(shutdown=False)
    reach(world, OperationPhase.EXECUTE)
    world.ask(Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd"), "t-2").run()
    assert world.state("t-2") is TicketState.SUCCEEDED, world.reason("t-2")
    assert sorted(world.kafka.registered_brokers() or ()) == [1, 2, 3, 5]
    # What the other one left on it was for a broker that is gone.
    assert list(world.federation.excluded) == [5]


def test_a_broker_that_is_being_stopped_is_not_let_go_before_its_hook_has_ended() -> None:
    world = removal_world()
    world.machines.down_ms = 3000
    world.run_until(lambda: len(world.machines.log) == 2)
    with pytest.raises(Conflict, match="broker 5 is stopped already, or about to be: keep it in the ticket"):
        amended(world.store.ticket("t-1"), world.execution(), [4])
    # One who asked a moment before the hook began was not refused.
    ask = replace(world.store.ticket("t-1").ask or Ask(AskKind.REMOVE, (4,)), brokers=(4,))
    world.store.amend("t-1", ask, "bob", world.kafka.now_ms)
    while 5 not in world.machines.away:
        assert 5 in world.federation.excluded
        world.tick()
    world.run()
    assert list(world.federation.excluded) == []


def test_an_offline_ticket_looks_at_the_majority_again_before_it_stops_a_voter() -> None:
    world = OperationsWorld(4)
    world.topic("t", {0: [1, 2], 1: [3, 4]})
    world.machines_quorum(3, 1, 2, 3)
    world.ask(Ask(AskKind.OFFLINE, (1,), shutdown=True, hook="h"))
    reach(world, OperationPhase.LEADERS_AWAY)
    world.kafka.quorum = replace(world.machines._quorum(), caught_up=frozenset({1, 3}))
    world.tick(6)
    assert world.machines.log == []
    assert "waits to stop broker 1: without broker 1, 1 of the quorum's 3 voters" in world.operation().detail
    world.kafka.quorum = replace(world.machines._quorum(), caught_up=frozenset({1, 2, 3}))
    world.run()
    assert world.state() is TicketState.SUCCEEDED


# All of it together.


@pytest.mark.parametrize("seed", range(16))
def test_many_crashes_and_a_cluster_that_comes_and_goes_change_nothing_in_the_end(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (a seeded story, not cryptography)
    stories: list[tuple[Make, Check]] = [
        (removal_world, is_removed),
        (restart_world, is_restarted(1, 2, 3, 4, 5, 6)),
        (absence_world, is_offline),
    ]
    make, check = chance.choice(stories)
    world = make()
    for _ in range(900):
        if not world.store.driven_tickets():
            break
        world.kafka.reachable = chance.random() > 0.15
        world.wire.die_at = world.wire.calls + chance.randrange(1, 60)
        world.wire.after = chance.random() < 0.5
        world.wire.late = chance.choice([0, 0, 2])
        tick(world)
        if world.state() is TicketState.PAUSED:
            world.advance(TicketState.RUNNING)
    world.kafka.reachable = True
    check(world)


def is_back(world: OperationsWorld) -> None:
    assert world.state("t-2") is TicketState.SUCCEEDED, world.reason("t-2")
    assert world.orders() == absence_world().orders()
    assert world.federation.excluded == {}
    assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
    world.leaves_no_throttle().is_whole()


def is_offline(world: OperationsWorld) -> None:
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    is_excluded_as_offline(world)
    assert all(leader not in (4, 5) for leader, _ in world.orders().values())
    world.leaves_no_throttle()


def is_excluded_as_offline(world: OperationsWorld) -> None:
    why = "taken offline by ticket t-1"
    assert world.federation.excluded == {
        broker: Exclusion(CLUSTER, broker, "ann", why, by_ticket="t-1") for broker in (4, 5)
    }
    assert {world.federation.states[broker] for broker in (4, 5)} == {BrokerState.MAINTENANCE}


def run_to_the_end(world: OperationsWorld) -> None:
    world.run()


def reach(world: OperationsWorld, phase: OperationPhase) -> None:
    world.run_until(lambda: phase_of(world) is phase)


def phase_of(world: OperationsWorld) -> OperationPhase | None:
    execution = world.store.execution("t-1")
    return execution.operation.phase if execution is not None and execution.operation is not None else None


def amend(world: OperationsWorld, *brokers: int) -> None:
    ask = amended(world.store.ticket("t-1"), world.execution(), brokers)
    world.store.amend("t-1", ask, "bob", world.kafka.now_ms)


def test_the_standing_of_each_broker_is_kept() -> None:
    world = removal_world().run()
    assert [(work.node, work.standing) for work in world.operation().brokers] == [
        (4, Standing.DONE),
        (5, Standing.DONE),
    ]


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["removal", "restart", "absence"])
@DEATHS
def test_there_is_no_call_at_which_a_crash_changes_the_end(kind: str, after: bool, late: int) -> None:
    """Every single one: minutes."""
    stories: dict[str, tuple[Make, Story, Check]] = {
        "removal": (removal_world, run_while_topics_come, is_removed),
        "restart": (restart_world, run_to_the_end, is_restarted(1, 2, 3, 4, 5, 6)),
        "absence": (absence_world, away_and_back, is_back),
    }
    make, story, check = stories[kind]
    sweep(make, story, check, after, late, every=1)


def test_the_plan_of_a_removal_waits_until_the_rates_of_a_younger_ticket_are_put_back() -> None:
    """It would take them for what stood there before, and put them back at its end, behind the other's."""
    world = OperationsWorld(brokers=5)
    world.topic("a", {0: (5, 1)}, size=4 * MB).topic("b", {0: (1, 2)}, size=MB)
    world.ask(Ask(AskKind.REMOVE, (5,)))
    b0 = TopicPartition("b", 0)
    original, target = (tuple(map(ReplicaPlacement, brokers)) for brokers in ((1, 2), (3, 2)))
    plan = Plan(CLUSTER, "balance", (PartitionMove(b0, original, target, size_bytes=MB),))
    at_ms = world.kafka.now_ms + 1
    world.store.put(Ticket("t-2", CLUSTER, "balance", TicketState.APPROVED, "bob", "t-2", 3 * MB, at_ms, at_ms), plan)
    alter, refusals = world.kafka.alter_configs, iter(range(12))

    def slow_to_put_back(changes: Mapping[tuple[str, str], Mapping[str, str | None]]) -> dict[tuple[str, str], str]:
        back = {name: values for name, values in changes.items() if None in values.values() and name[0] == BROKER}
        if back and next(refusals, None) is not None:
            return dict.fromkeys(back, "not now") | alter({n: v for n, v in changes.items() if n not in back})
        return alter(changes)

    world.kafka.alter_configs = slow_to_put_back  # type: ignore[method-assign]
    while world.store.driven_tickets():
        world.tick()
        executions = [each for name in ("t-1", "t-2") if (each := world.store.execution(name))]
        rates = Counter(key for each in executions for key in set(map(ConfigKey.of, each.throttles)))
        assert all(count == 1 for key, count in rates.items() if key.resource_type == BROKER), rates
    assert next(refusals, None) is None, "the rates were slow to go"
    assert (world.state(), world.state("t-2")) == (TicketState.SUCCEEDED, TicketState.SUCCEEDED)
    assert world.on(5) == []
    world.leaves_no_throttle()
