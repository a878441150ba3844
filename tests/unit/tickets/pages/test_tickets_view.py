"""What a ticket's page says: what may be done now, how far it is, why a partition waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from guardian.errors import Conflict
from guardian.model.execution import Execution, ExecutionTask, ForeignWork, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import everybody
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.tickets.pages.tickets_view import (
    STATES,
    TASK_COLUMNS,
    TONES,
    Action,
    actions_of,
    burn_chart,
    figures,
    lowest_stage,
    states_of,
    task_row,
    task_text,
    tasks_of,
    ticket_rows,
    ticket_text,
    time_left,
    why,
)
from guardian.tickets.rules.burning_down import BurnDown, EndBand, burn_down
from guardian.tickets.rules.progressing import progress
from guardian.tickets.rules.ticketing import approve, cancel, pause, reject, resume, roll_back, submit

S, T = TicketState, TaskState
MB = 1_000_000


def move(number: int = 0, stage: int = 0) -> PartitionMove:
    there = (ReplicaPlacement(3, "/data/d1/kafka"), ReplicaPlacement(2, "/data/d1/kafka"))
    here = (ReplicaPlacement(1, "/data/d1/kafka"), ReplicaPlacement(2, "/data/d1/kafka"))
    return PartitionMove(TopicPartition("orders", number), here, there, 10 * MB, stage=stage, reason="even disks")


def ticket(state: TicketState, **more: object) -> Ticket:
    history = (TicketTransition(state, 0, "ann", "because"),)
    one = Ticket("t-1", "live", "balance", state, "ann", "h", MB, 0, 0, history, moves=1, bytes_to_copy=10 * MB)
    return replace(one, **more)  # type: ignore[arg-type]


def ran(*tasks: ExecutionTask, **more: object) -> Execution:
    return Execution("t-1", tasks, **more)  # type: ignore[arg-type]


DONE = ran(ExecutionTask(0, move(), T.DONE, started_at_ms=1, ended_at_ms=5))
_ACTS: dict[str, Callable[[Ticket, str, str, int], TicketTransition]] = {
    "submit": submit,
    "approve": partial(approve, policy=everybody(author_may_approve=True)),
    "reject": reject,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "roll-back": partial(roll_back, policy=everybody(author_may_approve=True)),
}


@pytest.mark.parametrize("state", list(S))
def test_what_is_offered_is_what_the_rules_of_tickets_allow(state: TicketState) -> None:
    """The page names no rule of its own: each button does something, and whatever may be done has one."""
    offered = {action.name for action in actions_of(ticket(state), DONE)}
    allowed = set()
    for name, act in _ACTS.items():
        try:
            act(ticket(state), "bob", "", 1)
        except Conflict:
            continue
        allowed.add(name)
    # A ticket that waits for approval is rejected, which says the same as cancelling it.
    assert offered == allowed - ({"cancel"} if state is S.PENDING else set())


def test_other_tools_work_is_adopted_or_waited_for() -> None:
    foreign = ForeignWork(TopicPartition("t", 0), (1,), (2,))
    paused = ticket(S.PAUSED)
    assert [each.name for each in actions_of(paused, ran(foreign=(foreign,)))] == ["adopt", "wait", "cancel"]
    assert [each.name for each in actions_of(paused, ran())] == ["resume", "cancel"]


def test_what_never_moved_has_no_way_back() -> None:
    assert actions_of(ticket(S.FAILED), None) == ()
    assert actions_of(ticket(S.FAILED), ran(ExecutionTask(0, move(), T.FAILED))) == ()
    assert [each.name for each in actions_of(ticket(S.FAILED), DONE)] == ["roll-back"]


def test_each_action_says_what_it_does_before_it_is_done() -> None:
    for state in S:
        for action in actions_of(ticket(state), DONE):
            assert isinstance(action, Action)
            assert action.effect.endswith(".")
    assert set(TONES) == set(S)


def test_rows_tell_how_far_tickets_are_and_words_stand_for_states() -> None:
    listed = [
        (ticket(S.RUNNING), Progress(10 * MB, 5 * MB, MB, 5000)),
        (ticket(S.APPROVED), Progress(10 * MB)),
        (ticket(S.SUCCEEDED, cluster="bulk"), None),
    ]
    assert [row.ticket.state for row in ticket_rows(listed)] == [S.RUNNING, S.APPROVED, S.SUCCEEDED]
    assert set(states_of("open")) | set(states_of("over")) == set(S)
    assert not any(state.is_over for state in states_of("open"))
    assert all(state.is_over for state in states_of("over"))
    assert (states_of("RUNNING"), states_of("")) == ((S.RUNNING,), ())
    running, approved, _ = ticket_rows(listed)
    assert (running.share, running.left_bytes, running.eta_ms) == (0.5, 5 * MB, 5000)
    assert approved.share is None, "it has not begun"
    assert "because" in ticket_text(running)
    assert set(STATES) >= {state.name for state in S}


def test_figures_are_in_words() -> None:
    run = ticket(S.RUNNING, history=(TicketTransition(S.RUNNING, 0, "executor", ""),), bytes_to_copy=20 * MB)
    tasks = ran(
        ExecutionTask(0, move(0), T.DONE, started_at_ms=1, ended_at_ms=5000),
        ExecutionTask(1, move(1), T.PENDING, "waits for a slot: into broker 3 has none left"),
        note="1 of 2 moves are over; /data/d1/kafka of broker 3 is busy",
    )
    found = figures(run, tasks, burn_down(run, tasks, 10_000), progress(run, tasks, 10_000))
    assert (found.share, found.copied, found.left, found.rate) == (0.5, "10.0 MB of 20.0 MB", "10.0 MB", "1.0 MB/s")
    assert (found.tasks["DONE"], found.tasks["PENDING"], found.tasks["FAILED"]) == (1, 1, 0)
    assert found.eta.startswith("0 to ")
    before = figures(ticket(S.PENDING), None, BurnDown((), 10 * MB), Progress(10 * MB))
    assert (before.eta, before.note, before.share) == ("-", "because", 0.0)


@pytest.mark.parametrize(
    ("far", "words"),
    [
        (Progress(2, 1, 1.0, 1, 240_000, 540_000), "4 to 9 min"),
        (Progress(2, 1, 1.0, 1, 45_000, 540_000), "45 s to 9 min"),
        (Progress(2, 1, 1.0, 1, 60_000, 60_000), "1 min"),
        (Progress(2, 0, 0.0, None, 60_000, None), "at least 1 min"),
        (Progress(2, 1), "-"),
        (Progress(2, 2, 1.0, 0, 0, 0), "-"),
    ],
)
def test_the_time_left_is_a_range(far: Progress, words: str) -> None:
    assert time_left(ticket(S.RUNNING), far) == words
    assert time_left(ticket(S.SUCCEEDED), far) == "over"


def test_a_chart_goes_on_from_now_to_the_ends_of_the_band() -> None:
    burning = BurnDown(((1000, 100), (2000, 60)), 100, EndBand(3000, 5000, 6000))
    assert burn_chart(burning, 2000) == {
        "at": [1.0, 2.0, 3.0, 5.0, 6.0],
        "left": [100, 60, None, None, None],
        "soon": [None, 60, 0.0, 0.0, 0.0],
        "likely": [None, 60, 40.0, 0.0, 0.0],
        "late": [None, 60, 45.0, 15.0, 0.0],
    }
    assert burn_chart(BurnDown((), 100), 5)["at"] == []


def test_a_late_end_that_is_far_or_unknown_leaves_the_chart_at_its_right() -> None:
    points = ((1000, 100), (2000, 60))
    far = burn_chart(BurnDown(points, 100, EndBand(3000, 5000, 62_000)), 2000)
    assert far["at"] == [1.0, 2.0, 3.0, 5.0, 8.0]
    assert far["late"] == [None, 60, 59.0, 57.0, 54.0]
    never = burn_chart(BurnDown(points, 100, EndBand(3000, 5000, None)), 2000)
    assert never["at"] == far["at"]
    assert never["late"] == [None, 60, 60.0, 60.0, 60.0]


@pytest.mark.parametrize("now_s", [2, 5, 8, 30, 300])
def test_the_band_of_a_ticket_that_runs_has_two_edges_everywhere(now_s: int) -> None:
    now_ms = now_s * 1000
    run = ticket(S.RUNNING, history=(TicketTransition(S.RUNNING, 1000, "ann", ""),))
    done = [
        ExecutionTask(n, move(n), T.DONE, started_at_ms=1000 + 100 * n, ended_at_ms=1500 + 50 * n**2) for n in range(4)
    ]
    waiting = [ExecutionTask(n, move(n)) for n in range(4, 9)]
    chart = burn_chart(burn_down(run, ran(*done, *waiting), now_ms), now_ms)
    columns = list(chart.values())
    assert len({len(column) for column in columns}) == 1
    moments = [at for at in chart["at"] if at is not None]
    assert moments == sorted(set(moments))
    present = moments.index(now_s)
    for before in ("soon", "likely", "late"):
        assert chart[before][:present] == [None] * present
    for soon, likely, late in zip(*(chart[name][present:] for name in ("soon", "likely", "late")), strict=True):
        assert soon is not None
        assert likely is not None
        assert late is not None
        assert 0 <= soon <= likely <= late
    assert chart["left"][present] == chart["soon"][present] == chart["late"][present]
    assert set(chart["left"][present + 1 :]) == {None}
    assert chart["likely"][-1] == 0


@pytest.mark.parametrize(
    ("state", "task", "words"),
    [
        (S.RUNNING, ExecutionTask(0, move(), T.PENDING, "waits for a slot"), "waits for a slot"),
        (S.RUNNING, ExecutionTask(0, move(), T.PENDING), "waits for its turn"),
        (S.RUNNING, ExecutionTask(0, move(stage=2), T.PENDING), "waits for the room that moves of stage 1 make"),
        (S.PAUSED, ExecutionTask(0, move(), T.PENDING), "waits: the ticket is paused"),
        (S.RUNNING, ExecutionTask(0, move(), T.RUNNING), "copies"),
        (S.CANCELLING, ExecutionTask(0, move(), T.REVERTING), "goes back"),
        (S.SUCCEEDED, ExecutionTask(0, move(), T.DONE), ""),
    ],
)
def test_each_partition_says_why_it_is_where_it_is(state: TicketState, task: ExecutionTask, words: str) -> None:
    assert why(ticket(state), task, 0) == words


def test_a_row_has_short_log_dirs_and_how_long_it_took() -> None:
    task = ExecutionTask(0, move(), T.RUNNING, "copies to /data/d1/kafka", started_at_ms=1000, copied_bytes=MB)
    row = task_row(ticket(S.RUNNING), task, {"/data/d1/kafka": "d1"}, lowest_stage([task]), 4000)
    assert (row.partition, row.origin, row.target) == ("orders-0", "1:d1, 2:d1", "3:d1, 2:d1")
    assert (row.total_bytes, row.copied_bytes, row.took_ms, row.why) == (10 * MB, MB, 3000, "copies to d1")
    assert "broker-3" in task_text(task)


def test_what_failed_comes_first_and_what_is_over_last() -> None:
    order = [T.DONE, T.PENDING, T.FAILED, T.RUNNING, T.REVERTED, T.REVERTING]
    tasks = [ExecutionTask(number, move(number), state) for number, state in enumerate(order)]
    sorted_by_state = sorted(tasks, key=TASK_COLUMNS["state"])  # type: ignore[arg-type]
    assert [task.state for task in sorted_by_state] == [T.FAILED, T.RUNNING, T.REVERTING, T.PENDING, T.DONE, T.REVERTED]


def test_a_ticket_that_has_not_begun_shows_what_it_will_do() -> None:
    planned = tasks_of(Plan("live", "balance", (move(0), move(1))))
    assert [(task.number, task.state) for task in planned] == [(0, T.PENDING), (1, T.PENDING)]
