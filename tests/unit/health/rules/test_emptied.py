"""Brokers that came back without what they held."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.health.model.finding import FindingKind
from guardian.health.rules.emptied import LEAST_BYTES, Single, Singles, empty_replicas, lost_topics, singles
from guardian.model.cluster_state import LogDir, LogDirReplica, PartitionState
from guardian.model.topology import TopicPartition

MB = 10 * LEAST_BYTES
T0, T1, ALONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("alone", 0)
STATES = {T0: PartitionState(1, (1, 2, 3), (1, 2)), T1: PartitionState(2, (1, 2, 3), (1, 2, 3))}
SINGLE = {ALONE: PartitionState(3, (3,), (3,))}


def log_dir(broker: int, sizes: dict[TopicPartition, int]) -> LogDir:
    replicas = {name: LogDirReplica(size, 0, is_future=False) for name, size in sizes.items()}
    return LogDir(broker, "/d1", replicas=replicas)


def told(log_dirs: Iterable[LogDir], moving: Iterable[TopicPartition] = ()) -> list[str]:
    found = list(empty_replicas("live", log_dirs, STATES, set(moving)))
    assert {each.subject.kind for each in found} <= {FindingKind.REPLICAS_EMPTY}
    return [each.subject.name for each in found]


def test_a_follower_that_holds_far_less_than_its_leader_is_told() -> None:
    whole = [log_dir(1, {T0: MB, T1: MB}), log_dir(2, {T0: MB, T1: MB})]
    assert told([*whole, log_dir(3, {T0: MB // 11, T1: 0})]) == ["broker 3"]
    assert told([*whole, log_dir(3, {T0: MB // 9, T1: 0})]) == [], "it is behind, and not empty"
    assert told([*whole, log_dir(3, {T0: 0})], moving=[T0]) == [], "a move copies it"
    assert told(whole) == [], "it does not live, or tells nothing"
    assert told([log_dir(1, {T0: LEAST_BYTES - 1}), log_dir(3, {T0: 0})]) == [], "nobody misses so little"


def look(before: Singles, size: int | None, *, alive: bool = True) -> dict[TopicPartition, Single]:
    dirs = [] if size is None else [log_dir(3, {ALONE: size})]
    return singles(before, dirs, SINGLE, {3} if alive else set())


def is_lost(known: Singles, size: int) -> bool:
    found = list(lost_topics("live", known, [log_dir(3, {ALONE: size})], SINGLE))
    assert [each.subject.name for each in found] in ([], ["topic alone"])
    return bool(found)


def test_the_only_replica_that_came_back_empty_is_a_lost_topic_until_it_holds_as_much_again() -> None:
    known = look({}, MB)
    assert not is_lost(known, MB)
    known = look(known, None, alive=False)
    known = look(known, 100)
    assert is_lost(known, 100)
    known = look(known, 200)
    assert is_lost(known, 200), "it stays so while it takes a little"
    known = look(known, MB // 2)
    assert not is_lost(known, MB // 2)


def test_what_shrinks_while_its_broker_lives_is_not_lost() -> None:
    known = look(look({}, MB), 100)
    assert not is_lost(known, 100)


def test_what_comes_back_whole_or_held_little_is_not_lost() -> None:
    for size, after in ((MB, MB), (LEAST_BYTES - 1, 0)):
        known = look(look(look({}, size), None), after)
        assert not is_lost(known, after)


def test_a_topic_that_was_moved_meanwhile_is_not_lost() -> None:
    known = look(look({}, MB), None)
    moved = {ALONE: PartitionState(4, (4,), (4,))}
    known = singles(known, [log_dir(4, {ALONE: 0})], moved, {4})
    assert list(lost_topics("live", known, [log_dir(4, {ALONE: 0})], moved)) == []
