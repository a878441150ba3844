"""Each reason for which a replica finds no place tells what is needed and what is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spark_analytics.explaining.no_place import no_place
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel
from spark_analytics.search.found import Stuck, Why
from spark_analytics.search.rules import Rules
from tests.unit.spark_analytics.explaining.placing import GB, cluster, found, free_rules

T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)
INF = float("inf")


def without(model: ClusterModel, *brokers: int) -> Rules:
    """These take nothing."""
    rules = free_rules(model)
    return replace(rules, may_take=rules.may_take & ~np.isin(model.broker_ids, brokers))


def told(model: ClusterModel, rules: Rules, why: Why, slot: int = 0) -> str | None:
    return no_place(model, rules, found(model, {}), Stuck(slot, why))


def test_racks_that_hold_as_many_as_they_may() -> None:
    on = [BrokerFacts(number, rack) for number, rack in enumerate(("a", "b", "b", "c", "c", "d"), start=1)]
    model = cluster({T0: (("1", "2", "4"), 1)}, on)
    rules = replace(without(model, 1, 6), rack_max=np.ones(1, dtype=np.int64))
    assert told(model, rules, Why.RACKS) == (
        "a rack may hold 1 of the 3 replicas of t-0, and the 2 brokers left for it are in 2 racks that hold as many"
    )


def test_disks_without_room_for_the_copy() -> None:
    """Copies fill 80 % of 100 GB, and each broker has two disks."""
    model = cluster({T0: (("1:/a",), 90), T1: (("2:/a",), 30), T2: (("3:/a",), 75)}, total=100 * GB)
    rules = replace(without(model, 1, 4), log_dir_may_take=np.array([path == "/a" for path in model.log_dirs]))
    assert told(model, rules, Why.DISK_ROOM) == (
        "none of the 2 brokers left for t-0 has a disk with room for 90.0 GB: the roomiest takes 50.0 GB, all 55.0 GB"
    )
    assert told(model, replace(rules, may_take=without(model, 1, 2, 4).may_take), Why.DISK_ROOM) == (
        "the only broker left for t-0 has no disk with room for 90.0 GB: it takes 5.0 GB"
    )


def test_disks_that_something_else_fills() -> None:
    model = cluster({T0: (("1",), 10)}, total=100 * GB, paths=("/a",))
    full = replace(model, disk_usable_bytes=np.where(np.arange(4) == 1, 4.0 * GB, 3.0 * GB))
    assert told(full, without(full, 1, 4), Why.DISK_ROOM) == (
        "none of the 2 brokers left for t-0 has a disk with room for 10.0 GB: the roomiest takes 0 B, all 0 B: "
        "4.0% of a disk is usable at most, and disk_reserve keeps 5.0%"
    )


def test_what_can_move_in_is_told_with_the_room_that_it_leaves() -> None:
    model = cluster({T0: (("1",), 70), T1: (("1",), 20), T2: (("2",), 15)}, total=100 * GB, paths=("/a",))
    rules = without(model, 1, 3, 4)
    there = found(model, {T1: ("2",)})
    assert no_place(model, rules, there, Stuck(0, Why.DISK_ROOM)) == (
        "the only broker left for t-0 has no disk with room for 70.0 GB: it takes 45.0 GB, "
        "beside 20.0 GB that can move there"
    )


def test_brokers_at_the_limit_of_a_capacity() -> None:
    """80 % of 100 MB/s may be used; a GB comes with 1 MB/s."""
    on = [BrokerFacts(number, f"r{number}", capacity=(INF, 100e6, INF, INF)) for number in (1, 2, 3)]
    model = cluster({T0: (("1",), 40), T1: (("2",), 50), T2: (("3",), 70)}, on)
    assert told(model, without(model, 1), Why.CAPACITY) == (
        "none of the 2 brokers left for t-0 has room for 40.0 MB/s of traffic in: the roomiest takes 30.0 MB/s, "
        "all 40.0 MB/s"
    )


def test_cores_disk_capacity_and_numbers_of_replicas() -> None:
    on = [BrokerFacts(number, f"r{number}", capacity=(INF, INF, INF, 100 * GB)) for number in (1, 2)]
    model = cluster({T0: (("1",), 40), T1: (("2",), 50)}, on)
    assert told(model, without(model, 1), Why.CAPACITY) == (
        "the only broker left for t-0 has no room for 40.0 GB below the limit of its disk capacity: it takes 30.0 GB"
    )
    free = cluster({T0: (("1",), 40), T1: (("2",), 50)})
    most = replace(without(free, 1, 3, 4), most_replicas=np.ones(free.brokers, dtype=np.int64))
    assert told(free, most, Why.CAPACITY) == (
        "the only broker left for t-0 has no room for 1 replica: it takes 0 replicas"
    )


def test_of_brokers_that_lack_different_things_each_is_counted_once() -> None:
    traffic_in = {1: INF, 2: INF, 3: 100e6}
    on = [BrokerFacts(each, f"r{each}", capacity=(INF, most, INF, 1e15)) for each, most in traffic_in.items()]
    model = cluster({T0: (("1",), 40), T1: (("2",), 50), T2: (("3",), 60)}, on, total=100 * GB, paths=("/a",))
    rules = replace(without(model, 1), disk_limit=1.0, disk_reserve=0.0)
    roomy = replace(rules, disk_spare=np.array([0.0, 15 * GB, 0.0]))
    assert told(model, roomy, Why.DISK_ROOM) == (
        "of the 2 brokers left for t-0, 1 has no disk with room for 40.0 GB (it takes 35.0 GB) and "
        "1 has no room for 40.0 MB/s of traffic in (it takes 20.0 MB/s)"
    )


def test_without_a_lack_to_be_seen_in_what_was_found_nothing_is_told() -> None:
    model = cluster({T0: (("1", "2"), 40)})
    for why in Why:
        assert told(model, free_rules(model), why) is None


def test_brokers_that_hold_the_partition_or_are_in_full_racks_and_idcs_are_not_left() -> None:
    on = [BrokerFacts(1, "a", "east"), BrokerFacts(2, "a", "east"), BrokerFacts(3, "b", "west"), BrokerFacts(4, "c")]
    model = cluster({T0: (("1", "3"), 40), T1: (("4",), 65)}, on, total=100 * GB, paths=("/a",))
    rules = replace(
        free_rules(model), rack_max=np.ones(1, dtype=np.int64), idc_max=np.ones_like(free_rules(model).idc_max)
    )
    assert told(model, rules, Why.DISK_ROOM, slot=1) == (
        "the only broker left for t-0 has no disk with room for 40.0 GB: it takes 15.0 GB"
    )
