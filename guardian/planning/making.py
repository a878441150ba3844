"""From an order to a plan, in a job of the desk: the same for gRPC and HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from guardian.config import require_goals
from guardian.errors import GuardianError
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import MigrateIdc, Task
from guardian.planning.orders import PlanOrder
from guardian.planning.rules.resolving import resolved, with_clients, without_clients
from protos.guardian.v1 import insight_pb2


class Planner(Protocol):
    """As guardian.planning.service.planning.LivePlanner."""

    @property
    def settings(self) -> PlannerSettings:
        """Return the settings that hold where nobody gives others."""

    def plan(
        self,
        job: Any,
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        window_ms: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Plan:
        """A checked plan, which may have no moves; within a job of the desk."""


@dataclass(frozen=True, slots=True)
class Known:
    """What whoever asks may see: the federation's directory, and where a cluster's clients are; each is read when it
    is needed, and may raise GuardianError."""

    directory: Callable[[], Directory]
    lines: Callable[[], insight_pb2.LinesReport]


def make_plan(planner: Planner, job: Any, cluster: str, order: PlanOrder, known: Known) -> Plan:
    """Return the plan. Raises GuardianError, as the job's own where nobody wants it any more."""
    settings = order.settings(planner.settings)
    require_goals("goals", settings.goals)
    require_goals("weights", [goal for goal, _ in settings.weights])
    job.step("OptimizationProposals", f"the plan of kind {order.task.kind} is made and checked")
    task, notes = _with_clients(resolved(order.task, known.directory(), cluster), known)
    return planner.plan(job, cluster, task, settings, window_ms=order.window_ms, notes=notes)


def _with_clients(task: Task, known: Known) -> tuple[Task, tuple[str, ...]]:
    if not isinstance(task, MigrateIdc):
        return task, ()
    try:
        return with_clients(task, known.lines())
    except GuardianError as error:
        return task, without_clients(error)
