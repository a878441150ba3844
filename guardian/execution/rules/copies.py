"""What tasks copy now, as their moves and the observation tell. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.execution.rules.converging import Aim, copy_of
from guardian.execution.rules.warming import WarmUp
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ACTIVE, Execution, ExecutionTask, TaskState
from guardian.throttle.rules.throttling import Copy


class StepCopies:
    """What tasks copy, as this step sees it. Each is worked out once: slots, rates and throttles all ask for it."""

    def __init__(self, observation: ClusterObservation, now_ms: int) -> None:
        self._observation = observation
        self._now_ms = now_ms
        self._known: dict[tuple[int, TaskState, int, int], Copy | None] = {}

    def of(self, task: ExecutionTask) -> Copy | None:
        """None when the task moves no data."""
        # Within a step a task keeps its move: its way and its hold are all that may change.
        key = (task.number, task.state, task.started_at_ms, task.hold_ms)
        if key not in self._known:
            self._known[key] = copy_of(aim_of(task, self._now_ms), self._observation)
        return self._known[key]

    def of_active(self, tasks: Iterable[ExecutionTask]) -> dict[int, Copy]:
        """Return what active tasks copy, by the task's number."""
        return {task.number: copy for task in tasks if task.state in ACTIVE and (copy := self.of(task))}


def under_way(execution: Execution, observation: ClusterObservation, now_ms: int) -> tuple[Copy | None, ...]:
    """Return what the execution's active tasks copy, one each: what slots know of a ticket. None: no data moves."""
    copies_of = StepCopies(observation, now_ms)
    return tuple(copies_of.of(task) for task in execution.tasks if task.state in ACTIVE and not task.move.is_new)


def aim_of(task: ExecutionTask, now_ms: int) -> Aim:
    """The hold of a task that did not start yet would begin now."""
    until_ms = (task.started_at_ms or now_ms) + task.hold_ms
    warm_up = WarmUp(task.cover_bytes, until_ms) if task.hold_ms else None
    return Aim(task.move, back=task.state is TaskState.REVERTING, warm_up=warm_up)
