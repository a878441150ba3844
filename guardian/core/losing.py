"""A broker that dies in mid-move: how long a move waits for it, and what becomes of the move then. Pure.

    a broker that it copies to is down ──▶ since when is stored ──▶ back in time: nothing happened
                                                                └─▶ after the patience:
        never started                        FAILED
        its copy is under way                REVERTING: the replicas go back, their order too
        its replicas have left the others    FAILED: taking it back would copy all of it; the plan that follows decides

    the ticket is being cancelled, and what is left of it needs a broker that is down, after the same patience:
        its replicas have arrived            FAILED: they stay where they are
        it goes back to that broker          what is in flight is cancelled, then FAILED: they stay where they are

The ticket ends as failed once the rest is over, unless a new plan puts what is left elsewhere (the driver asks for it).
"""

from __future__ import annotations

from dataclasses import replace

from guardian.core.converging import has_arrived
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.units import human_duration


def without_lost(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, patience_ms: int, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """The tasks, with those given up whose broker was down for too long."""
    return tuple(_looked_at(task, observation, patience_ms, now_ms) for task in tasks)


def without_stranded(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, patience_ms: int, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """The tasks of a ticket that is being cancelled, with those given up that would end only with a lost broker."""
    return tuple(_watched(task, observation, patience_ms, now_ms) for task in tasks)


def is_stranded(task: ExecutionTask, observation: ClusterObservation, patience_ms: int, now_ms: int) -> bool:
    """Whether a broker without which the task can't end was down for too long."""
    is_late = bool(task.missing_since_ms) and now_ms - task.missing_since_ms >= patience_ms
    return is_late and bool(_missing(task, observation))


def is_lost(task: ExecutionTask) -> bool:
    """Whether the task was given up because of a broker, so that a new plan may do what it was for."""
    return bool(task.missing_since_ms) and task.state in (TaskState.REVERTED, TaskState.FAILED)


def replaced(tasks: tuple[ExecutionTask, ...], new: tuple[ExecutionTask, ...]) -> tuple[ExecutionTask, ...]:
    """The tasks with those of a new plan behind them, which stand for the lost ones."""
    first = 1 + max((task.number for task in tasks), default=0)
    given_up = tuple(
        replace(task, state=TaskState.REVERTED, missing_since_ms=0, detail=f"{task.detail}; a new plan took its place")
        if is_lost(task)
        else task
        for task in tasks
    )
    return given_up + tuple(replace(task, number=number) for number, task in enumerate(new, start=first))


def why_taken_back(task: ExecutionTask) -> str:
    """What to say of a lost task that is as before; empty where it is not lost."""
    return f"taken back: {_brokers(task.move.added_brokers)} was down while it copied" if task.missing_since_ms else ""


def _looked_at(task: ExecutionTask, observation: ClusterObservation, patience_ms: int, now_ms: int) -> ExecutionTask:
    if task.state not in (TaskState.PENDING, TaskState.RUNNING) or task.move.is_new:
        return task
    dead = [broker for broker in task.move.added_brokers if broker not in observation.brokers]
    if not dead:
        return replace(task, missing_since_ms=0) if task.missing_since_ms else task
    if not task.missing_since_ms:
        return replace(task, missing_since_ms=now_ms)
    if now_ms - task.missing_since_ms < patience_ms:
        return task
    why = f"{_brokers(tuple(dead))} was down for {human_duration(now_ms - task.missing_since_ms)}"
    if task.state is TaskState.RUNNING and not has_arrived(task.move, observation):
        return replace(task, state=TaskState.REVERTING)
    started = "after the copy" if task.state is TaskState.RUNNING else "before it started"
    return replace(task, state=TaskState.FAILED, detail=f"{why}, {started}", ended_at_ms=now_ms)


def _watched(task: ExecutionTask, observation: ClusterObservation, patience_ms: int, now_ms: int) -> ExecutionTask:
    if task.state not in (TaskState.RUNNING, TaskState.REVERTING):
        return task
    missing = _missing(task, observation)
    if not missing:
        return replace(task, missing_since_ms=0) if task.missing_since_ms else task
    if not task.missing_since_ms:
        return replace(task, missing_since_ms=now_ms)
    in_flight = task.move.partition in observation.reassignments
    if in_flight or not is_stranded(task, observation, patience_ms, now_ms):
        return task
    why = f"{_brokers(missing)} was down for {human_duration(now_ms - task.missing_since_ms)}"
    when = "on its way back" if task.state is TaskState.REVERTING else "after the copy"
    return replace(task, state=TaskState.FAILED, detail=f"{why}, {when}", ended_at_ms=now_ms)


def _missing(task: ExecutionTask, observation: ClusterObservation) -> tuple[int, ...]:
    """Brokers that are down and without which the task can't end, the way that it goes."""
    move = task.move
    if task.state is TaskState.RUNNING:
        return tuple(broker for broker in move.target_brokers if broker not in observation.brokers)
    state = observation.partitions.get(move.partition)
    is_back = state is not None and set(state.replicas) == set(move.original_brokers)
    if state is None or (is_back and move.partition not in observation.reassignments):
        return ()
    returning = set(move.original_brokers) - set(move.target_brokers)
    return tuple(broker for broker in move.original_brokers if broker in returning - observation.brokers.keys())


def _brokers(brokers: tuple[int, ...]) -> str:
    if len(brokers) == 1:
        return f"broker {brokers[0]}"
    return f"one of brokers {', '.join(map(str, brokers))}"
