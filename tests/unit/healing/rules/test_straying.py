"""Which replicas have strayed, and where they go."""

from __future__ import annotations

import math
from dataclasses import replace

from guardian.federation.rules.placing import labels_by_topic, suits
from guardian.healing.rules.straying import (
    KIND,
    MAX_MOVES,
    RETRY_MS,
    BrokerPlace,
    Disks,
    Rules,
    evidence,
    idempotency_key,
    relocate,
    strays,
    why_not_now,
)
from guardian.model.actor import Agent
from guardian.model.cluster_state import LogDir, LogDirReplica, PartitionState
from guardian.model.cordon import Cordon
from guardian.model.federation import Tenant, Topic
from guardian.model.plan import ReplicaPlacement
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
ROOMY = Disks({broker: {"/d1": math.inf} for broker in range(1, 7)}, dict.fromkeys(PARTITIONS, 10))


def test_what_came_after_the_exclusion_has_strayed_and_what_was_there_has_not() -> None:
    assert strays([CORDON], PARTITIONS) == {STRAY: (3,), GOLD: (3,)}
    assert strays([CORDON], PARTITIONS, {STRAY}) == {GOLD: (3,)}
    assert strays([replace(CORDON, is_lifted=True)], PARTITIONS) == {}


def test_a_stray_goes_where_racks_stay_apart_and_its_label_allows() -> None:
    plan = relocate("live", strays([CORDON], PARTITIONS), PARTITIONS, BROKERS, {3}, RULES, ROOMY, 7).plan
    assert plan is not None
    assert {move.partition: move.target_brokers for move in plan.moves} == {STRAY: (1, 4), GOLD: (5, 6)}
    assert {move.original_brokers for move in plan.moves} == {(1, 3), (3, 6)}
    assert plan.kind == KIND
    assert plan.made_at_ms == 7


def test_a_policy_on_data_centres_comes_first() -> None:
    rules = Rules(idcs={"stray": {"east": 2}})
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, rules, ROOMY, 0).plan
    assert plan is not None
    assert plan.moves[0].target_brokers == (1, 2)


def test_several_strays_are_spread_over_the_takers() -> None:
    many = {TopicPartition("t", number): PartitionState(1, (1, 3), (1, 3)) for number in range(10)}
    brokers = {1: BrokerPlace("r1"), 3: BrokerPlace("r3"), 4: BrokerPlace("r4"), 5: BrokerPlace("r5")}
    disks = Disks(ROOMY.room, dict.fromkeys(many, 10))
    plan = relocate("live", strays([Cordon("live", 3)], many), many, brokers, {3}, Rules(), disks, 0).plan
    assert plan is not None
    assert evidence(plan)[0] == (
        "t-0 is on brokers [1, 3]: it came to broker 3, which is excluded, after it was excluded"
    )
    takers = [move.target_brokers[1] for move in plan.moves]
    assert sorted(takers) == [4] * 5 + [5] * 5


def test_what_nobody_may_take_is_said_and_stays() -> None:
    brokers = {1: BrokerPlace(), 6: BrokerPlace(label="gold")}
    found = relocate("live", {GOLD: (3,)}, PARTITIONS, brokers, {3}, RULES, ROOMY, 0)
    assert found.plan is None
    assert found.unplaced == ("gold-0 has strayed to broker 3, and no other broker may take it",)


def log_dir(broker: int, path: str, used: int, *, other: int = 0, error: str = "") -> LogDir:
    """Of 1000 bytes: `used` by a replica, `other` by what is not Kafka's."""
    replicas = {TopicPartition("big", broker): LogDirReplica(used, 0, is_future=False)}
    return LogDir(broker, path, error, 1000, 1000 - used - other, replicas)


def test_room_is_what_the_planners_limits_leave() -> None:
    held = {STRAY: LogDirReplica(30, 0, is_future=False)}
    future = {OLD: LogDirReplica(300, 0, is_future=True)}
    log_dirs = (
        log_dir(1, "/d1", 500),
        log_dir(1, "/d2", 500, other=430),
        log_dir(2, "/d1", 900),
        replace(log_dir(2, "/d2", 100), future_replicas=future),
        log_dir(3, "/d1", 0, error="disk error"),
        LogDir(4, "/d1", replicas=held),
    )
    disks = Disks.of(log_dirs, disk_limit=0.8, disk_reserve=0.05)
    assert disks.room == {1: {"/d1": 300, "/d2": 20}, 2: {"/d1": 0, "/d2": 400}, 3: {}, 4: {"/d1": math.inf}}
    assert (disks.sizes[STRAY], disks.sizes[TopicPartition("big", 1)]) == (30, 500)


def test_a_stray_goes_to_no_broker_whose_disks_have_no_room_for_it() -> None:
    """Broker 4 suits best, as its rack and its data centre do."""
    disks = Disks({1: {"/d1": 99.0}, 2: {"/d1": 99.0}, 4: {"/d1": 9.0, "/d2": 9.0}}, {STRAY: 10})
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, RULES, disks, 0).plan
    assert plan is not None
    assert plan.moves[0].target == (ReplicaPlacement(1), ReplicaPlacement(2))
    disks = replace(disks, room={**disks.room, 4: {"/d1": 9.0, "/d2": 10.0}})
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, RULES, disks, 0).plan
    assert plan is not None
    assert plan.moves[0].target == (ReplicaPlacement(1), ReplicaPlacement(4, "/d2")), "where the room is"


def test_strays_of_one_plan_share_the_room_and_what_finds_none_is_said() -> None:
    many = {TopicPartition("t", number): PartitionState(1, (1, 3), (1, 3)) for number in range(4)}
    brokers = {1: BrokerPlace(), 3: BrokerPlace(), 4: BrokerPlace(), 5: BrokerPlace()}
    disks = Disks({4: {"/d1": 12.0, "/d2": 15.0}, 5: {"/d1": 5.0}}, dict.fromkeys(many, 10))
    made = relocate("live", strays([Cordon("live", 3)], many), many, brokers, {3}, Rules(), disks, 0)
    assert made.plan is not None
    assert [move.target[1] for move in made.plan.moves] == [ReplicaPlacement(4, "/d2"), ReplicaPlacement(4, "/d1")]
    assert made.unplaced == tuple(
        f"t-{number} has strayed to broker 3, and no broker that may take it has room for its 10 B: "
        "disk_limit and disk_reserve leave 5 B at most, on broker 4"
        for number in (2, 3)
    )
    assert made.plan.unmet == made.unplaced


def test_strays_without_room_do_not_hold_up_those_behind_them() -> None:
    many = {TopicPartition("t", number): PartitionState(1, (1, 3), (1, 3)) for number in range(MAX_MOVES + 2)}
    brokers = {1: BrokerPlace(), 3: BrokerPlace(), 4: BrokerPlace()}
    last = TopicPartition("t", MAX_MOVES + 1)
    disks = Disks({4: {"/d1": 5.0}}, {**dict.fromkeys(many, 10), last: 1})
    made = relocate("live", strays([Cordon("live", 3)], many), many, brokers, {3}, Rules(), disks, 0)
    assert made.plan is not None
    assert [move.partition for move in made.plan.moves] == [last]
    assert (len(made.unplaced), made.unplaced[-1]) == (21, f"and {MAX_MOVES - 19} more")
    of_small = replace(disks, sizes=dict.fromkeys(many, 0))
    made = relocate("live", strays([Cordon("live", 3)], many), many, brokers, {3}, Rules(), of_small, 0)
    assert made.plan is not None
    assert len(made.plan.moves) == MAX_MOVES


def test_a_stray_whose_size_or_whose_takers_nobody_tells_stays() -> None:
    for disks, why in (
        (replace(ROOMY, sizes={}), "no broker tells how large it is"),
        (replace(ROOMY, room={4: {}}), "no broker that may take it (2, 4) tells of a log dir that is online"),
    ):
        made = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, RULES, disks, 0)
        assert made.plan is None
        assert made.unplaced == (f"stray-0 has strayed to broker 3, and {why}",)


def ticket(state: TicketState, number: int = 1, updated_at_ms: int = 0) -> Ticket:
    return Ticket(f"t-{number}", "live", KIND, state, Agent.HEALING, "h", 1, 0, updated_at_ms)


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
    plan = relocate("live", {STRAY: (3,)}, PARTITIONS, BROKERS, {3}, RULES, ROOMY, 7).plan
    assert plan is not None
    first = idempotency_key(plan, [])

    def made(state: TicketState, number: int = 1, key: str = first) -> Ticket:
        return replace(ticket(state, number), idempotency_key=key, created_at_ms=number)

    assert idempotency_key(replace(plan, made_at_ms=9), [made(TicketState.REJECTED)]) == first
    after = idempotency_key(plan, [made(TicketState.SUCCEEDED)])
    assert after not in (first, idempotency_key(plan, [made(TicketState.SUCCEEDED, 2)]))
    refused = made(TicketState.REJECTED, 2, after)
    others = [ticket(TicketState.SUCCEEDED, number) for number in (3, 4)]
    for kept in ([made(TicketState.SUCCEEDED), *others, refused], [*others, refused], [refused]):
        assert idempotency_key(plan, kept) == after, "whatever else was trimmed, the refusal holds"
    for actor, is_same in ((Agent.HEALING, False), ("ann", True)):
        history = tuple(
            TicketTransition(state, 0, by, "")
            for state, by in ((TicketState.CANCELLING, actor), (TicketState.CANCELLED, "executor"))
        )
        withdrawn = replace(made(TicketState.CANCELLED), history=history)
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
