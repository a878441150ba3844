"""Where new partitions go."""

from __future__ import annotations

from collections import Counter

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.tasks import CreateTopic, ExpandTopic
from spark_analytics.model.resources import Resource
from spark_analytics.planners.planning import solve
from tests.unit.spark_analytics.planners.small import GB, SETTINGS, brokers, cluster, planned, targets


def test_a_new_topic_goes_where_there_is_room_and_nothing_else_moves() -> None:
    model = cluster(brokers(4), {"t-0": ((1,), 400), "t-1": ((2,), 400)})

    plan = planned(model, CreateTopic(Topic("live", "new"), 2, 1, 40 * GB))

    assert sorted(broker for at in targets(plan).values() for broker in at) == [3, 4]
    assert all(move.is_new for move in plan.moves)
    assert plan.bytes_to_copy == 0


def test_replicas_stand_in_racks_of_their_own() -> None:
    model = cluster(
        brokers(4, b1={"rack": "a"}, b2={"rack": "a"}, b3={"rack": "b"}, b4={"rack": "b"}), {"t-0": ((1,), 1)}
    )

    plan = planned(model, CreateTopic(Topic("live", "new"), 6, 2, 6 * GB))

    assert all(len({broker <= 2 for broker in at}) == 2 for at in targets(plan).values())
    assert set(Counter(broker for at in targets(plan).values() for broker in at).values()) == {3}


def test_label_and_idc_policy_of_the_topic_directory_are_kept() -> None:
    gold = {"label": "gold"}
    on = brokers(6, b1=gold, b2=gold, b3=gold, b4=gold)
    on = [each.__class__(each.id, each.rack, "east" if each.id % 2 else "west", label=each.label) for each in on]
    policy = IdcPolicy("split", (("east", 1), ("west", 1)), "west")
    model = cluster(on, {"t-0": ((5,), 1)}, policies=[policy])

    plan = planned(model, CreateTopic(Topic("live", "new", label="gold", idc_policy="split"), 4, 2))

    for move in plan.moves:
        assert set(move.target_brokers) <= {1, 2, 3, 4}
        assert [broker % 2 for broker in move.target_brokers] == [0, 1]


def test_partitions_of_which_nothing_is_said_are_like_the_median_one() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 2), "t-1": ((1,), 6), "t-2": ((2,), 90)}, rate=1e6)

    solution = solve(model, CreateTopic(Topic("live", "new"), 1, 1), SETTINGS)

    edited = solution.problem.model
    new = edited.partition_topic == edited.topic_index("new")
    load = edited.slot_load[new[edited.slot_partition]]
    assert load[:, [Resource.NW_IN, Resource.DISK]].tolist() == [[1e6, 6 * GB]]
    assert solution.notes == (
        "nothing is expected of the topic: its partitions are taken to be like the cluster's median one",
    )


def test_an_expanded_topic_shares_its_traffic_among_all_its_partitions() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 30), "t-1": ((2,), 10)}, rate=1e6)

    solution = solve(model, ExpandTopic("t", 4), SETTINGS)

    edited = solution.problem.model
    new = edited.partition_number[edited.slot_partition] >= 2
    assert edited.slot_load[new][:, [Resource.NW_IN, Resource.DISK]].tolist() == [[5e5, 10 * GB]] * 2
    assert set(targets(planned(model, ExpandTopic("t", 4)))) == {"t-2", "t-3"}


def test_a_topic_is_created_whole_or_not_at_all() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 700), "t-1": ((2,), 10)})

    with pytest.raises(InvalidInput, match="topic new with replication factor 2 finds no place on the 2 brokers"):
        planned(model, CreateTopic(Topic("live", "new"), 1, 2, 200 * GB))


def test_names_and_numbers_must_fit_what_is_there() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 1), "t-1": ((2,), 1)})

    with pytest.raises(InvalidInput, match="topic t exists in cluster live: expand it, or use another name"):
        planned(model, CreateTopic(Topic("live", "t"), 1, 1))
    with pytest.raises(InvalidInput, match="partitions is 2 and topic t has 2: give a larger number"):
        planned(model, ExpandTopic("t", 2))
