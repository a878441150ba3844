"""What is planned for a line between data centres that nears its limit, on values."""

from __future__ import annotations

from guardian.healing.rules.relieving import ClusterPlaces, cluster_of, relief_of
from guardian.model.federation import IdcPolicy
from guardian.model.links import Crosser, Crossing, Direction

LINE = Direction("sh", "sz")
IDCS = {1: "sh", 2: "sh", 3: "sz", 4: "bj"}
BOTH, HOME = IdcPolicy("both", (("sh", 2), ("sz", 1))), IdcPolicy("home", (("sh", 3),))


def crosses(topic: str, crossing: Crossing = Crossing.CONSUME, amount: int = 9, cluster: str = "live") -> Crosser:
    return Crosser(LINE, crossing, cluster, topic, amount)


def places(**policies: IdcPolicy) -> ClusterPlaces:
    return ClusterPlaces(IDCS, policies)


def test_leaders_go_to_where_readers_are_from_all_other_data_centres() -> None:
    found = relief_of([crosses("orders"), crosses("clicks"), crosses("orders")], "live", places())
    assert found is not None
    assert (found.topics, found.away_from, found.policy) == (("orders", "clicks"), (1, 2, 4), None)
    assert found.sentence == (
        "leaders of orders, clicks go to sz, where clients read over the line now: nothing is copied"
    )


def test_a_topic_goes_where_its_policy_keeps_it_off_the_line() -> None:
    read = relief_of([crosses("orders"), crosses("clicks")], "live", places(orders=BOTH))
    assert read is not None
    assert (read.topics, read.policy, read.away_from) == (("orders",), BOTH, ())
    for crossing in (Crossing.REPLICATE, Crossing.PRODUCE):
        into = relief_of([crosses("orders", crossing)], "live", places(orders=HOME))
        assert into is not None
        assert into.policy == HOME
        assert "IDC policy home wants orders where that does not cross from sh to sz" in into.sentence
        assert relief_of([crosses("orders", crossing)], "live", places(orders=BOTH)) is None
    assert relief_of([crosses("orders")], "live", places(orders=HOME)) is None  # its readers are where it must not be


def test_what_only_clients_can_change_has_no_relief() -> None:
    for crossing in (Crossing.REPLICATE, Crossing.PRODUCE):
        assert relief_of([crosses("orders", crossing)], "live", places()) is None
    assert relief_of([crosses("orders")], "live", ClusterPlaces({1: "sh"})) is None  # no broker is where they read
    assert relief_of([crosses("orders")], "other", places()) is None


def test_the_cluster_is_that_of_the_largest_crosser_that_can_be_helped() -> None:
    crossers = [crosses("a", Crossing.REPLICATE, 9, "first"), crosses("b", amount=5, cluster="second")]
    assert cluster_of(crossers, {"first": places(), "second": places()}) == "second"
    assert cluster_of(crossers, {"first": places(), "second": ClusterPlaces()}) == "first"
    assert cluster_of(crossers, {}) == ""
