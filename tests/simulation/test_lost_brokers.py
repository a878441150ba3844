"""A broker dies in mid-move: the move waits, is taken back, and a new plan puts what is left elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from guardian.errors import ClusterUnavailable, Undecided
from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from tests.simulation.world import CLUSTER, MB, Crash, World, created, move

T0 = TopicPartition("t", 0)
PATIENCE = ExecutionLimits(broker_patience_s=3.0)


class Planner:
    """Answers at the second question; `moves` is the new plan, or a sentence why there is none. The first `blind`
    answers are that the cluster can't be seen."""

    def __init__(self, moves: Sequence[PartitionMove] | str, blind: int = 0) -> None:
        self.moves = moves
        self.blind = blind
        self.asked = 0

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        assert ticket.moves == len(plan.moves)
        self.asked += 1
        if self.asked % 2:
            return None
        if self.asked <= 2 * self.blind:
            return Undecided("no controller answers")
        return self.moves if isinstance(self.moves, str) else Plan(CLUSTER, plan.kind, tuple(self.moves))


def world_with_a_dying_broker(planner: Planner | None = None) -> World:
    """Partition 0 goes to broker 3, which dies; partition 1 to broker 4, which lives."""
    world = World(brokers=5, limits=PATIENCE, bytes_per_call=MB // 8, replan=planner)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    return world.ticket(move("t-0", 3, 2), move("t-1", 4, 1), throttle=2 * MB)


def kill_in_mid_move(world: World, broker: int = 3) -> World:
    while T0 not in world.kafka.peek().reassignments:
        try:
            world.tick()
        except Crash:
            world.new_driver()
    world.kafka.kill_broker(broker)
    world.expect_losses()
    return world


def test_a_broker_that_is_back_in_time_costs_nothing() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker()).tick(2)
    assert world.execution().tasks[0].missing_since_ms
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (3, 2)
    assert world.execution().tasks[0].missing_since_ms == 0


def test_a_move_to_a_dead_broker_is_taken_back_in_its_old_order_and_the_others_end() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker()).run()
    assert world.state() is TicketState.FAILED
    assert "1 of 2 moves failed; t-0 failed: taken back: broker 3 was down while it copied" in world.reason()
    assert world.is_at(world.execution().tasks[0].move, world.execution().tasks[0].move.original)
    assert world.execution().tasks[1].state is TaskState.DONE
    world.leaves_nothing()


def test_a_move_that_never_started_gives_up_its_dead_broker() -> None:
    world = world_with_a_dying_broker()
    world.kafka.kill_broker(3)
    world.run()
    assert world.state() is TicketState.FAILED
    assert "t-0 failed: broker 3 was down for" in world.reason()
    assert "before it started" in world.reason()


@pytest.mark.slow
@pytest.mark.parametrize(("after", "late"), [(False, 0), (True, 0), (False, 1)], ids=["before", "after", "late"])
def test_a_new_plan_takes_its_place_whatever_dies_meanwhile(after: bool, late: int) -> None:
    rehearsal = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))).run()
    for die_at in range(1, rehearsal.wire.calls + 1, 3):
        world = world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        kill_in_mid_move(world).run()
        assert world.state() is TicketState.SUCCEEDED, world.reason()
        assert world.reason() == "all 2 moves were seen in Kafka, 1 gave way to a new plan"
        assert world.kafka.peek().partitions[T0].replicas == (5, 2)
        assert world.kafka.peek().partitions[TopicPartition("t", 1)].replicas == (4, 1)
        world.leaves_nothing()


def world_with_more_tickets(*, is_in_the_way: bool) -> World:
    """The new plan goes to broker 5, which belongs to a ticket that runs, or to one that waits for ours."""
    world = World(brokers=6, limits=PATIENCE, bytes_per_call=MB // 8, replan=Planner([move("t-0", 5, 2)]))
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1], 2: [6], 3: [1]}, 2 * MB)
    world.kafka.create_topic("long", {0: [6]}, 20 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 4, 1), throttle=2 * MB)
    return world.ticket(move("long-0", 5) if is_in_the_way else move("t-3", 5), ticket_id="t-2")


def test_a_new_plan_waits_for_a_ticket_that_runs_on_its_brokers() -> None:
    world = kill_in_mid_move(world_with_more_tickets(is_in_the_way=True)).run()
    assert any("t-1: waits for t-2, on the same brokers as its new plan" in each for each in world.heard)
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED, world.reason()
    assert world.store.ticket("t-2").updated_at_ms < world.store.ticket("t-1").updated_at_ms
    assert isinstance(world.replan, Planner)
    assert world.replan.asked == 4, "one plan, and another one when its brokers were free"
    world.leaves_nothing()


def test_a_new_plan_waits_for_no_ticket_that_waits_for_it() -> None:
    world = kill_in_mid_move(world_with_more_tickets(is_in_the_way=False)).run()
    assert "ticket t-2 waits for t-1, on the same brokers" in world.heard
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED, world.reason()
    world.leaves_nothing()


def test_without_a_new_plan_the_ticket_fails_and_says_why() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker(Planner("nobody has room"))).run()
    assert world.state() is TicketState.FAILED
    assert world.reason().endswith("there is no new plan: nobody has room")
    world.leaves_nothing()


def test_a_ticket_waits_for_a_planner_that_could_not_see_the_cluster() -> None:
    planner = Planner([move("t-0", 5, 2)], blind=2)
    world = kill_in_mid_move(world_with_a_dying_broker(planner))
    note = "waits for a new plan (no controller answers), since a broker died in mid-move"
    world.run_until(lambda: world.execution().note == note)
    began_ms = world.kafka.now_ms
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (5, 2)
    assert planner.asked == 6
    assert world.kafka.now_ms - began_ms >= 20_000, "it is not asked at each tick"
    world.leaves_nothing()


@pytest.mark.parametrize("expanded", [False, True], ids=["created", "expanded"])
def test_a_topic_that_a_dead_broker_held_up_is_created_by_a_new_plan(expanded: bool) -> None:
    first = 2 if expanded else 0
    new = [created(f"t-{number}", 4, 2) for number in (first, first + 1)]
    world = World(brokers=4, limits=PATIENCE, replan=Planner(new))
    if expanded:
        world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 0)
    world.ticket(created(f"t-{first}", 3, 2), created(f"t-{first + 1}", 1, 2))
    world.kafka.kill_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.reason() == "all 2 moves were seen in Kafka, 2 gave way to a new plan"
    partitions = world.kafka.peek().partitions
    assert [partitions[each.partition].replicas for each in new] == [(4, 2), (4, 2)]


def until_a_plan_is_made(world: World) -> World:
    return world.run_until(lambda: "waits for a new plan" in world.execution().note)


def test_a_ticket_that_is_paused_while_its_new_plan_is_made_gets_it_all_the_same() -> None:
    world = until_a_plan_is_made(kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)]))))
    assert world.execution().note == "waits for a new plan, since a broker died in mid-move"
    world._told(TicketState.PAUSED, None, "t-1").tick(10)
    assert world.state() is TicketState.PAUSED
    assert world.execution().tasks[-1].state is TaskState.PENDING
    world.resume().run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (5, 2)
    world.leaves_nothing()


def test_what_a_dead_broker_owes_holds_up_no_new_plan() -> None:
    """Its throttle can be put back only through a controller, and none can be reached."""
    world = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)])))
    world.kafka.controllers_reachable = False
    world.run_until(lambda: world.kafka.peek().partitions[T0].replicas == (5, 2))
    world.tick(20)
    assert world.state() is TicketState.RUNNING
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    world.leaves_nothing()


def test_while_a_dead_broker_owes_something_a_plan_that_can_not_be_made_is_asked_for_once() -> None:
    planner = Planner("nobody has room")
    world = kill_in_mid_move(world_with_a_dying_broker(planner))
    world.kafka.controllers_reachable = False
    world.run_until(lambda: planner.asked == 2).tick(20)
    assert (world.state(), planner.asked) == (TicketState.RUNNING, 2)
    world.kafka.controllers_reachable = True
    world.run()
    assert (world.state(), planner.asked) == (TicketState.FAILED, 2)
    assert world.reason().endswith("there is no new plan: nobody has room")


# A broker that the move keeps: Kafka ends a reassignment only when that is in sync too.


def test_a_kept_broker_that_dies_gives_the_move_up_and_a_new_plan_does_without_it() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 1)])), broker=2).run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (5, 1)
    assert world.kafka.peek().partitions[TopicPartition("t", 1)].replicas == (4, 1)
    world.leaves_nothing()


def test_a_move_that_never_started_gives_up_its_dead_kept_broker() -> None:
    world = world_with_a_dying_broker()
    world.kafka.kill_broker(2)
    world.expect_losses()
    world.run()
    assert world.state() is TicketState.FAILED
    assert "t-0 failed: broker 2 was down for" in world.reason()
    assert "before it started" in world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)


def test_a_kept_broker_that_is_back_in_time_costs_nothing() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker(), broker=2).tick(2)
    assert world.execution().tasks[0].missing_since_ms
    world.kafka.start_broker(2)
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (3, 2)
    world.leaves_nothing()


def test_a_new_plan_that_needs_a_dead_broker_too_is_none() -> None:
    world = kill_in_mid_move(world_with_a_dying_broker(Planner([move("t-0", 5, 2)])), broker=2).run()
    assert world.state() is TicketState.FAILED
    assert world.reason().endswith("there is no new plan: t-0 would need broker 2, which is down")


def test_an_order_whose_new_leader_dies_goes_back() -> None:
    world = World(brokers=3, limits=PATIENCE)
    world.kafka.create_topic("t", {0: [1, 2]}, MB, write_rate=MB)
    world.kafka.kill_broker(2)
    world.kafka.advance()
    world.kafka.start_broker(2)
    world.kafka.bytes_per_call = 0  # so that it never gets in sync
    world.ticket(move("t-0", 2, 1)).tick(3)
    assert world.kafka.peek().partitions[T0].replicas == (2, 1)
    world.kafka.kill_broker(2)
    world.run()
    assert world.state() is TicketState.FAILED
    assert "t-0 failed: taken back: broker 2 was down while it copied" in world.reason()
    state = world.kafka.peek().partitions[T0]
    assert (state.replicas, state.leader) == ((1, 2), 1)


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["running", "cancelled"])
def test_a_copy_between_log_dirs_on_a_dead_broker_ends_and_says_what_may_go_on(is_cancelled: bool) -> None:
    world = World(brokers=3, limits=PATIENCE, bytes_per_call=MB // 8)
    world.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    here = world.kafka.peek().log_dir_of(T0, 2)
    there = next(path for path in ("/b2/d0", "/b2/d1") if path != here)
    world.ticket(move("t-0", 1, f"2:{there}"), throttle=2 * MB)
    world.run_until(lambda: any(each.future_replicas for each in world.kafka.peek().log_dirs))
    world.kafka.kill_broker(2)
    world.expect_losses()
    if is_cancelled:
        world.cancel()
    world.run()
    assert world.state() is (TicketState.CANCELLED if is_cancelled else TicketState.FAILED)
    assert f"on its way back: its copy to {there} on broker 2 may go on once that is back" in world.reason()


# min.insync.replicas: what acks=all needs stays in sync, whatever is cancelled.


def world_with_a_lagging_replica(*target: int) -> World:
    """Partition 0 is on its way from brokers 1, 2; broker 3 is in sync by now, and 2 has just died."""
    world = World(brokers=5, limits=PATIENCE, bytes_per_call=MB // 4)
    world.kafka.create_topic("t", {0: [1, 2]}, MB, write_rate=20_000)
    world.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "2")
    world.ticket(move("t-0", *target), throttle=10 * MB).run_until_in_flight("t-0")
    for broker in (2, 4):
        world.kafka.kill_broker(broker)
    while 3 not in world.kafka.peek().partitions[T0].isr:
        world.kafka.advance()
    world.expect_losses()
    return world


def test_a_cancel_waits_until_enough_old_replicas_are_in_sync() -> None:
    """The invariant (no fewer replicas in sync than before) is checked after each call."""
    world = world_with_a_lagging_replica(3, 4)
    world.cancel().tick(2)
    assert "before it cancels its reassignment" in world.said[0]
    world.kafka.start_broker(2)
    world.run()
    assert world.state() is TicketState.CANCELLED
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)
    assert sorted(world.kafka.peek().partitions[T0].isr) == [1, 2]
    world.leaves_nothing()


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["running", "cancelled"])
def test_where_an_old_replica_is_lost_for_good_those_in_sync_stay(is_cancelled: bool) -> None:
    world = world_with_a_lagging_replica(3, 2)
    if is_cancelled:
        world.cancel()
    world.run()
    assert world.state() is (TicketState.CANCELLED if is_cancelled else TicketState.FAILED)
    assert "t-0 failed: broker 2 was down for" in world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (1, 3)
    world.leaves_nothing()


@pytest.mark.parametrize(("after", "late"), [(False, 0), (True, 0), (False, 1)], ids=["before", "after", "late"])
def test_the_replicas_in_sync_stay_whatever_dies_meanwhile(after: bool, late: int) -> None:
    """No call leaves fewer replicas in sync than there were: the invariant is checked after each."""
    rehearsal = world_with_a_lagging_replica(3, 2)
    first = rehearsal.wire.calls + 1
    rehearsal.cancel().run()
    for die_at in range(first, rehearsal.wire.calls + 1, 4):
        world = world_with_a_lagging_replica(3, 2)
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.cancel().run()
        assert world.state() is TicketState.CANCELLED, world.reason()
        assert sorted(world.kafka.peek().partitions[T0].isr) == [1, 3]
        world.leaves_nothing()


# A log dir that fails: its broker lives, and does not tell what lay there.


def failing_world() -> World:
    """Partition 0 goes from brokers 1, 2 to 3, 2, and the log dir fails that broker 2 keeps it in."""
    world = World(brokers=5, limits=PATIENCE, bytes_per_call=MB // 8)
    world.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    return world.ticket(move("t-0", 3, 2), throttle=2 * MB)


def fail_log_dir(world: World, broker: int) -> None:
    path = world.kafka.peek().log_dir_of(T0, broker)
    assert path is not None
    world.kafka.fail_log_dir(broker, path)
    world.expect_losses()


@pytest.mark.parametrize("broker", [2, 3], ids=["one that stays", "one that comes"])
def test_a_move_whose_log_dir_fails_is_taken_back(broker: int) -> None:
    world = failing_world().run_until_in_flight("t-0")
    fail_log_dir(world, broker)
    world.run()
    assert world.state() is TicketState.FAILED
    what = "a log dir of broker 2" if broker == 2 else "one of brokers 3, 2, or a log dir of theirs,"
    assert f"t-0 failed: taken back: {what} was down while it copied" in world.reason()
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)
    world.leaves_nothing()


@pytest.mark.parametrize("broker", [1, 2, 3])
def test_a_cancelled_move_ends_whichever_log_dir_fails(broker: int) -> None:
    world = failing_world().run_until_in_flight("t-0")
    fail_log_dir(world, broker)
    world.cancel().run()
    assert world.state() is TicketState.CANCELLED
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)
    world.leaves_nothing()


def test_a_move_into_a_failed_log_dir_of_the_same_broker_is_given_up() -> None:
    world = World(brokers=3, limits=PATIENCE)
    world.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    here = world.kafka.peek().log_dir_of(T0, 2)
    there = next(path for path in ("/b2/d0", "/b2/d1") if path != here)
    world.ticket(move("t-0", 1, f"2:{there}"))
    world.kafka.fail_log_dir(2, there)
    world.run()
    assert world.state() is TicketState.FAILED
    assert f"t-0 failed: log dir {there} of broker 2 was down for" in world.reason()
