"""Each goal sees what breaks it, says where, and sees nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy
from guardian.model.goals import GOALS, GoalName
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.goals import registry
from spark_analytics.goals.goal import Goal, Placed
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules


def model() -> ClusterModel:
    """Brokers 0 and 1 in rack a, 2 and 3 in rack b, which are data centres too; the log dirs of b are 2b and 2b + 1.

    t-0 on 0 and 2, t-1 on 1 and 3, t-2 on 2 and 0, t-3 on 3 and 1: even in everything.
    """
    pairs = [(0, 2), (1, 3), (2, 0), (3, 1)]
    return ClusterModel.of(
        "live",
        [BrokerFacts(b, "aabb"[b], "aabb"[b], capacity=(100, 100, 100, 200)) for b in range(4)],
        [LogDirFacts(b, f"/d{n}", 100, 100) for b in range(4) for n in (0, 1)],
        [
            PartitionFacts(
                TopicPartition("t", number),
                (ReplicaPlacement(one, "/d0"), ReplicaPlacement(two, "/d1")),
                10,
                10,
                30,
                cpu=5,
                leader_cpu=5,
            )
            for number, (one, two) in enumerate(pairs)
        ],
        [TopicFacts("t", policy="p")],
        policies=[IdcPolicy("p", (("a", 1), ("b", 1)))],
    )


def rules(**other: Any) -> Rules:
    brokers = np.ones((1, 4), dtype=np.bool_)
    given: dict[str, Any] = {
        "class_of": np.zeros(4, dtype=np.int64),
        "may_stay": brokers,
        "may_take": brokers,
        "may_lead": brokers,
        "idc_min": np.array([[1, 1]]),
        "idc_max": np.array([[1, 1]]),
        "rack_max": np.array([1]),
        "log_dir_may_take": np.ones(8, dtype=np.bool_),
        "log_dir_may_stay": np.ones(8, dtype=np.bool_),
        "capacity_limit": np.array([0.7, 0.8, 0.8, 0.8]),
        "disk_limit": 0.8,
        "free_to_move": np.ones(8, dtype=np.bool_),
        "must_leave": np.zeros(8, dtype=np.bool_),
    }
    return Rules(**given | other)


def but(*brokers: int) -> np.ndarray[Any, Any]:
    """[1, brokers] all but these."""
    return np.array([[broker not in brokers for broker in range(4)]])


def placed(
    moved: dict[int, int] | None = None,
    led: dict[int, int] | None = None,
    given: Rules | None = None,
    of: ClusterModel | None = None,
) -> Placed:
    """`moved` {slot: log dir}, `led` {partition: slot}."""
    made = of or model()
    slots, leaders = made.slot_log_dir.copy(), made.leader_slot.copy()
    for slot, log_dir in (moved or {}).items():
        slots[slot] = log_dir
    for partition, slot in (led or {}).items():
        leaders[partition] = slot
    return Placed.of(made, given or rules(), Targets.of_spread(0.1), slots, leaders)


def broken(at: Placed) -> dict[str, float]:
    return {each.name: each.measure(at) for each in registry.GOALS if any(each.violations(at))}


def test_nothing_breaks_a_goal_in_an_even_cluster() -> None:
    at = placed()
    assert broken(at) == {}
    assert {each.name: each.measure(at) for each in registry.GOALS if each.is_hard} == {
        each.name: 0 for each in registry.GOALS if each.is_hard
    }


@pytest.mark.parametrize(
    ("goal", "at", "measure", "sentence"),
    [
        ("rack", placed({1: 3}), 1, "t-0 has 2 replicas in rack a, where it may have 1"),
        ("idc", placed({1: 3}), 2, "t-0 has 2 replicas in a, its policy wants at most 1"),
        ("label", placed(given=rules(may_stay=but(3))), 2, "t-1 has a replica on broker 3, which is not for it"),
        ("exclusion", placed({1: 6}, given=rules(may_take=but(3))), 1, "t-0 would go to log dir /d0 of broker 3"),
        (
            "exclusion",
            placed({1: 4}, given=rules(log_dir_may_take=np.arange(8) != 4)),
            1,
            "t-0 would go to log dir /d0 of broker 2",
        ),
        ("replication-factor", placed({1: -1}), 1, "t-0 has a replica without a place"),
        ("replication-factor", placed({1: 1}), 1, "t-0 has two replicas on broker 0"),
        (
            "cpu-capacity",
            placed(given=rules(capacity_limit=np.array([0.14, 1, 1, 1]))),
            4,
            "broker 0 uses 15% of its cpu, above 14%",
        ),
        (
            "disk-capacity",
            placed({1: 6}, given=rules(capacity_limit=np.array([1, 1, 1, 0.4]))),
            1,
            "broker 3 uses 45% of its disk, above 40%",
        ),
        (
            "nw-in-capacity",
            placed({1: 6}, given=rules(capacity_limit=np.array([1, 0.25, 1, 1]))),
            1,
            "broker 3 uses 30% of its nw_in",
        ),
        (
            "nw-out-capacity",
            placed(led={0: 1}, given=rules(capacity_limit=np.array([1, 1, 0.3, 1]))),
            1,
            "broker 2 uses 40% of its nw_out",
        ),
        (
            "log-dir-capacity",
            placed({0: 1, 2: 1, 6: 1}),
            1,
            "log dir /d1 of broker 0 holds 120% of its disk, above 80%",
        ),
        ("leader-place", placed(given=rules(may_lead=but(0))), 1, "t-0 is led by broker 0, which should not lead it"),
        ("leader-spread", placed(led={0: 1, 1: 3}), 1.0, " leaders 100% above the mean"),
        ("replica-spread", placed({1: 6}), 0.5, " replicas 50% above the mean"),
        ("cpu-spread", placed(led={0: 1}), 1 / 3, "broker 2 cpu 33% above the mean, 10.0% was asked"),
        ("nw-in-spread", placed({1: 6}), 0.5, "broker 3 nw_in 50% above the mean"),
        ("nw-out-spread", placed(led={0: 1}), 1.0, "broker 2 nw_out 100% above the mean"),
        ("disk-spread", placed({1: 6}), 0.5, "broker 3 disk 50% above the mean"),
        ("leader-bytes-in-spread", placed(led={0: 1}), 1.0, "leaders of broker 2 take in is 100% above the mean"),
        ("potential-nw-out", placed({1: 6, 3: 6, 5: 6}), 0.8, ""),
        ("log-dir-spread", placed({0: 1}), 1.0, "log dir /d1 of broker 0 disk 100% above the mean of its broker"),
        ("log-dir-io-spread", placed({0: 1}), 1.0, "log dir /d1 of broker 0 disk_io 100% above the mean of its broker"),
        ("topic-spread", placed({1: 6}), 1, "topic t has 3 replicas on one broker, above 2"),
    ],
)
def test_a_goal_sees_what_breaks_it(goal: str, at: Placed, measure: float, sentence: str) -> None:
    each = registry.goal(goal)
    assert each.measure(at) == pytest.approx(measure)
    assert any(sentence in found for found in each.violations(at)) or not sentence


def test_brokers_are_held_against_their_own_pool() -> None:
    """Two pools, one twice as loaded as the other, are even each by itself."""
    apart = rules(
        class_of=np.array([0, 1, 0, 1]),
        may_take=np.array([[True, False, True, False], [False, True, False, True]]),
        may_stay=np.ones((2, 4), dtype=np.bool_),
        may_lead=np.ones((2, 4), dtype=np.bool_),
        idc_min=np.zeros((2, 2), dtype=np.int64),
        idc_max=np.full((2, 2), 9),
        rack_max=np.array([1, 1]),
    )
    heavy = model()
    load = heavy.slot_load.copy()
    load[heavy.slot_partition % 2 == 1] *= 2
    uneven = replace(heavy, slot_load=load)
    disk = registry.goal("disk-spread")
    assert disk.measure(placed(given=apart, of=uneven)) == pytest.approx(0)
    assert disk.measure(placed(of=uneven)) == pytest.approx(1 / 3)


def test_dead_brokers_do_not_count() -> None:
    dead = replace(model(), alive=np.array([True, True, True, False]))
    emptied = placed({3: 1, 6: 5}, given=rules(may_stay=but(3), may_take=but(3)), of=dead)
    assert registry.goal("replica-spread").measure(emptied) == pytest.approx(1 / 8)
    assert registry.goal("label").measure(emptied) == 0
    assert registry.goal("replica-spread").measure(placed({3: 1, 6: 5})) == 0.5


def test_goals_with_numbers_of_their_own_read_them_from_the_rules() -> None:
    few = rules(most_replicas=np.array([1, 2, 2, 2]))
    capacity = registry.goal("replica-capacity")
    assert capacity.measure(placed(given=few)) == 1
    assert list(capacity.violations(placed(given=few))) == [
        "broker 0 holds 2 replicas, above 1: the cluster's 8 have 4 brokers, which may hold 7"
    ]
    least = registry.goal("min-leaders")
    one_each = rules(least_leaders=np.array([1]))
    assert least.measure(placed(given=one_each)) == 0
    assert list(least.violations(placed(led={0: 1}, given=one_each))) == [
        "broker 0 leads 0 partitions of t, fewer than 1"
    ]
    assert least.measure(placed(led={0: 1}, given=rules(least_leaders=np.array([1]), may_lead=but(0)))) == 0
    assert capacity.measure(placed()) == least.measure(placed(led={0: 1})) == 0


@pytest.mark.parametrize("each", registry.GOALS, ids=lambda each: each.name)
def test_a_target_that_is_not_asked_for_is_never_missed(each: Goal) -> None:
    lenient = Targets(np.full(RESOURCES, np.inf), np.full(RESOURCES, np.inf), np.inf, topic_spread=False)
    at = replace(placed({1: 6}, led={0: 1}), targets=lenient)
    assert each.is_hard or each.name == "potential-nw-out" or not list(each.violations(at))


def test_judging_tells_before_and_after_of_every_goal() -> None:
    found = {result.goal: result for result in registry.judged(placed(), placed({1: 3}))}
    assert list(found) == [each.name for each in registry.GOALS]
    rack, disk = found["rack"], found["disk-spread"]
    assert (rack.is_hard, rack.before, rack.after, rack.target, rack.is_met) == (True, 0, 1, 0, False)
    assert (disk.is_hard, disk.is_met) == (False, False)
    assert disk.target == pytest.approx(0.1)
    assert found["cpu-capacity"].is_met


def test_what_is_wrong_is_explained_goal_by_goal_and_not_at_length() -> None:
    found = registry.explained(placed(given=rules(may_stay=but(0, 1, 2, 3))), most=2)
    assert [sentence.split(":")[0] for sentence in found].count("label") == 2


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("DiskUsageDistributionGoal", "disk-spread"),
        ("com.linkedin.kafka.cruisecontrol.analyzer.goals.RackAwareGoal", "rack"),
        ("RackAwareDistributionGoal", "rack"),
        ("ReplicaCapacityGoal", "replica-capacity"),
        ("DiskCapacityGoal", "disk-capacity"),
        ("NetworkInboundCapacityGoal", "nw-in-capacity"),
        ("NetworkOutboundCapacityGoal", "nw-out-capacity"),
        ("CpuCapacityGoal", "cpu-capacity"),
        ("ReplicaDistributionGoal", "replica-spread"),
        ("PotentialNwOutGoal", "potential-nw-out"),
        ("NetworkInboundUsageDistributionGoal", "nw-in-spread"),
        ("NetworkOutboundUsageDistributionGoal", "nw-out-spread"),
        ("CpuUsageDistributionGoal", "cpu-spread"),
        ("LeaderReplicaDistributionGoal", "leader-spread"),
        ("LeaderBytesInDistributionGoal", "leader-bytes-in-spread"),
        ("TopicReplicaDistributionGoal", "topic-spread"),
        ("MinTopicLeadersPerBrokerGoal", "min-leaders"),
        ("PreferredLeaderElectionGoal", "leader-place"),
        ("IntraBrokerDiskCapacityGoal", "log-dir-capacity"),
        ("IntraBrokerDiskUsageDistributionGoal", "log-dir-spread"),
        ("BrokerSetAwareGoal", "label"),
        ("DISK-SPREAD", "disk-spread"),
    ],
)
def test_goals_answer_to_the_names_that_operators_know(name: str, known: str) -> None:
    assert registry.goal(name).name == known


def test_goals_are_those_that_settings_may_name() -> None:
    assert [GoalName(each.name, each.aliases, each.is_hard) for each in registry.GOALS] == list(GOALS)


def test_an_unknown_goal_is_refused_with_near_names() -> None:
    with pytest.raises(InvalidInput, match=r"goal 'DiskUsageGoal' is not known: use .*DiskUsageDistributionGoal"):
        registry.goal("DiskUsageGoal")
    with pytest.raises(InvalidInput, match="goal 'xyzzy' is not known: use replication-factor, rack, "):
        registry.goal("xyzzy")


def test_a_goal_says_which_resources_the_search_makes_even_for_it() -> None:
    assert registry.resources("DiskUsageDistributionGoal") == (Resource.DISK,)
    assert registry.resources("rack") == ()
    assert {resource for each in registry.GOALS for resource in each.resources} == set(Resource)


def test_no_two_goals_share_a_name() -> None:
    names = [name.lower() for each in registry.GOALS for name in (each.name, *each.aliases)]
    assert len(set(names)) == len(names)
