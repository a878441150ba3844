from __future__ import annotations

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Tenant
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.model.edits import scaled, with_changes, with_placement
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import Resource


def model() -> ClusterModel:
    """Brokers 1, 2, 3 with two disks each; t-0 on 1 and 2, t-1 on 2 and 1, u-0 on 3."""

    def facts(topic: str, number: int, *brokers: int) -> PartitionFacts:
        places = tuple(ReplicaPlacement(broker, "/d1") for broker in brokers)
        return PartitionFacts(TopicPartition(topic, number), places, 10, 5, 100, cpu=1, leader_cpu=2, growth=0.5)

    return ClusterModel.of(
        "live",
        [
            BrokerFacts(broker, f"r{broker % 2}", "east", f"h{broker}", "gold" if broker == 3 else "")
            for broker in (1, 2, 3)
        ],
        [LogDirFacts(broker, path, 1000, 600, await_ms=4) for broker in (1, 2, 3) for path in ("/d1", "/d2")],
        [facts("t", 0, 1, 2), facts("t", 1, 2, 1), facts("u", 0, 3)],
        [TopicFacts("u", "pay", "gold", "p")],
        [Tenant("pay", labels=("gold",))],
        [IdcPolicy("p", (("east", 1),))],
        at_ms=7,
        input="here",
    )


def same(one: ClusterModel, other: ClusterModel, *but: str) -> None:
    for name in one.__slots__:
        if name not in but:
            np.testing.assert_equal(getattr(one, name), getattr(other, name), name)


def test_a_model_taken_apart_and_put_together_is_the_same() -> None:
    same(model(), with_changes(model(), topics=[TopicFacts("t")]))


def test_brokers_die_or_are_excluded_and_nothing_else_changes() -> None:
    changed = with_changes(model(), dead=[2], excluded=[3])
    assert changed.alive.tolist() == [True, False, True]
    assert changed.excluded.tolist() == [False, False, True]
    same(model(), changed, "alive", "excluded")
    with pytest.raises(InvalidInput, match="broker 9 is not in the model"):
        with_changes(model(), dead=[9])


def test_a_new_broker_shifts_indices_but_no_names() -> None:
    changed = with_changes(model(), brokers=[BrokerFacts(0, "r9", new=True)], log_dirs=[LogDirFacts(0, "/d", 9, 9)])
    assert changed.broker_ids.tolist() == [0, 1, 2, 3]
    assert changed.new.tolist() == [True, False, False, False]
    assert changed.replicas(0) == model().replicas(0)
    assert load_now(changed).broker[1:].tolist() == load_now(model()).broker.tolist()


def test_a_broker_is_replaced_by_its_id() -> None:
    changed = with_changes(model(), brokers=[BrokerFacts(2, "r7", capacity=(1, 2, 3, 4))])
    assert changed.rack_names[changed.rack[1]] == "r7"
    assert changed.capacity[1].tolist() == [1, 2, 3, 4]


def test_a_replica_more_has_no_place_a_followers_load_and_makes_the_leader_send_more() -> None:
    changed = with_changes(model(), add_slots=np.array([0, 2]))
    assert changed.slot_start.tolist() == [0, 3, 5, 7]
    assert changed.slot_log_dir.tolist()[2::4] == [-1, -1]
    assert changed.slot_load[2].tolist() == [1, 10, 0, 100, 1, 0]
    before, after = model().leader_load[:, Resource.NW_OUT], changed.leader_load[:, Resource.NW_OUT]
    assert (after - before).tolist() == [10, 0, 10]


def test_a_replica_less_makes_the_next_one_lead() -> None:
    changed = with_changes(model(), remove_slots=np.array([0]))
    assert changed.replicas(0) == (ReplicaPlacement(2, "/d1"),)
    assert changed.leader_load[0, Resource.NW_OUT] == model().leader_load[0, Resource.NW_OUT] - 10


def test_new_partitions_join_a_topic_or_make_one() -> None:
    changed = with_changes(
        model(),
        partitions=[
            PartitionFacts(TopicPartition("t", 2), (), 1, unplaced=2),
            PartitionFacts(TopicPartition("a", 0), (), unplaced=1),
        ],
    )
    assert [str(changed.partition(index)) for index in range(changed.partitions)] == ["a-0", "t-0", "t-1", "t-2", "u-0"]
    assert changed.slot_log_dir.tolist() == [-1, 0, 2, 2, 0, -1, -1, 4]


def test_traffic_and_size_are_scaled_and_counts_are_not() -> None:
    changed = scaled(model(), np.array([2.0, 1.0, 3.0]), 1.5)
    assert changed.slot_load[0].tolist() == [2, 20, 0, 150, 1, 0]
    assert changed.leader_load[2].tolist() == [6, 0, 15, 0, 0, 1]
    assert changed.slot_io.tolist() == [20, 20, 10, 10, 30]
    assert not changed.slot_load.flags.writeable


def test_a_placement_carried_out_is_a_model_in_order_again() -> None:
    slots = model().slot_log_dir.copy()
    slots[0] = 5  # t-0 from 1:/d1 to 3:/d2
    changed = with_placement(model(), slots, np.array([1, 2, 4]))
    assert changed.replicas(0) == (ReplicaPlacement(2, "/d1"), ReplicaPlacement(3, "/d2"))
    assert load_now(changed).broker.sum() == load_now(model()).broker.sum()
