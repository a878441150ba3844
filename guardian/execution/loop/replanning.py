"""A stale ticket's plan made anew: the same task, asked of the live planner.

The plan holds the task and the settings. What the directory says of policies, topics and machines is read as it is now.
A plan from a file was asked for by nobody: it can't be made anew, which a sentence says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.ticket import Ticket
from guardian.tickets.kinds.registry import kind_of_task
from guardian.tickets.rules.replanning import why_of_others
from guardian.tickets.rules.trimming import trimmed_again


class Planner(Protocol):
    """As guardian.planning.service.planning.LivePlanner."""

    def ask(
        self, key: str, cluster: str, task: Task, settings: PlannerSettings | None = None
    ) -> Plan | GuardianError | None:
        """None while the plan is being made; the answer is kept for its key."""

    def forget(self, key: str) -> None:
        """The next `ask` with this key begins anew."""


class LiveReplanner:
    """Implements `guardian.execution.loop.ports.Replanner`; `directory` reads what people said of the federation."""

    def __init__(self, planner: Planner, directory: Callable[[], Directory]) -> None:
        self._planner = planner
        self._directory = directory

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        """Return a plan for the same task from the cluster as it is now, or a sentence why there is none.

        None while it is made; ClusterUnavailable where the planner could not see the cluster, which decides nothing.
        Never waits. An answer is given once; the call after it begins anew.
        """
        try:
            task = task_of(plan, self._directory())
        except GuardianError as error:
            return str(error)
        key = f"stale/{ticket.id}"
        made = self._planner.ask(key, ticket.cluster, task, plan.settings)
        if made is None:
            return None
        self._planner.forget(key)
        if isinstance(made, ClusterUnavailable):
            return made
        if isinstance(made, GuardianError):
            return str(made)
        return why_of_others(ticket, plan, made, self._directory()) or trimmed_again(made, ticket)


def why_not_anew(plan: Plan, directory: Directory) -> str:
    """Say why the plan can't be made anew, as far as that is known before it is tried; empty when it can."""
    try:
        task_of(plan, directory)
    except GuardianError as error:
        return str(error)
    return ""


def task_of(plan: Plan, directory: Directory) -> Task:
    """Return the plan's task with what the directory says by now. Raises InvalidInput where no planner made it."""
    if plan.settings is None:
        raise InvalidInput(f"a plan of kind {plan.kind} can't be made anew: submit another one")
    renewed: Task = kind_of_task(plan.task).renew(plan.task, plan.cluster, directory)
    return renewed
