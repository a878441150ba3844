"""A ticket as its page shows it: what may be done with it now, how far it is, and why each partition is where it is.

Pure: tickets and executions come in as the client gives them, texts and numbers go out; templates add no decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guardian.console.paging import Columns
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.log_dirs import names_of, places_text, shortened
from guardian.model.plan import Plan
from guardian.model.ticket import OPEN_STATES, Ticket, TicketState
from guardian.model.tickets.progress import Progress
from guardian.model.units import human_bytes, range_text
from guardian.tickets.rules.burning_down import BurnDown, EndBand
from guardian.tickets.rules.progressing import part_of

S = TicketState
OPEN, OVER = "open", "over"
# What a list may be narrowed down to, beside a single state.
STATES = (OPEN, OVER, *(state.name for state in TicketState))
# How a state is to be taken: the word that styles share for it (status is never shown by colour alone).
TONES: dict[TicketState, str] = {
    S.DRAFT: "none",
    S.PENDING: "warn",
    S.APPROVED: "info",
    S.REJECTED: "none",
    S.EXPIRED: "none",
    S.RUNNING: "info",
    S.PAUSED: "warn",
    S.SUCCEEDED: "ok",
    S.FAILED: "bad",
    S.CANCELLING: "warn",
    S.CANCELLED: "none",
    S.ROLLING_BACK: "info",
    S.ROLLED_BACK: "none",
}
_MOVABLE = (TaskState.DONE, TaskState.FAILED)


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person may ask for. `effect` says what it does, in one sentence, before it is done."""

    name: str
    label: str
    effect: str
    is_grave: bool = False


SUBMIT = Action("submit", "Submit", "Asks for approval. Nothing moves before that.")
APPROVE = Action("approve", "Approve", "The executor takes it up at its next look, within seconds.")
REJECT = Action("reject", "Reject", "Ends the ticket; nothing has moved.", is_grave=True)
DISCARD = Action("cancel", "Discard", "Ends the ticket before it has run; nothing has moved.", is_grave=True)
PAUSE = Action("pause", "Pause", "What copies goes on to its end, nothing new starts, throttles go when nothing moves.")
RESUME = Action("resume", "Resume", "Goes on where it is.")
CANCEL = Action("cancel", "Cancel", "What is on its way goes back, what is done stays, throttles go.", is_grave=True)
STOP = Action("cancel", "Stop the way back", "What is not on its way back yet stays where it is.", is_grave=True)
ROLL_BACK = Action(
    "roll-back", "Roll back", "Every replica goes back to where it was, in the order of before.", is_grave=True
)
ADOPT = Action("adopt", "Adopt", "What another tool moves on the cluster becomes this ticket's: throttled and watched.")
WAIT = Action("wait", "Wait for it", "Leaves the other tool's work to it, and goes on by itself when that is over.")

_ACTIONS: dict[TicketState, tuple[Action, ...]] = {
    S.DRAFT: (SUBMIT, DISCARD),
    S.PENDING: (APPROVE, REJECT),
    S.APPROVED: (DISCARD,),
    S.RUNNING: (PAUSE, CANCEL),
    S.PAUSED: (RESUME, CANCEL),
    S.ROLLING_BACK: (STOP,),
}


def actions_of(ticket: Ticket, execution: Execution | None) -> tuple[Action, ...]:
    """Return what the ticket's state allows; whether this person may is the member's to say."""
    if ticket.follows_another and ticket.state in (S.DRAFT, S.PENDING):
        return (DISCARD,)  # the first of the sequence is approved, for all
    if ticket.state is S.PAUSED and execution is not None and _has_foreign(execution):
        return (ADOPT, WAIT, CANCEL)
    if ticket.state in (S.SUCCEEDED, S.FAILED, S.CANCELLED):
        return (ROLL_BACK,) if _has_moved(execution) else ()
    return _ACTIONS.get(ticket.state, ())


def _has_foreign(execution: Execution) -> bool:
    return any(not work.is_awaited for work in execution.foreign)


def _has_moved(execution: Execution | None) -> bool:
    return execution is not None and any(
        task.state in _MOVABLE and task.started_at_ms and not task.move.is_new for task in execution.tasks
    )


@dataclass(frozen=True, slots=True)
class TicketRow:
    """One line of the list. `share` of the bytes has arrived, None: there is nothing to copy, or it does not run."""

    ticket: Ticket
    tone: str
    why: str
    share: float | None = None
    left_bytes: int | None = None
    eta_ms: int | None = None
    time_left: str = "-"


TICKET_COLUMNS: Columns[TicketRow] = {
    "created": lambda row: row.ticket.created_at_ms,
    "updated": lambda row: row.ticket.updated_at_ms,
    "cluster": lambda row: row.ticket.cluster,
    "kind": lambda row: row.ticket.kind,
    "state": lambda row: row.ticket.state.value,
    "copy": lambda row: row.ticket.bytes_to_copy,
    "author": lambda row: row.ticket.author,
    "eta": lambda row: row.eta_ms,
}


def ticket_text(row: TicketRow) -> str:
    """Return the text that a search looks at."""
    ticket = row.ticket
    return f"{ticket.id} {ticket.cluster} {ticket.kind} {ticket.state.name} {ticket.author} {row.why}"


def ticket_rows(listed: Sequence[tuple[Ticket, Progress | None]]) -> list[TicketRow]:
    return [_row(ticket, far) for ticket, far in listed]


def part_rows(parts: Sequence[tuple[Ticket, Progress | None]]) -> list[TicketRow]:
    """Return the rows of a sequence, in the order in which its tickets run; none for a ticket that stands alone."""
    return [_row(ticket, far) for ticket, far in parts]


def states_of(wanted: str) -> tuple[TicketState, ...]:
    """Return the states that one of STATES stands for; empty: any."""
    if wanted == OPEN:
        return OPEN_STATES
    if wanted == OVER:
        return tuple(state for state in TicketState if state.is_over)
    return (TicketState[wanted],) if wanted else ()


def _row(ticket: Ticket, far: Progress | None) -> TicketRow:
    why = ticket.history[-1].reason if ticket.history else ""
    if far is None or ticket.state is S.APPROVED:
        return TicketRow(ticket, TONES[ticket.state], why)
    share = far.copied_bytes / far.total_bytes if far.total_bytes else None
    eta_ms = far.eta_ms if far.left_bytes else None
    return TicketRow(ticket, TONES[ticket.state], why, share, far.left_bytes, eta_ms, time_left(ticket, far))


@dataclass(frozen=True, slots=True)
class Figures:
    """How far the ticket is, in words and numbers; they are what changes while one looks on.

    `tasks` counts partitions by state. `share` is None where nothing is copied.
    """

    state: str
    tone: str
    share: float | None
    copied: str
    left: str
    rate: str
    eta: str
    note: str
    tasks: Mapping[str, int]
    throttles: int
    band: EndBand | None = None


def figures(ticket: Ticket, execution: Execution | None, burning: BurnDown, far: Progress) -> Figures:
    tasks = Counter(task.state for task in execution.tasks) if execution is not None else Counter()
    names = short_names(execution)
    note = execution.note if execution is not None else ticket.history[-1].reason if ticket.history else ""
    return Figures(
        ticket.state.name,
        TONES[ticket.state],
        far.copied_bytes / far.total_bytes if far.total_bytes else None,
        f"{human_bytes(far.copied_bytes)} of {human_bytes(far.total_bytes)}",
        human_bytes(far.left_bytes),
        f"{human_bytes(far.bytes_per_s)}/s" if far.bytes_per_s else "-",
        time_left(ticket, far),
        shortened(note, names),
        {state.name: tasks[state] for state in TaskState},
        len(execution.throttles) if execution is not None else 0,
        burning.band,
    )


def time_left(ticket: Ticket, far: Progress) -> str:
    """`4 to 9 min`; a ticket that does not move has no end in sight."""
    if ticket.state.is_over:
        return "over"
    if far.least_ms is None or not far.left_bytes:
        return "-"
    return range_text(far.least_ms, far.most_ms)


def burn_chart(burning: BurnDown, now_ms: int) -> dict[str, list[float | int | None]]:
    """Columns for a chart over `at` (s since the epoch), each as long: bytes `left` up to now, and from now on `soon`,
    `likely` and `late`, straight to nothing. All three go on to the last moment, so that the band between `soon` and
    `late` has two edges everywhere. A late end that can't be told stays where it is.

    The chart ends when the ticket is likely over and as long again, or earlier: a late end of next week would leave
    no room for what is known.
    """
    at = [at_ms / 1000 for at_ms, _ in burning.points]
    left: list[float | int | None] = [size for _, size in burning.points]
    lines: dict[str, list[float | int | None]] = {name: [None] * len(at) for name in ("soon", "likely", "late")}
    band = burning.band
    if band is not None and burning.points and burning.points[-1][1] > 0 and band.likely_ms > now_ms:
        begin_ms, size = burning.points[-1]
        ends: dict[str, int | None] = {"soon": band.soon_ms, "likely": band.likely_ms, "late": band.late_ms}
        farthest_ms = 2 * band.likely_ms - begin_ms
        last_ms = farthest_ms if band.late_ms is None else min(band.late_ms, farthest_ms)
        moments = sorted({last_ms, *(end for end in ends.values() if end is not None and begin_ms < end <= last_ms)})
        at += [at_ms / 1000 for at_ms in moments]
        left += [None] * len(moments)
        for name, line in lines.items():
            line[-1:] = [size, *(_straight(size, begin_ms, ends[name], at_ms) for at_ms in moments)]
    return {"at": [*at], "left": left, **lines}


def _straight(size: int, begin_ms: int, end_ms: int | None, at_ms: int) -> float:
    """Return what is left at a time, where all of it is gone by `end_ms`; None: it never is."""
    if end_ms is None:
        return float(size)
    return size * (end_ms - at_ms) / (end_ms - begin_ms) if at_ms < end_ms else 0.0


# The order of a page's partitions: what moves first, then what has failed, waits, is over.
_ORDER = (
    TaskState.FAILED,
    TaskState.RUNNING,
    TaskState.REVERTING,
    TaskState.PENDING,
    TaskState.DONE,
    TaskState.REVERTED,
)
_TASK_TONES = {
    TaskState.PENDING: "none",
    TaskState.RUNNING: "info",
    TaskState.DONE: "ok",
    TaskState.REVERTING: "info",
    TaskState.REVERTED: "none",
    TaskState.FAILED: "bad",
}


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One partition of a ticket. `why` says what it waits for, or why it failed; `reason` why it moves at all."""

    partition: str
    origin: str
    target: str
    state: str
    tone: str
    total_bytes: int
    copied_bytes: int
    took_ms: int | None
    why: str
    reason: str


TASK_COLUMNS: Columns[ExecutionTask] = {
    "state": lambda task: (_ORDER.index(task.state), task.number),
    "partition": lambda task: (task.move.partition.topic, task.move.partition.partition),
    "copy": lambda task: task.move.bytes_to_copy,
    "began": lambda task: task.started_at_ms or None,
}


def task_text(task: ExecutionTask) -> str:
    """Return the text that a search looks at."""
    brokers = " ".join(f"broker-{place.broker}" for place in (*task.move.original, *task.move.target))
    return f"{task.move.partition} {task.state.name} {brokers} {task.detail} {task.move.reason}"


def tasks_of(plan: Plan) -> tuple[ExecutionTask, ...]:
    """Return what a ticket that has not begun will do."""
    return tuple(ExecutionTask(number, move) for number, move in enumerate(plan.moves))


def lowest_stage(tasks: Sequence[ExecutionTask]) -> int:
    """Return the lowest stage of what is not over."""
    return min((task.move.stage for task in tasks if not task.state.is_over), default=0)


def task_row(ticket: Ticket, task: ExecutionTask, names: Mapping[str, str], stage: int, now_ms: int) -> TaskRow:
    total, copied = part_of(ticket.state, task)
    ended_ms = task.ended_at_ms if task.state.is_over else now_ms
    return TaskRow(
        str(task.move.partition),
        places_text(task.move.original, names) or "(new)",
        places_text(task.move.target, names),
        task.state.name,
        _TASK_TONES[task.state],
        total or task.move.bytes_to_copy,
        copied,
        max(ended_ms - task.started_at_ms, 0) if task.started_at_ms and ended_ms else None,
        shortened(why(ticket, task, stage), names),
        shortened(task.move.reason, names),
    )


def why(ticket: Ticket, task: ExecutionTask, stage: int) -> str:
    """Say why the partition is where it is; the executor's own words where it has any. `stage` is the lowest that is
    not over.
    """
    if task.detail:
        return task.detail
    if task.state is TaskState.PENDING:
        if ticket.state is S.PAUSED:
            return "waits: the ticket is paused"
        if task.move.stage > stage:
            return f"waits for the room that moves of stage {stage + 1} make"
        return "waits for its turn" if ticket.state is S.RUNNING else ""
    if task.state is TaskState.RUNNING:
        return "copies" if task.move.bytes_to_copy else "the leader is changed"
    return "goes back" if task.state is TaskState.REVERTING else ""


def short_names(execution: Execution | None, plan: Plan | None = None) -> dict[str, str]:
    """Short names of the log dirs that the ticket is about."""
    if plan is not None:
        return names_of(plan.moves)
    return names_of(task.move for task in execution.tasks) if execution is not None else {}
