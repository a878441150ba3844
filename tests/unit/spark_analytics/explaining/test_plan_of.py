"""What a plan says of what was found: moves, reasons, order, times, costs and what is left undone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardian.model.links import Line
from guardian.model.plan import BrokerTransfer, LinkTransfer, LoadSummary, PartitionMove, Plan, RackTransfer
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.plan import plan_of
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.edits import with_changes
from spark_analytics.search.found import Stuck, Why
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.rules import Rules
from tests.unit.spark_analytics.explaining.placing import (
    ASKED,
    GB,
    cluster,
    found,
    free_rules,
    places,
    without_reason,
)

T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


@pytest.fixture
def model() -> ClusterModel:
    """Broker 1 has three partitions of 100, 40 and 10 GB, the others little."""
    return cluster({T0: (("1", "2"), 100), T1: (("1:/b", "3"), 40), T2: (("1", "4"), 10)})


def explained(
    model: ClusterModel,
    targets: dict[tuple[str, int], tuple[str, ...]],
    rules: Rules | None = None,
    forced: bool = False,
) -> Plan:
    rules = rules or free_rules(model)
    return plan_of(model, model, rules, found(model, targets, forced), ASKED, "balance")


def only(plan: Plan) -> PartitionMove:
    (move,) = plan.moves
    return move


def test_a_move_says_where_replicas_were_and_go_what_it_serves_and_what_it_costs(model: ClusterModel) -> None:
    plan = explained(model, {T0: ("3", "2")})
    assert without_reason(only(plan)) == PartitionMove(
        TopicPartition("t", 0), places("1", "2"), places("3", "2"), 100 * GB, write_rate=100e6
    )
    assert (plan.cluster, plan.kind, plan.made_at_ms, plan.input) == ("live", "balance", 7, "two samples")
    assert plan.bytes_to_copy == 100 * GB


def test_a_reason_can_be_checked_against_a_dashboard(model: ClusterModel) -> None:
    """Broker 1 holds 150 GB of 300, four brokers 75 each."""
    move = only(plan_of(model, model, free_rules(model), found(model, {T1: ("4:/b", "3")}), _only_disk(), "balance"))
    assert (move.goal, move.reason) == ("disk-spread", "broker 1 disk 100% above the mean, -40.0 GB")


def test_a_reason_tells_the_place_that_gains_where_that_is_the_larger_part() -> None:
    """Broker 1 has a bit too much, broker 4 nothing."""
    model = cluster({T0: (("1",), 30), T1: (("1",), 60), T2: (("2",), 80), ("t", 3): (("3",), 80)})
    move = only(plan_of(model, model, free_rules(model), found(model, {T0: ("4",)}), _only_disk(), "balance"))
    assert move.reason == "broker 4 disk 100% below the mean, +30.0 GB"


def test_a_move_by_which_nothing_gains_makes_room_for_others(model: ClusterModel) -> None:
    move = only(plan_of(model, model, free_rules(model), found(model, {T0: ("1", "4")}), _only_disk(), "balance"))
    assert (move.goal, move.relief < 0) == ("make-room", True)
    assert move.reason == "makes room on log dir /a of broker 2, which other moves of this plan fill"


def test_a_change_of_leader_copies_nothing_and_moves_traffic_out(model: ClusterModel) -> None:
    plan = explained(model, {T0: ("2", "1")})
    assert only(plan).bytes_to_copy == 0
    assert only(plan).target_brokers == (2, 1)
    assert only(plan).goal in ("nw-out-spread", "leader-spread")
    assert (plan.transfers, plan.seconds) == ((), 0.0)


def test_a_move_between_log_dirs_is_told_by_its_log_dir(model: ClusterModel) -> None:
    plan = explained(model, {T2: ("1:/b", "4")})
    move = only(plan)
    assert move.goal == "log-dir-spread"
    assert move.reason == "log dir /a of broker 1 disk 47% above the mean of its broker, -10.0 GB"
    assert plan.transfers == (BrokerTransfer(1, 0, 0, 10 * GB, 100.0),)


def _only_disk() -> Asked:
    targets = Targets.none()
    targets.max_over_mean[3] = 1.05
    return replace(ASKED, targets=targets)


def test_loads_are_told_for_each_broker_and_log_dir_before_and_after(model: ClusterModel) -> None:
    loads = {(row.broker, row.log_dir, str(row.resource)): row for row in explained(model, {T0: ("3", "2")}).loads}
    assert len(loads) == 4 * (6 + 2 * 2)
    assert loads[(1, "", "disk")] == LoadSummary(1, "", 150e9, 50e9, "disk", 2000e9)
    assert loads[(3, "/a", "disk")] == LoadSummary(3, "/a", 40e9, 140e9, "disk", 1000e9)
    assert loads[(1, "", "replicas")].after == 2
    assert loads[(3, "", "leaders")].after == 1


def test_copies_come_from_the_leader_and_take_as_long_as_the_busiest_broker(model: ClusterModel) -> None:
    plan = explained(model, {T0: ("1", "4"), T1: ("1:/b", "2")})
    assert plan.transfers == (
        BrokerTransfer(1, 0, 140 * GB, 0, 1400.0),
        BrokerTransfer(2, 40 * GB, 0, 0, 400.0),
        BrokerTransfer(4, 100 * GB, 0, 0, 1000.0),
    )
    assert (plan.seconds, plan.throttle) == (1400.0, 100_000_000)


def test_what_crosses_a_line_is_told_with_its_price_and_its_time() -> None:
    brokers = [BrokerFacts(each, f"r{each}", "shanghai" if each < 3 else "suzhou") for each in (1, 2, 3, 4)]
    model = cluster({T0: (("1", "2"), 100), T1: (("4", "3"), 10)}, brokers)
    model = replace(model, lines=(Line(("shanghai", "suzhou"), 0.8e9, 0.02),))
    plan = explained(model, {T0: ("1", "4"), T1: ("4", "1")})
    assert plan.links == (
        LinkTransfer("shanghai", "suzhou", 100 * GB, 1000.0, 2.0),
        LinkTransfer("suzhou", "shanghai", 10 * GB, 100.0, 0.2),
    )


def test_a_line_without_a_price_has_no_cost() -> None:
    brokers = [BrokerFacts(each, f"r{each}", "shanghai" if each < 3 else "suzhou") for each in (1, 2, 3, 4)]
    plan = explained(cluster({T0: (("1", "2"), 100)}, brokers), {T0: ("1", "4")})
    assert [(link.cost, link.seconds) for link in plan.links] == [(None, 0.0)]


# Why something had to move.


def test_what_lies_on_a_dead_broker_goes_first_and_says_so() -> None:
    brokers = [BrokerFacts(each, f"r{each}", alive=each != 2) for each in (1, 2, 3, 4)]
    model = cluster({T0: (("1", "2"), 100), T1: (("1:/b", "3"), 40)}, brokers)
    everything = found(model, {T0: ("1", "4"), T1: ("4:/b", "3")})
    forced = model.slot_broker == 1
    plan = plan_of(model, model, free_rules(model), replace(everything, forced=forced), ASKED, "heal")
    assert (str(plan.moves[0].partition), plan.moves[0].goal) == ("t-0", "dead-broker")
    assert plan.moves[0].reason == "broker 2 is dead"
    assert plan.moves[1].goal not in ("dead-broker", "")
    assert [row.is_leaving for row in plan.loads if row.broker == 2] == [True] * 10


def test_each_rule_that_forces_a_move_has_its_own_words() -> None:
    brokers = [BrokerFacts(each, f"r{each % 2}", "sh" if each < 3 else "su") for each in (1, 2, 3, 4)]
    model = cluster({T0: (("1", "3"), 10)}, brokers)
    rules = free_rules(model)
    cases = {
        "rack r1 holds 2 of its 2 replicas, 1 may be there": replace(rules, rack_max=np.ones(1, dtype=np.int64)),
        "sh holds 1 of its replicas, 2 must be there": replace(rules, idc_min=np.array([[2, 0]])),
        "broker 3 is in su, where it may have no replica": replace(
            rules, idc_max=np.array([[9, 0]]), may_stay=np.array([[True, True, False, False]])
        ),
        "broker 3 is to lose it": replace(rules, may_stay=np.array([[True, True, False, True]])),
        "it is to leave log dir /a of broker 3": replace(
            rules, log_dir_may_stay=np.array([True, True, True, True, False, True, True, True])
        ),
    }
    for sentence, changed in cases.items():
        assert only(explained(model, {T0: ("1", "2")}, changed, forced=True)).reason == sentence


def test_a_full_disk_that_is_relieved_is_told_with_its_share() -> None:
    small = cluster({T0: (("1",), 60), T1: (("1",), 30)}, paths=("/a",), total=100 * GB)
    rules = replace(free_rules(small), must_leave=np.array([False, True]))
    move = only(explained(small, {T1: ("3",)}, rules, forced=True))
    assert (move.goal, move.reason) == ("log-dir-capacity", "log dir /a of broker 1 is 90% full")


def test_a_label_that_a_broker_lacks_is_named() -> None:
    brokers = [BrokerFacts(each, f"r{each}", label="gold" if each == 2 else "") for each in (1, 2, 3)]
    model = cluster({T0: (("1", "2"), 10)}, brokers)
    rules = replace(free_rules(model), may_stay=np.array([[True, False, True]]))
    move = only(explained(model, {T0: ("1", "3")}, rules, forced=True))
    assert (move.goal, move.reason) == ("label", "broker 2 has label gold, its topic has none")


def test_a_leader_that_may_not_lead_is_told(model: ClusterModel) -> None:
    rules = replace(free_rules(model), may_lead=np.array([[False, True, True, True]]))
    move = only(explained(model, {T0: ("2", "1")}, rules))
    assert (move.goal, move.reason) == ("leader-place", "broker 1 may not lead it")


# What is created, added and taken away.


def test_a_new_partition_is_created_where_it_was_found_to_fit_and_copies_nothing(model: ClusterModel) -> None:
    edited = with_changes(
        model, partitions=[PartitionFacts(TopicPartition("n", 0), (), write_rate=1e6, size_bytes=GB, unplaced=2)]
    )
    new = found(edited, {("n", 0): ("3", "4")}, forced=True)
    plan = plan_of(model, edited, free_rules(edited), new, ASKED, "create-topic")
    move = only(plan)
    assert (move.original, move.target, move.is_new) == ((), places("3", "4"), True)
    assert (move.goal, move.reason) == ("replication-factor", "a new partition of 2 replicas")
    assert (plan.bytes_to_copy, plan.seconds) == (0, 0.0)


def test_a_higher_replication_factor_copies_the_new_replica(model: ClusterModel) -> None:
    edited = with_changes(model, add_slots=np.array([0]))
    raised = found(edited, {T0: ("1", "2", "3")}, forced=True)
    plan = plan_of(model, edited, free_rules(edited), raised, ASKED, "change-replication-factor")
    move = only(plan)
    assert (move.original, move.target) == (places("1", "2"), places("1", "2", "3"))
    assert (move.goal, move.reason) == ("replication-factor", "replication factor from 2 to 3")
    assert plan.transfers[-1] == BrokerTransfer(3, 100 * GB, 0, 0, 1000.0)


def test_a_lower_replication_factor_frees_disk_and_load(model: ClusterModel) -> None:
    edited = with_changes(model, remove_slots=np.array([0]))  # the leader of t-0, on broker 1
    lowered = found(edited, {})
    plan = plan_of(model, edited, free_rules(edited), lowered, ASKED, "change-replication-factor")
    move = only(plan)
    assert (move.original, move.target) == (places("1", "2"), places("2"))
    assert move.reason == "replication factor from 2 to 1"
    disk = {row.broker: (row.before, row.after) for row in plan.loads if row.resource == "disk" and not row.log_dir}
    assert (disk[1], disk[2]) == ((150e9, 50e9), (100e9, 100e9))


def test_new_brokers_are_in_the_load_table_from_nothing(model: ClusterModel) -> None:
    edited = with_changes(model, brokers=[BrokerFacts(0, "r0")], log_dirs=[LogDirFacts(0, "/a", 1000 * GB, 1000 * GB)])
    plan = plan_of(model, edited, free_rules(edited), found(edited, {T0: ("0", "2")}), ASKED, "add-brokers")
    assert only(plan).target_brokers == (0, 2)
    assert next((row.before, row.after) for row in plan.loads if row.resource == "disk") == (0.0, 100e9)


# What is left undone.


def test_two_full_disks_that_wait_for_one_another_are_left_out_with_a_sentence() -> None:
    model = cluster({T0: (("1",), 60), T1: (("2",), 60)}, paths=("/a",), total=100 * GB)
    plan = explained(model, {T0: ("2",), T1: ("1",)})
    assert plan.moves == ()
    assert plan.unmet[0] == (
        "2 moves are left out (t-0, t-1) onto log dir /a of broker 1, log dir /a of broker 2: "
        "each needs room that another one would make first, so no order is safe"
    )
    assert {row.before == row.after for row in plan.loads} == {True}


def test_a_move_into_room_that_another_makes_waits_for_it() -> None:
    model = cluster({T0: (("1",), 60), T1: (("2",), 60)}, paths=("/a",), total=100 * GB)
    plan = explained(model, {T0: ("2",), T1: ("3",)})
    assert [(str(move.partition), move.stage) for move in plan.moves] == [("t-1", 0), ("t-0", 1)]
    assert plan.seconds == 600.0 + 600.0


def test_room_that_others_use_on_a_disk_is_respected() -> None:
    """5 % of a disk stay usable."""
    full = cluster({T0: (("1",), 60)}, paths=("/a",), total=100 * GB, usable=64 * GB)
    assert explained(full, {T0: ("2",)}).moves == ()
    just = cluster({T0: (("1",), 60)}, paths=("/a",), total=100 * GB, usable=65 * GB)
    assert explained(just, {T0: ("2",)}).bytes_to_copy == 60 * GB


def test_stuck_replicas_are_named_with_the_reason(model: ClusterModel) -> None:
    stuck = (Stuck(0, Why.DISK_ROOM), Stuck(4, Why.DISK_ROOM), Stuck(1, Why.RACKS))
    plan = plan_of(model, model, free_rules(model), found(model, {}, stuck=stuck), ASKED, "remove-brokers")
    assert plan.unmet[:2] == (
        "2 replicas stay on broker 1 (t-0, t-2): none of the disks left has room for the copy",
        "1 replica stays on broker 2 (t-0): "
        "the brokers that may hold them are in racks that hold as many of their replicas as they may",
    )


def test_of_stuck_replicas_the_numbers_of_the_smallest_are_told() -> None:
    """Copies fill 80 % of a disk of 100 GB, and broker 4 takes none."""
    model = cluster({T0: (("1",), 70), T1: (("1",), 30), T2: (("2",), 60), ("t", 3): (("3",), 70)}, total=100 * GB)
    stuck = (Stuck(0, Why.DISK_ROOM), Stuck(1, Why.DISK_ROOM))
    rules = free_rules(model)
    gone = np.isin(model.broker_ids, [1, 4])
    rules = replace(
        rules, may_take=rules.may_take & ~gone, log_dir_may_take=np.array([path == "/a" for path in model.log_dirs])
    )
    plan = plan_of(model, model, rules, found(model, {}, stuck=stuck), ASKED, "remove-brokers")
    assert plan.unmet[0] == (
        "2 replicas stay on broker 1 (t-0, t-1): none of the 2 brokers left for t-1 has a disk with room for 30.0 GB: "
        "the roomiest takes 20.0 GB, all 30.0 GB"
    )


def test_a_replica_too_large_to_place_is_named(model: ClusterModel) -> None:
    plan = plan_of(model, model, free_rules(model), found(model, {}), _only_disk(), "balance")
    (sentence,) = (each for each in plan.unmet if "disk" in each and "log dir" not in each)
    assert sentence.startswith("broker disk spread is 1.000, 0.050 was asked: ")
    assert sentence.endswith("one replica of t-0 is 133% of a mean broker's disk")


def test_a_rack_that_can_not_use_its_capacity_is_named() -> None:
    brokers = [BrokerFacts(each, "big" if each < 5 else f"r{each}") for each in range(1, 8)]
    partitions = {("t", n): ((str(1 + n % 4), "5", "6"), 1) for n in range(40)}
    model = cluster(partitions, brokers)
    rules = replace(free_rules(model), rack_max=np.ones(1, dtype=np.int64))
    plan = plan_of(model, model, rules, found(model, {}), _only_disk(), "balance")
    (sentence,) = (each for each in plan.unmet if "broker disk" in each)
    assert sentence.endswith(
        "rack big holds 4 of 7 brokers, 57% of their disk, and may take 33% of the load: a partition's racks differ"
    )


def test_a_rack_must_not_take_what_stays_outside_of_its_pool() -> None:
    """One of three replicas is on a broker that takes no others: the two racks need not share all three."""
    brokers = [BrokerFacts(each, f"r{each}") for each in (1, 2, 3)]
    partitions = {("t", n): (("1",) if n else ("1", "2", "3"), 10) for n in range(4)}
    model = cluster(partitions, brokers)
    rules = replace(
        free_rules(model),
        rack_max=np.ones(1, dtype=np.int64),
        may_take=np.array([[True, True, False]]),
        free_to_move=model.slot_partition == 0,
    )
    plan = plan_of(model, model, rules, found(model, {}), _only_disk(), "balance")
    (sentence,) = (each for each in plan.unmet if "broker disk" in each)
    assert sentence.endswith(
        "rack r1 holds 1 of 2 brokers, 50% of their disk, and must take 80% of the load: a partition's racks differ"
    )


def test_brokers_that_are_together_above_a_limit_are_named_first() -> None:
    brokers = [BrokerFacts(each, f"r{each}", capacity=(100, 100e6, float("inf"), float("inf"))) for each in (1, 2)]
    model = cluster({T0: (("1", "2"), 90)}, brokers)
    plan = plan_of(model, model, free_rules(model), found(model, {}), _only_disk(), "balance")
    assert plan.unmet[0] == (
        "nw_in is 90% of the capacity of all brokers together and 80% is the limit: add brokers, or raise network_limit"
    )


def test_a_leader_waits_until_there_is_cpu_for_it() -> None:
    """Leading costs 20 % of a core: broker 2 can lead one partition more only when it has handed over another."""
    brokers = [BrokerFacts(each, f"r{each}", capacity=(100, 1e12, 1e12, 1e15)) for each in (1, 2, 3)]
    model = ClusterModel.of(
        "live",
        brokers,
        [LogDirFacts(each, "/a", 1000 * GB, 1000 * GB) for each in (1, 2, 3)],
        [
            PartitionFacts(TopicPartition("t", n), places(*on), size_bytes=GB, cpu=5, leader_cpu=20)
            for n, on in enumerate([("1", "2"), ("2", "3"), ("2", "3")])
        ],
    )
    plan = explained(model, {T0: ("2", "1"), T1: ("3", "2")})
    assert [(str(move.partition), move.stage) for move in plan.moves] == [("t-1", 0), ("t-0", 1)]


def test_a_spent_budget_is_named(model: ClusterModel) -> None:
    asked = replace(_only_disk(), budget=Budget(bytes=10e9))
    small = cluster({("t", n): (("1",), 10) for n in range(8)})
    plan = plan_of(small, small, free_rules(small), found(small, {("t", 0): ("2",)}), asked, "balance")
    (told,) = (each for each in plan.unmet if "disk" in each and "log dir" not in each)
    assert told.endswith("the budget of 10.0 GB is spent, about 49.0 GB more would have to be copied")
    assert plan.excused.resources == {"disk"}


def test_goals_are_measured_before_and_after(model: ClusterModel) -> None:
    goals = {each.goal: each for each in explained(model, {T0: ("4", "2")}).goals}
    assert goals["disk-spread"].before == pytest.approx(150 / 75 - 1)
    assert goals["disk-spread"].after == pytest.approx(110 / 75 - 1)
    assert not goals["disk-spread"].is_met
    assert goals["rack"].is_hard
    assert goals["rack"].is_met


def test_what_was_asked_is_told_with_the_plan(model: ClusterModel) -> None:
    asked = replace(ASKED, unmet=("no room",), notes=("b-7 joins as broker 5",))
    plan = plan_of(model, model, free_rules(model), found(model, {}), asked, "balance")
    assert (plan.unmet[0], plan.notes) == ("no room", asked.notes)


_SAME = """
import sys
from guardian.model.wire.plans import plan_hash, plan_to_bytes
from tests.unit.spark_analytics.explaining.placing import ASKED, cluster, found, free_rules
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.plan import plan_of
partitions = {(f"t{n % 7}", n): ((str(1 + n % 4), str(1 + (n + 1) % 4)), 1 + n % 9) for n in range(60)}
model = cluster(dict(reversed(partitions.items())) if sys.argv[1] == "1" else partitions)
targets = {name: (str(1 + (n * 5 + 2) % 4), str(1 + (n * 5 + 3) % 4)) for n, name in enumerate(partitions)}
print(plan_hash(plan_to_bytes(plan_of(model, model, free_rules(model), found(model, targets), ASKED, "balance"))))
"""


@pytest.mark.slow
def test_the_same_input_gives_the_same_plan_to_the_byte_in_any_process() -> None:
    root = Path(__file__).parents[4]
    hashes = {
        subprocess.run(
            [sys.executable, "-c", _SAME, seed],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_what_goes_from_rack_to_rack_is_told(model: ClusterModel) -> None:
    plan = explained(model, {T0: ("1", "4"), T1: ("1:/b", "2"), T2: ("1:/b", "4")})
    assert plan.racks == (RackTransfer("r1", "r2", 40 * GB), RackTransfer("r1", "r4", 100 * GB))


def test_a_cluster_without_partitions_has_an_empty_plan() -> None:
    model = cluster({})
    plan = explained(model, {})
    assert (plan.moves, plan.unmet, plan.seconds, plan.links) == ((), (), 0.0, ())
    assert len(plan.loads) == 4 * (6 + 2 * 2)


def test_a_cluster_of_dead_brokers_is_told_as_it_is() -> None:
    model = cluster({T0: (("1", "2"), 100)}, [BrokerFacts(each, f"r{each}", alive=False) for each in (1, 2)])
    plan = explained(model, {})
    assert plan.moves == ()
    assert {row.is_leaving for row in plan.loads} == {True}


@pytest.mark.parametrize(
    ("budget", "least_max", "why"),
    [
        (Budget(), 1.2, "no placement under these rules goes below 0.200"),
        (Budget(), 1.0, "no step was found that helps; more moves or other rules may"),
        (
            Budget(broker_bytes=5e9),
            1.0,
            "no step was found within the budget of 5.0 GB a broker (50 s at the throttle), "
            "about 47.5 GB more would have to be copied in all",
        ),
        (Budget(leader_moves=0), 1.0, "no step was found that helps; more moves or other rules may"),
        (
            Budget(bytes=5e9),
            1.0,
            "no step was found within the 5.0 GB left of the budget of 5.0 GB, "
            "about 47.5 GB more would have to be copied",
        ),
    ],
)
def test_what_is_not_even_has_the_best_reason_that_is_known(budget: Budget, least_max: float, why: str) -> None:
    small = cluster({("t", n): ((str(1 + n % 2),), 1) for n in range(100)})
    asked = replace(_only_disk(), budget=budget)
    nothing = replace(found(small, {}), least_max=np.full(6, least_max))
    plan = plan_of(small, small, free_rules(small), nothing, asked, "balance")
    assert plan.unmet[0] == f"broker disk spread is 1.000, 0.050 was asked: {why}"


def test_a_bound_that_holds_only_beside_other_targets_says_so() -> None:
    small = cluster({("t", n): ((str(1 + n % 2),), 1) for n in range(100)})
    every = np.ones(6, dtype=np.bool_)
    bound = replace(found(small, {}), least_max=np.full(6, 1.2), least_with_others=every)
    plan = plan_of(small, small, free_rules(small), bound, _only_disk(), "balance")
    assert plan.unmet[0].endswith(
        "no placement under these rules that keeps nw_out and leaders in their targets goes below 0.200"
    )


def test_brokers_with_too_many_replicas_and_too_few_leaders_of_a_topic_are_told(model: ClusterModel) -> None:
    crowded = replace(free_rules(model), most_replicas=np.array([2, 9, 9, 9]))
    move = only(explained(model, {T0: ("4", "2")}, crowded, forced=True))
    assert (move.goal, move.reason) == ("replica-capacity", "broker 1 holds 3 replicas, 2 may be there")
    few = replace(free_rules(model), least_leaders=np.ones(len(model.topics), dtype=np.int64))
    move = only(explained(model, {T0: ("2", "1")}, few))
    assert (move.goal, move.reason) == ("min-leaders", "broker 2 leads 0 partitions of t, 1 is the least")
