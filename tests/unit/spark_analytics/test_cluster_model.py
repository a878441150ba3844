from __future__ import annotations

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts

BROKERS = [BrokerFacts(2, "r1", "suzhou"), BrokerFacts(1, "", "shanghai"), BrokerFacts(3, "r1", "shanghai")]
LOG_DIRS = [
    LogDirFacts(2, "/d1", 1000, 500),
    LogDirFacts(1, "/d2", 1000, 400, "sda"),
    LogDirFacts(1, "/d1", 1000, 300, "sda"),
    LogDirFacts(3, "/d1", 0, 0, offline=True),
]


def partition(number: int, *replicas: tuple[int, str], rate: float = 1.0) -> PartitionFacts:
    return PartitionFacts(TopicPartition("t", number), tuple(ReplicaPlacement(*item) for item in replicas), rate)


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
    assert [item.partition for item in model.partitions] == [9, 10]
    assert model.replicas(0) == (ReplicaPlacement(3, "/d1"), ReplicaPlacement(1, "/d2"), ReplicaPlacement(2, "/d1"))
    assert model.slot_start.tolist() == [0, 3, 4]
    assert model.leader_slot.tolist() == [0, 3]


def test_a_broker_without_a_rack_stands_alone() -> None:
    model = ClusterModel.of("live", [*BROKERS, BrokerFacts(4)], [*LOG_DIRS, LogDirFacts(4, "/d1", 1, 1)], [])
    assert model.rack[1] == model.rack[2]
    assert len({model.rack[0], model.rack[1], model.rack[3]}) == 3
    assert model.idc[0] == model.idc[2] != model.idc[1]


def test_log_dirs_on_one_disk_share_its_room() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [])
    assert model.log_dir_disk.tolist() == [0, 0, 1, 2]
    assert model.disk_usable_bytes.tolist() == [300, 500, 0]


def test_arrays_are_immutable() -> None:
    model = ClusterModel.of("live", BROKERS, LOG_DIRS, [partition(0, (2, "/d1"))])
    for name in model.__slots__:
        if isinstance(array := getattr(model, name), np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0


@pytest.mark.parametrize(
    ("brokers", "log_dirs", "partitions", "message"),
    [
        ([], [], [], "cluster live has no brokers"),
        ([*BROKERS, BrokerFacts(1)], LOG_DIRS, [], "broker 1 is in the model of cluster live twice"),
        (BROKERS, [*LOG_DIRS, LOG_DIRS[0]], [], "log dir .*/d1.* twice"),
        (BROKERS, LOG_DIRS[1:], [], "broker 2 of cluster live has no log dirs"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(9, "/d1", 1, 1)], [], "log dir /d1 of broker 9 .* unknown broker"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(1, "/d3", 0, 1)], [], "log dir /d3 of broker 1 .* total_bytes 0"),
        (BROKERS, [*LOG_DIRS, LogDirFacts(1, "/d3", 1, -1)], [], "usable_bytes -1"),
        (BROKERS, LOG_DIRS, [partition(0)], "partition t-0 of cluster live has no replicas"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), (1, "/d2"))], "t-0 .* two replicas on one broker"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/nowhere"))], "t-0 .* unknown log dir /nowhere of broker 1"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), rate=-1.0)], "t-0 .* below zero"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"), rate=float("nan"))], "t-0 .* not finite"),
        (BROKERS, LOG_DIRS, [partition(0, (1, "/d1"))] * 2, "twice"),
    ],
)
def test_facts_that_contradict_one_another_are_refused(
    brokers: list[BrokerFacts], log_dirs: list[LogDirFacts], partitions: list[PartitionFacts], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClusterModel.of("live", brokers, log_dirs, partitions)
