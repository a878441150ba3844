"""Labels, tenants, policies, racks and exclusions as rules of the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from guardian.model.federation import IdcPolicy, Tenant
from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal, Remove
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.planners.rules import NO_LIMIT, Scope, compiled, rack_share
from spark_analytics.search.rules import Rules
from tests.unit.spark_analytics.planners.small import brokers, cluster, planned, targets

_SETTINGS = PlannerSettings()


def _model(
    brokers: Iterable[BrokerFacts],
    partitions: dict[tuple[str, int], Sequence[int]],
    topics: Sequence[TopicFacts] = (),
    tenants: Sequence[Tenant] = (),
    policies: Sequence[IdcPolicy] = (),
    offline: Sequence[int] = (),
) -> ClusterModel:
    """Each broker has one log dir, /d; `offline` names brokers whose log dir is."""
    listed = list(brokers)
    return ClusterModel.of(
        "live",
        listed,
        [LogDirFacts(broker.id, "/d", 1000, 500, offline=broker.id in offline) for broker in listed],
        [
            PartitionFacts(TopicPartition(*name), tuple(ReplicaPlacement(broker, "/d") for broker in on), size_bytes=1)
            for name, on in partitions.items()
        ],
        topics,
        tenants,
        policies,
    )


def _four(**changed: object) -> list[BrokerFacts]:
    """Brokers 0 to 3, each in a rack of its own; `changed` by "b2" and the like."""
    return [
        BrokerFacts(broker, f"r{broker}", **changed.get(f"b{broker}", {}))  # type: ignore[arg-type]
        for broker in range(4)
    ]


def _row(model: ClusterModel, rules: Rules, topic: str, number: int = 0) -> int:
    return int(rules.class_of[model.partition_index(TopicPartition(topic, number))])


def _brokers(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags).tolist()


def test_a_topic_with_a_label_lives_on_brokers_with_it_and_no_other_topic_does() -> None:
    model = _model(
        _four(b0={"label": "gold"}, b1={"label": "gold"}),
        {("paid", 0): (0, 1), ("free", 0): (2, 3)},
        [TopicFacts("paid", label="gold")],
    )

    rules, unmet = compiled(model, _SETTINGS)

    assert _brokers(rules.may_take[_row(model, rules, "paid")]) == [0, 1]
    assert _brokers(rules.may_stay[_row(model, rules, "paid")]) == [0, 1]
    assert _brokers(rules.may_take[_row(model, rules, "free")]) == [2, 3]
    assert unmet == ()


def test_the_brokers_of_a_shared_label_take_topics_without_one() -> None:
    model = _model(
        _four(b0={"label": "gold"}, b1={"label": "gold"}),
        {("paid", 0): (0, 1), ("free", 0): (2, 3)},
        [TopicFacts("paid", label="gold")],
    )

    rules, _ = compiled(model, PlannerSettings(shared_labels=("gold",)))

    assert _brokers(rules.may_take[_row(model, rules, "free")]) == [0, 1, 2, 3]


def test_a_tenants_topics_live_on_its_labels_unless_they_have_one_of_their_own() -> None:
    model = _model(
        _four(b0={"label": "gold"}, b1={"label": "gold"}, b2={"label": "iron"}, b3={"label": "iron"}),
        {("any", 0): (0, 2), ("own", 0): (2, 3)},
        [TopicFacts("any", tenant="acme"), TopicFacts("own", tenant="acme", label="iron")],
        [Tenant("acme", labels=("gold", "iron"))],
    )

    rules, _ = compiled(model, _SETTINGS)

    assert _brokers(rules.may_take[_row(model, rules, "any")]) == [0, 1, 2, 3]
    assert _brokers(rules.may_take[_row(model, rules, "own")]) == [2, 3]


def test_a_label_with_too_few_brokers_leaves_its_topics_where_they_are_and_says_so() -> None:
    model = _model(_four(b0={"label": "gold"}), {("paid", 0): (0, 1)}, [TopicFacts("paid", label="gold")])

    rules, unmet = compiled(model, _SETTINGS)

    assert _brokers(rules.may_stay[_row(model, rules, "paid")]) == [0, 1, 2, 3]
    assert _brokers(rules.may_take[_row(model, rules, "paid")]) == [0]
    assert len(unmet) == 1
    assert "1 brokers of label gold can hold replicas and topics have replication factor 2" in unmet[0]


def test_dead_brokers_may_hold_nothing_and_excluded_ones_take_nothing_more() -> None:
    model = _model(_four(b0={"alive": False}, b1={"excluded": True}), {("t", 0): (0, 1)})

    rules, _ = compiled(model, _SETTINGS)

    assert _brokers(rules.may_stay[0]) == [1, 2, 3]
    assert _brokers(rules.may_take[0]) == [2, 3]
    assert _brokers(rules.may_lead[0]) == [1, 2, 3]


def test_a_policy_counts_replicas_by_data_centre_and_says_who_leads() -> None:
    policy = IdcPolicy("two-one", (("east", 2), ("west", 1)), preferred_leader_idc="west")
    model = _model(
        _four(b0={"idc": "east"}, b1={"idc": "east"}, b2={"idc": "west"}, b3={"idc": "west"}),
        {("t", 0): (0, 2, 3), ("u", 0): (0, 1)},
        [TopicFacts("t", policy="two-one")],
        policies=[policy],
    )

    rules, unmet = compiled(model, _SETTINGS)

    row = _row(model, rules, "t")
    assert rules.idc_min[row].tolist() == [2, 1]
    assert rules.idc_max[row].tolist() == [2, 1]
    assert _brokers(rules.may_lead[row]) == [2, 3]
    assert rules.idc_max[_row(model, rules, "u")].tolist() == [NO_LIMIT, NO_LIMIT]
    assert unmet == ()


def test_a_policy_of_more_replicas_than_there_are_only_limits_and_says_so() -> None:
    policy = IdcPolicy("two-two", (("east", 2), ("west", 2)))
    model = _model(
        _four(b0={"idc": "east"}, b1={"idc": "east"}, b2={"idc": "west"}, b3={"idc": "west"}),
        {("t", 0): (0, 2, 3)},
        [TopicFacts("t", policy="two-two")],
        policies=[policy],
    )

    rules, unmet = compiled(model, _SETTINGS)

    assert rules.idc_min[0].tolist() == [0, 0]
    assert rules.idc_max[0].tolist() == [2, 2]
    assert "places 4 replicas and topics have replication factor 3" in unmet[0]


def test_a_data_centre_without_enough_brokers_is_relaxed_and_named() -> None:
    policy = IdcPolicy("west", (("west", 2),))
    model = _model(
        _four(b0={"idc": "east"}, b1={"idc": "east"}, b2={"idc": "east"}, b3={"idc": "west"}),
        {("t", 0): (0, 1)},
        [TopicFacts("t", policy="west")],
        policies=[policy],
    )

    rules, unmet = compiled(model, _SETTINGS)

    assert rules.idc_min[0].tolist() == [0, 1]
    assert rules.idc_max[0].tolist() == [NO_LIMIT, NO_LIMIT]
    assert "wants 2 replicas in west, where 1 brokers can hold them" in unmet[0]


def test_racks_take_as_few_replicas_as_their_brokers_allow() -> None:
    assert rack_share(np.array([5, 5, 5]), 3) == 1
    assert rack_share(np.array([5, 5]), 3) == 2
    assert rack_share(np.array([1, 5]), 4) == 3
    assert rack_share(np.array([1, 1]), 3) == 1


def test_the_rack_of_an_excluded_broker_counts_only_for_what_it_holds() -> None:
    brokers = [BrokerFacts(0, "r0"), BrokerFacts(1, "r1"), BrokerFacts(2, "r1"), BrokerFacts(3, "r2", excluded=True)]
    model = _model(brokers, {("held", 0): (0, 1, 3), ("not", 0): (0, 1, 2)})

    rules, _ = compiled(model, _SETTINGS)

    assert rules.rack_max[_row(model, rules, "held")] == 1
    assert rules.rack_max[_row(model, rules, "not")] == 2


def test_a_task_that_does_not_mend_tolerates_what_is_broken_but_no_more() -> None:
    policy = IdcPolicy("one-one", (("east", 1), ("west", 1)))
    brokers = [
        BrokerFacts(0, "r0", "east", alive=False),
        BrokerFacts(1, "r1", "east"),
        BrokerFacts(2, "r1", "east"),
        BrokerFacts(3, "r2", "west"),
    ]
    model = _model(
        brokers,
        {("dead", 0): (0, 3), ("racks", 0): (1, 2), ("idcs", 0): (2, 0)},
        [TopicFacts("idcs", policy="one-one")],
        policies=[policy],
        offline=[1],
    )

    rules, _ = compiled(model, _SETTINGS, Scope(mends=False))

    assert rules.may_stay.all()
    assert rules.rack_max[_row(model, rules, "dead")] == 1
    assert rules.rack_max[_row(model, rules, "racks")] == 1
    assert rules.keeps_crowds
    assert rules.idc_max[_row(model, rules, "idcs")].tolist() == [2, 1]
    assert rules.idc_min[_row(model, rules, "idcs")].tolist() == [1, 0]
    assert rules.log_dir_may_stay.all()
    assert _brokers(rules.log_dir_may_take) == [2, 3]
    assert not rules.free_to_move[np.isin(model.slot_broker, [0, 1])].any()


def test_partitions_out_of_scope_are_never_forced() -> None:
    model = _model(_four(b0={"alive": False}), {("t", 0): (0, 1), ("u", 0): (0, 2)})
    scope = np.array([True, False])

    rules, _ = compiled(model, _SETTINGS, Scope(partitions=scope))

    outside = _row(model, rules, "u")
    assert rules.may_stay[outside].all()
    assert not rules.may_take[outside].any()
    assert rules.rack_max[outside] == NO_LIMIT
    assert not rules.free_to_move[model.slot_partition == 1].any()
    assert _brokers(rules.may_stay[_row(model, rules, "t")]) == [1, 2, 3]


def test_leaving_brokers_and_emptied_log_dirs_hold_nothing() -> None:
    model = _model(_four(), {("t", 0): (0, 1)}, offline=[3])
    leaving, emptied = np.array([True, False, False, False]), np.array([False, True, False, False])

    rules, _ = compiled(model, _SETTINGS, Scope(leaving=leaving, emptied=emptied))

    assert _brokers(rules.may_stay[0]) == [1, 2, 3]
    assert _brokers(rules.log_dir_may_take) == [0, 2]
    assert _brokers(rules.log_dir_may_stay) == [0, 2]


def test_only_the_named_brokers_take_and_racks_still_count_for_all() -> None:
    model = _model(_four(), {("t", 0): (0, 1, 2)})

    rules, _ = compiled(model, _SETTINGS, Scope(taking=np.array([False, False, False, True]), mends=False))

    assert _brokers(rules.may_take[0]) == [3]
    assert rules.rack_max[0] == 1


def test_excluded_and_unknown_topics_are_not_free_to_move() -> None:
    model = _model(_four(), {("logs-a", 0): (0, 1), ("t", 0): (2, 3)})

    rules, _ = compiled(model, PlannerSettings(excluded_topics=("logs-*",)))

    assert rules.free_to_move.tolist() == [False, False, True, True]


def test_limits_come_from_the_settings() -> None:
    rules, _ = compiled(_model(_four(), {("t", 0): (0,)}), PlannerSettings(network_limit=0.5))

    assert rules.capacity_limit.tolist() == [0.7, 0.5, 0.5, 0.8]
    assert rules.disk_limit == 0.8


def test_partitions_under_the_same_rules_share_a_class() -> None:
    model = _model(_four(), {(f"t{topic}", number): (0, 1) for topic in range(20) for number in range(5)})

    rules, _ = compiled(model, _SETTINGS)

    assert len(rules.rack_max) == 1
    assert rules.class_of.max() == 0


def test_each_broker_leads_as_many_partitions_of_a_topic_as_min_leaders_asks() -> None:
    on = {f"t-{number}": ((1, 2 + number % 2), 10) for number in range(3)} | {"u-0": ((2, 3), 10)}
    model = cluster(brokers(3), on)

    plan = planned(model, Heal(), PlannerSettings(min_leaders=(("t*", 1),)))

    leads = {str(move.partition): move.target_brokers[0] for move in plan.moves}
    assert sorted(leads.get(f"t-{number}", 1) for number in range(3)) == [1, 2, 3]
    assert plan.bytes_to_copy == 0
    assert (goal := {each.goal: each for each in plan.goals}["min-leaders"]).is_met
    assert (goal.before, goal.after) == (2, 0)


def test_a_topic_with_too_few_partitions_to_lead_is_told() -> None:
    model = cluster(brokers(3), {"t-0": ((1, 2), 10), "t-1": ((2, 3), 10)})

    assert planned(model, Heal(), PlannerSettings(min_leaders=(("t", 1),))).unmet == (
        "min_leaders asks each of 3 brokers to lead 1 of topic t, which has 2 partitions: give it at least 3, or leave "
        "it out of min_leaders",
    )


def test_no_broker_gets_more_replicas_than_max_replicas() -> None:
    on = {f"t-{number}": ((1,), 10 + number) for number in range(6)} | {"u-0": ((2,), 90)}
    model = cluster(brokers(3), on)

    plan = planned(model, Remove((1,)), PlannerSettings(max_replicas=4))

    gone = [broker for at in targets(plan).values() for broker in at]
    assert sorted(gone) == [2, 2, 2, 3, 3, 3] or sorted(gone) == [2, 2, 3, 3, 3, 3]
    shed = planned(model, Heal(), PlannerSettings(max_replicas=4))
    assert set(targets(shed)) == {"t-0", "t-1"}  # the smallest
    assert {each.goal: each.after for each in shed.goals}["replica-capacity"] == 0
