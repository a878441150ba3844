"""Stories of tickets on a cluster in memory: what happens when the world does not stand still."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka.admin import BROKER, TOPIC
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from tests.simulation.world import MB, World, move

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"


def world_with(*replicas: list[int], size: int = 3 * MB, limits: ExecutionLimits | None = None) -> World:
    world = World(limits=limits)
    world.kafka.create_topic("t", dict(enumerate(replicas)), size)
    return world


def in_flight(world: World, partition: TopicPartition = T0) -> bool:
    return partition in world.kafka.peek().reassignments


def test_the_throttle_stands_before_the_first_move_and_is_gone_before_the_ticket_ends() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2))
    seen = []
    while world.store.driven_tickets():
        world.tick()
        seen.append(
            (in_flight(world), world.config(BROKER, 3, FOLLOWER_RATE), world.config(TOPIC, "t", LEADER_REPLICAS))
        )
    assert all(rate == "5000000" and listed == "0:1,0:2" for moving, rate, listed in seen if moving)
    assert seen[-2][1:] == seen[-1][1:] == (None, None)
    assert world.state() is TicketState.SUCCEEDED
    world.leaves_nothing()


def test_a_throttle_that_is_refused_keeps_the_data_where_it_is() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2))
    world.kafka.alter_configs = lambda changes: dict.fromkeys(changes, "not allowed")  # type: ignore[method-assign]
    world.tick(6)
    assert not in_flight(world)
    assert "waits for its throttle to be set" in world.execution().tasks[0].detail
    assert "Kafka refused to configure broker 1: not allowed" in world.said[0]


def test_a_move_onto_which_producers_write_faster_than_the_throttle_still_ends() -> None:
    """KAFKA.md, traps 16 and 19, as the fake models them."""
    world = World()
    world.kafka.create_topic("t", {0: [1, 2, 4]}, MB, write_rate=2 * MB)
    world.ticket(move("t-0", 3, 2, 4, rate=2 * MB), throttle=MB).run()
    assert world.state() is TicketState.SUCCEEDED
    world.leaves_nothing()


def test_a_move_that_producers_outrun_says_so_where_nobody_knew_what_they_write() -> None:
    """As with a plan from a file."""
    world = World()
    world.kafka.create_topic("t", {0: [1, 2]}, 5 * MB, write_rate=3 * MB)
    world.ticket(move("t-0", 3, 2), throttle=MB).tick(100)
    assert "t-0 gains nothing on broker 3 at 1 MB/s: producers write as fast" in world.execution().note


def test_a_throttle_of_somebody_else_is_put_back() -> None:
    world = world_with([1, 2])
    world.kafka.set_config((BROKER, "1"), LEADER_RATE, "777")
    world.kafka.set_config((TOPIC, "t"), LEADER_REPLICAS, "7:1")
    world.ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    assert world.config(BROKER, 1, LEADER_RATE) == "5000000"
    assert world.config(TOPIC, "t", LEADER_REPLICAS) == "7:1,0:1,0:2"
    world.run().leaves_nothing()


def test_a_rate_that_another_tool_deletes_in_mid_copy_is_set_again() -> None:
    """kafka-reassign-partitions --verify deletes the rates of all brokers, the one of before with ours."""
    world = world_with([1, 2])
    world.kafka.set_config((BROKER, "3"), FOLLOWER_RATE, "777")
    world.ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.set_config((BROKER, "3"), FOLLOWER_RATE, None)
    world.kafka.bytes_per_call = 1
    world.tick(2)
    assert world.config(BROKER, 3, FOLLOWER_RATE) == "5000000"
    assert any("was deleted by somebody else while it is required, and is set again" in each for each in world.heard)
    world.kafka.bytes_per_call = MB
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert not any(world.kafka.peek().configs.values())


def test_what_somebody_else_sets_meanwhile_stays() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.set_config((BROKER, "3"), FOLLOWER_RATE, "42000000")
    world.kafka.set_config((TOPIC, "t"), LEADER_REPLICAS, "0:1,0:2,7:1")
    world.tick()
    assert "was set to 42000000 by somebody else and is left alone" in world.said[0]
    world.run()
    assert world.config(BROKER, 3, FOLLOWER_RATE) == "42000000"
    assert world.config(TOPIC, "t", LEADER_REPLICAS) == "7:1"


def test_a_deleted_topic_is_no_failure_and_the_others_go_on() -> None:
    world = world_with([1, 2])
    world.kafka.create_topic("u", {0: [2, 3]}, 3 * MB)
    world.ticket(move("t-0", 3, 2), move("u-0", 4, 3)).run_until_in_flight("t-0")
    world.kafka.delete_topic("t")
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    assert world.reason() == "all 1 moves were seen in Kafka, 1 gone with their topics"
    assert any("gone with their topics: t-0" in sentence for sentence in world.heard)
    assert {task.move.partition.topic: task.state for task in world.execution().tasks} == {
        "t": TaskState.REVERTED,
        "u": TaskState.DONE,
    }
    assert not any(world.kafka.peek().configs.values())


def test_later_stages_go_on_when_a_topic_of_an_earlier_one_was_deleted() -> None:
    world = world_with([1, 2])
    world.kafka.create_topic("u", {0: [2, 3]}, 3 * MB)
    world.ticket(move("t-0", 3, 2), replace(move("u-0", 4, 3), stage=1)).run_until_in_flight("t-0")
    world.kafka.delete_topic("t")
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.kafka.peek().partitions[TopicPartition("u", 0)].replicas == (4, 3)


def test_what_a_cancelled_ticket_says_of_a_deleted_topic() -> None:
    world = world_with([1, 2])
    world.kafka.create_topic("u", {0: [2, 3]}, 3 * MB)
    world.ticket(move("t-0", 3, 2), move("u-0", 4, 3)).run_until_in_flight("t-0", "u-0")
    world.kafka.delete_topic("t")
    world.cancel().run()
    assert world.reason() == "1 of 2 moves are as before, 0 were done and stay done, 1 gone with their topics"


def test_a_target_broker_that_died_is_waited_for() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.kill_broker(3)
    world.tick(5)
    assert world.state() is TicketState.RUNNING
    assert world.execution().tasks[0].detail == "copying to broker 3 (broker 3 is down)"
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.SUCCEEDED
    world.leaves_nothing()


def test_the_throttle_of_a_dead_broker_stays_on_record_until_it_is_back() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.controllers_reachable = False
    world.kafka.kill_broker(3)
    world.cancel().tick(8)
    assert world.state() is TicketState.CANCELLING
    assert "the configuration of 3 waits for a controller, or its broker" in " ".join(world.heard)
    assert (
        "follower.replication.throttled.rate of broker 3 is restored through a controller, as it is down"
        in world.said[0]
    )
    world.kafka.start_broker(3)
    world.run().leaves_nothing()
    assert world.state() is TicketState.CANCELLED


def test_the_throttle_of_a_dead_broker_that_was_unregistered_holds_up_nobody() -> None:
    """No controller can be reached: any broker tells that this one is not registered."""
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.controllers_reachable = False
    world.kafka.kill_broker(3)
    world.cancel().tick(8)
    assert world.state() is TicketState.CANCELLING
    world.kafka.unregister_broker(3)
    world.run()
    assert world.state() is TicketState.CANCELLED
    configs = world.kafka.peek().configs
    assert not any(values for resource, values in configs.items() if resource != (BROKER, "3"))


def test_the_throttle_of_a_dead_broker_keeps_no_other_broker_from_others() -> None:
    world = world_with([1, 2], [1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.controllers_reachable = False
    world.kafka.kill_broker(3)
    world.cancel().tick(8)
    assert world.state() is TicketState.CANCELLING
    world.ticket(move("t-1", 4, 2), ticket_id="t-2")
    world.run_until(lambda: world.state("t-2") is TicketState.SUCCEEDED)
    assert world.state() is TicketState.CANCELLING
    world.kafka.start_broker(3)
    world.run()
    assert world.state() is TicketState.CANCELLED
    assert not any(world.kafka.peek().configs.values())


def test_the_throttle_of_a_dead_broker_is_put_back_through_a_controller() -> None:
    world = world_with([1, 2])
    world.kafka.set_config(("BROKER", "3"), "follower.replication.throttled.rate", "777")
    world.ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.kill_broker(3)
    world.cancel().run()
    assert world.state() is TicketState.CANCELLED
    world.leaves_nothing()
    assert world.config("BROKER", 3, "follower.replication.throttled.rate") == "777"


def test_a_dead_broker_that_a_move_still_waits_for_keeps_its_throttle() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.kill_broker(3)
    world.tick(5)
    assert world.state() is TicketState.RUNNING
    assert world.config("BROKER", 3, "follower.replication.throttled.rate") == str(5 * MB)


def test_another_tools_reassignment_is_waited_out_and_never_overwritten() -> None:
    world = world_with([1, 2], [1, 2]).ticket(move("t-0", 3, 2), throttle=0)
    world.kafka.bytes_per_call = 1
    world.kafka.alter_reassignments({T0: (4, 2)})
    world.tick(5)
    assert world.state() is TicketState.PAUSED
    assert world.reason().startswith("another tool moves t-0 to [4, 2]: guardian ticket adopt t-1")
    assert world.execution().tasks[0].state is TaskState.PENDING
    world.wait().tick(2)
    assert world.state() is TicketState.PAUSED
    world.kafka.alter_reassignments({T0: None})
    world.kafka.bytes_per_call = MB
    world.run()
    assert world.kafka.peek().partitions[T0].replicas == (3, 2)


def test_a_partition_that_another_tool_moved_fails_and_is_left_there() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).tick()
    world.kafka.alter_reassignments({T0: (4, 2)})
    world.run_until(lambda: world.state() is TicketState.PAUSED).resume().run()
    assert world.reason() == "1 of 1 moves failed; t-0 failed: never started: another tool moved it to [4, 2]"
    assert world.kafka.peek().partitions[T0].replicas == (4, 2)


def test_a_stale_plan_fails_before_anything_is_changed() -> None:
    world = world_with([1, 2], [2, 3]).ticket(move("t-0", 3, 2), move("t-1", 4, 3))
    world.kafka.alter_reassignments({T1: (1, 3)})
    for _ in range(5):
        world.kafka.advance()
    world.run()
    assert world.state() is TicketState.FAILED
    assert world.reason() == ("the plan is stale, nothing was changed: t-1 is on [1, 3], the plan expects it on [2, 3]")
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)


def test_no_broker_takes_in_or_sends_out_more_than_its_limit() -> None:
    limits = ExecutionLimits(per_broker_in=2, per_broker_out=3, per_cluster=4)
    world = world_with(*[[1, 2]] * 12, limits=limits)
    world.ticket(*(move(f"t-{n}", 3 + n % 2, 2) for n in range(12)), throttle=0)
    most = 0
    while world.store.driven_tickets():
        world.tick()
        running = [task.move for task in world.execution().tasks if task.state is TaskState.RUNNING]
        moving = [m for m in running if in_flight(world, m.partition)]
        most = max(most, len(moving))
        assert all(sum(broker in m.added_brokers for m in moving) <= 2 for broker in (3, 4))
        assert len(moving) <= 3
        assert len(running) <= 4
    assert most == 3
    assert world.state() is TicketState.SUCCEEDED


def most_in_flight(world: World) -> int:
    """Partitions that Kafka reassigned at the same time, until the tickets were over."""
    most = 0
    while world.store.driven_tickets():
        world.tick()
        most = max(most, len(world.kafka.peek().reassignments))
    assert world.state() is TicketState.SUCCEEDED
    return most


def test_no_log_dir_is_written_to_by_more_moves_than_its_limit() -> None:
    """Nor read from: all are led from /b1/d0 or /b1/d1, in turn."""
    moves = [move(f"t-{n}", "3:/b3/d0", 2) for n in range(8)]
    assert most_in_flight(world_with(*[[1, 2]] * 8, limits=ExecutionLimits(per_disk=2)).ticket(*moves)) == 2
    assert most_in_flight(world_with(*[[1, 2]] * 8, limits=ExecutionLimits()).ticket(*moves)) > 2
    anywhere = [move(f"t-{n}", 3, 2) for n in range(8)]
    assert most_in_flight(world_with(*[[1, 2]] * 8, limits=ExecutionLimits(per_disk=2)).ticket(*anywhere)) == 4


class Places:
    """Broker 3 is in another IDC than all others; rates are as asked."""

    def ask(self, _cluster: str, _brokers: Collection[int]) -> Callable[[], Around]:
        idcs = {1: "shanghai", 2: "shanghai", 3: "suzhou", 4: "shanghai"}
        return lambda: Around(ThrottleSettings(adaptive=False), idcs=idcs)


def test_no_line_is_crossed_by_more_copies_than_its_limit() -> None:
    def world(per_line: int, destination: int) -> World:
        world = world_with(*[[1, 2]] * 6, limits=ExecutionLimits(per_line=per_line))
        world.around = Places()
        world.new_driver()
        return world.ticket(*(move(f"t-{n}", destination, 2) for n in range(6)))

    assert most_in_flight(world(2, destination=3)) == 2
    assert most_in_flight(world(100, destination=3)) > 2
    assert most_in_flight(world(2, destination=4)) > 2, "it crosses no line"


def test_a_slow_partition_holds_nobody_back() -> None:
    world = world_with([1, 2], [2, 1], [2, 1], limits=ExecutionLimits(per_broker_in=1, per_broker_out=1))
    world.kafka.create_topic("slow", {0: [1, 2]}, 500 * MB)
    world.ticket(move("slow-0", 3, 2, rate=10**9), *(move(f"t-{n}", 4, 1) for n in (1, 2)), throttle=0).tick()
    world.run_until(lambda: sum(task.state is TaskState.DONE for task in world.execution().tasks) == 2, 40)
    assert in_flight(world, TopicPartition("slow", 0))


def test_a_cancelled_ticket_keeps_what_is_done_and_takes_back_the_rest() -> None:
    world = world_with([1, 2], [1, 2], [1, 2], size=30 * MB, limits=ExecutionLimits(per_broker_in=1))
    world.kafka.create_topic("small", {0: [1, 2]})
    world.ticket(move("small-0", 2, 1, rate=1.0), *(move(f"t-{n}", 3, 2) for n in range(3)))
    world.run_until(lambda: in_flight(world) and world.execution().tasks[0].state is TaskState.DONE)
    world.cancel().run()
    assert world.state() is TicketState.CANCELLED
    assert world.reason() == "3 of 4 moves are as before, 1 were done and stay done"
    assert [task.state for task in world.execution().tasks] == [TaskState.DONE, *[TaskState.REVERTED] * 3]
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)
    world.leaves_nothing()


def test_another_tool_that_submits_the_original_over_ours_is_waited_for_and_a_cancel_frees_it() -> None:
    """Kafka 4.3 hangs there for good; see guardian/kafka/fake.py."""
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.alter_reassignments({T0: (1, 2)})
    world.tick(10)
    assert world.execution().tasks[0].detail == "waits for another tool's reassignment to [1, 2]"
    world.cancel().run().leaves_nothing()
    assert world.kafka.peek().partitions[T0].replicas == (1, 2)


def test_replicas_that_have_arrived_when_the_ticket_is_cancelled_stay() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, "2:/b2/d1"))
    world.run_until(lambda: world.kafka.peek().partitions[T0].replicas == (3, 2) and not in_flight(world))
    world.cancel().run()
    assert world.execution().tasks[0].state is TaskState.DONE
    assert world.state() is TicketState.CANCELLED
    world.leaves_nothing()


def test_tickets_on_the_same_brokers_run_one_after_the_other() -> None:
    world = world_with([1, 2], [2, 3]).ticket(move("t-0", 3, 2))
    world.ticket(move("t-1", 4, 3), ticket_id="t-2").tick(3)
    assert world.state("t-2") is TicketState.APPROVED
    assert "ticket t-2 waits for t-1, on the same brokers" in world.said
    world.run().leaves_nothing()
    assert {world.state("t-1"), world.state("t-2")} == {TicketState.SUCCEEDED}


def test_tickets_on_other_brokers_run_side_by_side() -> None:
    """Even where they write to the configuration of the same topic."""
    world = world_with([1], [3], size=50 * MB).ticket(move("t-0", 2))
    world.ticket(move("t-1", 4), ticket_id="t-2").run_until_in_flight("t-0", "t-1")
    assert world.config(TOPIC, "t", LEADER_REPLICAS) == "0:1,1:3"
    world.run().leaves_nothing()


def test_a_cluster_that_does_not_answer_makes_the_ticket_wait() -> None:
    world = world_with([1, 2]).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.kafka.reachable = False
    world.tick(3)
    assert world.said == ["ticket t-1 waits: cluster fake did not answer within its deadline"]
    assert world.state() is TicketState.RUNNING
    world.kafka.reachable = True
    world.run().leaves_nothing()


@pytest.mark.parametrize(
    ("target", "leader"), [((2, 1), 2), ((1, 2), 1)], ids=["another order", "the preferred leader leads again"]
)
def test_leadership_moves_without_a_copy_and_without_a_throttle(target: tuple[int, int], leader: int) -> None:
    world = world_with([1, 2])
    if leader == 1:
        world.kafka.kill_broker(1)
        world.kafka.start_broker(1)
        world.kafka.advance()
    assert world.kafka.peek().partitions[T0].leader != leader
    world.ticket(move("t-0", *target)).run()
    state = world.kafka.peek().partitions[T0]
    assert (state.leader, state.replicas) == (leader, target)
    assert not world.execution().throttles


def test_a_tick_that_changes_nothing_stores_nothing() -> None:
    world = world_with([1, 2], size=10_000 * MB).ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    world.tick(2)
    revision = world.execution().revision
    world.tick(4)
    assert world.execution().revision == revision
