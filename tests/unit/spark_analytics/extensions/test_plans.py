"""A goal of another package is obeyed by every plan, judged by the checker, and named where it decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import Machine, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, CreateTopic, Heal, Isolate, Leaders, Remove, ReplicationFactor, Task
from guardian.model.wire.plans import plan_to_bytes
from spark_analytics.checker import Rule, Violation, check
from spark_analytics.extensions.goal import Narrowed, Placement
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel
from spark_analytics.planners.planning import make
from tests.unit.spark_analytics.extensions.acme import NAME, SENTENCE, Goal, hosts, with_goals
from tests.unit.spark_analytics.planners.small import GB, cluster, named, planned, targets

SECURE = {1, 2, 3}


def mixed(cards: Sequence[int] = (1, 4), **other: object) -> ClusterModel:
    """Three secured hosts, three plain ones; all of the load is where the topic of cards is."""
    partitions = {f"pci-cards-{number}": (cards, 10) for number in range(6)}
    partitions |= {f"orders-{number}": ((2 + number % 5, 1 + number % 5), 1) for number in range(6)}
    return cluster(hosts(3, 3), partitions, rate=1e6, **other)  # type: ignore[arg-type]


def cards_of(plan: Plan) -> dict[str, list[int]]:
    return {name: brokers for name, brokers in targets(plan).items() if name.startswith("pci-")}


@pytest.mark.usefixtures("acme")
def test_heal_moves_what_breaks_it_and_nothing_else() -> None:
    plan = planned(mixed(), Heal())
    assert set(cards_of(plan)) == {f"pci-cards-{number}" for number in range(6)}
    assert all(set(brokers) <= SECURE for brokers in cards_of(plan).values())
    assert set(targets(plan)) == set(cards_of(plan))
    assert {(move.goal, move.reason) for move in plan.moves} == {(NAME, f"broker 4 may not hold it: {SENTENCE}")}
    [result] = [each for each in plan.goals if each.goal == NAME]
    assert (result.is_hard, result.before, result.after, result.target, result.is_met) == (True, 6, 0, 0, True)
    assert f"goal {NAME} of acme-goals 1.2 is kept: {SENTENCE}" in plan.notes


def test_without_the_package_nothing_needs_healing() -> None:
    plan = planned(mixed(), Heal())
    assert plan.moves == ()
    assert NAME not in {each.goal for each in plan.goals}


def test_a_balance_keeps_it_and_would_be_another_one_without(site: object, monkeypatch: pytest.MonkeyPatch) -> None:
    model = mixed((1, 2))
    free = planned(model, Balance())
    assert any(set(brokers) - SECURE for brokers in cards_of(free).values())
    assert broken(model, free) == set()
    monkeypatch.syspath_prepend(str(site))
    _forget()
    kept = planned(model, Balance())
    assert kept.moves
    assert all(set(brokers) <= SECURE for brokers in cards_of(kept).values())
    assert plan_to_bytes(kept) == plan_to_bytes(planned(model, Balance()))
    assert broken(model, free) == {Rule.ADDED_GOAL}


def _forget() -> None:
    from spark_analytics.extensions import installed

    installed.installed.cache_clear()


def broken(model: ClusterModel, plan: Plan, task: Task | None = None) -> set[Rule]:
    return {violation.rule for violation in check(model, plan, task=task)}


def moved(name: str, *to: int) -> Plan:
    move = PartitionMove(named(name), (), tuple(ReplicaPlacement(broker, "/d") for broker in to))
    return Plan("live", "balance", (move,))


@pytest.mark.usefixtures("acme")
def test_the_checker_names_the_goal_that_a_plan_of_anybody_breaks() -> None:
    model = mixed()
    assert check(model, moved("pci-cards-0", 1, 5)) == (
        Violation(
            Rule.ADDED_GOAL,
            f"pci-cards-0 would go to broker 5: goal {NAME} of acme-goals 1.2: host plain-1 is not secured",
        ),
    )
    assert check(model, moved("pci-cards-0", 1, 3)) == ()
    assert check(model, moved("orders-0", 6, 5)) == ()
    assert check(model, moved("pci-cards-0", 3, 4)) == (), "what stands wrong may stay in a plan that moves another"


@pytest.mark.usefixtures("acme")
def test_a_plan_that_leaves_what_breaks_it_must_say_why() -> None:
    found = check(mixed(), Plan("live", "heal", ()), task=Heal())
    assert {violation.rule for violation in found} == {Rule.TASK}
    [left] = [violation.detail for violation in found if NAME in violation.detail]
    assert left.startswith(f"broker 4 keeps 6 replicas against goal {NAME} (pci-cards-0, ")
    assert left.endswith(", though pci-cards-0 has a place on 2:/d")


def hold(*brokers: int, topic: str = "t") -> Goal:
    """The topic only on these brokers."""

    def narrows(model: ClusterModel) -> Narrowed:
        row = np.array([0 if name == topic else -1 for name in model.topics], dtype=np.int64)
        return Narrowed(row, np.isin(model.broker_ids, brokers)[None, :])

    def judges(placement: Placement) -> str:
        is_right = placement.topic.name != topic or placement.broker.id in brokers
        return "" if is_right else f"broker {placement.broker.id} is not of {brokers}"

    return Goal(f"test/{topic}-on-{'-'.join(map(str, brokers))}", narrows, judges)


def test_all_goals_hold_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with_goals(monkeypatch, hold(1, 2, 3), hold(2, 3, 4), hold(1, topic="u"))
    model = cluster(hosts(0, 4), {"t-0": ((1, 4), 1), "u-0": ((2,), 1), "v-0": ((4,), 1)})
    plan = planned(model, Heal())
    assert targets(plan) == {"t-0": [2, 3], "u-0": [1]}
    assert {str(move.partition): move.goal for move in plan.moves} == {
        "t-0": "test/t-on-2-3-4",
        "u-0": "test/u-on-1",
    }


def lead(*brokers: int) -> Goal:
    """All topics are led by these brokers, and held by all."""

    def narrows(model: ClusterModel) -> Narrowed:
        may_lead = np.isin(model.broker_ids, brokers)[None, :]
        return Narrowed(np.zeros(len(model.topics), np.int64), np.ones_like(may_lead), may_lead)

    def judges(placement: Placement) -> str:
        is_right = not placement.leads or placement.broker.id in brokers
        return "" if is_right else "it is to follow only"

    return Goal("test/leaders", narrows, judges, sentence="spares follow")


@pytest.mark.parametrize("task", [Leaders(), Heal(), Balance()])
def test_leaders_stand_where_it_lets_them(monkeypatch: pytest.MonkeyPatch, task: Task) -> None:
    model = cluster(hosts(0, 4), {f"t-{number}": ((4, 1 + number % 3), 1) for number in range(6)}, rate=1e6)
    with_goals(monkeypatch, lead(1, 2, 3))
    plan = planned(model, task)
    leads = {str(move.partition): move.target_brokers[0] for move in plan.moves}
    assert len(leads) == 6
    assert 4 not in leads.values()
    assert {result.goal: (result.before, result.after) for result in plan.goals}["test/leaders"] == (6, 0)
    handed = [move for move in plan.moves if set(move.target_brokers) == set(move.original_brokers)]
    assert handed
    assert {(move.goal, move.reason) for move in handed} == {
        ("test/leaders", "broker 4 may not lead it: spares follow")
    }


def test_the_checker_sees_who_must_not_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    with_goals(monkeypatch, lead(1, 2))
    model = cluster(hosts(0, 4), {"t-0": ((1, 3), 1)})
    assert check(model, moved("t-0", 3, 1)) == (
        Violation(
            Rule.ADDED_GOAL, "t-0 would be led by broker 3: goal test/leaders of acme-goals 1.0: it is to follow only"
        ),
    )
    assert check(model, moved("t-0", 2, 3)) == ()


def test_a_plan_of_a_goal_whose_halves_differ_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search is told and what the checker is told are two things."""
    search, checker = hold(3), hold(2)
    with_goals(monkeypatch, Goal("test/torn", search.narrows, checker.judges))
    model = cluster(hosts(0, 3), {"t-0": ((1,), 1)})
    plan = make(model, Heal())
    assert targets(plan) == {"t-0": [3]}
    assert broken(model, plan, Heal()) == {Rule.ADDED_GOAL, Rule.TASK}


@pytest.mark.usefixtures("acme")
def test_too_few_hosts_are_named_and_nothing_moves_against_it() -> None:
    model = cluster(hosts(1, 3), {"pci-cards-0": ((2, 3), 1), "orders-0": ((1, 2), 1)})
    plan = planned(model, Heal())
    assert plan.moves == ()
    assert plan.unmet == (
        f"1 brokers can hold replicas by goal {NAME} ({SENTENCE}) and topics have replication factor 2: "
        "what stands elsewhere stays there; add brokers that hold them",
    )
    [result] = [each for each in plan.goals if each.goal == NAME]
    assert (result.before, result.after, result.is_met) == (2, 2, False)


@pytest.mark.usefixtures("acme")
def test_a_replica_that_finds_no_place_says_which_goal_leaves_it_few() -> None:
    sizes = {1: 1000, 2: 1000, 3: 100, 4: 1000, 5: 1000}
    model = cluster(hosts(3, 2), {"pci-cards-0": ((1, 2, 4), 300)}, total=sizes)
    plan = planned(model, Heal())
    [unmet] = plan.unmet
    assert unmet.startswith(
        "1 replica stays on broker 4 (pci-cards-0): the only broker left for pci-cards-0 has no disk"
    )
    assert unmet.endswith(f"; goal {NAME} leaves 3 of the 5 brokers")


@pytest.mark.usefixtures("acme")
def test_a_broker_that_can_not_go_says_which_goal_keeps_it() -> None:
    partitions = {f"pci-cards-{number}": ((1, 2, 3), 1) for number in range(3)}
    plan = planned(cluster(hosts(3, 3), partitions), Remove((3,)))
    assert plan.moves == ()
    assert any(
        f"broker 3 can't go: 2 brokers would be left for topics of replication factor 3; goal {NAME} leaves 3 of the 6"
        in each
        for each in plan.unmet
    )


@pytest.mark.usefixtures("acme")
def test_a_removal_keeps_it() -> None:
    plan = planned(mixed((1, 2)), Remove((2,)))
    assert {name: brokers for name, brokers in cards_of(plan).items() if set(brokers) - SECURE} == {}
    assert not any(2 in brokers for brokers in targets(plan).values())


@pytest.mark.usefixtures("acme")
def test_new_partitions_and_replicas_stand_where_it_lets_them() -> None:
    model = mixed((1, 2))
    plan = planned(model, CreateTopic(Topic("live", "pci-new"), partitions=4, replication_factor=3))
    assert {tuple(brokers) for brokers in targets(plan).values()} == {(1, 2, 3)}
    plan = planned(model, ReplicationFactor(("pci-cards",), 3))
    assert {tuple(brokers) for brokers in targets(plan).values()} == {(1, 2, 3)}
    with pytest.raises(
        InvalidInput, match=f"finds no place on the 3 brokers .*; goal {NAME} leaves 3 of the 6 brokers"
    ):
        make(model, CreateTopic(Topic("live", "pci-wide"), partitions=1, replication_factor=4))
    with pytest.raises(InvalidInput, match=f"only 3 brokers may hold pci-cards: .*; goal {NAME} leaves 3 of the 6"):
        make(model, ReplicationFactor(("pci-cards",), 4))


def test_racks_are_shared_as_little_as_it_lets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the three brokers that it leaves share a rack: the checker must not ask for a third rack."""
    on = [BrokerFacts(number, rack) for number, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "c"), (5, "d"))]
    with_goals(monkeypatch, hold(1, 2, 3))
    plan = planned(cluster(on, {"t-0": ((3, 4, 5), 1)}), Heal())
    assert targets(plan) == {"t-0": [1, 2, 3]}


def test_a_topic_that_must_not_move_moves_for_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_goals(monkeypatch, hold(1, 2))
    model = cluster(hosts(0, 4), {"t-0": ((1, 3), 1), "u-0": ((1, 3), 1)})
    assert targets(planned(model, Balance(), PlannerSettings(excluded_topics=("t", "u")))) == {"t-0": [1, 2]}


def test_machines_join_until_one_has_an_id_that_it_lets_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offered, b would be broker 4; taken alone it is 3, which may hold nothing."""
    with_goals(monkeypatch, hold(1, 4))
    machines = tuple(Machine(name, rack=f"r-{name}", disk_bytes=1000 * GB) for name in ("a", "b"))
    plan = planned(cluster(hosts(0, 2), {"t-0": ((1,), 1)}), Isolate("own", ("t",), machines=machines))
    assert targets(plan) == {"t-0": [4]}
    assert plan.joins == ((3, "a"), (4, "b"))


def test_who_follows_only_does_not_lead_when_the_leader_s_replica_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    goals = hold(1, 2, 4), lead(2)
    with_goals(monkeypatch, *goals)
    plan = planned(cluster(hosts(0, 4), {"t-0": ((3, 1, 2), 1)}), ReplicationFactor(("t",), 2))
    assert [move.target_brokers for move in plan.moves] == [(2, 1)]
