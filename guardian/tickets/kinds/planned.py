"""Kinds that move replicas: which plans fit them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from guardian.model.directory import Directory
from guardian.model.plan import PartitionMove, Plan
from guardian.model.planner_settings import is_named
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.kind import Kind

T = TypeVar("T", bound=PlanTask)


class PlannedKind(Kind[T]):
    """Define a kind whose plans a planner of Guardian makes, so that any can be made again.

    `creates` partitions and moves none. Approval rules go by the kind, so its moves have to fit.
    """

    creates: ClassVar[bool] = False

    def doubt(self, plan: Plan, *, is_planners: bool) -> str:
        if self.task is None or not isinstance(plan.task, self.task):
            return "it does not say what it was asked for"
        if not is_planners and not self.is_for_anybody(plan):
            return "no planner of Guardian made it"
        task: T = plan.task  # type: ignore[assignment]  # of the class that the kind names
        found = ((move.partition, self._misfit(task, move)) for move in plan.moves)
        return next((f"{partition} {why}" for partition, why in found if why), "")

    def is_for_anybody(self, plan: Plan) -> bool:
        """Tell whether the plan does no more than anybody may call by this name."""
        return False

    def misfit(self, task: T, move: PartitionMove) -> str:
        """Return why the move is not of this kind, such as "is copied"; empty where it is."""
        return ""

    def topics_named(self, task: T) -> Sequence[str]:
        """Return the topics to which the plan is limited, stars allowed; none: it is not."""
        return ()

    def renew(self, task: T, cluster: str, directory: Directory) -> T:
        return task

    def _misfit(self, task: T, move: PartitionMove) -> str:
        if move.is_new is not self.creates:
            return "is created" if move.is_new else "is there already"
        if move.changes_replication_factor and not self.resizes:
            return "changes its replication factor"
        why = self.misfit(task, move)
        named = self.topics_named(task)
        if why or not named or any(is_named(move.partition.topic, each) for each in named):
            return why
        return f"is of a topic that is not named ({', '.join(named[:3])})"
