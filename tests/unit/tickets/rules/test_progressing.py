"""How far a ticket is, there and back, and when it may be over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.progressing import bytes_of, measured, moved_ms, progress
from tests.simulation.world import MB, World, move

S = TicketState


def task(number: int, state: TaskState, copied: int = 0, size: int = 10 * MB) -> ExecutionTask:
    there = (ReplicaPlacement(3), ReplicaPlacement(2))
    moved = PartitionMove(TopicPartition("t", number), (ReplicaPlacement(1), ReplicaPlacement(2)), there, size)
    return ExecutionTask(number, moved, state, copied_bytes=copied)


def ticket(*states: tuple[TicketState, int], throttle: int = MB) -> Ticket:
    history = tuple(TicketTransition(state, at_ms, "ann", "") for state, at_ms in states)
    return Ticket("t-1", "live", "balance", states[-1][0], "ann", "h", throttle, 0, 0, history, bytes_to_copy=30 * MB)


def execution(*tasks: ExecutionTask) -> Execution:
    return Execution("t-1", tasks)


def test_bytes_and_time_are_those_of_the_whole_run_without_its_pauses() -> None:
    run = ticket((S.APPROVED, 0), (S.RUNNING, 1000), (S.PAUSED, 6000), (S.RUNNING, 100_000))
    tasks = execution(task(1, TaskState.DONE), task(2, TaskState.RUNNING, 5 * MB), task(3, TaskState.PENDING))
    assert moved_ms(run, 105_000) == 10_000
    far = progress(run, tasks, 105_000)
    assert (far.total_bytes, far.copied_bytes, far.left_bytes) == (30 * MB, 15 * MB, 15 * MB)
    assert (far.bytes_per_s, far.eta_ms) == (1.5 * MB, 10_000)


def test_before_anything_has_arrived_the_throttle_tells_how_long_it_takes() -> None:
    """20 MB into broker 3 at 1 MB/s, which is the floor: Kafka lets ten seconds' worth through at once."""
    far = progress(ticket((S.RUNNING, 0)), execution(task(1, TaskState.RUNNING), task(2, TaskState.PENDING)), 9000)
    assert (far.bytes_per_s, far.least_ms) == (0.0, 10_000)
    assert far.eta_ms is not None
    assert far.most_ms is not None
    assert 20_000 < far.eta_ms < far.most_ms < 80_000
    free = progress(ticket((S.RUNNING, 0), throttle=0), execution(task(1, TaskState.RUNNING)), 9000)
    assert (free.eta_ms, free.most_ms) == (None, None)


def test_the_rate_so_far_lies_within_what_is_said() -> None:
    slow = execution(task(1, TaskState.RUNNING, MB), task(2, TaskState.PENDING))
    far = progress(ticket((S.RUNNING, 0)), slow, 100_000)
    assert (far.eta_ms, far.most_ms) == (1_900_000, 1_900_000), "1 MB in 100 s"
    quick = progress(ticket((S.RUNNING, 0)), execution(task(1, TaskState.RUNNING, 9 * MB)), 1_000)
    assert quick.eta_ms == 111
    assert quick.least_ms is not None
    assert quick.least_ms <= 111


@pytest.mark.parametrize("state", [S.PAUSED, S.CANCELLING, S.SUCCEEDED])
def test_what_does_not_move_on_has_no_end_in_sight(state: TicketState) -> None:
    far = progress(ticket((S.RUNNING, 0), (state, 10)), execution(task(1, TaskState.RUNNING, MB)), 5000)
    assert (far.copied_bytes, far.eta_ms) == (MB, None)


def test_the_way_back_is_counted_by_itself() -> None:
    back = ticket((S.SUCCEEDED, 0), (S.ROLLING_BACK, 1000))
    tasks = execution(
        task(1, TaskState.DONE, 10 * MB), task(2, TaskState.REVERTING, 2 * MB), task(3, TaskState.REVERTED, 10 * MB)
    )
    far = progress(back, tasks, 13_000)
    assert (far.total_bytes, far.copied_bytes, far.eta_ms) == (30 * MB, 12 * MB, 18_000)


def test_a_ticket_that_did_not_begin_has_all_before_it() -> None:
    assert progress(ticket((S.APPROVED, 0)), None, 5).left_bytes == 30 * MB


def test_log_dirs_count_both_ways() -> None:
    inside = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1, "/a"),), (ReplicaPlacement(1, "/b"),), 7)
    assert (bytes_of(inside), bytes_of(inside, back=True)) == (7, 7)
    order = PartitionMove(
        TopicPartition("t", 0),
        (ReplicaPlacement(1), ReplicaPlacement(2)),
        (ReplicaPlacement(2), ReplicaPlacement(1)),
        7,
    )
    assert bytes_of(order) == bytes_of(order, back=True) == 0


def test_arrivals_are_stored_by_tenths_only() -> None:
    world = World(brokers=3, bytes_per_call=MB)
    world.kafka.create_topic("t", {0: [1, 2]}, 40 * MB)
    world.ticket(move("t-0", 3, 2), throttle=100 * MB)
    seen = set()
    while not world.state().is_over:
        world.tick()
        if world.store.execution("t-1"):
            seen.add(world.execution().tasks[0].copied_bytes)
    assert seen <= {n * 4 * MB for n in range(11)}
    assert 40 * MB in seen
    assert len(seen) > 3


def test_a_task_that_copies_nothing_is_left_alone() -> None:
    world = World(brokers=2)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    order = replace(task(1, TaskState.RUNNING, size=MB))
    order = replace(order, move=PartitionMove(TopicPartition("t", 0), order.move.original, order.move.original[::-1]))
    assert measured(order, world.kafka.peek()) is order
