from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Tenant
from guardian.model.links import Line
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import (
    BrokerFacts,
    ClusterModel,
    LogDirFacts,
    PartitionFacts,
    ReplicaColumns,
    TopicFacts,
)
from spark_analytics.model.resources import Resource

BROKERS = [BrokerFacts(2, "r1", "suzhou"), BrokerFacts(1, "", "shanghai"), BrokerFacts(3, "r1", "shanghai")]
LOG_DIRS = [
    LogDirFacts(2, "/d1", 1000, 500),
    LogDirFacts(1, "/d2", 1000, 400, "sda"),
    LogDirFacts(1, "/d1", 1000, 300, "sda"),
    LogDirFacts(3, "/d1", 0, 0, offline=True),
]


def partition(number: int, *replicas: tuple[int, str], rate: float = 1.0, unplaced: int = 0) -> PartitionFacts:
    places = tuple(ReplicaPlacement(*item) for item in replicas)
    return PartitionFacts(TopicPartition("t", number), places, rate, unplaced=unplaced)


def columns(*rows: tuple[int, int, int, bool], load: float = 1.0) -> ReplicaColumns:
    """Rows of (topic, partition, log dir, leads)."""
    topic, number, log_dir, leads = (np.array(column) for column in zip(*rows, strict=True))
    loads = np.full((len(rows), 4), load)
    return ReplicaColumns(topic, number, log_dir, leads.astype(np.bool_), loads, loads)


def test_indices_are_sorted_whatever_the_order_of_the_facts() -> None:
    model = ClusterModel.of(
        "live", BROKERS, LOG_DIRS, [partition(10, (2, "/d1")), partition(9, (3, "/d1"), (2, "/d1"), (1, "/d2"))]
    )
    assert model.broker_ids.tolist() == [1, 2, 3]
    assert [(int(b), path) for b, path in zip(model.log_dir_broker, model.log_dirs, strict=True)] == [
        (0, "/d1"),
        (0, "/d2"),
        (1, "/d1"),
        (2, "/d1"),
    ]
    assert [model.partition(index) for index in range(model.partitions)] == [("t", 9), ("t", 10)]
    assert model.replicas(0) == (ReplicaPlacement(3, "/d1"), ReplicaPlacement(1, "/d2"), ReplicaPlacement(2, "/d1"))
    assert model.slot_start.tolist() == [0, 3, 4]
    assert model.leader_slot.tolist() == [0, 3]
    assert model.slot_partition.tolist() == [0, 0, 0, 1]


def test_the_same_facts_in_any_order_give_the_same_arrays() -> None:
    facts = [partition(number, (2, "/d1"), (1, "/d2"), rate=number) for number in range(9)]
    one = ClusterModel.of("live", BROKERS, LOG_DIRS, facts)
    other = ClusterModel.of("live", BROKERS[::-1], LOG_DIRS[::-1], facts[::-1])
    for name in one.__slots__:
        np.testing.assert_equal(getattr(one, name), getattr(other, name))


def test_a_broker_without_a_rack_stands_alone() -> None:
    model = ClusterModel.of("live", [*BROKERS, BrokerFacts(4)], [*LOG_DIRS, LogDirFacts(4, "/d1", 1, 1)], [])
    assert model.rack[1] == model.rack[2]
    assert len({model.rack[0], model.rack[1], model.rack[3]}) == 3
    assert model.rack_names[model.rack[3]] == "(broker 4)"
    assert [model.idc_names[code] if code >= 0 else "" for code in model.idc] == ["shanghai", "suzhou", "shanghai", ""]


def test_log_dirs_on_one_disk_share_its_room() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [])
    assert model.log_dir_disk.tolist() == [0, 0, 1, 2]
    assert model.disk_usable_bytes.tolist() == [300, 500, 0]
    assert model.capacity[:, Resource.DISK].tolist() == [1000, 1000, np.inf]


def test_labels_tenants_and_policies_are_codes_into_sorted_names() -> None:
    policy = IdcPolicy("p2", (("suzhou", 1),))
    model = ClusterModel.of(
        "live",
        [BrokerFacts(1, label="gold"), BrokerFacts(2)],
        [LogDirFacts(1, "/d", 1, 1), LogDirFacts(2, "/d", 1, 1)],
        [partition(0, (1, "/d"))],
        [TopicFacts("t", "pay", "gold", "p2", 10, 20)],
        [Tenant("pay", labels=("gold", "silver")), Tenant("ads")],
        [policy, IdcPolicy("p1", (("suzhou", 2),))],
        [Line(("a", "c")), Line(("a", "b"))],
    )
    assert model.label_names == ("gold", "silver")
    assert model.broker_label.tolist() == [0, -1]
    assert (model.tenant_names, model.topic_tenant.tolist()) == (("ads", "pay"), [1])
    assert model.tenant_labels.tolist() == [[False, False], [True, True]]
    assert model.policies[model.topic_policy[0]] == policy
    assert model.topic_expected.tolist() == [[10, 20]]
    assert [line.between for line in model.lines] == [("a", "b"), ("a", "c")]


def test_a_replica_without_a_place_comes_last() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [partition(0, (2, "/d1"), unplaced=2)])
    assert model.slot_log_dir.tolist() == [2, -1, -1]
    assert model.slot_broker.tolist() == [1, -1, -1]
    assert model.replicas(0) == (ReplicaPlacement(2, "/d1"),)


def test_the_leader_sends_to_followers_and_consumers_on_top_of_what_a_follower_costs() -> None:
    facts = PartitionFacts(
        TopicPartition("t", 0),
        (ReplicaPlacement(1, "/d1"), ReplicaPlacement(2, "/d1")),
        write_rate=10,
        read_rate=5,
        sizes=(100, 90),
        reads=(0, 3),
        cpu=1,
        leader_cpu=2,
    )
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [facts])
    assert model.slot_load.tolist() == [[1, 10, 0, 100, 1, 0], [1, 10, 3, 90, 1, 0]]
    assert model.leader_load.tolist() == [[2, 0, 15, 0, 0, 1]]
    assert model.slot_io.tolist() == [10, 10]


def test_columns_need_no_order_and_a_leader_none_of_its_own() -> None:
    rows = columns((0, 1, 0, False), (1, 0, 3, True), (0, 1, 3, True), (1, 0, -1, False))
    model = ClusterModel.from_arrays("live", BROKERS, LOG_DIRS, [TopicFacts("z"), TopicFacts("a")], rows)
    assert [model.partition(index) for index in range(2)] == [("a", 0), ("z", 1)]
    assert [model.slot_log_dir[slots].tolist() for slots in (slice(0, 2), slice(2, 4))] == [[3, -1], [3, 2]]
    leaderless = ClusterModel.from_arrays(
        "live", BROKERS, LOG_DIRS, [TopicFacts("a")], columns((0, 0, 0, False), (0, 0, 1, False))
    )
    assert leaderless.movable.tolist() == [False]
    assert leaderless.slot_broker.tolist() == [0, 1]


def test_a_model_without_partitions_is_one() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [])
    assert (model.partitions, model.slots, model.slot_start.tolist()) == (0, 0, [0])


def test_names_are_found_or_refused_in_a_sentence() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [partition(3, (2, "/d1")), partition(7, (2, "/d1"))])
    assert model.broker_index(2) == 1
    assert model.partition_index(TopicPartition("t", 7)) == 1
    cases: list[tuple[Callable[[], int], str]] = [
        (lambda: model.broker_index(9), "broker 9 is not in the model of cluster live: name one of 1, 2, 3"),
        (lambda: model.topic_index("u"), "topic u is not in the model of cluster live"),
        (lambda: model.partition_index(TopicPartition("t", 4)), "partition t-4 is not in the model of cluster live"),
        (lambda: model.partition_index(TopicPartition("t", 8)), "partition t-8 is not in the model of cluster live"),
    ]
    for wrong, message in cases:
        with pytest.raises(InvalidInput, match=message):
            wrong()


def test_arrays_are_immutable() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [partition(0, (2, "/d1"))])
    for name in model.__slots__:
        if isinstance(array := getattr(model, name), np.ndarray) and array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0


@pytest.mark.parametrize(
    ("brokers", "log_dirs", "partitions", "message"),
    [
        ([], [], [], "cluster live has no brokers"),
        ([*BROKERS, BrokerFacts(1)], LOG_DIRS, [], "broker 1 is in the model of cluster live twice"),
        (BROKERS, [*LOG_DIRS, LOG_DIRS[0]], [], "log dir /d1 of broker 2 .* twice"),
        (BROKERS, LOG_DIRS[1:], [], "broker 2 of cluster live has no log dirs"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(9, "/d1", 1, 1)], [], "log dir /d1 of broker 9 .* unknown broker"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(1, "/d3", 0, 1)], [], "log dir /d3 of broker 1 .* total_bytes 0"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(1, "/d3", 1, -1)], [], "usable_bytes -1"),
        ([*BROKERS, BrokerFacts(4, capacity=(0, 1, 1, 1))], LOG_DIRS, [], "capacity cpu of broker 4 .* is 0"),
        (BROKERS, LOG_DIRS, [partition(0)], "partition t-0 of cluster live has no replicas"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), (1, "/d2"))], "t-0 .* two replicas on one broker"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/nowhere"))], "t-0 .* unknown log dir /nowhere of broker 1"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), rate=-1.0)], "t-0 .* below zero"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), rate=float("nan"))], "t-0 .* not finite"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"))] * 2, "partition t-0 .* twice"),
    ],
)
def test_facts_that_contradict_one_another_are_refused(
    brokers: list[BrokerFacts], log_dirs: list[LogDirFacts], partitions: list[PartitionFacts], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClusterModel.of("live", brokers, log_dirs, partitions)


@pytest.mark.parametrize(
    ("rows", "topics", "message"),
    [
        (columns((0, 0, 0, True), (0, 0, 1, True)), [TopicFacts("a")], "partition a-0 .* has two leaders"),
        (columns((0, -1, 0, True)), [TopicFacts("a")], "partition a--1 .* a number below 0"),
        (columns((0, 0, 0, True), load=np.inf), [TopicFacts("a")], "a-0 .* has a load below zero or not finite"),
        (columns((0, 0, 0, True)), [TopicFacts("a")] * 2, "topic a is in the model of cluster live twice"),
        (columns((0, 0, 0, True)), [TopicFacts("a", policy="p")], "idc_policy of topic a in cluster live is 'p'"),
    ],
)
def test_columns_that_contradict_one_another_are_refused(
    rows: ReplicaColumns, topics: list[TopicFacts], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClusterModel.from_arrays("live", BROKERS, LOG_DIRS, topics, rows)
