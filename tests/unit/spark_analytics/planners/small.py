"""Clusters of a few brokers for the tests of planners, and what a plan does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.topology import TopicPartition
from spark_analytics.checker import check
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.planners.planning import explained, solve

GB = 10**9
SETTINGS = PlannerSettings()


def brokers(count: int, **changed: Mapping[str, Any]) -> list[BrokerFacts]:
    """Brokers 1, 2, ..., each in a rack of its own; `changed` by "b2" and the like."""
    return [
        BrokerFacts(each, **({"rack": f"r{each}"} | dict(changed.get(f"b{each}", {})))) for each in range(1, count + 1)
    ]


def cluster(
    on: Sequence[BrokerFacts],
    partitions: Mapping[str, tuple[Sequence[int], int]],
    total: int | Mapping[int, int] = 1000,
    unseen: Sequence[str] = (),
    rate: float = 0.0,
    **told: Any,
) -> ClusterModel:
    """Each broker has one disk of `total` GB; `partitions`: "t-0" -> (brokers, the leader first; GB of each replica).

    `rate` is what each partition takes in and serves, `unseen` are those with replicas that no sample shows.
    """
    size = total if isinstance(total, Mapping) else {each.id: total for each in on}
    held = {each.id: sum(gb for at, gb in partitions.values() if each.id in at) for each in on}
    return ClusterModel.of(
        "live",
        on,
        [LogDirFacts(each.id, "/d", size[each.id] * GB, (size[each.id] - held[each.id]) * GB) for each in on],
        [
            PartitionFacts(
                named(name),
                tuple(ReplicaPlacement(broker, "/d") for broker in at),
                write_rate=rate,
                read_rate=rate,
                size_bytes=gb * GB,
                whole=name not in unseen,
            )
            for name, (at, gb) in partitions.items()
        ],
        **told,
    )


def named(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def planned(model: ClusterModel, task: Task, settings: PlannerSettings = SETTINGS) -> Plan:
    """A plan with which the checker agrees."""
    plan = explained(model, task, settings, solve(model, task, settings))
    assert check(model, plan, settings, task) == ()
    return plan


def targets(plan: Plan) -> dict[str, list[int]]:
    """Of each partition that moves, where it goes, by id."""
    return {str(move.partition): sorted(move.target_brokers) for move in plan.moves}
