"""A topic that must grow in mid-move: its moves are cancelled, it grows, and they are made again, whoever dies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.actor import Agent
from guardian.model.execution import TaskReason, TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.validating import resolve
from tests.simulation.operations import OperationsWorld
from tests.simulation.sweeping import DEATHS, sweep, tick_until
from tests.simulation.test_expansions import T0, Planner
from tests.simulation.world import CLUSTER, MB, World, created, move

MOVES, GROWS = "t-1", "t-2"
T1, U0 = TopicPartition("t", 1), TopicPartition("u", 0)
TOLD = "ticket t-2 expands topic t, so t-0 to [3, 4], t-1 to [4, 3] are cancelled and planned again after that"


class Site(World):
    """What Kafka would refuse is not even asked of it: partitions of a topic that is being reassigned."""

    def __init__(self, planner: Planner | None = None, limits: ExecutionLimits | None = None) -> None:
        super().__init__(brokers=4, bytes_per_call=MB // 4, replan=planner, limits=limits)
        create = self.kafka.create_partitions

        def checked(
            assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool = False
        ) -> dict[str, str]:
            partitions, reassignments = self.kafka.peek_at_partitions()
            moved = {each.topic for each in reassignments}
            assert not [each for each in assignments if each not in partitions and each.topic in moved]
            return create(assignments, validate_only)

        self.kafka.create_partitions = checked  # type: ignore[method-assign]


def moving(planner: Planner | None = None, *more: PartitionMove) -> Site:
    """All of t and u goes from brokers 1 and 2 to 3 and 4."""
    site = Site(planner)
    site.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    site.kafka.create_topic("u", {0: [1, 2]}, 2 * MB)
    site.ticket(move("t-0", 3, 4), move("t-1", 4, 3), move("u-0", 3, 4), *more, throttle=2 * MB)
    return site


def expand(site: World | OperationsWorld, *new: PartitionMove, ticket_id: str = GROWS) -> None:
    """Somebody asks for more partitions, and it is approved."""
    now = site.kafka.peek()
    plan = Plan(CLUSTER, "expand-topic", new or (created("t-2", 3, 4),))
    ours = now.reassignments
    plan = resolve(plan, site.kafka.describe_cluster(), now.partitions, now.log_dirs, ours, ours=ours)
    site.store.put(Ticket(ticket_id, CLUSTER, plan.kind, TicketState.APPROVED, "bob", ticket_id, 0, 0, 0), plan)


def grow_in_mid_move(site: Site) -> None:
    tick_until(site, lambda: {T0, T1} <= site.kafka.peek().reassignments.keys())
    expand(site)
    tick_until(site, lambda: not site.store.driven_tickets())


def replicas(site: World) -> dict[str, tuple[int, ...]]:
    return {str(each): state.replicas for each, state in site.kafka.peek().partitions.items()}


def told(site: World, ticket_id: str = MOVES) -> list[str]:
    return [str(line.reason) for line in site.store.ticket(ticket_id).history]


def leaves_nothing(site: World) -> None:
    now = site.kafka.peek()
    assert not now.reassignments
    assert not [values for values in now.configs.values() if values]


def is_grown_and_moved(site: Site) -> None:
    assert (site.state(GROWS), site.reason(GROWS)) == (TicketState.SUCCEEDED, "all 1 moves were seen in Kafka")
    assert site.state() is TicketState.SUCCEEDED, site.reason()
    assert replicas(site) == {"t-0": (3, 4), "t-1": (4, 3), "t-2": (3, 4), "u-0": (3, 4)}
    leaves_nothing(site)


@pytest.mark.slow
@DEATHS
def test_whoever_dies_the_topic_grows_and_the_moves_are_made_again(after: bool, late: int) -> None:
    def check(site: Site) -> None:
        is_grown_and_moved(site)
        assert [line for line in told(site) if line.startswith("ticket t-2 expands topic t, so t-")]
        tasks = site.execution().tasks
        done = [task.move.partition for task in tasks if task.state is TaskState.DONE]
        assert sorted(done) == [T0, T1, U0], "each is moved once, however often it was cancelled"
        assert all(task.state is TaskState.DONE or task.reason is TaskReason.GAVE_WAY for task in tasks)

    assert sweep(moving, grow_in_mid_move, check, after, late, every=3).number > 40


def test_what_is_cancelled_and_why_is_in_the_history() -> None:
    site = moving()
    grow_in_mid_move(site)
    assert told(site)[1] == TOLD, "u has nothing to do with it"
    assert site.reason() == (
        "all 3 moves were seen in Kafka, 2 gave way to an expansion and were planned again; topic t grew from 2 to 3 "
        "partitions meanwhile, and what is new was not planned"
    )
    cancelled = [task for task in site.execution().tasks if task.reason is TaskReason.GAVE_WAY]
    assert {str(task.move.partition): task.detail for task in cancelled} == dict.fromkeys(
        ("t-0", "t-1"), "cancelled, since its topic was to be expanded, and planned again"
    )


def test_a_partition_that_came_to_where_all_leaves_is_moved_within_the_approval() -> None:
    site = moving(Planner())
    tick_until(site, lambda: T0 in site.kafka.peek().reassignments)
    expand(site, created("t-2", 1, 2))
    site.run()
    assert site.reason() == "all 4 moves were seen in Kafka, 2 gave way to an expansion and were planned again"
    assert replicas(site)["t-2"] == (3, 4)


def test_moves_that_had_not_begun_wait_until_the_topic_has_grown() -> None:
    site = Site(limits=ExecutionLimits(per_cluster=1))
    site.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    site.ticket(move("t-0", 3, 4), move("t-1", 4, 3), throttle=2 * MB)
    site.run_until_in_flight("t-0")
    expand(site)
    site.run()
    assert "ticket t-2 expands topic t, so t-0 to [3, 4] is cancelled and planned again after that" in told(site)
    assert any("t-1: waits for t-2, which expands topic t" in sentence for sentence in site.heard)
    assert replicas(site) == {"t-0": (3, 4), "t-1": (4, 3), "t-2": (3, 4)}


def test_a_ticket_that_is_paused_gives_way_and_makes_the_moves_once_it_goes_on() -> None:
    site = moving()
    site.run_until_in_flight("t-0", "t-1")
    site._told(TicketState.PAUSED, None, MOVES)
    expand(site)
    site.run_until(lambda: site.state(GROWS).is_over)
    site.tick(10)
    assert replicas(site) == {"t-0": (1, 2), "t-1": (2, 1), "t-2": (3, 4), "u-0": (3, 4)}
    assert site.state() is TicketState.PAUSED
    site.resume().run()
    is_grown_and_moved(site)


def test_healing_is_not_cancelled_and_the_expansion_waits_for_it() -> None:
    site = moving()
    site.store.put(replace(site.store.ticket(MOVES), kind="heal", author=Agent.HEALING), site.store.plan(MOVES))
    site.run_until_in_flight("t-0", "t-1")
    expand(site)
    site.run()
    is_grown_and_moved(site)
    assert not [line for line in told(site) if "expands" in line]
    assert any("t-2: waits for t-1, which moves partitions of topic t" in sentence for sentence in site.heard)


def test_what_goes_back_is_waited_for_and_the_rest_of_it_waits() -> None:
    site = Site(limits=ExecutionLimits(per_cluster=1))
    site.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 2 * MB)
    site.ticket(move("t-0", 3, 4), move("t-1", 4, 3), throttle=2 * MB).run()
    site.roll_back().run_until(lambda: bool(site.kafka.peek().reassignments))
    expand(site)
    site.run_until(lambda: site.state(GROWS).is_over)
    back = sorted(task.state.name for task in site.execution().tasks)
    assert back != ["REVERTED", "REVERTED"], "the expansion waited for one move, not for all"
    site.run()
    assert (site.state(), replicas(site)) == (
        TicketState.ROLLED_BACK, {"t-0": (1, 2), "t-1": (2, 1), "t-2": (3, 4)},
    )  # fmt: skip


def test_nothing_is_cancelled_for_an_expansion_that_has_to_wait_for_a_broker() -> None:
    site = Site(limits=ExecutionLimits(broker_patience_s=5))
    site.kafka.create_topic("t", {0: [1, 2]}, 2 * MB)
    site.kafka.create_topic("d", {0: [4]}, 0)
    site.ticket(move("t-0", 3, 2), throttle=2 * MB)
    site.run_until_in_flight("t-0")
    expand(site, created("t-1", 4, 3))
    site.kafka.kill_broker(4)
    site.expect_losses()
    site.run()
    assert site.state(GROWS) is TicketState.FAILED
    assert "broker 4 was down" in site.reason(GROWS)
    assert not [line for line in told(site) if "expands" in line]


def test_a_move_of_another_tool_pauses_the_expansion_which_says_so() -> None:
    site = Site()
    site.kafka.create_topic("t", {0: [1, 2], 1: [2, 1]}, 8 * MB)
    expand(site)
    site.kafka.alter_reassignments({T0: (3, 4)})
    site.tick(3)
    assert site.state(GROWS) is TicketState.PAUSED
    assert site.reason(GROWS).startswith("another tool moves t-0 to [3, 4]: guardian ticket adopt t-2")
    site.resume(GROWS).tick(3)
    assert "t-2: waits for the reassignment of t-0 to end: meanwhile its topic gets no new partitions" in site.said[0]
    site.run()
    assert replicas(site) == {"t-0": (3, 4), "t-1": (2, 1), "t-2": (3, 4)}


def test_an_expansion_that_is_cancelled_lets_the_moves_go_on() -> None:
    site = moving()
    site.run_until_in_flight("t-0", "t-1")
    expand(site)
    site.run_until(lambda: TOLD in told(site))
    site.cancel(GROWS).run()
    assert site.state(GROWS) is TicketState.CANCELLED
    assert site.reason() == "all 3 moves were seen in Kafka, 2 gave way to an expansion and were planned again"
    assert replicas(site) == {"t-0": (3, 4), "t-1": (4, 3), "u-0": (3, 4)}
    leaves_nothing(site)


def test_a_ticket_that_gave_way_is_cancelled_and_rolled_back_as_any_other() -> None:
    site = moving()
    site.run_until_in_flight("t-0", "t-1")
    expand(site)
    site.run_until(lambda: TOLD in told(site))
    site.cancel().run()
    assert site.state() is TicketState.CANCELLED
    before = {"t-0": (1, 2), "t-1": (2, 1), "t-2": (3, 4)}
    assert {name: brokers for name, brokers in replicas(site).items() if name != "u-0"} == before
    leaves_nothing(site)
    other = moving()
    grow_in_mid_move(other)
    other.roll_back().run()
    assert (other.state(), other.reason()) == (TicketState.ROLLED_BACK, "5 of 5 moves are as before")
    assert replicas(other) == {**before, "u-0": (1, 2)}
    leaves_nothing(other)


def test_a_copy_that_arrives_before_its_cancel_goes_on_to_its_end() -> None:
    site = moving()
    site.run_until_in_flight("t-0", "t-1")
    expand(site)
    site.run_until(lambda: TOLD in told(site))
    while T0 in site.kafka.peek().reassignments:
        site.kafka.advance()
    site.run()
    is_grown_and_moved(site)
    kept = [task for task in site.execution().tasks if task.detail == "not needed: the copy of before had arrived"]
    assert T0 in {task.move.partition for task in kept}


T4 = TopicPartition("t", 4)


def removing() -> OperationsWorld:
    """Broker 4 leaves, and holds much of t."""
    world = OperationsWorld(5)
    world.topic("t", {0: [4, 1], 1: [4, 2], 2: [3, 4], 3: [1, 2]}, 8 * MB)
    world._replication_factor[T4] = 2
    return world.ask(Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd"))


def grow_while_it_leaves(world: OperationsWorld) -> None:
    tick_until(world, lambda: any(each.topic == "t" for each in world.kafka.peek().reassignments))
    expand(world, created("t-4", 5, 3))
    tick_until(world, lambda: not world.store.driven_tickets())


@pytest.mark.slow
@pytest.mark.long
@DEATHS
def test_a_removal_gives_way_as_well_and_empties_its_broker(after: bool, late: int) -> None:
    def check(world: OperationsWorld) -> None:
        assert (world.state(), world.state(GROWS)) == (TicketState.SUCCEEDED, TicketState.SUCCEEDED), world.said
        assert world.on(4) == []
        assert world.kafka.peek().partitions[T4].replicas == (5, 3)
        assert any(
            "ticket t-2 expands topic t, so t-" in str(line.reason) for line in world.store.ticket(MOVES).history
        )
        world.leaves_no_throttle().is_whole()

    sweep(removing, grow_while_it_leaves, check, after, late, every=8)
