"""How even a placement is, is one number wherever it is told: by the search, in the explanation, by the goals."""

from __future__ import annotations

import numpy as np
import pytest

from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.measure import brokers_measured, evenness
from spark_analytics.goals import registry
from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.model.load import load_now, load_of
from spark_analytics.planners.rules import compiled
from spark_analytics.search.goal import Targets
from spark_analytics.search.search import find

_GOALS = ("cpu-spread", "nw-in-spread", "nw-out-spread", "disk-spread", "replica-spread", "leader-spread")


@pytest.fixture
def model() -> ClusterModel:
    """Two pools (label gold), machines of two sizes, one of unknown capacity."""
    dice = np.random.default_rng(4)
    brokers = [
        BrokerFacts(
            each,
            f"r{each % 3}",
            label="gold" if each > 5 else "",
            capacity=(800.0 + 800 * (each % 2), 1e9, float("inf") if each == 2 else 1e9 * (1 + each % 2), 4e12),
        )
        for each in range(9)
    ]
    partitions = []
    for number in range(60):
        topic, homes = ("g", range(6, 9)) if number % 3 == 0 else ("t", range(6))
        at = tuple(ReplicaPlacement(int(broker), "/d") for broker in dice.permutation(list(homes))[:2])
        write, read = dice.uniform(1e5, 1e6, 2).tolist()
        size = int(dice.integers(1, 99)) * 10**9
        partitions.append(PartitionFacts(TopicPartition(topic, number), at, write, read, size))
    dirs = [LogDirFacts(each, "/d", 4e12, 3e12) for each in range(9)]
    return ClusterModel.of("live", brokers, dirs, partitions, [TopicFacts("g", label="gold")])


def test_search_explanation_and_goals_tell_the_same_spread(model: ClusterModel) -> None:
    rules, _ = compiled(model, PlannerSettings())
    found = find(model, rules, Targets.of_spread(0.4))
    after = load_of(model, found.slot_log_dir, found.leader_slot).broker
    spread = evenness(brokers_measured(model, rules, load_now(model).broker, after))
    assert 1 + spread == pytest.approx(found.max_over_mean)
    placed = Placed.of(model, rules, Targets.default(), found.slot_log_dir, found.leader_slot)
    assert [registry.goal(name).measure(placed) for name in _GOALS] == pytest.approx(spread.tolist())
