"""A ticket that is over goes back: every replica to where it was, in the order of before. Pure.

    DONE    ──▶ REVERTING ──▶ REVERTED     as slots free up, the last stage first: it took the room of those before
    FAILED  ──▶ REVERTING                  where part of it was done; where another tool moved it, it stays FAILED
    PENDING ──▶ REVERTED                   it never started

A task is DONE until its turn comes, so a roll-back that is stopped (cancelled) leaves it as it is. What was created
stays: to take a topic back would be to delete what has been written to it since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from guardian.core.converging import Aim, Standing, copy_of, look
from guardian.core.throttling import Copy
from guardian.errors import Conflict
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.ticket import Ticket, TicketState

CREATED = "was created by this ticket and stays: delete the topic where it is not wanted"
_NAMED = 3


class Slots(Protocol):
    """What is under way at once, against the limits."""

    def fit(self, copy: Copy | None) -> bool: ...

    def take(self, copy: Copy | None) -> None: ...


def go_back(
    tasks: tuple[ExecutionTask, ...],
    observation: ClusterObservation,
    slots: Slots,
    aim_of: Callable[[ExecutionTask], Aim],
    now_ms: int,
) -> tuple[ExecutionTask, ...]:
    """The tasks, with those REVERTING whose turn it is; `slots` are those of the present tick, still empty."""
    for task in tasks:
        if task.state is TaskState.REVERTING:
            slots.take(copy_of(aim_of(task), observation))
    looked = tuple(_without_start(task, observation, aim_of, now_ms) for task in tasks)
    stage = max((task.move.stage for task in looked if not is_back(task)), default=0)
    return tuple(_turn(task, stage, observation, slots, aim_of, now_ms) for task in looked)


def is_back(task: ExecutionTask) -> bool:
    """Whether nothing of the task is left to be taken back."""
    return task.state in (TaskState.REVERTED, TaskState.FAILED) or (task.state is TaskState.DONE and task.move.is_new)


def ending(tasks: tuple[ExecutionTask, ...]) -> str | None:
    """What became of it, in one sentence; None while a task is on its way back."""
    if not all(map(is_back, tasks)):
        return None
    stay = [task for task in tasks if task.state is not TaskState.REVERTED]
    why = "".join(f"; {task.move.partition} is not: {task.detail}" for task in stay[:_NAMED])
    more = f"; {len(stay) - _NAMED} more are not" if len(stay) > _NAMED else ""
    return f"{len(tasks) - len(stay)} of {len(tasks)} moves are as before{why}{more}"


def require_way_back(
    ticket: Ticket, execution: Execution | None, alive: frozenset[int], barred: frozenset[int]
) -> None:
    """Raises Conflict when the ticket can't be rolled back as the cluster is: `barred` brokers get no replicas."""
    moved = [task for task in execution.tasks if task.state in (TaskState.DONE, TaskState.FAILED)] if execution else []
    moved = [task for task in moved if not task.move.is_new and task.started_at_ms]
    # A ticket of brokers has more to take back than moves: its exclusions, which it lifts itself.
    own = (
        frozenset(work.node for work in execution.operation.brokers)
        if execution and execution.operation
        else frozenset()
    )
    if not moved and not own:
        raise Conflict(f"ticket {ticket.id} moved nothing that could go back: it is {ticket.state.name} and stays so")
    for task in moved:
        for broker in task.move.original_brokers:
            if broker in task.move.target_brokers:
                continue
            if broker not in alive:
                raise Conflict(
                    f"{task.move.partition} of ticket {ticket.id} can't go back to broker {broker}, which is down: "
                    "start it, or make a new plan"
                )
            if broker in barred - own:
                raise Conflict(
                    f"{task.move.partition} of ticket {ticket.id} can't go back to broker {broker}, which gets no new "
                    "replicas (guardian exclusion list): lift the exclusion, or make a new plan"
                )


def is_rollable(state: TicketState) -> bool:
    """Whether a ticket of this state may be rolled back."""
    return state in (TicketState.SUCCEEDED, TicketState.FAILED, TicketState.CANCELLED)


def _without_start(
    task: ExecutionTask, observation: ClusterObservation, aim_of: Callable[[ExecutionTask], Aim], now_ms: int
) -> ExecutionTask:
    """What needs no request: tasks that never started, and failed ones that are as before all the same."""
    if task.state is TaskState.PENDING:
        return replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=now_ms)
    if task.state is TaskState.FAILED and not task.started_at_ms:
        return replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=now_ms)
    if task.state is TaskState.DONE and task.move.is_new:
        return replace(task, detail=CREATED)
    if task.state is TaskState.FAILED:
        candidate = _reverting(task, now_ms)
        if look(aim_of(candidate), observation).standing not in (Standing.GONE, Standing.TAKEN):
            return replace(task, state=TaskState.DONE)
    return task


def _turn(
    task: ExecutionTask,
    stage: int,
    observation: ClusterObservation,
    slots: Slots,
    aim_of: Callable[[ExecutionTask], Aim],
    now_ms: int,
) -> ExecutionTask:
    # One that waits for its turn is as it was: to say so of all of them would be one command with all of them.
    if task.state is not TaskState.DONE or task.move.is_new or task.move.stage < stage:
        return task
    candidate = _reverting(task, now_ms)
    aim = aim_of(candidate)
    found = look(aim, observation)
    if found.standing in (Standing.GONE, Standing.TAKEN):
        return replace(task, state=TaskState.FAILED, detail=found.detail, ended_at_ms=now_ms)
    if found.standing is Standing.WAIT:
        return replace(task, detail=found.detail)
    copy = copy_of(aim, observation)
    if not slots.fit(copy):
        return task
    slots.take(copy)
    return candidate


def _reverting(task: ExecutionTask, now_ms: int) -> ExecutionTask:
    """On its way back from now on; a hold of it begins anew."""
    return replace(task, state=TaskState.REVERTING, detail="", started_at_ms=now_ms, ended_at_ms=0, copied_bytes=0)
