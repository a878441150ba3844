"""Brokers become empty: as many as can, all of each or nothing."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove
from spark_analytics.model.cluster_model import TopicFacts
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, planned, targets


def test_what_is_on_the_broker_moves_and_nothing_else() -> None:
    model = cluster(brokers(4), {"t-0": ((1, 2), 10), "t-1": ((2, 3), 10), "t-2": ((2, 1), 10)})

    plan = planned(model, Remove((3,)))

    assert set(targets(plan)) == {"t-1"}
    assert targets(plan)["t-1"] in ([1, 2], [2, 4])
    assert (plan.unmet, plan.notes) == ((), ("1 of the 1 brokers asked for can go",))


def test_the_smallest_go_first_and_who_must_stay_has_a_reason() -> None:
    """Three brokers hold two replicas each of 300 GB: two of them have room for all, of which one is 1600 GB."""
    on = {"t-0": ((1, 2), 300), "t-1": ((2, 3), 300), "t-2": ((3, 1), 300)}
    model = cluster(brokers(3), on, total={1: 1600, 2: 1500, 3: 1400})

    plan = planned(model, Remove((1, 3)))

    assert plan.notes == ("1 of the 2 brokers asked for can go",)
    assert plan.unmet == ("broker 1 can't go: 1 broker would be left for topics of replication factor 2",)
    assert all(3 not in at for at in targets(plan).values())
    assert set(targets(plan)) == {"t-1", "t-2"}


def test_a_broker_of_which_one_replica_finds_no_place_keeps_them_all() -> None:
    """The sums allow it: 800 GB below the limit are left, of which no disk has 500."""
    model = cluster(brokers(3), {"t-0": ((1,), 500), "t-1": ((1,), 20), "t-2": ((2,), 400), "t-3": ((3,), 400)})

    plan = planned(model, Remove((1,)))

    assert plan.moves == ()
    assert plan.unmet == (
        "broker 1 can't go: there is no place for t-0: none of the 2 brokers left for t-0 has a disk with room for "
        "500.0 GB: the roomiest takes 400.0 GB, all 780.0 GB, beside 20.0 GB that can move there",
    )


def test_a_broker_stays_for_traffic_that_no_other_can_take_and_it_is_told_how_much() -> None:
    """Together the others could take 2 x 32 MB/s, of which t-0 alone is 40."""
    slow = {f"b{each}": {"capacity": (1e6, 90e6, 1e12, 1e15)} for each in (1, 2, 3)}
    on = {"t-0": ((1,), 10), "t-1": ((2,), 10), "t-2": ((3,), 10)}

    plan = planned(cluster(brokers(3, **slow), on, rate=40e6), Remove((1,)))

    assert plan.moves == ()
    assert plan.unmet == (
        "broker 1 can't go: there is no place for t-0: none of the 2 brokers left for t-0 has room for "
        "40.0 MB/s of traffic in: the roomiest takes 32.0 MB/s, all 64.0 MB/s",
    )


def test_a_dead_broker_always_goes_for_each_replica_that_finds_a_place_is_safe() -> None:
    on = {"t-0": ((1, 2), 500), "t-1": ((1, 2), 20), "t-2": ((3, 2), 400)}
    model = cluster(brokers(3, b1={"alive": False}), on)

    plan = planned(model, Remove((1,)))

    assert targets(plan)["t-1"] == [2, 3]
    assert plan.notes == ("1 of the 1 brokers asked for can go",)


def test_what_breaks_a_rule_elsewhere_stays() -> None:
    same_rack = brokers(4, b1={"rack": "r2"})
    model = cluster(same_rack, {"t-0": ((1, 2), 10), "t-1": ((3,), 10)})

    plan = planned(model, Remove((3,)))

    assert set(targets(plan)) == {"t-1"}


def test_the_others_are_balanced_where_that_is_asked() -> None:
    on = {f"t-{number}": ((1,), 50) for number in range(6)} | {"t-6": ((4,), 50)}

    assert set(targets(planned(cluster(brokers(4), on), Remove((4,))))) == {"t-6"}
    assert len(planned(cluster(brokers(4), on), Remove((4,), balance=True)).moves) > 1


def test_a_broker_with_a_partition_that_was_not_seen_whole_stays() -> None:
    model = cluster(brokers(4), {"t-0": ((1, 2), 10), "t-1": ((1, 3), 10)}, unseen=["t-1"])

    plan = planned(model, Remove((1,)))

    assert plan.moves == ()
    sentence, reason = plan.unmet
    assert sentence.startswith("t-1 stays as it is: its leader knows of more replicas than were sampled")
    assert reason == "broker 1 can't go: t-1 must not be moved, as not all of its replicas are known"


def test_a_broker_that_stays_for_what_was_not_seen_of_it_makes_room_for_another_to_go() -> None:
    """Without broker 1 there would be too few for t-0; it stays for t-1, so that 3 can go."""
    model = cluster(brokers(3), {"t-0": ((2, 3), 10), "t-1": ((1,), 10)}, unseen=["t-1"])

    plan = planned(model, Remove((1, 3)))

    assert targets(plan) == {"t-0": [1, 2]}
    assert plan.notes == ("1 of the 2 brokers asked for can go",)


def test_of_a_dead_broker_that_was_never_seen_is_told_what_it_may_hold() -> None:
    model = cluster(brokers(4, b4={"alive": False}), {"t-0": ((1, 2), 10), "t-1": ((1, 3), 10)}, unseen=["t-1"])

    (sentence,) = planned(model, Remove((4,))).unmet

    assert sentence.startswith("t-1 stays as it is: its leader knows of more replicas than were sampled")
    assert "bring back broker 4, or take a window that begins before that was lost" in sentence


def test_some_must_remain() -> None:
    with pytest.raises(InvalidInput, match="brokers names all 2 brokers of cluster live: some must remain"):
        planned(cluster(brokers(2), {"t-0": ((1,), 10)}), Remove((1, 2)))


def test_a_broker_that_was_hindered_by_one_that_stays_goes_at_last() -> None:
    """Broker 3 alone may take the gold topic, and only what broker 1 has of it: that one is in its rack."""
    gold = {"label": "gold"}
    on = brokers(5, b1={"rack": "r3"}, b3=gold)
    model = cluster(
        on,
        {"g-0": ((2, 1), 10), "g-1": ((4, 5), 10), "t-0": ((1, 4), 10)},
        topics=[TopicFacts("g", label="gold"), TopicFacts("t")],
    )

    plan = planned(model, Remove((1, 2)))

    assert plan.notes == ("1 of the 2 brokers asked for can go",)
    assert set(targets(plan)) == {"g-0", "t-0"}


@pytest.mark.parametrize(("max_bytes", "gone"), [(float("inf"), 1), (510 * GB, 0)])
def test_a_broker_that_goes_at_last_is_within_the_budget(max_bytes: float, gone: int) -> None:
    """Two brokers must remain. Broker 1, the first to go, holds what no other disk has room for."""
    on = {"big-0": ((1,), 500), "t-0": ((2, 3), 20), "c-0": ((2,), 250), "c-1": ((2,), 250), "d-0": ((3,), 400)}

    plan = planned(cluster(brokers(3), on), Remove((1, 2)), PlannerSettings(max_bytes=max_bytes))

    assert plan.notes == (f"{gone} of the 2 brokers asked for can go",)


def test_what_leaves_a_crowded_rack_goes_to_another_or_at_last_to_another_broker_of_it() -> None:
    """Broker 4 has a rack of its own. Where it is full, broker 3 takes what leaves 2: rack a is crowded as before."""
    racks = {f"b{each}": {"rack": "a"} for each in (1, 2, 3)}
    for room, goes_to in ((1000, 4), (22, 3)):
        disks = {1: 1000, 2: 1000, 3: 1000, 4: room}
        model = cluster(brokers(4, **racks), {"t-0": ((1, 2), 10), "u-0": ((4,), 10)}, total=disks)
        assert targets(planned(model, Remove((2,)))) == {"t-0": [1, goes_to]}
