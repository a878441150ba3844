"""What a plan may count on: peaks, growth, slow disks and busy ones, and what it says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, EmptyDisk, LogDir, Remove
from spark_analytics.model.cluster_model import ClusterModel, LogDirFacts
from spark_analytics.model.edits import with_changes
from spark_analytics.model.resources import Resource
from spark_analytics.planners import limits
from spark_analytics.planners.rules import compiled
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, planned, targets

_NIC = (float("inf"), 100e6, 100e6, 1000.0 * GB)


def busy_cluster(peak: float) -> ClusterModel:
    """Brokers 1 to 4 of 100 MB/s; t-0 on 1 brings 20 MB/s, those on 2 and 3 have 50 and 30 each, 4 has the disk."""
    on = brokers(4, **{f"b{each}": {"capacity": _NIC} for each in range(1, 5)})
    on_one = {"t-0": ((1,), 10), "t-1": ((2,), 10), "t-2": ((3,), 10), "t-3": ((4,), 500)}
    model = cluster(on, on_one)
    rate = np.array([20e6, 50e6, 30e6, 1e6])
    load, leading = model.slot_load.copy(), model.leader_load.copy()
    load[:, Resource.NW_IN], leading[:, Resource.NW_OUT] = rate, rate
    return replace(model, slot_load=load, leader_load=leading, peak=np.full(4, peak))


def with_disks(model: ClusterModel, **of_broker_4: Any) -> ClusterModel:
    """Each other disk answers within 5 ms."""
    dirs = [
        LogDirFacts(broker, "/d", 1000 * GB, 900 * GB, **({"await_ms": 5.0} | (of_broker_4 if broker == 4 else {})))
        for broker in range(1, 5)
    ]
    return with_changes(model, log_dirs=dirs)


def test_a_limit_holds_at_the_95th_percentile() -> None:
    """Of 80 MB/s: at the median broker 2 could take 20 MB/s, at twice of it 3 alone and only barely not."""
    assert limits.capacity_limit(busy_cluster(1.0), PlannerSettings()).tolist() == [0.7, 0.8, 0.8, 0.8]

    rules, _ = compiled(busy_cluster(1.5), PlannerSettings())

    assert rules.capacity_limit.tolist() == pytest.approx([0.7, 0.8 / 1.5, 0.8 / 1.5, 0.8])
    off, _ = compiled(busy_cluster(1.5), PlannerSettings(peak_limits=False))
    assert off.capacity_limit.tolist() == [0.7, 0.8, 0.8, 0.8]


def test_a_plan_that_keeps_a_peak_says_so_and_puts_nothing_where_it_would_not_fit() -> None:
    plan = planned(busy_cluster(1.5), Remove((1,)))

    assert targets(plan)["t-0"] != [2]  # 70 MB/s at the median would do
    assert (
        "the 95th percentile of nw_in is 1.5x its median, so network_limit 80% holds at 53% of the median" in plan.notes
    )
    assert not any("percentile" in note for note in planned(busy_cluster(1.0), Remove((1,))).notes)


def test_a_peak_that_all_brokers_together_can_not_keep_is_kept_as_far_as_they_can() -> None:
    found = limits.capacity_limit(busy_cluster(4.0), PlannerSettings())

    assert found[Resource.NW_IN] == pytest.approx(101 / 400 / 0.8)
    (note,) = [each for each in planned(busy_cluster(4.0), Remove((1,))).notes if "nw_in" in each]
    assert note.endswith("holds at 32% of the median, as all brokers together can keep no more of it")


def test_a_disk_that_fills_within_the_days_to_come_takes_nothing() -> None:
    """Broker 2 has room for 400 GB and grows by 150 GB a day."""
    model = cluster(brokers(3), {"t-0": ((1,), 100), "u-0": ((2,), 400), "v-0": ((3,), 650)})
    growing = replace(model, growth_bytes_per_s=np.array([0.0, 150 * GB / 86_400, 0.0]))

    plan = planned(growing, Remove((1,)))

    assert targets(plan) == {"t-0": [3]}
    assert "disk 2:/d takes nothing: what is there grows beyond the limit within 3 days" in plan.notes
    assert targets(planned(growing, Remove((1,)), PlannerSettings(growth_days=0))) == {"t-0": [2]}


def test_partitions_without_rates_stay_and_the_plan_says_so() -> None:
    model = cluster(brokers(2), {f"t-{n}": ((1,), 10) for n in range(4)})
    new = replace(model, movable=np.zeros(4, dtype=np.bool_))

    plan = planned(new, Balance())

    assert plan.moves == ()
    assert plan.notes == (
        "4 partitions stay where no rule moves them (t-0, t-1, t-2 and 1 more): "
        "too few samples of their rates yet, plan again in a while",
    )
    assert not planned(model, Balance()).notes


def test_a_disk_that_something_else_fills_takes_nothing() -> None:
    """Of broker 2's disk replicas hold nothing, and 4 % are usable."""
    model = cluster(brokers(3), {"t-0": ((1,), 10), "v-0": ((3,), 650)})
    dirs = [LogDirFacts(at, "/d", 1000 * GB, usable * GB) for at, usable in ((1, 900), (2, 40), (3, 350))]
    filled = with_changes(model, log_dirs=dirs)

    plan = planned(filled, Remove((1,)))

    assert targets(plan) == {"t-0": [3]}
    assert (
        "disk 2:/d takes nothing: 4.0% of a disk is usable at most, whatever fills it, and disk_reserve keeps 5.0%"
        in plan.notes
    )
    roomy = planned(filled, Remove((1,)), PlannerSettings(disk_reserve=0))
    assert targets(roomy) == {"t-0": [2]}
    assert not any("disk_reserve" in note for note in roomy.notes)


def test_a_disk_that_is_far_slower_than_its_peers_takes_nothing() -> None:
    model = with_disks(cluster(brokers(4), {"t-0": ((1,), 10), "t-1": ((2,), 90), "t-2": ((3,), 90)}), await_ms=400.0)

    plan = planned(model, Remove((1,)))

    assert 4 not in targets(plan)["t-0"]
    assert plan.notes[-1] == (
        "disk 4:/d takes nothing: a request waits up to 400 ms there, and 5.0 ms at the median disk"
    )
    assert targets(planned(model, Remove((1,)), PlannerSettings(slow_disk=100.0))) == {"t-0": [4]}


@pytest.mark.parametrize("awaits", [[5, 5, 5, 39], [30, 1, 1, 1], [400, float("nan"), float("nan"), 5]])
def test_a_disk_is_not_slow_when_it_is_near_its_peers_or_fast_enough_or_has_too_few_of_them(
    awaits: list[float],
) -> None:
    model = replace(with_disks(cluster(brokers(4), {"t-0": ((1,), 10)})), disk_await_ms=np.array(awaits))

    assert not limits.slow(model, PlannerSettings()).any()


def test_a_disk_that_does_all_that_it_can_takes_nothing() -> None:
    model = with_disks(
        cluster(brokers(4), {"t-0": ((1,), 10), "t-1": ((4,), 10), "t-2": ((2,), 90), "t-3": ((3,), 90)}, rate=9e6),
        io_capacity=10e6,
    )

    plan = planned(model, Remove((1,)))

    assert 4 not in targets(plan)["t-0"]
    assert plan.notes[-1] == (
        "disk 4:/d takes nothing: up to 90% of what the disk can read and write is used, above 80%"
    )


def test_a_plan_that_copies_nothing_has_a_note_of_disks_only_where_something_is_left_undone() -> None:
    even = with_disks(cluster(brokers(4), {f"t-{n}": ((n + 1,), 10) for n in range(4)}), await_ms=400.0)
    uneven = with_disks(cluster(brokers(4), {"t-0": ((1,), 10)}), await_ms=400.0)

    settled: Plan = planned(even, Balance(topics=("t",)), PlannerSettings(max_bytes=0))
    hindered: Plan = planned(uneven, Balance(topics=("t",)), PlannerSettings(max_bytes=0))

    assert (settled.moves, settled.unmet, settled.notes) == ((), (), ())
    assert (hindered.moves, len(hindered.notes)) == ((), 1)


def test_what_is_on_a_slow_disk_can_be_taken_off_it() -> None:
    model = with_disks(cluster(brokers(4), {"t-0": ((4,), 10)}), await_ms=400.0)

    assert set(targets(planned(model, EmptyDisk((LogDir(4, "/d"),))))) == {"t-0"}
