"""What people have said of brokers, against plans that anybody may have made: hard rules hold for all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.execution.rules.labelling import why_not_emptied
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import CreateTopic, Isolate, PlanTask
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.tickets.rules.barring import barring, why_barred, why_crowded

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b"}
BROKERS = tuple(Broker(each, idc="east" if each < 4 else "west") for each in RACKS)


def directory(
    *topics: Topic,
    exclusions: tuple[Exclusion, ...] = (),
    labels: dict[int, str] | None = None,
    machines: tuple[Machine, ...] = (),
) -> Directory:
    brokers = tuple(Broker(each.id, idc=each.idc, label=(labels or {}).get(each.id, "")) for each in BROKERS)
    policies = (IdcPolicy("both", (("east", 1), ("west", 1))),)
    tenants = (Tenant("pay", labels=("gold", "silver")),)
    return Directory((Cluster("live", "h:9092", brokers=brokers),), machines, tenants, topics, policies, exclusions)


def move(before: tuple[int, ...], after: tuple[int, ...], topic: str = "t", goal: str = "") -> PartitionMove:
    original, target = (tuple(map(ReplicaPlacement, brokers)) for brokers in (before, after))
    return PartitionMove(TopicPartition(topic, 0), original, target, goal=goal, is_new=not before)


def plan(*moves: PartitionMove, task: PlanTask | None = None, settings: PlannerSettings | None = None) -> Plan:
    return Plan("live", task.kind if task else "run-plan", moves, task=task, settings=settings)


def barred(asked: Plan, known: Directory, *shared: str) -> str:
    return why_barred(asked, barring(asked, known, shared, now_ms=1000))


def crowded(asked: Plan, known: Directory) -> str:
    return why_crowded(asked, barring(asked, known, (), 1000), known, RACKS)


def test_an_excluded_broker_gets_no_new_replica_and_may_keep_what_it_has() -> None:
    excluded = directory(exclusions=(Exclusion("live", 3, "ann", "it is sold"),))
    assert barred(plan(move((1, 2), (3, 2))), excluded) == (
        "t-0 would come to broker 3, which ann excluded from new replicas: it is sold"
    )
    assert barred(plan(move((3, 2), (2, 3))), excluded) == ""
    assert barred(plan(move((3, 2), (4, 3))), excluded) == ""
    for other in (Exclusion("live", 3, "ann", "it was", until_ms=1000), Exclusion("dev", 3, "ann", "elsewhere")):
        assert barred(plan(move((1, 2), (3, 2))), directory(exclusions=(other,))) == ""


def test_a_broker_of_a_foreign_label_gets_no_replica() -> None:
    known = directory(Topic("live", "mine", label="gold"), Topic("live", "pays", tenant="pay"), labels={3: "gold"})
    to_gold = move((1, 2), (3, 2))
    assert barred(plan(to_gold), known) == (
        "t-0 would come to broker 3, which has label gold, and topic t may stand only on brokers without one"
    )
    assert barred(plan(to_gold), known, "gold") == "", "anybody's topics may use it"
    assert barred(plan(to_gold, settings=PlannerSettings(shared_labels=("gold", "red"))), known) == "", (
        "it was asked for so"
    )
    assert barred(plan(move((1, 2), (3, 2), "mine"), move((1, 2), (3, 2), "pays")), known) == ""
    assert barred(plan(move((1, 2), (4, 2), "pays")), known) == (
        "pays-0 would come to broker 4, which has no label, and topic pays may stand only on brokers of gold or silver"
    )


def test_a_broker_without_a_label_has_that_of_its_machine_as_for_planners() -> None:
    known = directory(machines=(Machine("m3", cluster="live", broker_id=3, label="gold"),))
    assert "which has label gold" in barred(plan(move((1, 2), (3, 2))), known)


def test_a_broker_without_an_idc_has_that_of_its_machine_as_for_planners() -> None:
    machines = (Machine("m6", "west", cluster="live", broker_id=6),)
    known = directory(Topic("live", "t", idc_policy="both"), machines=machines)
    assert crowded(plan(move((1, 5), (1, 6))), known) == ""
    assert "0 replicas in west" in crowded(plan(move((1, 5), (1, 6))), replace(known, machines=()))


def test_a_plan_that_isolates_a_label_is_seen_with_the_label_that_it_gives() -> None:
    known = directory(Topic("live", "mine", label="gold"))
    task = Isolate("gold", ("n*",), brokers=(3, 4))
    grows = plan(move((1, 2), (3, 4), "mine"), move((1, 2), (4, 3), "new"), task=task)
    assert barred(grows, known) == ""
    assert "which has label gold" in barred(plan(*grows.moves, move((1, 2), (3, 2)), task=task), known)


def test_a_topic_that_is_to_be_created_and_of_which_nobody_said_anything_may_go_where_its_plan_says() -> None:
    gold = plan(move((), (3,), "new"), task=CreateTopic(Topic("live", "new"), 1, 1))
    assert barred(gold, directory(labels={3: "gold"})) == ""
    assert "which has no label" in barred(gold, directory(Topic("live", "new", label="gold")))
    assert "excluded" in barred(gold, directory(exclusions=(Exclusion("live", 3, "ann", "it is sold"),)))


@pytest.mark.parametrize(
    ("before", "after", "is_worse"),
    [
        ((1, 2), (1, 4), True),
        ((1, 2), (3, 2), False),
        ((1, 4), (4, 1), False),  # as it was
        ((1, 4), (2, 5), False),
        ((1, 2, 3), (1, 2, 5), True),
        ((1, 2), (1, 2, 4), True),
        ((1, 2, 3), (1, 2, 3, 4), False),  # there are three racks
    ],
)
def test_a_file_does_not_put_replicas_into_fewer_racks_than_it_must(
    before: tuple[int, ...], after: tuple[int, ...], is_worse: bool
) -> None:
    why = crowded(plan(move(before, after)), directory())
    assert bool(why) is is_worse
    assert not why or why.startswith("replicas of t-0 would share rack ")
    assert crowded(plan(move(before, after, goal="rack")), directory()) == "", "a planner weighs more than this"


def test_racks_that_a_topic_may_not_use_are_no_way_out() -> None:
    gold = {1: "gold", 4: "gold"}
    known = directory(Topic("live", "t", label="gold"), labels=gold)
    assert crowded(plan(move((1, 3), (1, 4))), known) == ""
    assert "share rack a (brokers 1, 4)" in crowded(plan(move((1, 3), (1, 4))), directory())


def test_a_file_takes_no_partition_away_from_its_idc_policy() -> None:
    known = directory(Topic("live", "t", idc_policy="both"))
    assert crowded(plan(move((1, 5), (1, 2))), known) == (
        "t-0 would have 0 replicas in west, where its topic's IDC policy places 1: choose brokers there, or change the "
        "policy first (guardian plan migrate-idc)"
    )
    assert crowded(plan(move((1, 5), (3, 4))), known) == ""
    assert crowded(plan(move((1, 2), (1, 3))), known) == "", "no worse than it is"


def test_a_broker_that_is_given_back_and_would_keep_something_is_named() -> None:
    shrink = plan(move((1, 2), (3, 2)), task=Isolate("gold", release=1))
    stray = TopicPartition("stray", 0)
    partitions = {TopicPartition("t", 0): (1, 2), TopicPartition("u", 0): (2, 3)}
    assert why_not_emptied(shrink, partitions, (1, 2, 3)) == ""
    assert why_not_emptied(shrink, partitions | {stray: (2, 1)}, (1, 2, 3)) == (
        "broker 1 would not become empty: it holds stray-0, which the plan leaves there; wait until they are collected "
        "(guardian collection), then plan again"
    )
    assert why_not_emptied(shrink, partitions | {stray: (2, 1)}, (2, 3)) == "", "it is down"
    grow = plan(move((1, 2), (3, 2)), task=Isolate("gold", brokers=(3,)))
    assert why_not_emptied(grow, partitions | {stray: (2, 1)}, (1, 2, 3)) == ""
