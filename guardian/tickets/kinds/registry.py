"""Every kind of ticket by its name: the only place that tells kinds apart. Pure."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module

from guardian.model.plan import Plan
from guardian.model.tasks import PlanTask
from guardian.model.ticket import Ticket
from guardian.tickets import kinds
from guardian.tickets.kinds.kind import AnyKind


def _found() -> Mapping[str, AnyKind]:
    names = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__, f"{kinds.__name__}."))
    found = (getattr(import_module(name), "KIND", None) for name in names if name != __name__)
    return {kind.name: kind for kind in found if kind is not None}


KINDS = _found()
TASKS: Mapping[str, type[PlanTask]] = {name: kind.task for name, kind in KINDS.items() if kind.task is not None}
HAVE_SIZE: Mapping[str, bool] = {name: kind.has_size for name, kind in KINDS.items()}
_RUN_PLAN = KINDS["run-plan"]


def kind_of(bearer: Plan | Ticket) -> AnyKind:
    """Return the kind of a plan or ticket; one that only newer members know is treated as run-plan."""
    return KINDS.get(bearer.kind, _RUN_PLAN)


def kind_of_task(task: PlanTask | None) -> AnyKind:
    """Return the kind that is asked for by the task, run-plan where there is none."""
    return KINDS.get(task.kind, _RUN_PLAN) if task is not None else _RUN_PLAN


def lowest_rates(plans: Iterable[Plan]) -> dict[int, int]:
    """Return by broker the bytes/s that the plans leave to all copies, where several do the lowest."""
    lowest: dict[int, int] = {}
    for plan in plans:
        for broker, rate in kind_of(plan).rates(plan.task).items():
            lowest[broker] = min(rate, lowest.get(broker, rate))
    return lowest
