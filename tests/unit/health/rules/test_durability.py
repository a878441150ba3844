from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.health.rules.durability import audit, losses, rate, remarks
from guardian.model.cluster_state import Eligible, PartitionState
from guardian.model.durability import BrokerPlace, Rating, Scope, TopicFacts, TopicSettings

BROKERS = {
    1: BrokerPlace("a", "north"),
    2: BrokerPlace("b", "north"),
    3: BrokerPlace("c", "south"),
    4: BrokerPlace("c", "south"),
}


def topic(*partitions: PartitionState, min_isr: int = 2, is_unclean: bool = False) -> TopicFacts:
    return TopicFacts(TopicSettings(min_isr, is_unclean), dict(enumerate(partitions)))


def full(*replicas: int) -> PartitionState:
    return PartitionState(replicas[0], replicas, replicas)


def shrunk(replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionState:
    return PartitionState(isr[0] if isr else -1, replicas, isr)


@pytest.mark.parametrize(
    ("facts", "rating", "survives", "reason"),
    [
        (topic(full(1, 2, 3)), Rating.SOUND, 1, ""),
        (topic(full(1, 2, 3, 4), min_isr=3), Rating.SOUND, 2, ""),
        (topic(full(1, 2, 3), shrunk((1, 2, 3), (1, 2))), Rating.DEGRADED, 1, "partition 1 with replicas out of sync"),
        (topic(full(1, 2), min_isr=2), Rating.DEGRADED, 1, "raise it to 3 with min.insync.replicas 2"),
        (topic(full(1, 2), min_isr=1), Rating.WEAK, 0, "raise it to 3 with min.insync.replicas 2"),
        (topic(full(1, 2, 3), min_isr=3), Rating.DEGRADED, 2, "equals the replication factor, 3"),
        (topic(full(1, 2, 3), min_isr=4), Rating.DEGRADED, 2, "is 4, above the replication factor, 3"),
        (topic(full(3, 4), min_isr=2), Rating.ONE_RACK, 1, "partition 0 with all in-sync copies in one rack"),
        (topic(shrunk((3, 4, 1), (3, 4))), Rating.ONE_RACK, 1, "partition 0 with all in-sync copies in one rack"),
        (topic(full(1), min_isr=1), Rating.WEAK, 0, "replication factor 1"),
        (topic(full(1, 2, 3), min_isr=1), Rating.WEAK, 0, "min.insync.replicas is 1"),
        (topic(full(1, 2, 3), is_unclean=True), Rating.WEAK, 0, "unclean.leader.election.enable is true"),
        (topic(full(1, 2), min_isr=3), Rating.DEGRADED, 1, "raise it to 3 with min.insync.replicas 2"),
        (topic(full(1), min_isr=2), Rating.WEAK, 0, "raise it to 3; min.insync.replicas 2 counts as 1"),
        (topic(shrunk((1, 2, 3), (1,))), Rating.AT_RISK, 1, "partition 0 with one copy in sync"),
        (topic(shrunk((1, 2, 3, 4), (1, 2)), min_isr=3), Rating.AT_RISK, 2, "under min.insync.replicas"),
        (topic(full(1, 2, 3), shrunk((1, 2, 3), ())), Rating.OFFLINE, 1, "partition 1 without a leader"),
    ],
)
def test_a_topic_is_rated_by_its_worst_partition_and_its_settings(
    facts: TopicFacts, rating: Rating, survives: int, reason: str
) -> None:
    rated = rate("t", facts, BROKERS)
    assert (rated.rating, rated.survives_brokers) == (rating, survives)
    assert reason in "; ".join(rated.reasons)
    assert bool(rated.reasons) == (rating is not Rating.SOUND)


BROKEN = {**BROKERS, 2: BrokerPlace("b", "north", is_alive=False)}


@pytest.mark.parametrize(
    ("elr", "rating"),
    [((2,), Rating.AT_RISK), ((3,), Rating.DEGRADED), ((2, 3), Rating.DEGRADED), ((), Rating.AT_RISK)],
)
@pytest.mark.parametrize(("isr", "min_isr"), [((1,), 2), ((1, 4), 3)])
def test_a_living_member_of_the_elr_takes_the_risk_away(
    elr: tuple[int, ...], rating: Rating, isr: tuple[int, ...], min_isr: int
) -> None:
    state = shrunk((1, 2, 3, 4), isr)
    facts = TopicFacts(TopicSettings(min_isr, False), {0: state}, {0: Eligible(elr)})
    assert rate("t", facts, BROKEN).rating is rating


def test_what_is_offline_says_whom_to_start_first() -> None:
    none = PartitionState(-1, (1, 2, 3), ())
    eligible = {0: Eligible((1, 3), (3,)), 1: Eligible((2,)), 3: Eligible((), (1,))}
    old = PartitionState(-1, (1, 2, 3), (2,))  # without ELR the last one stays in the ISR
    facts = TopicFacts(TopicSettings(2, False), {0: none, 1: none, 2: old, 3: none, 4: none}, eligible)
    rated = rate("t", facts, BROKERS)
    assert [each.partition("; ")[2] for each in rated.reasons if "without a leader" in each] == [
        "start broker 3 first, then 1",
        "start broker 2 first",
        "start broker 1 first",
        "",
    ]
    assert rated.start_first == (3, 1, 2)


def test_racks_of_the_elr_count_as_those_of_the_isr() -> None:
    state = shrunk((3, 4, 1), (3,))
    for elr, rating in ((4, Rating.ONE_RACK), (1, Rating.DEGRADED)):
        facts = TopicFacts(TopicSettings(2, False), {0: state}, {0: Eligible((elr,))})
        assert rate("t", facts, BROKERS).rating is rating


def test_ratings_keep_their_order_whatever_their_numbers() -> None:
    found = audit(
        {"one-rack": topic(full(3, 4)), "weak": topic(full(1), min_isr=1), "thin": topic(full(1, 2))}, BROKERS
    )
    assert [each.topic for each in found.topics] == ["weak", "one-rack", "thin"]


def test_the_gravest_reason_comes_first_and_long_lists_are_cut() -> None:
    partitions = [shrunk((1, 2, 3), (1,)) for _ in range(7)]
    rated = rate("t", topic(*partitions, shrunk((1, 2, 3), ()), min_isr=1), BROKERS)
    assert rated.reasons == (
        "partition 7 without a leader: nobody can read or write",
        "partitions 0, 1, 2, 3, 4 and 2 more with one copy in sync: the next loss takes it offline",
        "min.insync.replicas is 1: acks=all may be on the leader alone; set it to 2",
    )
    assert (rated.offline, rated.under_min_isr, rated.under_replicated, rated.preferred_leaders) == (1, 1, 8, 7)


def test_topics_and_losses_come_worst_first() -> None:
    found = audit(
        {"good": topic(full(1, 2, 3)), "bad": topic(full(3), min_isr=1), "aside": topic(full(1, 2, 3))}, BROKERS
    )
    assert [each.topic for each in found.topics] == ["bad", "aside", "good"]
    assert [(each.scope, each.name) for each in found.losses] == [
        (Scope.BROKER, "3"),
        (Scope.BROKER, "1"),
        (Scope.BROKER, "2"),
        (Scope.BROKER, "4"),
        (Scope.RACK, "c"),
        (Scope.RACK, "a"),
        (Scope.RACK, "b"),
        (Scope.IDC, "south"),
        (Scope.IDC, "north"),
    ]
    south = found.losses[-2]
    assert (south.brokers, south.leaders, south.offline, south.unwritable, south.exposed) == ((3, 4), 1, 1, 0, 1)
    north = found.losses[-1]
    assert (north.leaders, north.offline, north.unwritable, north.exposed) == (2, 0, 2, 2)


def test_a_partition_that_is_offline_or_refuses_writes_already_is_not_counted_as_lost_once_more() -> None:
    facts = {"t": topic(shrunk((1, 2), ()), shrunk((1, 2, 3), (1,)), min_isr=2)}
    broker_2 = next(loss for loss in losses(facts, BROKERS) if loss.name == "2")
    assert (broker_2.offline, broker_2.unwritable) == (0, 0)


@pytest.mark.parametrize("place", [BrokerPlace("a", "north"), BrokerPlace("", "")])
def test_one_rack_alone_has_no_loss_of_its_own(place: BrokerPlace) -> None:
    assert {loss.scope for loss in losses({"t": topic(full(1, 2))}, {1: place, 2: place})} == {Scope.BROKER}


def test_what_is_odd_about_the_brokers_is_said() -> None:
    odd = {
        1: BrokerPlace("a", "n", replica_lag_ms=30_000, rebalances_leaders=True),
        2: BrokerPlace("", "n", replica_lag_ms=90_000),
        3: BrokerPlace("b", "n", is_alive=False),
    }
    said = list(remarks(odd))
    assert [sentence.split(":")[0] for sentence in said] == [
        "broker 3 not alive",
        "replica.lag.time.max.ms differs between brokers (30000, 90000)",
        "replica.lag.time.max.ms is 30000 on 1 brokers",
        "replica.lag.time.max.ms is 90000 on 1 brokers",
        "auto.leader.rebalance.enable is true",
        "broker 2 without broker.rack",
    ]
    assert "silences acks=all for 90 to 135 s before it leaves the ISR (the default is 30000)" in said[3]
    assert list(remarks(BROKERS)) == []


REPLICAS = st.permutations([1, 2, 3, 4]).flatmap(lambda order: st.integers(1, 4).map(lambda n: tuple(order[:n])))
PARTITIONS = REPLICAS.flatmap(
    lambda replicas: st.integers(0, len(replicas)).map(lambda n: shrunk(replicas, replicas[:n]))
)


@given(st.lists(PARTITIONS, min_size=1, max_size=5), st.integers(1, 4), st.booleans())
def test_losses_are_what_killing_the_brokers_one_by_one_shows(
    partitions: list[PartitionState], min_isr: int, is_unclean: bool
) -> None:
    facts = topic(*partitions, min_isr=min_isr, is_unclean=is_unclean)
    for loss in losses({"t": facts}, BROKERS):
        dead = set(loss.brokers)
        went_offline = [p for p in partitions if p.leader >= 0 and set(p.isr) <= dead]
        assert loss.offline == len(went_offline)
        stopped = [p for p in partitions if len(p.isr) >= min_isr > len(set(p.isr) - dead) > 0]
        assert loss.unwritable == len([p for p in stopped if p not in went_offline])


@given(st.lists(PARTITIONS, min_size=1, max_size=5), st.integers(1, 4))
def test_no_choice_of_so_many_brokers_holds_every_copy_of_an_acknowledgement(
    partitions: list[PartitionState], min_isr: int
) -> None:
    rated = rate("t", topic(*partitions, min_isr=min_isr), BROKERS)
    for lost in itertools.combinations(BROKERS, rated.survives_brokers):
        for partition in partitions:
            for acknowledged_by in itertools.combinations(partition.replicas, min(min_isr, len(partition.replicas))):
                assert not set(acknowledged_by) <= set(lost)
