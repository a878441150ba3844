from __future__ import annotations

import numpy as np
import pytest

from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.goals import disk_capacity, leader_distribution, rack_aware, replication_factor, traffic_spread
from spark_analytics.goals.goal import Acceptance
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.placement import Placement

ACCEPT, REJECT, CLOSED = Acceptance.ACCEPT, Acceptance.REPLICA_REJECT, Acceptance.LOG_DIR_REJECT
ALL = np.arange(4)


def placement(racks: str, *partitions: tuple[int, ...], size: int = 10) -> Placement:
    """Broker n is in the n-th rack of `racks` and has one log dir; a partition is the indices of its brokers."""
    model = ClusterModel.of(
        "live",
        [BrokerFacts(index, rack) for index, rack in enumerate(racks)],
        [LogDirFacts(index, "/d", 100, 60, offline=rack == "x") for index, rack in enumerate(racks)],
        [
            PartitionFacts(TopicPartition("t", n), tuple(ReplicaPlacement(b, "/d") for b in on), 1.0, 1.0, size)
            for n, on in enumerate(partitions)
        ],
    )
    return Placement.of(model)


def test_rack_aware_keeps_a_rack_of_its_own_for_each_replica() -> None:
    answers = rack_aware.acceptance(placement("abbc", (0, 1)), np.array([0, 1]), ALL)
    assert answers.tolist() == [[ACCEPT, REJECT, REJECT, ACCEPT], [REJECT, ACCEPT, ACCEPT, ACCEPT]]


def test_rack_aware_lets_a_replica_that_shares_its_rack_go_anywhere() -> None:
    answers = rack_aware.acceptance(placement("aabb", (0, 1)), np.array([0]), ALL)
    assert answers.tolist() == [[ACCEPT] * 4]


def test_rack_aware_never_worsens_what_racks_are_too_few_for() -> None:
    # RF 3 in two racks: 0 and 1 share rack a, 2 is alone in b.
    answers = rack_aware.acceptance(placement("aabb", (0, 1, 2)), np.array([0, 2]), ALL)
    assert answers.tolist() == [[ACCEPT] * 4, [REJECT, REJECT, ACCEPT, ACCEPT]]


def test_a_broker_holds_one_replica_of_a_partition() -> None:
    answers = replication_factor.acceptance(placement("abcd", (0, 1), (2,)), np.array([0, 2]), ALL)
    assert answers.tolist() == [[ACCEPT, REJECT, ACCEPT, ACCEPT], [ACCEPT] * 4]


def test_a_broker_that_a_sibling_left_is_closed() -> None:
    moved = placement("abcd", (0, 1))
    moved.move(1, 3)
    answers = replication_factor.acceptance(moved, np.array([0]), ALL)
    assert answers.tolist() == [[ACCEPT, REJECT, ACCEPT, REJECT]]


@pytest.mark.parametrize(
    ("limit", "reserve", "expected"),
    [
        (0.8, 0.05, [55, 55, 55, 55]),  # 60 of 100 are usable, 5 stay so
        (0.8, 0.51, [9, 9, 9, 9]),
        (0.19, 0.05, [9, 9, 19, 19]),  # the replicas on 0 and 1 take 10 already
        (0.05, 0.05, [0, 0, 5, 5]),
    ],
)
def test_head_room_keeps_both_limits(limit: float, reserve: float, expected: list[float]) -> None:
    model = placement("abcd", (0, 1), size=10).model
    assert disk_capacity.head_room(model, limit, reserve).tolist() == pytest.approx(expected)


def test_copies_must_fit_on_a_disk_that_is_online() -> None:
    crowded = placement("abcx", (0, 1), size=10)
    capacity = disk_capacity.head_room(crowded.model, 0.19, 0.05)
    answers = disk_capacity.acceptance(crowded, capacity, np.array([0]), ALL)
    assert answers.tolist() == [[ACCEPT, REJECT, ACCEPT, CLOSED]]  # 0 is home


def test_what_came_in_takes_room_until_the_copy_ends() -> None:
    crowded = placement("abcd", (0,), (1,), size=40)
    capacity = disk_capacity.head_room(crowded.model, 0.8, 0.05)
    assert capacity.tolist() == [40, 40, 55, 55]
    crowded.move(0, 2)
    assert disk_capacity.acceptance(crowded, capacity, np.array([1]), np.array([2]))[0, 0] == REJECT
    # Nothing is credited to broker 0, which the replica leaves.
    assert disk_capacity.room(crowded, capacity, ALL).tolist() == [40, 40, 15, 55]
    crowded.move(0, 3)
    assert disk_capacity.room(crowded, capacity, ALL).tolist() == [40, 40, 55, 15]


def test_relief_is_greatest_where_a_place_is_fullest() -> None:
    loads = np.array([30.0, 20.0, 10.0])
    relief = traffic_spread.relief(loads, np.full(3, -5.0), mean=20.0, target=0.1)
    assert relief[0] > relief[1]
    assert relief[2] < 0
    assert traffic_spread.relief(loads, np.full(3, -5.0), mean=0.0, target=0.1).tolist() == [0, 0, 0]


def test_no_place_may_exceed_the_fullest() -> None:
    answers = traffic_spread.acceptance(np.array([5.0, 9.0, 9.0]), np.array([5.0, 2.0, -1.0]), fullest=10.0)
    assert answers.tolist() == [True, False, True]


def test_leaders_are_uneven_by_count_or_by_bytes() -> None:
    load = placement("abcd", (0, 1), (0, 2), (3, 1), (2, 1)).load
    assert leader_distribution.overload(load).tolist() == [1.0, -1.0, 0.0, 0.0]
    gains = leader_distribution.transfer_relief(load, 0, np.array([1, 2]), np.array([1.0, 1.0]), 0.1)
    assert gains[0] > gains[1]
