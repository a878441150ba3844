"""Planted violations are all found, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from guardian.model.plan import LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.checker import Rule, check
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.planners.balance import plan
from spark_analytics.planners.settings import BalanceSettings

GB = 10**9


def place(text: str) -> ReplicaPlacement:
    broker, _, log_dir = text.partition(":")
    return ReplicaPlacement(int(broker), log_dir)


def places(*texts: str) -> tuple[ReplicaPlacement, ...]:
    return tuple(place(text) for text in texts)


def partition(number: int, *on: str, size: int = GB) -> PartitionFacts:
    return PartitionFacts(TopicPartition("t", number), places(*on), 100.0 + number, 50.0, size)


@pytest.fixture
def model() -> ClusterModel:
    """Brokers 1 to 4 in racks a, a, b, b; /d2 of broker 4 is offline; everything is crowded on 1 and 3."""
    return ClusterModel.of(
        "live",
        [BrokerFacts(1, "a"), BrokerFacts(2, "a"), BrokerFacts(3, "b"), BrokerFacts(4, "b")],
        [
            LogDirFacts(broker, f"/d{number}", 10 * GB, 9 * GB, offline=(broker, number) == (4, 2))
            for broker in (1, 2, 3, 4)
            for number in (1, 2)
        ],
        [
            partition(0, "1:/d1", "3:/d1"),
            partition(1, "1:/d1", "3:/d1"),
            partition(2, "3:/d1", "1:/d2", size=65 * GB // 10),
            partition(3, "3:/d2"),
        ],
    )


def move(number: int, original: tuple[ReplicaPlacement, ...], *target: str) -> PartitionMove:
    """Built around the checks at birth where need be: a plan from outside may have been built by anyone."""
    made = PartitionMove(TopicPartition("t", number), (), places("1:/d1"))
    object.__setattr__(made, "original", original)
    object.__setattr__(made, "target", places(*target))
    return made


T0 = places("1:/d1", "3:/d1")


def rules(model: ClusterModel, *moves: PartitionMove) -> set[Rule]:
    return {violation.rule for violation in check(model, Plan("live", "balance", moves))}


@pytest.mark.parametrize(
    "sound",
    [
        move(0, T0, "2:/d1", "3:/d1"),
        move(0, T0, "3:/d1", "1:/d1"),
        move(0, T0, "1:/d2", "3:/d2"),
        move(0, T0, "2:any", "4:any"),
        move(0, (), "2:/d1", "4:/d1"),
        move(0, places("3:any", "1:/d1"), "2:/d1", "4:/d1"),
        move(3, places("3:/d2"), "1:/d1"),
    ],
)
def test_sound_moves_pass(model: ClusterModel, sound: PartitionMove) -> None:
    assert rules(model, sound) == set()


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        (Rule.PARTITION_KNOWN, move(9, (), "1:/d1")),
        (Rule.BROKER_KNOWN, move(3, places("3:/d2"), "7:/d1")),
        (Rule.LOG_DIR_KNOWN, move(0, T0, "2:/d9", "3:/d1")),
        (Rule.LOG_DIR_ONLINE, move(0, T0, "1:/d1", "4:/d2")),
        (Rule.REPLICATION_FACTOR, move(0, T0, "1:/d1")),
        (Rule.REPLICATION_FACTOR, move(3, (), "3:/d2", "1:/d1")),
        (Rule.ONE_REPLICA_A_BROKER, move(0, T0, "1:/d1", "1:/d2")),
        (Rule.ORIGINAL, move(0, places("1:/d2", "3:/d1"), "2:/d1", "3:/d1")),
        (Rule.ORIGINAL, move(0, places("2:/d1", "3:/d1"), "1:/d1", "3:/d1")),
        (Rule.RACKS, move(0, T0, "1:/d1", "2:/d1")),
        (Rule.CAPACITY, move(2, (), "3:/d1", "1:/d1")),
    ],
)
def test_a_planted_violation_is_found(model: ClusterModel, rule: Rule, planted: PartitionMove) -> None:
    # Fewer replicas, or two on one broker, stand in fewer racks too.
    expected = {rule, Rule.RACKS} if len(set(planted.target_brokers)) < len(T0) and planted.original == T0 else {rule}
    assert rules(model, planted) == expected


def test_a_partition_that_is_moved_twice_is_found(model: ClusterModel) -> None:
    twice = Plan("live", "balance", ())
    object.__setattr__(twice, "moves", (move(0, T0, "2:/d1", "3:/d1"), move(0, T0, "2:/d2", "3:/d1")))
    assert [violation.rule for violation in check(model, twice)] == [Rule.ONE_MOVE_A_PARTITION]


def test_a_plan_for_another_cluster_is_found(model: ClusterModel) -> None:
    assert [violation.rule for violation in check(model, Plan("bulk", "balance", ()))] == [Rule.CLUSTER]


def test_copies_that_leave_too_little_usable_are_found(model: ClusterModel) -> None:
    planted = Plan("live", "balance", (move(2, (), "3:/d1", "2:/d2"),))
    assert check(model, planted) == ()
    (violation,) = check(model, planted, BalanceSettings(capacity_reserve=0.4))
    assert violation.rule is Rule.CAPACITY
    assert "2:/d2 has 9000000000 B usable" in violation.detail


def test_the_load_table_is_added_up_again(model: ClusterModel) -> None:
    made = plan(model, BalanceSettings())
    assert made.moves
    assert check(model, made) == ()

    def with_row(change: Callable[[LoadSummary], LoadSummary]) -> Plan:
        return replace(made, loads=(change(made.loads[0]), *made.loads[1:]))

    for broken in (
        with_row(lambda row: replace(row, before=row.before + 1)),
        with_row(lambda row: replace(row, after=row.after * 1.01)),
        with_row(lambda row: replace(row, broker=99)),
        replace(made, loads=made.loads[1:]),
    ):
        assert {violation.rule for violation in check(model, broken)} == {Rule.LOADS}


def test_a_move_left_out_of_a_plan_shows_in_its_load_table(model: ClusterModel) -> None:
    made = plan(model, BalanceSettings())
    assert Rule.LOADS in {violation.rule for violation in check(model, replace(made, moves=made.moves[1:]))}
