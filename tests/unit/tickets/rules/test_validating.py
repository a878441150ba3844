"""A plan against the live cluster: what is filled in, and one sentence for each thing that can be wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from guardian.errors import ClusterUnavailable, Conflict, InvalidInput
from guardian.model.cluster_state import (
    BrokerNode,
    ClusterDescription,
    LogDir,
    LogDirReplica,
    PartitionState,
    Reassignment,
)
from guardian.model.federation import Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import CreateTopic, PlanTask, ReplicationFactor
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.validating import resolve, topics_to_create

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
DEAD = TopicPartition("on-dead", 0)


def log_dir(broker: int, number: int, *replicas: TopicPartition, error: str = "") -> LogDir:
    held = {partition: LogDirReplica(100 * broker, 0, is_future=False) for partition in replicas}
    return LogDir(broker, f"/b{broker}/d{number}", error, replicas=held)


BROKERS = {broker: BrokerNode(broker, "host", 9092) for broker in (1, 2, 3)}
PARTITIONS = {
    T0: PartitionState(1, (1, 2), (1, 2)),
    T1: PartitionState(2, (2, 3), (2, 3)),
    T2: PartitionState(3, (1, 3), (1, 3)),
    DEAD: PartitionState(1, (1, 4), (1,)),
}
LOG_DIRS = (
    log_dir(1, 0, T0, DEAD),
    log_dir(1, 1, T2),
    log_dir(2, 0, T0),
    log_dir(2, 1, T1),
    log_dir(3, 0, T1, T2),
    log_dir(3, 1),
    log_dir(3, 2, error="the log dir is offline"),
)


def placement(text: int | str) -> ReplicaPlacement:
    broker, _, path = str(text).partition(":")
    return ReplicaPlacement(int(broker), path or "any")


def move(partition: TopicPartition, *target: int | str, original: tuple[int | str, ...] = ()) -> PartitionMove:
    return PartitionMove(partition, tuple(map(placement, original)), tuple(map(placement, target)))


def resolved(
    *moves: PartitionMove,
    partitions: Mapping[TopicPartition, PartitionState] = PARTITIONS,
    log_dirs: tuple[LogDir, ...] = LOG_DIRS,
    reassignments: Mapping[TopicPartition, Reassignment] | None = None,
    kind: str = "run-plan",
    task: PlanTask | None = None,
    min_insync: Mapping[str, int] | None = None,
    ours: Collection[TopicPartition] = (),
) -> Plan:
    description = ClusterDescription("id", BROKERS)
    plan = Plan("live", kind, moves, task=task)
    return resolve(plan, description, partitions, log_dirs, reassignments or {}, min_insync, ours)


def new(name: str, *target: int | str) -> PartitionMove:
    topic, _, number = name.rpartition("-")
    return PartitionMove(TopicPartition(topic, int(number)), (), tuple(map(placement, target)), is_new=True)


def test_original_and_size_come_from_the_cluster() -> None:
    plan = resolved(move(T0, 3, 2))
    assert plan.moves == (replace(move(T0, 3, 2, original=("1:/b1/d0", "2:/b2/d0")), size_bytes=200),)


def test_the_least_time_is_told_of_the_bytes_that_are_there_now() -> None:
    sampled = replace(move(T0, 3, 2, original=("1:/b1/d0", "2:/b2/d0")), size_bytes=50)
    plan = Plan("live", "balance", (sampled,), seconds=3.0, throttle=1)
    found = resolve(plan, ClusterDescription("id", BROKERS), PARTITIONS, LOG_DIRS, {})
    assert (found.bytes_to_copy, found.seconds) == (200, 12.0)


def test_moves_that_are_already_true_are_dropped() -> None:
    plan = resolved(move(T0, 1, "2:/b2/d0"), move(T1, 3, 2))
    assert [m.partition for m in plan.moves] == [T1]


def test_the_right_replicas_under_another_leader_are_not_yet_true() -> None:
    assert [m.partition for m in resolved(move(T2, 1, 3)).moves] == [T2]


def test_the_right_broker_with_another_log_dir_is_not_yet_true() -> None:
    assert [m.log_dir_moves for m in resolved(move(T0, 1, "2:/b2/d1")).moves] == [(placement("2:/b2/d1"),)]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (move(T0, 9, 2), "broker 9 of t-0 is not in cluster live: its brokers are 1, 2, 3"),
        (move(T0, 4, 2), "broker 4 of t-0 is not alive: start it, or choose from 1, 2, 3"),
        (move(TopicPartition("gone", 0), 1), "topic gone does not exist in cluster live, or is being deleted"),
        (move(TopicPartition("t", 7), 1), "partition t-7 does not exist in cluster live: topic t has 0 to 2"),
        (move(T0, 1, 2, 3), "would change the replication factor from 2 to 3: give 2 brokers, or ask for it"),
        (new("t-4", 1, 2), "new partitions of topic t are 4: it has 3, so give 3"),
        (new("t-3", 1), "replicas of t-3 names 1 brokers, and the other partitions of its topic have 2: give 2"),
        (new("fresh-1", 1), "new partitions of topic fresh are 1: it has 0, so give 0"),
        (new("fresh-0", 9), "broker 9 of fresh-0 is not in cluster live"),
        (new("fresh-0", "3:/b3/d2"), "log_dir /b3/d2 of fresh-0 is offline on broker 3"),
        (move(T0, "3:/x", 2), "log_dir /x of t-0 is not one of broker 3: its log dirs are /b3/d0, /b3/d1"),
        (move(T0, "3:/b3/d2", 2), "log_dir /b3/d2 of t-0 is offline on broker 3 .*: choose from /b3/d0, /b3/d1"),
        (move(T0, 1, 2), "all 1 moves of the plan are already true in cluster live: nothing to do"),
    ],
    ids=[
        "unknown broker",
        "dead broker",
        "no topic",
        "no partition",
        "rf",
        "a gap behind those that are there",
        "another rf than its topic",
        "a gap at the start",
        "new on an unknown broker",
        "new on an offline log dir",
        "no log dir",
        "offline",
        "nothing to do",
    ],
)
def test_bad_input_is_refused_with_one_sentence(wrong: PartitionMove, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        resolved(wrong)


def test_one_bad_move_refuses_the_plan() -> None:
    with pytest.raises(InvalidInput, match="broker 9"):
        resolved(move(T1, 3, 2), move(T0, 9, 2))


def test_a_plan_without_moves_is_refused() -> None:
    with pytest.raises(InvalidInput, match="moves of the plan is empty"):
        resolved()


def test_a_partition_that_moves_already_is_refused() -> None:
    with pytest.raises(InvalidInput, match="t-0 has a reassignment in flight already"):
        resolved(move(T0, 3, 2), reassignments={T0: Reassignment((3, 1, 2), (3,), (1,))})


@pytest.mark.parametrize("original", [(1, 3), ("1:/b1/d1", "2:/b2/d0")], ids=["broker", "log dir"])
def test_a_plan_made_from_something_else_is_stale(original: tuple[int | str, ...]) -> None:
    with pytest.raises(Conflict, match=r"the plan is stale: it expects t-0 on .*/b2/d0\]: make a new plan"):
        resolved(move(T0, 3, 2, original=original))


def test_a_plan_that_creates_what_exists_by_now_is_stale() -> None:
    with pytest.raises(Conflict, match="the plan is stale: it creates t-0, which exists by now: make a new plan"):
        resolved(replace(move(T0, 3, 2), is_new=True))


def test_a_plan_made_from_the_cluster_as_it_is_is_fresh() -> None:
    assert resolved(move(T0, 3, 2, original=("1:/b1/d0", 2))).moves


def test_a_plan_from_metrics_need_not_know_the_order_of_replicas() -> None:
    [fresh] = resolved(move(T0, 3, 2, original=(2, "1:/b1/d0"))).moves
    assert fresh.original_brokers == (1, 2)


def test_a_live_broker_that_did_not_tell_its_log_dirs_is_waited_for() -> None:
    silent = tuple(log_dir for log_dir in LOG_DIRS if log_dir.broker != 2)
    with pytest.raises(ClusterUnavailable, match="broker 2 of cluster live did not tell its log dirs"):
        resolved(move(T0, 3, 2), log_dirs=silent)


def test_a_replica_on_a_dead_broker_can_be_moved_away() -> None:
    plan = resolved(move(DEAD, 1, 3))
    assert plan.moves[0].original == (placement("1:/b1/d0"), placement(4))


@pytest.mark.parametrize("rate", [math.nan, math.inf, -1.0, 1e300])
def test_a_write_rate_that_no_throttle_can_follow_from_is_refused(rate: float) -> None:
    with pytest.raises(InvalidInput, match=r"write_rate of t-0 is .* bytes/s: use 0 to 1000000000000, 0 when"):
        resolved(replace(move(T0, 3, 2), write_rate=rate))


def test_new_topics_and_partitions_are_taken_as_they_are() -> None:
    moves = (new("fresh-0", 1, "2:/b2/d1"), new("fresh-1", 3, 2), new("t-3", 1, 2))
    plan = resolved(*moves)
    assert plan.moves == moves
    assert topics_to_create(plan, PARTITIONS) == {"fresh"}
    assert plan.bytes_to_copy == 0


def test_a_topic_is_not_expanded_while_one_of_its_partitions_is_reassigned() -> None:
    """Kafka would refuse it, or give the new partition for good the replicas that the other has on its way."""
    moves = (new("t-3", 1, 2), new("fresh-0", 1))
    with pytest.raises(Conflict, match=r"topic t can't be expanded while t-1 is reassigned: .*, so wait until it ends"):
        resolved(*moves, reassignments={T1: Reassignment((1, 2, 3), (1,), (3,))})
    assert resolved(*moves, reassignments={DEAD: Reassignment((1, 2, 4), (2,), (4,))}).moves == moves


def test_what_tickets_reassign_gives_way_and_its_replicas_are_counted_as_they_are_at_rest() -> None:
    before = PARTITIONS[T1].replicas
    arriving = tuple({1, 2, 3} - set(before))
    in_flight = {T1: Reassignment((*arriving, *before), arriving, before[:1])}
    moving = replace(PARTITIONS[T1], replicas=(*arriving, *before))
    partitions = {T1: moving} | {each: state for each, state in PARTITIONS.items() if each != T1}
    moves = (new("t-3", 1, 2),)
    assert resolved(*moves, partitions=partitions, reassignments=in_flight, ours=in_flight).moves == moves
    with pytest.raises(Conflict, match=r"is reassigned: .* no ticket of Guardian moves it that could give way"):
        resolved(*moves, partitions=partitions, reassignments=in_flight, ours={DEAD})


def test_a_partition_that_exists_by_now_makes_the_plan_stale() -> None:
    with pytest.raises(Conflict, match="it creates t-2, which exists by now"):
        resolved(new("t-2", 1, 3))


def test_a_configuration_is_for_one_new_topic_and_leaves_acks_all_a_chance() -> None:
    task = CreateTopic(Topic("live", "fresh"), 1, 2, configs=(("min.insync.replicas", "3"),))
    with pytest.raises(InvalidInput, match=r"min.insync.replicas of topic fresh is 3, more than its 2 replicas"):
        resolved(new("fresh-0", 1, 2), task=task)
    with pytest.raises(InvalidInput, match="give topic t a configuration, yet it exists"):
        resolved(new("t-3", 1, 2), task=task)
    with pytest.raises(InvalidInput, match="give a configuration to 2 new topics"):
        resolved(new("fresh-0", 1, 2), new("other-0", 1, 2), task=task)


def test_the_replication_factor_changes_in_a_plan_that_is_for_it() -> None:
    kind = ReplicationFactor.kind
    assert resolved(move(T0, 1, 2, 3), kind=kind).moves[0].changes_replication_factor
    assert resolved(move(T0, 1), kind=kind, min_insync={"t": 1}).moves[0].target_brokers == (1,)
    with pytest.raises(InvalidInput, match=r"from 2 to 1, fewer than min.insync.replicas 2 of its topic"):
        resolved(move(T0, 1), kind=kind, min_insync={"t": 2})
    behind = {**PARTITIONS, T0: PartitionState(1, (1, 2), (1,))}
    with pytest.raises(Conflict, match=r"that would stay, \[2\], is in sync"):
        resolved(move(T0, 2), kind=kind, partitions=behind)
