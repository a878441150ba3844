from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from guardian.model.plan import LoadSummary, ReplicaPlacement, spreads
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.load import load_now, load_of, spread, summaries
from spark_analytics.model.placement import Placement


def model() -> ClusterModel:
    places = [ReplicaPlacement(1, "/d1"), ReplicaPlacement(2, "/d1"), ReplicaPlacement(2, "/d2")]
    return ClusterModel.of(
        "live",
        [BrokerFacts(1), BrokerFacts(2), BrokerFacts(3)],
        [
            *(LogDirFacts(broker, f"/d{number}", 100, 100) for broker in (1, 2, 3) for number in (1, 2)),
            LogDirFacts(3, "/d3", 0, 0, offline=True),
        ],
        [
            PartitionFacts(TopicPartition("t", 0), (places[0], places[1]), write_rate=10, read_rate=5, size_bytes=7),
            PartitionFacts(TopicPartition("t", 1), (places[2], places[0]), write_rate=1, read_rate=2, size_bytes=3),
        ],
    )


def test_a_broker_carries_produce_replication_and_consumers() -> None:
    load = load_now(model())
    assert load.broker.tolist() == [10 + 5 + 1, 10 + 1 + 2, 0]
    assert load.log_dir.tolist() == [11, 0, 10, 1, 0, 0, 0]
    assert load.leaders.tolist() == [1, 1, 0]
    assert load.leader_bytes_in.tolist() == [10, 1, 0]


def test_spread_is_max_over_mean_less_one() -> None:
    assert spread(np.array([1.0, 2.0, 3.0])) == pytest.approx(0.5)
    assert spread(np.array([4.0, 4.0])) == 0
    assert spread(np.zeros(3)) == 0
    assert spread(np.array([])) == 0


def test_summaries_have_a_row_a_broker_and_one_for_each_online_log_dir() -> None:
    load = load_now(model())
    rows = summaries(model(), load, load)
    assert [(row.broker, row.log_dir) for row in rows] == [
        *[(1, ""), (1, "/d1"), (1, "/d2")],
        *[(2, ""), (2, "/d1"), (2, "/d2")],
        *[(3, ""), (3, "/d1"), (3, "/d2")],
    ]
    assert rows[4] == LoadSummary(2, "/d1", 10.0, 10.0)
    assert spreads(rows)["log dir"] == pytest.approx((11 * 6 / 22 - 1,) * 2)


def test_a_placement_under_trial_keeps_its_loads() -> None:
    """After each step the sums are what adding up from nothing gives."""
    placement = Placement.of(model())
    steps: list[Callable[[], None]] = [
        lambda: placement.move(0, 4),
        lambda: placement.lead(1),
        lambda: placement.move(0, 5),
        lambda: placement.move(3, 1),
        lambda: placement.lead(3),
        lambda: placement.move(0, 0),
    ]
    for step in steps:
        step()
        expected = load_of(placement.model, placement.slot_log_dir, placement.leader_slot)
        for name in ("broker", "log_dir", "leaders", "leader_bytes_in"):
            assert getattr(placement.load, name).tolist() == getattr(expected, name).tolist(), name
    # Slot 0 is home again; slot 3 lies on broker 1's second disk.
    assert placement.incoming_bytes.tolist() == [0, 3, 0, 0, 0, 0, 0]
