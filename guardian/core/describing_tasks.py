"""What a plan was asked for and changes besides replicas, in sentences for whoever approves it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from guardian.model.plan import Plan
from guardian.model.tasks import Isolate, MigrateIdc, parameters

_NAMED = 5


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
        yield f"moves partitions of {_some(topics)}"
    yield from _entries(plan)


def _entries(plan: Plan) -> Iterator[str]:
    match plan.task:
        case Isolate(label=label, brokers=brokers, release=release) as task:
            if brokers:
                yield f"gives label {label} to brokers {', '.join(map(str, brokers))} where they get replicas"
            if release is not None:
                yield f"takes label {label} off the brokers that become empty"
            if task.topics or task.tenant:
                yield f"gives label {label} to {_of_topics(task)}"
        case MigrateIdc(policy=policy) as task:
            yield f"gives IDC policy {policy.name} to {_of_topics(task)}"


def _of_topics(task: Isolate | MigrateIdc) -> str:
    named = [f"topics {_some(list(task.topics))}"] if task.topics else []
    named += [f"all topics of tenant {task.tenant}"] if task.tenant else []
    return " and ".join(named) or "all topics of the cluster"


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
