"""What is said of a step that a ticket took. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from guardian.execution.rules import rolling_back
from guardian.model.execution import ACTIVE, ExecutionTask, TaskState
from guardian.model.text import some
from guardian.model.ticket import TicketState

NAMED = 3  # how many partitions a sentence names


def sentence_of(
    ticket_state: TicketState,
    before: tuple[ExecutionTask, ...],
    tasks: tuple[ExecutionTask, ...],
    throttle_notes: tuple[str, ...],
    transition: tuple[TicketState, str] | None,
) -> str:
    """Say what changed and what is awaited; the same as before while nothing happens."""
    if transition:
        return f"{transition[0].name}: {transition[1]}"
    goes_back = ticket_state is TicketState.ROLLING_BACK
    left = [task for task in tasks if not (rolling_back.is_back(task) if goes_back else task.state.is_over)]
    under_way = sum(task.state in ACTIVE for task in tasks)
    parts = [
        f"{len(tasks) - len(left)} of {len(tasks)} moves are {'back' if goes_back else 'over'}, {under_way} under way"
    ]
    changed = [new for old, new in zip(before, tasks, strict=True) if new.state is not old.state]
    for state, verb in _VERBS.items():
        of_state = [task for task in changed if task.state is state and not rolling_back.is_gone(task)]
        if of_state:
            parts.append(f"{verb} {_named(of_state)}")
    deleted = list(filter(rolling_back.is_gone, changed))
    if deleted:
        parts.append(f"gone with their topics: {_named(deleted)}")
    if not left:
        parts.append("waits until its throttles are gone, and looks once more")
    parts.extend(_waits(left))
    return "; ".join(part for part in (*parts, *throttle_notes) if part)


_VERBS = {
    TaskState.RUNNING: "started",
    TaskState.DONE: "done:",
    TaskState.REVERTING: "takes back",
    TaskState.REVERTED: "as before:",
    TaskState.FAILED: "failed:",
}


def _waits(tasks: Iterable[ExecutionTask]) -> list[str]:
    """Say what is awaited, the same reasons together."""
    waiting: dict[str, list[ExecutionTask]] = defaultdict(list)
    for task in tasks:
        if task.detail:
            waiting[task.detail].append(task)
    reasons = [f"{_named(held)}: {detail}" for detail, held in waiting.items()]
    return reasons[:NAMED] + ([f"{len(reasons) - NAMED} more reasons"] if len(reasons) > NAMED else [])


def _named(tasks: list[ExecutionTask]) -> str:
    return some((task.move.partition for task in tasks), NAMED)


def pause_note(ticket_state: TicketState, tasks: tuple[ExecutionTask, ...]) -> str:
    """Say what a paused ticket does not start; empty: it is not paused."""
    waiting = sum(task.state is TaskState.PENDING for task in tasks)
    return f"paused: {waiting} do not start" if ticket_state is TicketState.PAUSED else ""


def not_read_note(brokers: Collection[int]) -> str:
    """Say whose configuration could not be read at the last look; empty: all of it was."""
    named = ", ".join(map(str, sorted(brokers)))
    return f"the configuration of broker {named} can't be read until it answers" if brokers else ""
