"""Replicas of a partition that differ in their loads: planner and checker agree on what brokers carry afterwards.

Such models are what Cruise Control's generator of random clusters makes: each replica has a size and traffic of its
own, which it takes along. A plan names where a partition's replicas go, and not which of them goes where.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from guardian.model.plan import LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance
from guardian.model.topology import TopicPartition
from spark_analytics.checker import check
from spark_analytics.checker.rules import Rule
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.planning import explained, solve
from spark_analytics.readers.cluster_model_v1 import model_of

SETTINGS = PlannerSettings()
BROKERS, PARTITIONS = 12, 240
CAPACITY = {"cpu": 100.0, "nw_in": 1e6, "nw_out": 1e6, "disk": 1e6}


def differing(seed: int) -> ClusterModel:
    """Three replicas of each partition, more of them on low brokers, each with loads of its own."""
    drawn = random.Random(seed)  # noqa: S311  the same models each time
    replicas = []
    for number in range(PARTITIONS):
        on: list[int] = []
        while len(on) < 3:
            broker = min(drawn.randrange(BROKERS), drawn.randrange(BROKERS))
            on += [] if broker in on else [broker]
        for nth, broker in enumerate(on):
            sent = drawn.expovariate(1 / 300) if nth == 0 else 0.0
            load = {"cpu": drawn.expovariate(10), "nw_in": drawn.expovariate(1 / 300), "nw_out": sent}
            load["disk"] = drawn.expovariate(1 / 900)
            load |= {"lead_cpu": load["cpu"] / 2, "lead_nw_out": sent} if nth == 0 else {}
            named = {"topic": f"t{number % 9}", "partition": number // 9, "broker": broker, "isLeader": nth == 0}
            replicas.append({**named, "load": load})
    brokers = [{"id": each, "rack": f"r{each}", "capacity": CAPACITY} for each in range(BROKERS)]
    return model_of({"format": "cluster-model-v1", "brokers": brokers, "replicas": replicas})


@pytest.mark.parametrize("seed", range(3))
def test_the_checker_agrees_with_a_plan_of_replicas_that_differ(seed: int) -> None:
    model = differing(seed)
    solution = solve(model, Balance(), SETTINGS)
    plan = explained(model, Balance(), SETTINGS, solution)

    carried = np.zeros((BROKERS, 4))
    for slot, log_dir in enumerate(solution.found.slot_log_dir.tolist()):
        partition = model.slot_partition[slot]
        carried[model.log_dir_broker[log_dir]] += model.slot_load[slot, :4]
        if solution.found.leader_slot[partition] == slot:
            carried[model.log_dir_broker[log_dir]] += model.leader_load[partition, :4]
    told = {(row.broker, str(row.resource)): row.after for row in plan.loads}
    for nth, resource in enumerate(("cpu", "nw_in", "nw_out", "disk")):
        assert [told[(broker, resource)] for broker in range(BROKERS)] == pytest.approx(carried[:, nth].tolist())
    assert check(model, plan, SETTINGS, Balance()) == ()
    several = [move for move in plan.moves if len(move.added_brokers) > 1]
    assert several, "nothing here is told apart by which replica goes where"


def _of_sizes(*sizes: float) -> ClusterModel:
    """One partition, whose replicas are on brokers 0, 1, ... and have so many MB; three brokers more are empty."""
    return model_of(
        {
            "format": "cluster-model-v1",
            "brokers": [{"id": n, "rack": f"r{n}", "capacity": CAPACITY} for n in range(len(sizes) + 3)],
            "replicas": [
                {
                    "topic": "t",
                    "partition": 0,
                    "broker": broker,
                    "isLeader": broker == 0,
                    "load": {"cpu": 0.0, "nw_in": 0.0, "nw_out": 0.0, "disk": size},
                }
                for broker, size in enumerate(sizes)
            ],
        }
    )


def _told(mb: dict[int, float]) -> Plan:
    """The two larger replicas, of 90 and 50 MB, go from 0 and 1 to 3 and 4; the table tells so many MB afterwards."""
    now = {0: 90.0, 1: 50.0, 2: 10.0}
    move = PartitionMove(
        TopicPartition("t", 0),
        tuple(ReplicaPlacement(broker) for broker in (0, 1, 2)),
        tuple(ReplicaPlacement(broker) for broker in (3, 4, 2)),
        size_bytes=70_000_000,
    )
    rows = tuple(
        LoadSummary(broker, "", now.get(broker, 0.0) * 1e6, mb.get(broker, 0.0) * 1e6, "disk") for broker in range(6)
    )
    return Plan("model", "balance", (move,), loads=rows)


def test_either_replica_may_go_to_either_place_but_none_to_both() -> None:
    model = _of_sizes(90, 50, 10)

    def found(**mb: float) -> list[str]:
        plan = _told({int(broker[1:]): size for broker, size in mb.items()})
        return [each.detail for each in check(model, plan, SETTINGS) if each.rule is Rule.LOADS]

    assert found(b2=10, b3=90, b4=50) == []
    assert found(b2=10, b3=50, b4=90) == []
    assert found(b2=10, b3=90, b4=90) == ["all brokers disk after is 1.9e+08, but it adds up to 1.5e+08"]
    assert any("broker 3 disk" in each for each in found(b2=10, b3=140, b4=0))


def test_evenness_is_that_of_the_way_that_the_table_tells() -> None:
    """A table that is possible and uneven is uneven; one that only claims to be even is refused for what it is."""
    model = _of_sizes(90, 50, 10)
    uneven = [each.detail for each in check(model, _told({2: 10, 3: 50, 4: 90}), SETTINGS, Balance())]
    assert any(each.startswith("disk of broker 4 is 260% above the mean") for each in uneven)
    claimed = check(model, _told(dict.fromkeys(range(6), 25.0)), SETTINGS, Balance())
    assert any(each.rule is Rule.LOADS for each in claimed)
    assert any("disk of broker" in each.detail and "above the mean" in each.detail for each in claimed)
