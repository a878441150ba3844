from __future__ import annotations

import numpy as np

from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.load import (
    disk_scale,
    load_now,
    load_of,
    scale,
    topic_excess,
)

INF = float("inf")


def model() -> ClusterModel:
    places = [ReplicaPlacement(1, "/d1"), ReplicaPlacement(2, "/d1"), ReplicaPlacement(2, "/d2")]
    return ClusterModel.of(
        "live",
        [
            BrokerFacts(1, capacity=(100, 1000, INF, INF)),
            BrokerFacts(2, capacity=(400, INF, INF, 500)),
            BrokerFacts(3, alive=False, capacity=(200, INF, INF, INF)),
        ],
        [
            *(LogDirFacts(broker, f"/d{number}", 100 * broker, 100) for broker in (1, 2) for number in (1, 2)),
            LogDirFacts(3, "/d1", 0, 0, offline=True),
        ],
        [
            PartitionFacts(TopicPartition("t", 0), (places[0], places[1]), 10, 5, 7, cpu=1, leader_cpu=2, reads=(0, 4)),
            PartitionFacts(TopicPartition("t", 1), (places[2], places[0]), 1, 2, 3),
        ],
    )


def test_a_broker_carries_its_replicas_and_what_leading_adds() -> None:
    load = load_now(model())
    # CPU, NW_IN, NW_OUT (consumers, followers, and consumers of a follower), DISK, REPLICAS, LEADERS
    assert load.broker.tolist() == [[3, 11, 5 + 10, 10, 2, 1], [1, 11, 2 + 1 + 4, 10, 2, 1], [0] * 6]
    assert load.log_dir.tolist() == [[10, 11], [0, 0], [7, 10], [3, 1], [0, 0]]
    assert load.leader_bytes_in.tolist() == [10, 1, 0]
    assert load.potential_nw_out.tolist() == [15 + 3, 4 + 15 + 3, 0]


def test_moving_replicas_and_leaders_changes_no_total() -> None:
    total = load_now(model()).broker.sum(axis=0)
    moved = load_of(model(), np.array([3, 1, 0, 2]), np.array([1, 3]))
    assert moved.broker.sum(axis=0).tolist() == total.tolist()
    assert moved.broker[0].tolist() != load_now(model()).broker[0].tolist()


def test_a_replica_without_a_place_costs_nobody_anything() -> None:
    load = load_of(model(), np.array([-1, 2, 3, 0]), model().leader_slot)
    assert load.broker[:, 4].tolist() == [1, 2, 0]
    assert load.broker[:, 5].tolist() == [0, 1, 0]


def test_use_is_relative_to_capacity_and_an_unknown_one_counts_as_the_middle() -> None:
    assert scale(model())[:, 0].tolist() == [100, 400, 200]
    assert scale(model())[:, 1].tolist() == [1000, 1000, 1000]
    assert scale(model())[:, 2].tolist() == [1, 1, 1]
    assert scale(model())[:, 3].tolist() == [200, 500, 350]
    assert scale(model())[:, 4].tolist() == [1, 1, 1]
    assert disk_scale(model())[:, 0].tolist() == [100, 100, 200, 200, 150]
    assert disk_scale(model())[:, 1].tolist() == [1, 1, 1, 1, 1]


def test_topic_excess_counts_what_the_fullest_broker_holds_beyond_an_even_share() -> None:
    assert topic_excess(model(), model().slot_log_dir) == 0
    assert topic_excess(model(), np.array([0, 2, 2, 2])) == 1
