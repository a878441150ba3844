"""A broker that dies in mid-move: how long a move waits for it, and what becomes of the move then. Pure.

    a broker that it copies to is down ──▶ since when is stored ──▶ back in time: nothing happened
                                                                └─▶ after the patience:
        never started                        FAILED
        its copy is under way                REVERTING: the replicas go back, their order too
        its replicas have left the others    FAILED: taking it back would copy all of it; the plan that follows decides

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


def _brokers(brokers: tuple[int, ...]) -> str:
    if len(brokers) == 1:
        return f"broker {brokers[0]}"
    return f"one of brokers {', '.join(map(str, brokers))}"
