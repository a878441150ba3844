"""What a request asks Guardian for: a planner's task and its settings. Pure.

rebalance, proposals     balance; to `destination_broker_ids` only: add-brokers; `rebalance_disk`: inside brokers
add_broker               add-brokers
remove_broker            remove-brokers, whose ticket is an ask: it keeps the brokers' exclusions at the end
demote_broker            leaders, away from the brokers
fix_offline_replicas     heal
remove_disks             empty-disk
topic_configuration      change-replication-factor
rightsize                expand-topic, where a topic and its partitions are named
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    Remove,
    ReplicationFactor,
    Task,
)
from guardian.rest.cruise_control.parameters import Asked

INSIDE_BROKERS = ("log-dir-spread", "log-dir-io-spread")
REMOVAL = "remove_broker"


def task_of(asked: Asked, topics: Collection[str]) -> Task:
    """`topics` are those that the parameter `topic` matches. Raises InvalidInput."""
    make = _TASKS.get(asked.endpoint.name)
    if make is None:
        raise InvalidInput(f"{asked.endpoint.name} makes no plan")
    return make(asked, topics)


def _balance(asked: Asked, _topics: Collection[str]) -> Task:
    destinations = asked.numbers("destination_broker_ids")
    return Add(destinations) if destinations else Balance()


def _replication_factor(asked: Asked, topics: Collection[str]) -> Task:
    _require_topics(asked, topics)
    return ReplicationFactor(tuple(sorted(topics)), asked.number("replication_factor") or 0)


def _expand(asked: Asked, topics: Collection[str]) -> Task:
    _require_topics(asked, topics)
    if len(topics) > 1:
        raise InvalidInput(f"topic is {asked.text('topic')!r}, which {len(topics)} topics match: name one")
    return ExpandTopic(next(iter(topics)), asked.number("partition_count") or 0)


_TASKS: Mapping[str, Callable[[Asked, Collection[str]], Task]] = {
    "rebalance": _balance,
    "proposals": _balance,
    "add_broker": lambda asked, _: Add(asked.numbers("brokerid")),
    "remove_broker": lambda asked, _: Remove(asked.numbers("brokerid")),
    "demote_broker": lambda asked, _: Leaders(away_from=asked.numbers("brokerid")),
    "fix_offline_replicas": lambda _, __: Heal(),
    "remove_disks": lambda asked, _: EmptyDisk(tuple(LogDir(broker, path) for broker, path in asked.log_dirs())),
    "topic_configuration": _replication_factor,
    "rightsize": _expand,
}


def by_factor(asked: Asked) -> tuple[Asked, ...]:
    """Return the request once for each replication factor of its body: each is a plan of its own."""
    return tuple(
        replace(
            asked,
            values={
                **asked.values,
                "topic": factor.pattern or "|".join(factor.topics),
                "replication_factor": factor.replication_factor,
            },
            factors=(factor,),
        )
        for factor in asked.factors
    ) or (asked,)


def named_brokers(asked: Asked) -> frozenset[int]:
    """Return the brokers that a request for a plan names."""
    named = {*asked.numbers("brokerid"), *asked.numbers("destination_broker_ids")}
    return frozenset(named.union(broker for broker, _ in asked.log_dirs()))


def require_disjoint(tasks: Sequence[Task]) -> None:
    """Raises InvalidInput where one topic would get two replication factors."""
    given: dict[str, int] = {}
    for task in tasks:
        if not isinstance(task, ReplicationFactor):
            continue
        for topic in task.topics:
            other = given.setdefault(topic, task.replication_factor)
            if other != task.replication_factor:
                raise InvalidInput(
                    f"topic {topic} would get the replication factors {other} and {task.replication_factor}: "
                    "let one expression match it"
                )


def settings_of(
    asked: Asked, settings: PlannerSettings, excluded: Collection[str], inside: Collection[str]
) -> PlannerSettings:
    """`excluded` are the topics that `excluded_topics` matches, `inside` the goals inside brokers."""
    goals = asked.words("goals")
    if asked.flag("rebalance_disk"):
        if goals:
            raise InvalidInput("rebalance_disk is true and goals are given: give one of them")
        goals = tuple(inside)
    throttle = asked.number("replication_throttle")
    return replace(
        settings,
        goals=goals or settings.goals,
        excluded_topics=tuple(dict.fromkeys((*settings.excluded_topics, *sorted(excluded)))),
        throttle=float(throttle) if throttle else settings.throttle,
    )


def pretext(asked: Asked) -> str:
    """Return what stands above the brokers' loads."""
    brokers = list(asked.numbers("brokerid"))
    words = {
        "add_broker": f"Cluster load after adding broker {brokers}:",
        "remove_broker": f"Cluster load after removing broker {brokers}:",
        "demote_broker": f"Cluster load after demoting broker {brokers}:",
        "fix_offline_replicas": "Cluster load after fixing offline replicas:",
        "proposals": "Optimized load:",
        "rebalance": "Cluster load after rebalance:",
        "topic_configuration": f"Cluster load after updating replication factor of topics {asked.text('topic')}",
        "remove_disks": f"Cluster load after removing disks {list(asked.log_dirs())}:",
    }
    return words.get(asked.endpoint.name, "Cluster load:")


def _require_topics(asked: Asked, topics: Collection[str]) -> None:
    if not topics:
        raise InvalidInput(f"topic is {asked.text('topic')!r}, which no topic matches: give a name or an expression")
