"""A ticket that is over goes back: every replica to where it was, in the order of before. Pure.

    DONE    ──▶ REVERTING ──▶ REVERTED     as slots free up, the last stage first: it took the room of those before
    FAILED  ──▶ REVERTING                  where part of it was done; where another tool moved it, it stays FAILED
    PENDING ──▶ REVERTED                   it never started

Where a broker without which a task can't go back stays away for as long as a move waits (losing.py), it is FAILED and
stays where it is. The ticket ends, names it, and holds no brokers against healing any more.

A task is DONE until its turn comes, so a roll-back that is stopped (cancelled) leaves it as it is. What was created
stays: to take a topic back would be to delete what has been written to it since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from guardian.errors import Conflict
from guardian.execution.rules import losing
from guardian.execution.rules.converging import Aim, Losses, Standing, copy_of, gone, look
from guardian.execution.rules.expanding import changes_brokers
from guardian.execution.rules.holding import Beside
from guardian.execution.rules.slots import Slots
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.ticket import Ticket, TicketState

CREATED = "was created by this ticket and stays: delete the topic where it is not wanted"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Way:
    """What the way back is decided from; since `since_ms` the ticket has been on it. `beside` is what others keep from
    it."""

    observation: ClusterObservation
    aim_of: Callable[[ExecutionTask], Aim]
    patience_ms: int
    since_ms: int
    now_ms: int
    beside: Beside = field(default_factory=Beside)


def go_back(tasks: tuple[ExecutionTask, ...], slots: Slots, way: Way) -> tuple[ExecutionTask, ...]:
    """The tasks, with those REVERTING whose turn it is; `slots` are those of the present tick, still empty."""
    for task in tasks:
        if task.state is TaskState.REVERTING:
            slots.take(copy_of(way.aim_of(task), way.observation))
    losses = Losses(way.observation)
    looked = [_without_start(_fresh(task, way), way) for task in tasks]
    looked = [losing.watched(task, way.observation, losses, way.patience_ms, way.now_ms) for task in looked]
    stage = max((task.move.stage for task in looked if not is_back(task)), default=0)
    return tuple(_turn(task, stage, slots, way) for task in looked)


def went_with_its_topic(task: ExecutionTask, now_ms: int) -> ExecutionTask:
    """Nothing is left of it, so it is neither done nor failed, and there is nothing to take back."""
    detail = gone(task.move.partition)
    ended = replace(task, state=TaskState.REVERTED, detail=detail, missing_since_ms=0, ended_at_ms=now_ms)
    return replace(ended, reason=TaskReason.TOPIC_DELETED)


def is_gone(task: ExecutionTask) -> bool:
    """Return whether the task ended because its topic was deleted."""
    return task.state is TaskState.REVERTED and task.reason == TaskReason.TOPIC_DELETED


def is_back(task: ExecutionTask) -> bool:
    """Return whether nothing of the task is left to be taken back."""
    return task.state in (TaskState.REVERTED, TaskState.FAILED) or (task.state is TaskState.DONE and task.move.is_new)


def ending(tasks: tuple[ExecutionTask, ...]) -> str | None:
    """Say what became of the roll-back, in one sentence; None while a task is on its way back."""
    if not all(map(is_back, tasks)):
        return None
    stay = [task for task in tasks if task.state is not TaskState.REVERTED or is_gone(task)]
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
    """Return whether a ticket of this state may be rolled back."""
    return state in (TicketState.SUCCEEDED, TicketState.FAILED, TicketState.CANCELLED)


def _fresh(task: ExecutionTask, way: Way) -> ExecutionTask:
    """Begin the patience anew: what was missed before the ticket went back is another story."""
    return replace(task, missing_since_ms=0) if 0 < task.missing_since_ms < way.since_ms else task


def _without_start(task: ExecutionTask, way: Way) -> ExecutionTask:
    """Take back what needs no request: tasks that never started, and failed ones that are as before all the same."""
    now_ms = way.now_ms
    if task.state is TaskState.PENDING:
        return replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=now_ms)
    if task.state is TaskState.FAILED and not task.started_at_ms:
        reverted = replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=now_ms)
        return replace(reverted, reason=TaskReason.NONE)
    if task.state is TaskState.DONE and task.move.is_new:
        return replace(task, detail=CREATED)
    if task.state is TaskState.FAILED and not task.missing_since_ms:  # else it was given up on this very way
        candidate = _reverting(task, now_ms)
        if look(way.aim_of(candidate), way.observation).standing not in (Standing.GONE, Standing.TAKEN):
            return replace(task, state=TaskState.DONE)
    return task


def _turn(task: ExecutionTask, stage: int, slots: Slots, way: Way) -> ExecutionTask:
    # One that waits for its turn is as it was: to say so of all of them would be one command with all of them.
    if task.state is not TaskState.DONE or task.move.is_new or task.move.stage < stage:
        return task
    candidate = _reverting(task, way.now_ms)
    aim = way.aim_of(candidate)
    found = look(aim, way.observation)
    if found.standing is Standing.GONE:
        return went_with_its_topic(task, way.now_ms)
    if found.standing is Standing.TAKEN:
        return replace(task, state=TaskState.FAILED, detail=found.detail, missing_since_ms=0, ended_at_ms=way.now_ms)
    grows = way.beside.why_not_moved(task.move.partition.topic) if changes_brokers(task.move) else ""
    if grows or found.standing is Standing.WAIT:
        waiting = replace(task, detail=grows or found.detail)
        return losing.awaiting_way_back(waiting, candidate, way.observation, way.patience_ms, way.now_ms)
    copy = copy_of(aim, way.observation)
    if not slots.fit(copy):
        return task
    slots.take(copy)
    return candidate


def _reverting(task: ExecutionTask, now_ms: int) -> ExecutionTask:
    """Put the task on its way back from now on; a hold of it begins anew."""
    begun = replace(task, state=TaskState.REVERTING, started_at_ms=now_ms, ended_at_ms=0, copied_bytes=0)
    return replace(begun, detail="", missing_since_ms=0)
