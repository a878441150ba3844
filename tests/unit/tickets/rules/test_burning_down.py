"""How the bytes of a ticket went down, and when the rest may be over."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.burning_down import MOST_POINTS, BurnDown, EndBand, burn_down
from guardian.tickets.rules.progressing import progress

S, T = TicketState, TaskState
MB = 1_000_000


def task(
    number: int, state: TaskState, began_ms: int = 0, ended_ms: int = 0, copied: int = 0, size: int = 10 * MB
) -> ExecutionTask:
    there = (ReplicaPlacement(3), ReplicaPlacement(2))
    move = PartitionMove(TopicPartition("t", number), (ReplicaPlacement(1), ReplicaPlacement(2)), there, size)
    return ExecutionTask(number, move, state, "", began_ms, ended_ms, copied_bytes=copied)


def ticket(*states: tuple[TicketState, int]) -> Ticket:
    history = tuple(TicketTransition(state, at_ms, "ann", "") for state, at_ms in states)
    return Ticket("t-1", "live", "balance", states[-1][0], "ann", "h", MB, 0, 0, history, bytes_to_copy=30 * MB)


def execution(*tasks: ExecutionTask) -> Execution:
    return Execution("t-1", tasks)


def test_a_task_counts_evenly_from_its_start_to_its_end() -> None:
    found = burn_down(
        ticket((S.APPROVED, 0), (S.RUNNING, 1000)),
        execution(task(0, T.DONE, 1000, 3000), task(1, T.RUNNING, 2000, copied=5 * MB), task(2, T.PENDING)),
        7000,
    )
    assert found.total_bytes == 30 * MB
    assert found.points == ((1000, 30 * MB), (2000, 25 * MB), (3000, 19 * MB), (7000, 15 * MB))


def test_a_ticket_that_never_began_has_no_curve() -> None:
    assert burn_down(ticket((S.PENDING, 0)), None, 5000) == BurnDown((), 30 * MB)
    assert burn_down(ticket((S.APPROVED, 0)), execution(task(0, T.PENDING)), 5000) == BurnDown((), 10 * MB)


def test_of_a_ticket_that_is_over_the_curve_ends_with_it() -> None:
    done = execution(task(0, T.DONE, 1000, 3000), task(1, T.DONE, 1000, 5000))
    found = burn_down(ticket((S.RUNNING, 1000), (S.SUCCEEDED, 5100)), done, 90_000)
    assert found.points[-1] == (5000, 0)
    assert found.band is None


def test_the_way_back_goes_down_by_itself() -> None:
    back = execution(task(0, T.REVERTED, 6000, 8000, copied=10 * MB), task(1, T.DONE, 1000, 3000))
    found = burn_down(ticket((S.RUNNING, 1000), (S.SUCCEEDED, 5000), (S.ROLLING_BACK, 6000)), back, 8000)
    assert found.points[0] == (6000, 20 * MB)
    assert found.points[-1] == (8000, 10 * MB)


def test_an_even_past_is_a_narrow_band_and_an_uneven_one_a_wide_one() -> None:
    run = ticket((S.RUNNING, 0))
    even = [task(n, T.DONE, n * 1000, (n + 1) * 1000) for n in range(8)]
    left = [task(n, T.PENDING) for n in range(8, 10)]
    found = burn_down(run, execution(*even, *left), 8000)
    assert found.band == EndBand(10_000, 10_000, 10_000), "20 MB at 10 MB/s, as ever"
    # Half of the time twice as fast as the other half.
    uneven = [task(n, T.DONE, n * 500, (n + 1) * 500) for n in range(8)]
    uneven += [task(n, T.DONE, 4000 + (n - 8) * 1000, 5000 + (n - 8) * 1000) for n in range(8, 12)]
    found = burn_down(run, execution(*uneven, *[task(n, T.PENDING) for n in range(12, 15)]), 8000)
    assert found.band == EndBand(9500, 10_000, 11_000)


def test_pauses_count_neither_for_nor_against() -> None:
    run = ticket((S.RUNNING, 0), (S.PAUSED, 4000), (S.RUNNING, 104_000))
    tasks = [task(n, T.DONE, n * 1000, (n + 1) * 1000) for n in range(4)]
    tasks += [task(n, T.DONE, 100_000 + n * 1000, 101_000 + n * 1000) for n in range(4, 8)]
    found = burn_down(run, execution(*tasks, task(8, T.PENDING)), 108_000)
    assert found.band == EndBand(109_000, 109_000, 109_000)


def test_a_ticket_that_stood_still_for_long_may_be_late_for_ever() -> None:
    run = ticket((S.RUNNING, 0))
    found = burn_down(run, execution(task(0, T.DONE, 0, 1000), task(1, T.RUNNING, 7000)), 8000)
    assert found.band is not None
    assert found.band.late_ms is None
    assert found.band.soon_ms <= found.band.likely_ms


def test_before_anything_has_arrived_the_band_is_that_of_throttle_and_slots() -> None:
    run, tasks = ticket((S.RUNNING, 0)), execution(task(0, T.RUNNING, 100))
    far = progress(run, tasks, 9000)
    assert far.eta_ms is not None
    assert far.least_ms is not None
    assert far.most_ms is not None
    assert burn_down(run, tasks, 9000).band == EndBand(9000 + far.least_ms, 9000 + far.eta_ms, 9000 + far.most_ms), (
        "10 MB at 1 MB/s"
    )
    assert burn_down(run, tasks, 9000, Progress(2, 0, 0.0, 5, 4, 6)).band == EndBand(9004, 9005, 9006)


def test_ten_thousand_partitions_are_as_many_points_as_a_chart_can_show() -> None:
    tasks = [task(n, T.DONE, n * 10, n * 10 + 500) for n in range(10_000)]
    found = burn_down(ticket((S.RUNNING, 0)), execution(*tasks), 120_000)
    assert len(found.points) == MOST_POINTS
    assert (found.points[0], found.points[-1]) == ((0, 100_000 * MB), (120_000, 0))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([T.PENDING, T.RUNNING, T.DONE]),
            st.integers(0, 50_000),
            st.integers(0, 50_000),
            st.integers(1, 10**12),
            st.floats(0, 1),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_the_curve_never_rises_and_ends_where_the_ticket_is(
    drawn: list[tuple[TaskState, int, int, int, float]],
) -> None:
    tasks = [
        task(n, state, min(one, two) + 1, max(one, two) + 1 if state is T.DONE else 0, int(size * share), size)
        for n, (state, one, two, size, share) in enumerate(drawn)
    ]
    run, now_ms = ticket((S.RUNNING, 1)), 60_000
    found = burn_down(run, execution(*tasks), now_ms)
    assert found.points[-1][0] == now_ms
    left = progress(run, execution(*tasks), now_ms).left_bytes
    assert abs(found.points[-1][1] - left) <= len(tasks), "but for rounding"
    assert all(one[0] < two[0] and one[1] >= two[1] - 1 for one, two in pairwise(found.points))
    if found.band is not None:
        assert now_ms <= found.band.soon_ms <= found.band.likely_ms
        assert found.band.late_ms is None or found.band.likely_ms <= found.band.late_ms
