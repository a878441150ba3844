"""Which replicas have strayed, and where they go."""

from __future__ import annotations

from dataclasses import replace

from guardian.core.placing import labels_by_topic, suits
from guardian.core.straying import (
    KIND,
    RETRY_MS,
    BrokerPlace,
    Rules,
    evidence,
    idempotency_key,
    relocate,
    strays,
    why_not_now,
)
from guardian.model.cluster_state import PartitionState
from guardian.model.cordon import Cordon
from guardian.model.federation import Tenant, Topic
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

OLD, STRAY, GOLD = TopicPartition("old", 0), TopicPartition("stray", 0), TopicPartition("gold", 0)
PARTITIONS = {
    OLD: PartitionState(1, (1, 3), (1, 3)),
    STRAY: PartitionState(1, (1, 3), (1, 3)),
    GOLD: PartitionState(3, (3, 6), (3, 6)),
}
CORDON = Cordon("live", 3, "*", held=frozenset({OLD}))
BROKERS = {
    1: BrokerPlace("a1", "east"),
    2: BrokerPlace("a1", "east"),
    3: BrokerPlace("b1", "west"),
    4: BrokerPlace("b2", "west"),
    5: BrokerPlace("c1", "north", "gold"),
    6: BrokerPlace("c2", "north", "gold"),
}
RULES = Rules({"gold": ("gold",)})


def test_what_came_after_the_exclusion_has_strayed_and_what_was_there_has_not() -> None:
    assert strays([CORDON], PARTITIONS) == {STRAY: (3,), GOLD: (3,)}
    assert strays([CORDON], PARTITIONS, {STRAY}) == {GOLD: (3,)}
    assert strays([replace(CORDON, is_lifted=True)], PARTITIONS) == {}


def test_a_stray_goes_where_racks_stay_apart_and_its_label_allows() -> None:
    plan = relocate("live", strays([CORDON], PARTITIONS), PARTITIONS, BROKERS, {3}, RULES, 7).plan
    assert plan is not None
    assert {move.partition: move.target_brokers for move in plan.moves} == {STRAY: (1, 4), GOLD: (5, 6)}
    assert {move.original_brokers for move in plan.moves} == {(1, 3), (3, 6)}
    assert plan.kind == KIND
    assert plan.made_at_ms == 7


def test_a_policy_on_data_centres_comes_first() -> None:
    rules = Rules(idcs={"stray": {"east": 2}})
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, rules, 0).plan
    assert plan is not None
    assert plan.moves[0].target_brokers == (1, 2)


def test_several_strays_are_spread_over_the_takers() -> None:
    many = {TopicPartition("t", number): PartitionState(1, (1, 3), (1, 3)) for number in range(10)}
    brokers = {1: BrokerPlace("r1"), 3: BrokerPlace("r3"), 4: BrokerPlace("r4"), 5: BrokerPlace("r5")}
    plan = relocate("live", strays([Cordon("live", 3)], many), many, brokers, {3}, Rules(), 0).plan
    assert plan is not None
    assert evidence(plan)[0] == (
        "t-0 is on brokers [1, 3]: it came to broker 3, which is excluded, after it was excluded"
    )
    takers = [move.target_brokers[1] for move in plan.moves]
    assert sorted(takers) == [4] * 5 + [5] * 5


def test_what_nobody_may_take_is_said_and_stays() -> None:
    found = relocate("live", {GOLD: (3,)}, PARTITIONS, {1: BrokerPlace(), 6: BrokerPlace(label="gold")}, {3}, RULES, 0)
    assert found.plan is None
    assert found.unplaced == ("gold-0 has strayed to broker 3, and no other broker may take it",)


def ticket(state: TicketState, number: int = 1, updated_at_ms: int = 0) -> Ticket:
    return Ticket(f"t-{number}", "live", KIND, state, "healing", "h", 1, 0, updated_at_ms)


def test_one_ticket_at_a_time_and_none_right_after_one_that_failed() -> None:
    assert why_not_now([], 0) == ""
    assert why_not_now([ticket(TicketState.PENDING)], 0) == "ticket t-1 (PENDING) moves strays already"
    failed = [ticket(TicketState.FAILED, updated_at_ms=1000)]
    assert why_not_now(failed, 2000) == "ticket t-1 is FAILED since a short while: the next one comes later"
    for state in (TicketState.REJECTED, TicketState.CANCELLED):
        assert why_not_now([ticket(state, updated_at_ms=1000)], RETRY_MS + 999)
        assert why_not_now([ticket(state, updated_at_ms=1000)], RETRY_MS + 1000) == ""
    assert why_not_now(failed, 1000 + RETRY_MS) == ""
    assert why_not_now([replace(ticket(TicketState.RUNNING), kind="balance")], 0) == ""


def test_a_refusal_holds_for_the_same_strays_and_an_end_does_not() -> None:
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, RULES, 7).plan
    assert plan is not None
    first = idempotency_key(plan, [])
    assert idempotency_key(replace(plan, made_at_ms=9), [ticket(TicketState.REJECTED)]) == first
    assert idempotency_key(plan, [ticket(TicketState.SUCCEEDED)]) != first
    for actor, is_same in (("healing", False), ("ann", True)):
        history = tuple(
            TicketTransition(state, 0, by, "")
            for state, by in ((TicketState.CANCELLING, actor), (TicketState.CANCELLED, "executor"))
        )
        withdrawn = replace(ticket(TicketState.CANCELLED), history=history)
        assert (idempotency_key(plan, [withdrawn]) == first) is is_same


def test_labels_are_the_topics_own_or_its_tenants() -> None:
    topics = [Topic("live", "own", label="gold"), Topic("live", "rented", tenant="acme"), Topic("live", "free")]
    tenants = [Tenant("acme", labels=("silver", "bronze"))]
    assert labels_by_topic(topics, tenants) == {"own": ("gold",), "rented": ("bronze", "silver")}
    assert suits("gold", ("gold",), ())
    assert not suits("", ("gold",), ())
    assert not suits("gold", (), ())
    assert suits("gold", (), ("gold",))
    assert suits("", (), ())
