"""Sums that say no with a proof."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from guardian.model.federation import IdcPolicy
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, TopicFacts
from spark_analytics.planners.room import Needs, shortage
from spark_analytics.planners.rules import Scope, compiled
from tests.unit.spark_analytics.planners.small import SETTINGS, brokers, cluster


def lacking(model: ClusterModel, without: Collection[int], times: float = 1.0) -> str | None:
    """Of what there is a shortage when these brokers are gone."""
    rules, _ = compiled(model, SETTINGS, Scope(mends=False))
    remaining = ~np.isin(model.broker_ids, list(without))
    return shortage(model, Needs.of(model, rules).times(times), remaining)


def test_a_partition_needs_as_many_brokers_as_it_has_replicas() -> None:
    model = cluster(brokers(3), {"t-0": ((1, 2), 1)})

    assert lacking(model, [3]) is None
    assert lacking(model, [1, 3]) == "1 broker would be left for topics of replication factor 2"


def test_no_more_replicas_may_share_a_rack_than_now() -> None:
    model = cluster(brokers(3, b1={"rack": "a"}, b2={"rack": "a"}), {"t-0": ((1, 3), 1)})

    assert lacking(model, [2]) is None
    assert lacking(model, [3]) == (
        "1 rack with 2 brokers would be left for topics of replication factor 2, so that more of their replicas would "
        "share a rack"
    )


def test_a_data_centre_keeps_as_many_brokers_as_the_policy_wants_there() -> None:
    on = [BrokerFacts(each, f"r{each}", "east" if each <= 2 else "west") for each in (1, 2, 3, 4)]
    policy = IdcPolicy("p", (("east", 1), ("west", 1)))
    model = cluster(on, {"t-0": ((1, 3), 1)}, topics=[TopicFacts("t", policy="p")], policies=[policy])

    assert lacking(model, [1, 3]) is None
    assert lacking(model, [1, 2]) == "0 brokers would be left in east, where the IDC policy wants 1 replicas"


def test_the_brokers_together_carry_all_below_their_limits() -> None:
    """900 GB are held, a broker may hold 800."""
    model = cluster(brokers(3), {f"t-{number}": ((1 + number % 3,), 300) for number in range(3)})

    assert lacking(model, [1]) is None
    assert lacking(model, [1, 2]) == (
        "1 broker would be left with room for 800.0 GB of disk below the limit, and 900.0 GB is needed"
    )
    assert lacking(model, [1], times=2.0) is not None


def test_a_rack_takes_but_one_replica_of_a_partition_however_large_it_is() -> None:
    """Rack a has three brokers and b one: of 1000 GB in two copies, 1000 must stand in b, which holds 800."""
    racks = {f"b{each}": {"rack": "a" if each <= 3 else "b"} for each in range(1, 6)}
    model = cluster(
        brokers(5, **racks), {f"t-{number}": ((1 + number % 3, 4 + number % 2), 100) for number in range(10)}
    )

    assert lacking(model, [3]) is None
    assert lacking(model, [5]) == (
        "rack b would hold 1 of its 2 brokers' capacity, room for 800.0 GB of disk, "
        "and 1.0 TB can stand in no other rack"
    )


def test_labels_have_room_of_their_own() -> None:
    gold = {"label": "gold"}
    model = cluster(
        brokers(4, b1=gold, b2=gold),
        {"g-0": ((1,), 600), "g-1": ((2,), 600), "t-0": ((3,), 1)},
        topics=[TopicFacts("g", label="gold")],
    )

    assert lacking(model, [3]) is None
    assert lacking(model, [1]) == (
        "1 broker would be left with room for 800.0 GB of disk below the limit, and 1.2 TB is needed"
    )


def test_what_is_above_a_limit_already_may_stay() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 950), "t-1": ((2,), 1)})

    assert lacking(model, []) is None
