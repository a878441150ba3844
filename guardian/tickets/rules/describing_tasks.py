"""What a plan was asked for and changes besides replicas, in sentences for whoever approves it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from guardian.model.plan import Plan
from guardian.model.tasks import parameters
from guardian.model.text import some
from guardian.tickets.kinds.entries import NAMED
from guardian.tickets.kinds.registry import kind_of_task


def asks_of(plan: Plan) -> tuple[str, ...]:
    """Return the task with its parameters, the settings, the topics that move, and labels and policies to come."""
    return tuple(_sentences(plan))


def _sentences(plan: Plan) -> Iterator[str]:
    if plan.task is None:
        yield "no task: the plan is a file"
    else:
        told = "; ".join(f"{name} {value}" for name, value in parameters(plan.task))
        yield f"task {plan.task.kind}{f': {told}' if told else ''}"
    if plan.settings is not None and (how := parameters(plan.settings)):
        yield f"settings: {'; '.join(f'{name} {value}' for name, value in how)}"
    topics = sorted({move.partition.topic for move in plan.moves})
    if topics:
        yield f"moves partitions of {some(topics, NAMED)}"
    yield from kind_of_task(plan.task).promises(plan.task)
