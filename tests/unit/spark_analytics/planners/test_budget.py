"""What a plan may cost: bytes, seconds by its own estimate, leaders; and what is told where it can't be kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from guardian.model.federation import IdcPolicy
from guardian.model.links import Line
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Balance,
    EmptyDisk,
    Heal,
    Isolate,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from spark_analytics.checker import check
from spark_analytics.model.cluster_model import ClusterModel, LogDirFacts
from spark_analytics.model.edits import with_changes
from spark_analytics.model.resources import Resource
from spark_analytics.planners.planning import make
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, targets


def made(model: ClusterModel, task: Task, **asked: float) -> Plan:
    settings = PlannerSettings(**asked)  # type: ignore[arg-type]
    plan = make(model, task, settings)
    assert check(model, plan, settings, task) == ()
    return plan


def two_idcs(mbit_s: float = 0.0) -> ClusterModel:
    """All is on 1 and 2 in east; 3 and 4 in west are empty. A line that knows its rate carries 8 Mbit/s = 1 MB/s."""
    at = {f"b{each}": {"idc": "east" if each < 3 else "west"} for each in range(1, 5)}
    on = {f"t-{number}": ((1 + number % 2,), 1 + number) for number in range(12)}
    return cluster(brokers(4, **at), on, lines=[Line(("east", "west"), int(mbit_s * 1e6), None)])


@pytest.mark.parametrize("seconds", [500, 1_000, 5_000, 20_000])
def test_a_plan_ends_in_time_by_its_own_estimate_lines_included(seconds: int) -> None:
    """To be even takes 39 GB over a line of 1 MB/s."""
    model = two_idcs(8)
    assert made(model, Balance()).seconds > 20_000

    plan = made(model, Balance(), max_seconds=seconds)

    assert plan.seconds <= seconds
    assert plan.bytes_to_copy > 0 or seconds < 1_000
    assert any("can be copied within max_seconds" in note for note in plan.notes)
    assert plan.settings is not None
    assert (plan.settings.max_seconds, plan.settings.max_bytes) == (seconds, math.inf)


def test_stages_come_one_after_another_and_all_of_them_count() -> None:
    """Brokers 1 and 2 have no room for what comes before others have left: what no order allows in time stays."""
    on = {"a-0": ((1,), 400), "b-0": ((1,), 380), "c-0": ((2,), 20), "d-0": ((3,), 300), "e-0": ((3,), 300)}
    model = cluster(brokers(3), on)
    whole = made(model, Balance(), throttle=1e9)
    assert whole.seconds > 0

    for share in (0.2, 0.5, 0.8, 1.0):
        plan = made(model, Balance(), throttle=1e9, max_seconds=whole.seconds * share)
        assert plan.seconds <= whole.seconds * share


def test_what_rules_force_is_made_and_the_plan_says_by_how_much_it_is_too_much() -> None:
    model = cluster(brokers(4, b1={"alive": False}), {"t-0": ((1, 2), 100), "t-1": ((1, 3), 100)})

    plan = made(model, Balance(), max_bytes=50 * GB, max_seconds=10)

    assert set(targets(plan)) == {"t-0", "t-1"}
    assert plan.unmet[:2] == (
        "copying needs 200.0 GB, more than max_bytes 50.0 GB: nothing of it can be left out",
        f"copying takes at least {plan.seconds:.0f} s, more than max_seconds 10: nothing of it can be left out",
    )


def test_healing_begins_with_what_has_fewest_replicas_and_says_what_is_left() -> None:
    on = {"a-0": ((1, 2, 3), 10), "b-0": ((1, 2), 90), "c-0": ((1, 3, 4), 5), "d-0": ((1, 2, 4), 50)}
    model = cluster(brokers(5, b1={"alive": False}), on)

    plan = made(model, Heal(), max_bytes=110 * GB)

    assert {name: 1 in at for name, at in targets(plan).items()} == {"a-0": 0, "b-0": 0, "c-0": 0, "d-0": 1}
    assert all(move.target_brokers[0] != 1 for move in plan.moves)  # leaders need no copy
    assert plan.unmet == ("d-0 is left for another plan: 50.0 GB more than the budget allows",)
    assert {str(each) for each in plan.excused.partitions} == {"d-0"}
    in_time = made(model, Heal(), max_seconds=95e9 / 50e6)
    assert {name for name, at in targets(in_time).items() if 1 not in at} == {"b-0", "c-0"}


def test_a_migration_begins_with_what_has_most_traffic_for_its_bytes() -> None:
    model = two_idcs()
    rate = np.arange(12.0, 0.0, -1.0) * 1e6
    load = model.slot_load.copy()
    load[:, Resource.NW_IN] = rate
    policy = IdcPolicy("west", (("west", 1),), "west")

    plan = made(replace(model, slot_load=load), MigrateIdc(policy), max_bytes=6 * GB)

    assert set(targets(plan)) == {"t-0", "t-1", "t-2"}
    assert plan.unmet == ("t-3, t-4, t-5 and 6 more are left for another plan: 72.0 GB more than the budget allows",)
    assert "while it copies: 6.0 GB more in all" in plan.notes


def test_of_brokers_that_are_removed_those_go_that_hold_least() -> None:
    on = {"t-0": ((1,), 50), "t-1": ((2,), 10), "t-2": ((3,), 30), "t-3": ((4,), 1)}
    model = cluster(brokers(5), on)

    plan = made(model, Remove((1, 2, 3)), max_bytes=45 * GB)

    assert set(targets(plan)) == {"t-1", "t-2"}
    assert plan.notes == ("2 of the 3 brokers asked for can go",)
    assert plan.unmet == ("broker 1 can't go: the 50.0 GB that it holds are more than the budget allows",)


def test_of_an_emptied_disk_the_small_ones_go_first() -> None:
    model = with_changes(
        cluster(brokers(2), {"t-0": ((1,), 50), "t-1": ((1,), 10), "t-2": ((1,), 30)}),
        log_dirs=[LogDirFacts(1, "/e", 1000 * GB, 1000 * GB)],
    )

    plan = made(model, EmptyDisk((LogDir(1, "/d"),)), max_bytes=45 * GB)

    assert set(targets(plan)) == {"t-1", "t-2"}
    assert plan.unmet == ("t-0 is left for another plan: 50.0 GB more than the budget allows",)


def test_relief_begins_with_a_disk_that_is_failing_and_then_the_fullest() -> None:
    on = {"t-0": ((1,), 850), "t-1": ((2,), 900), "t-2": ((3,), 820)}
    model = cluster(brokers(7), on, total={each: 1000 if each < 4 else 2000 for each in range(1, 8)})
    slow = replace(model, disk_await_ms=np.array([5.0, 5.0, 900.0, 5.0, 5.0, 5.0, 5.0]))

    assert set(targets(made(model, Relieve(0.8), max_bytes=900 * GB))) == {"t-1"}
    plan = made(slow, Relieve(0.8), max_bytes=900 * GB)
    assert set(targets(plan)) == {"t-2"}
    assert "log dir /d of broker 2 stays 100.0 GB above the limit: the budget allows no more" in plan.unmet


def test_more_replicas_come_to_small_partitions_first() -> None:
    model = cluster(brokers(3), {"t-0": ((1,), 50), "t-1": ((2,), 10), "t-2": ((3,), 30)}, rate=1e6)

    plan = made(model, ReplicationFactor(("t",), 2), max_bytes=45 * GB)

    assert set(targets(plan)) == {"t-1", "t-2"}
    assert "t-0 is left for another plan: 50.0 GB more than the budget allows" in plan.unmet


def test_of_an_isolation_nothing_can_be_left_out_and_that_is_said() -> None:
    model = cluster(brokers(4), {"g-0": ((1, 2), 10), "t-0": ((3, 2), 10)})

    plan = made(model, Isolate("gold", ("g",), brokers=(3, 4)), max_bytes=1 * GB)

    assert set(targets(plan)) == {"g-0", "t-0"}
    assert plan.unmet == ("copying needs 30.0 GB, more than max_bytes 1.0 GB: nothing of it can be left out",)


def test_leaders_that_must_change_are_counted() -> None:
    model = cluster(brokers(3, b1={"alive": False}), {"t-0": ((1, 2), 10), "t-1": ((1, 3), 10)})

    assert made(model, Heal(), max_leader_moves=1).unmet == (
        "2 leaders change, more than max_leader_moves 1: nothing of it can be left out",
    )
    assert made(model, Heal(), max_leader_moves=2).unmet == ()


def test_the_same_budget_gives_the_same_plan() -> None:
    model = two_idcs(8)

    assert made(model, Balance(), max_seconds=5_000) == made(model, Balance(), max_seconds=5_000)
