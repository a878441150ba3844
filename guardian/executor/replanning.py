"""A stale ticket's plan made anew: the same task, asked of the live planner.

A plan says what it was asked for, by name (`Plan.settings`): that is read back here, so nothing else need be stored;
what the directory says of policies and topics is read as it is now. What clients of a migration move is left out: it is
for the cost that people read, and moves nothing. A plan from a file was asked for by nobody, and some tasks name things
that a plan tells only in part (machines of the pool, weights): those can't be made anew, which a sentence says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Protocol, get_args

from guardian.core.creating import topic_configs
from guardian.core.healing import trimmed_again
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Topic
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import CreateTopic, LogDir, Task
from guardian.model.ticket import Ticket

_KINDS: Mapping[str, type[Any]] = {kind.kind: kind for kind in get_args(Task)}
_FOR_NOTES = frozenset({"clients"})


class Planner(Protocol):
    """As guardian.executor.planning.LivePlanner."""

    def ask(
        self, key: str, cluster: str, task: Task, settings: PlannerSettings | None = None
    ) -> Plan | GuardianError | None:
        """None while the plan is being made."""

    def forget(self, key: str) -> None:
        """The next `ask` with this key begins anew."""


class LiveReplanner:
    """Implements `guardian.executor.driver.Replanner`; `directory` reads what people said of the federation."""

    def __init__(self, planner: Planner, directory: Callable[[], Directory]) -> None:
        self._planner = planner
        self._directory = directory

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        """Return a plan for the same task from the cluster as it is now, or a sentence why there is none.

        None while it is made; ClusterUnavailable where the planner could not see the cluster, which decides nothing.
        Never waits. An answer is given once; the call after it begins anew.
        """
        try:
            task, settings = task_of(plan, self._directory()), settings_of(plan)
        except GuardianError as error:
            return str(error)
        key = f"stale/{ticket.id}"
        made = self._planner.ask(key, ticket.cluster, task, settings)
        if made is None:
            return None
        self._planner.forget(key)
        if isinstance(made, ClusterUnavailable):
            return made
        return str(made) if isinstance(made, GuardianError) else trimmed_again(made, ticket)


def why_not_anew(plan: Plan, directory: Directory) -> str:
    """Why the plan can't be made anew, as far as that is known before it is tried; empty when it can."""
    try:
        task_of(plan, directory)
        settings_of(plan)
    except GuardianError as error:
        return str(error)
    return ""


def task_of(plan: Plan, directory: Directory) -> Task:
    """What the plan was asked for. Raises InvalidInput where that can't be told."""
    asked = dict(plan.settings)
    kind = _KINDS.get(plan.kind)
    if kind is None:
        raise InvalidInput(f"a plan of kind {plan.kind} can't be made anew: submit another one")
    known = {field.name for field in fields(kind)}
    values: dict[str, Any] = {}
    for name in known & asked.keys() - _FOR_NOTES:
        values[name] = _field(plan, name, asked[name], directory)
    if kind is CreateTopic:
        values["configs"] = tuple(topic_configs(plan).items())
    try:
        task: Task = kind(**values)
    except TypeError:
        raise InvalidInput(
            f"this plan of kind {plan.kind} does not say all that it was asked for: make another one with guardian plan"
        ) from None
    return task


def settings_of(plan: Plan) -> PlannerSettings:
    """How it was asked for. Raises InvalidInput where that can't be told."""
    asked = dict(plan.settings)
    values: dict[str, Any] = {}
    for field in fields(PlannerSettings):
        if field.name in asked and field.name not in _task_fields(plan.kind):
            values[field.name] = _setting(field.name, field.default, asked[field.name])
    return PlannerSettings(**values)


def _task_fields(kind: str) -> frozenset[str]:
    return frozenset(field.name for field in fields(_KINDS[kind])) if kind in _KINDS else frozenset()


def _field(plan: Plan, name: str, word: str, directory: Directory) -> Any:  # noqa: PLR0911  # one for each type
    match name:
        case "brokers" | "away_from":
            return tuple(int(each) for each in _words(word))
        case "topics":
            return tuple(_words(word))
        case "log_dirs":
            return tuple(LogDir(int(broker), path) for broker, _, path in (w.partition(":") for w in _words(word)))
        case "policy":
            return directory.policy(word)
        case "topic" if plan.kind == CreateTopic.kind:
            return directory.topic(plan.cluster, word) or Topic(plan.cluster, word)
        case "label" | "tenant" | "topic":
            return word
        case "limit" | "headroom":
            return float(word)
        case "replication_factor" | "first_id" | "release" | "partitions" | "expected_bytes":
            return int(word)
        case "balance":
            return word == "True"
        case _:
            raise InvalidInput(
                f"{name} of a plan of kind {plan.kind} is not kept in full: make another one (guardian plan)"
            )


def _setting(name: str, default: object, word: str) -> object:
    if isinstance(default, bool):
        return word == "True"
    if isinstance(default, int):
        return int(word)
    if isinstance(default, float) or default is None:
        return float(word)
    if name in ("weights", "min_leaders"):
        raise InvalidInput(f"{name} of a plan is not kept in full: make another one (guardian plan)")
    return tuple(_words(word))


def _words(word: str) -> list[str]:
    return [each for each in word.split(", ") if each]
