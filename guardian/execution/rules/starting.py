"""Which pending tasks start now, as slots, stages and other tickets let them. Pure."""

from __future__ import annotations

from dataclasses import replace

from guardian.execution.rules import losing
from guardian.execution.rules.converging import Standing, look
from guardian.execution.rules.copies import StepCopies, aim_of
from guardian.execution.rules.holding import Beside
from guardian.execution.rules.slots import Slots
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ACTIVE, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove


def start(
    tasks: tuple[ExecutionTask, ...],
    observation: ClusterObservation,
    copies_of: StepCopies,
    slots: Slots,
    beside: Beside,
    now_ms: int,
) -> tuple[ExecutionTask, ...]:
    """Pending tasks enter in their order as slots free up; one that does not fit holds nobody back, in its stage.

    A stage takes the room that the ones before it made, so it begins when these are over, and not at all when a task
    of theirs failed.
    """
    for task in tasks:
        if task.state in ACTIVE and not task.move.is_new:
            slots.take(copies_of.of(task))
    stage = min((task.move.stage for task in tasks if not task.state.is_over), default=0)
    failed = next((task for task in tasks if task.state is TaskState.FAILED and task.move.stage < stage), None)
    going_back = {task.move.partition for task in tasks if task.state is TaskState.REVERTING}
    return tuple(
        _start_one(task, observation, copies_of, slots, beside, stage, failed, now_ms)
        if task.state is TaskState.PENDING and task.move.partition not in going_back
        else task
        for task in tasks
    )


def _start_one(
    task: ExecutionTask,
    observation: ClusterObservation,
    copies_of: StepCopies,
    slots: Slots,
    beside: Beside,
    stage: int,
    failed: ExecutionTask | None,
    now_ms: int,
) -> ExecutionTask:
    if failed:
        detail = f"never started: {failed.move.partition} of stage {failed.move.stage} failed, whose room it may need"
        return replace(task, state=TaskState.FAILED, detail=detail, ended_at_ms=now_ms)
    waits = _why_not_yet(task.move, observation, slots, beside, stage)
    if waits:
        return task if task.detail == waits else replace(task, detail=waits)
    found = look(aim_of(task, now_ms), observation)
    if found.standing is Standing.WAIT:
        return replace(task, detail=found.detail)
    if found.standing is Standing.TAKEN and not task.move.is_new:
        return losing.overtaken(task, found.detail, now_ms)
    if not task.move.is_new:  # what copies nothing needs no slot, and a topic is created whole
        copy = copies_of.of(task)
        full = slots.why_full(copy)
        if full:
            return replace(task, detail=f"waits for a slot: {full} has none left")
        slots.take(copy)
    return replace(task, state=TaskState.RUNNING, detail="", started_at_ms=now_ms)


def _why_not_yet(move: PartitionMove, observation: ClusterObservation, slots: Slots, beside: Beside, stage: int) -> str:
    """Say what the move waits for, as far as that is seen without a look at the partition; mostly nothing."""
    if move.stage > stage:
        return f"waits for the room that stage {stage} makes"
    taken = beside.why_not(move, observation.brokers)
    if taken:
        return taken
    full = slots.why_full_into(move.added_brokers) if not move.is_new else ""
    return f"waits for a slot: {full} has none left" if full else ""
