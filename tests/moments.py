"""Where a ticket is, in a few words, as it is stored: what sweeps of interruptions tell their deaths apart by."""

from __future__ import annotations

from guardian.model.execution import Execution, TaskState
from guardian.model.operation import AskKind
from guardian.model.ticket import Ticket, TicketState

_MOVING = (TaskState.RUNNING, TaskState.REVERTING)
_GOING_BACK = (TicketState.CANCELLING, TicketState.ROLLING_BACK)


def moment(ticket: Ticket, execution: Execution | None) -> str:
    """Its state, and while it is driven the phase of its operation and how far its moves are."""
    state = ticket.state.name
    if execution is None or ticket.state.is_over or ticket.state in (TicketState.PAUSED, TicketState.APPROVED):
        return state
    if ticket.ask is not None and ticket.ask.kind is AskKind.RESTART:
        return f"{state} {_phase(execution)}" if ticket.state is TicketState.RUNNING else state
    words = [state]
    if ticket.state is TicketState.RUNNING:
        words.append(_phase(execution))
    words.append(_back(execution) if ticket.state in _GOING_BACK else _forth(execution))
    return " ".join(filter(None, words))


def _phase(execution: Execution) -> str:
    return execution.operation.phase.name if execution.operation is not None else ""


def _forth(execution: Execution) -> str:
    """How far the present round of moves is."""
    first = execution.operation.first_task if execution.operation is not None else 1
    tasks = [task for task in execution.tasks if task.number >= first]
    if not tasks:
        return ""
    if all(task.state.is_over for task in tasks):
        return "throttles left" if execution.throttles else "all moved"
    if all(task.state.is_over or task.detail.endswith("the leader") for task in tasks):
        return "leading last"
    if any(task.state.is_over for task in tasks):
        return "some moved"
    if any(task.copied_bytes for task in tasks):
        return "copying"
    return "begun" if any(task.state in _MOVING for task in tasks) else "not begun"


def _back(execution: Execution) -> str:
    """How far the way back is."""
    if any(task.state is TaskState.REVERTING for task in execution.tasks):
        return "going back"
    if any(task.state in (TaskState.RUNNING, TaskState.PENDING) for task in execution.tasks):
        return "asked for"
    return "throttles left" if execution.throttles else "nothing under way"
