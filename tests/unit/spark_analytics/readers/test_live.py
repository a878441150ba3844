"""What Kafka shows now, as a model: who is dead, what is lost, what is on its way, what is not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from guardian.errors import ClusterUnavailable
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion, Machine
from guardian.model.topology import Broker, BrokerState, Cluster, TopicPartition
from spark_analytics.model.resources import Resource
from spark_analytics.readers.live import live_model

ORDERS = TopicPartition("orders", 0)
PAYMENTS = TopicPartition("payments", 0)


def log_dir(broker: int, path: str, sizes: Mapping[TopicPartition, int], error: str = "") -> LogDir:
    replicas = {partition: LogDirReplica(size, 0, False) for partition, size in sizes.items()}
    return LogDir(broker, path, error, 1_000, 400, {} if error else replicas)


def facts() -> LiveFacts:
    return LiveFacts(
        "live",
        5_000,
        {broker: BrokerNode(broker, f"host{broker}", 9092, f"rack{broker}") for broker in (1, 2, 3)},
        {ORDERS: PartitionState(1, (1, 2), (1, 2)), PAYMENTS: PartitionState(2, (2, 3), (2, 3))},
        {},
        (
            log_dir(1, "/a", {ORDERS: 100}),
            log_dir(2, "/a", {ORDERS: 90, PAYMENTS: 7}),
            log_dir(3, "/a", {PAYMENTS: 7}),
            log_dir(3, "/b", {}),
        ),
    )


def directory(*brokers: Broker) -> Directory:
    return Directory(clusters=(Cluster("live", "host1:9092", brokers=brokers),))


def test_a_cluster_is_as_kafka_shows_it_and_people_say() -> None:
    told = replace(
        directory(Broker(1, idc="shanghai", label="gold"), Broker(2, state=BrokerState.DRAINING)),
        machines=(
            Machine("host3", cores=4, nic_bytes_per_s=10, cluster="live", broker_id=3, idc="suzhou", label="gold"),
        ),
        exclusions=(
            Exclusion("live", 3, "ann", "a new rack"),
            Exclusion("live", 1, "ann", "over", until_ms=4_000),
            Exclusion("other", 1, "ann", "elsewhere"),
        ),
    )
    model = live_model(facts(), told)
    assert model.broker_ids.tolist() == [1, 2, 3]
    assert model.alive.all()
    assert model.excluded.tolist() == [False, True, True]
    assert [model.rack_names[rack] for rack in model.rack] == ["rack1", "rack2", "rack3"]
    assert [model.idc_names[idc] if idc >= 0 else "" for idc in model.idc] == ["shanghai", "", "suzhou"]
    assert model.broker_label.tolist() == [0, -1, 0]
    assert model.capacity[2, Resource.NW_IN] == 10
    assert model.capacity[2, Resource.CPU] == 400
    assert [(each.broker, each.log_dir) for each in model.replicas(0)] == [(1, "/a"), (2, "/a")]
    assert model.slot_load[:2, Resource.DISK].tolist() == [100, 90]
    assert model.whole.all()
    assert model.movable.all()
    assert "no rates" in model.input


def test_a_broker_that_kafka_does_not_list_is_dead_unless_it_is_expected_to_be_away() -> None:
    gone = replace(
        facts(),
        brokers={broker: node for broker, node in facts().brokers.items() if broker != 3},
        log_dirs=facts().log_dirs[:2],
    )
    model = live_model(gone)
    assert model.alive.tolist() == [True, True, False]
    assert model.log_dir_offline[-1]
    assert "broker 3 is dead" in model.input
    assert model.slot_load[model.slot_broker == 2, Resource.DISK].tolist() == [7]
    away = live_model(gone, directory(Broker(3, state=BrokerState.MAINTENANCE)))
    assert away.alive.all()
    assert away.excluded[2]


def test_replicas_of_a_log_dir_that_failed_are_there() -> None:
    failed = log_dir(3, "/a", {}, "KAFKA_STORAGE_ERROR")
    broken = replace(facts(), log_dirs=(*facts().log_dirs[:2], failed, facts().log_dirs[3]))
    model = live_model(broken)
    assert [(each.broker, each.log_dir) for each in model.replicas(1)] == [(2, "/a"), (3, "/a")]
    assert model.log_dir_offline.tolist() == [False, False, True, False]
    assert list(broken.unseen()) == []


def test_what_is_being_reassigned_counts_as_where_it_will_be() -> None:
    moving = replace(
        facts(),
        partitions={**facts().partitions, ORDERS: PartitionState(1, (3, 1, 2), (1, 2))},
        reassignments={ORDERS: Reassignment((3, 1, 2), (3,), (2,))},
    )
    model = live_model(moving)
    assert {each.broker for each in model.replicas(0)} == {1, 3}
    assert model.whole.all()


def test_a_replica_that_its_broker_does_not_show_yet_is_not_touched() -> None:
    new = replace(facts(), partitions={**facts().partitions, TopicPartition("new", 0): PartitionState(1, (1, 3), (1,))})
    assert list(new.unseen()) == [(TopicPartition("new", 0), 1), (TopicPartition("new", 0), 3)]
    model = live_model(new)
    assert model.whole.tolist() == [False, True, True]


def test_a_broker_that_does_not_tell_its_log_dirs_leaves_no_model() -> None:
    silent = replace(facts(), log_dirs=facts().log_dirs[:2])
    with pytest.raises(ClusterUnavailable, match="broker 3 of cluster live did not tell its log dirs"):
        live_model(silent)
