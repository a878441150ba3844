"""What crosses the lines between data centres, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardian.model.federation import IdcPolicy
from guardian.model.links import Line
from guardian.model.plan import ReplicaPlacement
from guardian.model.tasks import ClientTraffic, MigrateIdc
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.edits import with_changes
from spark_analytics.planners.lines import LineUse, copied, priced, steady
from spark_analytics.planners.planning import make

_ALL = np.array([True])


def _model(price: float | None = 0.5) -> ClusterModel:
    """t-0 leads in east (broker 0), follows in east (1) and west (2); brokers 3 is west too."""
    idcs = ["east", "east", "west", "west"]
    return ClusterModel.of(
        "live",
        [BrokerFacts(broker, f"r{broker}", idc) for broker, idc in enumerate(idcs)],
        [LogDirFacts(broker, "/d", 1e12, 1e12) for broker in range(4)],
        [
            PartitionFacts(
                TopicPartition("t", 0),
                tuple(ReplicaPlacement(broker, "/d") for broker in (0, 1, 2)),
                write_rate=10.0,
                size_bytes=4 * 10**9,
            )
        ],
        lines=[Line(("east", "west"), price_gb=price)],
    )


def test_a_follower_elsewhere_takes_the_line_and_so_do_clients_away_from_the_leader() -> None:
    model = _model()
    clients = (ClientTraffic("t", "west", produced=3.0, fetched=7.0), ClientTraffic("t", "east", produced=5.0))

    crossing = steady(model, model.slot_log_dir, model.leader_slot, _ALL, clients)

    assert crossing.tolist() == [[0.0, 10.0], [3.0, 0.0]]


def test_consumers_without_a_replica_at_home_read_from_the_leader() -> None:
    model = _model()
    all_east = np.array([0, 1, 1])

    crossing = steady(model, all_east, model.leader_slot, _ALL, (ClientTraffic("t", "west", fetched=7.0),))

    assert crossing.tolist() == [[0.0, 7.0], [0.0, 0.0]]


def test_copies_cross_from_the_leader_as_it_is_and_have_a_price() -> None:
    model = _model()

    crossing = copied(model, np.array([0, 3, 2]), _ALL)

    assert crossing.tolist() == [[0.0, 4e9], [0.0, 0.0]]
    assert priced(model, model.idc_names, crossing, 1.0) == LineUse(4e9, 2.0)
    assert priced(_model(price=None), model.idc_names, crossing, 1.0) == LineUse(4e9, None)


def test_a_migration_tells_what_lines_carry_and_cost_before_while_it_copies_and_after() -> None:
    """10 MB/s are written: 3 from west, 2 from mars, where the cluster has no broker, the rest from east.

    Before, west's follower takes 10 MB/s, and its producers send 3; mars sends 2 to east, for twice as much. Afterwards
    the leader is in west, a follower in east, whose producers send 5, and mars sends to west for half of it.
    """
    lines = [
        Line(("east", "mars"), price_gb=1.0),
        Line(("east", "west"), price_gb=0.5),
        Line(("mars", "west"), price_gb=0.25),
    ]
    small = _model()
    model = replace(small, slot_load=small.slot_load * [1, 1e6, 1, 1, 1, 1], lines=tuple(lines))
    clients = (
        ClientTraffic("t", "west", produced=3e6, fetched=9e6),
        ClientTraffic("t", "mars", produced=2e6),
        ClientTraffic("t", "east", produced=5e6),
    )

    plan = make(model, MigrateIdc(IdcPolicy("p", (("east", 1), ("west", 2)), "west"), clients=clients))

    assert plan.notes == (
        "before: lines between data centres carry 15.0 MB/s (replication 10.0 MB/s, producers and consumers 5.0 MB/s), "
        "for 22032.00 a month",
        "while it copies: 4.0 GB more in all, for 2.00",
        "afterwards: they carry 17.0 MB/s (replication 10.0 MB/s, producers and consumers 7.0 MB/s), "
        "for 20736.00 a month",
    )


def test_without_clients_it_is_replication_alone_and_without_a_price_no_sum() -> None:
    plan = make(_model(price=None), MigrateIdc(IdcPolicy("p", (("east", 2), ("west", 1)), "east")))

    assert plan.notes[0] == "before: lines between data centres carry 10 B/s (replication alone)"


def test_clients_of_a_part_of_a_topic_are_a_part_of_its_clients() -> None:
    """t-1 takes as much as t-0 and is not asked for: half of the producers count."""
    both = _model()
    model = with_changes(both, partitions=[PartitionFacts(TopicPartition("t", 1), (ReplicaPlacement(0, "/d"),), 10.0)])
    only = np.array([True, False])

    crossing = steady(model, model.slot_log_dir, model.leader_slot, only, (ClientTraffic("t", "west", produced=6.0),))

    assert crossing.tolist() == [[0.0, 10.0], [3.0, 0.0]]
