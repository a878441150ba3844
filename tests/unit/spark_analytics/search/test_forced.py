"""Which replicas leave a crowded rack or IDC, against all choices that there are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from guardian.model.federation import IdcPolicy
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.model.cluster_model import ClusterModel, TopicFacts
from spark_analytics.model.resources import RESOURCES
from spark_analytics.planners.rules import Scope, compiled
from spark_analytics.search.forced import forced_of
from spark_analytics.search.goal import Targets
from spark_analytics.search.search import find
from tests.unit.spark_analytics.planners.small import brokers, cluster

RACKS = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "c"}
POLICY = IdcPolicy("two-one", (("east", 2), ("west", 1)))


def crowded(seed: int, partitions: int, policy: bool = False) -> ClusterModel:
    """Three replicas of each partition, of 1 to 9 GB, wherever they happened to go; c is in west, a and b in east."""
    drawn = random.Random(seed)  # noqa: S311  the same models each time
    places = {f"b{broker}": {"rack": rack, "idc": "west" if rack == "c" else "east"} for broker, rack in RACKS.items()}
    held = {f"t-{n}": (drawn.sample(sorted(RACKS), 3), drawn.randint(1, 9)) for n in range(partitions)}
    told: dict[str, Any] = {"topics": [TopicFacts("t", policy="two-one")], "policies": [POLICY]} if policy else {}
    return cluster(brokers(6, **places), held, rate=1e6, **told)


def leaving(model: ClusterModel, scope: Scope | None = None) -> np.ndarray:
    rules, _ = compiled(model, PlannerSettings(), scope)
    return forced_of(model, rules, np.zeros(model.slots, dtype=np.bool_), np.ones(RESOURCES))


def kept_by_rule(model: ClusterModel, partition: int, policy: bool) -> Iterator[tuple[int, ...]]:
    """Every largest set of replicas of which one is in each rack, and no more than the policy says in each IDC."""
    slots = range(int(model.slot_start[partition]), int(model.slot_start[partition + 1]))
    for size in range(len(slots), 0, -1):
        sets = []
        for kept in combinations(slots, size):
            racks = [RACKS[int(model.broker_ids[model.slot_broker[slot]])] for slot in kept]
            alone = max(Counter(racks).values()) == 1
            if alone and not (policy and (racks.count("c") > 1 or size - racks.count("c") > 2)):
                sets.append(kept)
        if sets:
            yield from sets
            return


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policy", [False, True])
def test_no_more_leave_than_must_and_what_stays_is_about_as_even_as_any_choice_leaves_it(
    seed: int, policy: bool
) -> None:
    model = crowded(seed, 6, policy)
    size = model.slot_load[:, 3]

    def squares(kept: list[int]) -> float:
        return float((np.bincount(model.slot_broker[kept], size[kept], model.brokers) ** 2).sum())

    choices = [list(kept_by_rule(model, partition, policy)) for partition in range(model.partitions)]
    best = min(squares([slot for kept in each for slot in kept]) for each in product(*choices))
    stays = np.flatnonzero(~leaving(model)).tolist()
    of_partition = [tuple(s for s in stays if model.slot_partition[s] == p) for p in range(model.partitions)]
    assert all(kept in some for kept, some in zip(of_partition, choices, strict=True))
    assert squares(stays) <= 1.25 * best


def test_of_equals_the_leader_stays() -> None:
    model = cluster(brokers(3, b2={"rack": "r1"}), {"t-0": ((2, 1), 5), "t-1": ((1, 2), 5)}, rate=1e6)
    assert model.slot_broker[leaving(model)].tolist() == [0, 1]


def test_nothing_leaves_a_cluster_that_holds_nothing() -> None:
    assert leaving(cluster(brokers(2), {})).tolist() == []


def test_nothing_leaves_a_crowd_for_a_task_that_does_not_mend() -> None:
    assert leaving(crowded(1, 6)).any()
    assert not leaving(crowded(1, 6), Scope(mends=False)).any()


@pytest.mark.parametrize("seed", [4, 5, 6, 7])
def test_what_finds_no_place_comes_home_to_the_room_that_it_left(seed: int) -> None:
    """All brokers are in one rack, where a partition may have one replica: the others stay, and take up room."""
    drawn = random.Random(seed)  # noqa: S311  the same models each time
    held = {f"t-{n}": (drawn.sample(range(1, 5), drawn.randint(1, 3)), drawn.randint(0, 5)) for n in range(12)}
    model = cluster(brokers(4, **{f"b{n}": {"rack": "a"} for n in range(1, 5)}), held, rate=1e6)
    rules, _ = compiled(model, PlannerSettings())
    before = np.bincount(model.slot_broker, minlength=4)
    most = np.full(4, int(sorted(before)[2]))
    found = find(model, replace(rules, rack_max=np.ones_like(rules.rack_max), most_replicas=most), Targets.default())
    assert found.stuck
    after = np.bincount(model.log_dir_broker[found.slot_log_dir], minlength=4)
    assert (after <= np.maximum(before, most)).all()
