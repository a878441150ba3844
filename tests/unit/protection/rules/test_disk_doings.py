"""What partitions do to a disk: six behaviours, and which of them are abnormal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from guardian.health.rules.disk_limits import DiskCounters
from guardian.model.cluster_state import LogDir, LogDirReplica, PartitionState
from guardian.model.protection import Behaviour, DiskKey, Doing
from guardian.model.quota import GroupMember, QuotaClient
from guardian.model.topology import TopicPartition
from guardian.protection.rules.disk_doings import BrokerLook, ClusterLook, LogFacts, Span, client_loads, doings

SDB = DiskKey(1, "sdb")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MB = 1_000_000
SECONDS = 10
BYTES = 100  # an offset


def broker(at: int, end_offset: int, **more: Any) -> BrokerLook:
    """The page cache holds what was moved in the last 5 s: 500 MB of memory, 100 MB/s of two disks."""
    moved = at * 50 * MB
    return BrokerLook(
        broker=1,
        at_ms=at * 1000,
        disks={name: DiskCounters(at * 1000, 0, moved, 0, 0, 0) for name in ("sda", "sdb")},
        memory_available_bytes=500 * MB,
        log_dirs={"/a": "sda", "/b": "sdb"},
        logs={T0: LogFacts(end_offset * BYTES, 0, end_offset)},
        replicas={T0: "/b"},
        **more,
    )


def cluster(at: int, committed: Mapping[str, int] | None = None, **more: Any) -> ClusterLook:
    defaults: dict[str, Any] = {
        "brokers": frozenset({1, 2, 3}),
        "partitions": {T0: PartitionState(1, (1, 2), (1, 2))},
        "members": (GroupMember("g", "etl", "h", (("t", 0),)),),
    }
    offsets = {group: {T0: offset} for group, offset in (committed or {}).items()}
    return ClusterLook(at * 1000, committed=offsets, **(defaults | more))


def span(
    before: ClusterLook,
    now: ClusterLook,
    written: int = 1_000_000,
    expected: Mapping[str, float] | None = None,
    **more: Any,
) -> Span:
    """`written` offsets in ten seconds: 100 000 of them a second by default."""
    return Span(
        before, now, {1: broker(0, 5_000_000)}, {1: broker(SECONDS, 5_000_000 + written, **more)}, expected or {}
    )


def of(found: tuple[Doing, ...], behaviour: Behaviour) -> Doing:
    chosen = [doing for doing in found if doing.behaviour is behaviour]
    assert len(chosen) == 1, found
    return chosen[0]


def test_a_leader_is_written_by_users_and_read_by_followers_from_memory() -> None:
    found = doings(span(cluster(0), cluster(SECONDS)), [SDB])
    assert {doing.behaviour for doing in found} == {Behaviour.USER_WRITE, Behaviour.REPLICATION_READ}
    assert of(found, Behaviour.USER_WRITE).bytes_per_s == pytest.approx(10 * MB)
    assert of(found, Behaviour.REPLICATION_READ).peers == (2,)
    assert not any(doing.is_abnormal for doing in found)


def test_writes_above_what_the_topic_directory_expects_are_abnormal() -> None:
    writers = {"t": frozenset({QuotaClient("app", "alice")})}
    found = doings(span(cluster(0), cluster(SECONDS), expected={"t": 4.0 * MB}, writers=writers), [SDB])
    write = of(found, Behaviour.USER_WRITE)
    assert (write.is_abnormal, write.why) == (True, "2.5 times what the topic directory expects")
    assert [use.client for use in write.clients] == [QuotaClient("app", "alice")]
    assert found[0] == write
    assert not of(
        doings(span(cluster(0), cluster(SECONDS), expected={"t": 9.0 * MB}), [SDB]), Behaviour.USER_WRITE
    ).is_abnormal


def test_a_group_that_reads_what_left_the_page_cache_reads_from_disk() -> None:
    """5 s x 100 000 offsets/s: what is more than 500 000 behind the end is on disk only."""
    at_tail = span(cluster(0, {"g": 5_000_000}), cluster(SECONDS, {"g": 5_900_000}))
    read = of(doings(at_tail, [SDB]), Behaviour.USER_READ)
    assert (read.from_disk, read.is_abnormal) == (False, False)
    assert read.bytes_per_s == pytest.approx(9 * MB)

    late = span(cluster(0, {"g": 0}), cluster(SECONDS, {"g": 2_000_000}))
    read = of(doings(late, [SDB]), Behaviour.USER_READ)
    assert (read.from_disk, read.is_abnormal) == (True, True)
    assert read.bytes_per_s == pytest.approx(20 * MB)
    assert read.why == "g reads what is older than 5 s, which the page cache has no more"
    assert [(use.client, use.group) for use in read.clients] == [(QuotaClient("etl"), "g")]
    assert client_loads(late) == {QuotaClient("etl"): {1: pytest.approx(20 * MB)}}


@pytest.mark.parametrize(("end_since_s", "from_disk"), [(None, False), (6, False), (5, True), (0, True)])
def test_a_replay_of_what_nobody_writes_any_more_is_from_disk_once_it_is_older_than_the_page_cache(
    end_since_s: int | None, from_disk: bool
) -> None:
    """At ten seconds, of a page cache of five."""
    found = span(cluster(0, {"g": 0}), cluster(SECONDS, {"g": 2_000_000}), written=0)
    since_ms = end_since_s * 1000 if end_since_s is not None else None
    logs = {T0: LogFacts(5_000_000 * BYTES, 0, 5_000_000, since_ms)}
    found = replace(found, now={1: replace(found.now[1], logs=logs)})
    read = of(doings(found, [SDB]), Behaviour.USER_READ)
    assert (read.from_disk, read.is_abnormal) == (from_disk, from_disk)
    assert read.bytes_per_s == pytest.approx(20 * MB)


def test_groups_at_the_tail_and_late_ones_are_told_apart() -> None:
    members = (GroupMember("g", "etl", "h", (("t", 0),)), GroupMember("app", "app-1", "h", (("t", 0),)))
    before = cluster(0, {"g": 0, "app": 5_000_000}, members=members)
    now = cluster(SECONDS, {"g": 2_000_000, "app": 6_000_000}, members=members)
    reads = [doing for doing in doings(span(before, now), [SDB]) if doing.behaviour is Behaviour.USER_READ]
    assert [(doing.from_disk, [use.group for use in doing.clients]) for doing in reads] == [
        (True, ["g"]),
        (False, ["app"]),
    ]


def test_a_user_is_known_when_the_client_id_is_seen_with_no_other() -> None:
    before, now = cluster(0, {"g": 0}), cluster(SECONDS, {"g": 2_000_000})
    alone = span(before, now, users={"etl": frozenset({"alice"})})
    shared = span(before, now, users={"etl": frozenset({"alice", "bob"})})
    assert list(client_loads(alone)) == [QuotaClient("etl", "alice")]
    assert list(client_loads(shared)) == [QuotaClient("etl")]


def test_a_follower_that_is_in_sync_writes_what_is_produced_and_one_that_is_not_catches_up() -> None:
    in_sync = cluster(SECONDS, partitions={T0: PartitionState(2, (2, 1), (2, 1))})
    behind = cluster(SECONDS, partitions={T0: PartitionState(2, (2, 1), (2,))})
    write = of(doings(span(cluster(0), in_sync), [SDB]), Behaviour.REPLICATION_WRITE)
    assert (write.is_abnormal, write.peers) == (False, (2,))
    write = of(doings(span(cluster(0), behind), [SDB]), Behaviour.REPLICATION_WRITE)
    assert (write.is_abnormal, write.why) == (True, "catches up with broker 2")
    # What is written to its leader must flow; where nobody expects anything, all that it takes in.
    assert write.write_rate == pytest.approx(10 * MB)
    told = doings(span(cluster(0), behind, expected={"t": 4.0 * MB}), [SDB])
    assert of(told, Behaviour.REPLICATION_WRITE).write_rate == pytest.approx(4 * MB)


def replica(size: int, lag: int) -> tuple[LogDir, ...]:
    return (LogDir(2, "/x", replicas={T0: LogDirReplica(size, lag, is_future=False)}),)


@pytest.mark.parametrize(("lag", "from_disk"), [(100, False), (3_000_000, True)])
def test_a_follower_elsewhere_that_catches_up_reads_from_disk_when_it_is_far_behind(lag: int, from_disk: bool) -> None:
    state = {T0: PartitionState(1, (1, 2), (1,))}
    before = cluster(0, partitions=state, log_dirs=replica(0, lag + 10))
    now = cluster(SECONDS, partitions=state, log_dirs=replica(300 * MB, lag))
    read = of(doings(span(before, now), [SDB]), Behaviour.REPLICATION_READ)
    assert read.bytes_per_s == pytest.approx(30 * MB)
    assert (read.from_disk, read.is_abnormal, read.peers) == (from_disk, from_disk, (2,))


def test_a_follower_that_is_down_reads_nothing() -> None:
    state = {T0: PartitionState(1, (1, 2), (1,))}
    now = cluster(SECONDS, partitions=state, brokers=frozenset({1}), log_dirs=replica(300 * MB, 1))
    assert Behaviour.REPLICATION_READ not in {doing.behaviour for doing in doings(span(cluster(0), now), [SDB])}


def test_a_copy_between_log_dirs_reads_here_and_writes_there() -> None:
    def copied(size: int) -> tuple[LogDir, ...]:
        return (LogDir(1, "/a", future_replicas={T0: LogDirReplica(size, 1, is_future=True)}),)

    moving = span(cluster(0, log_dirs=copied(0)), cluster(SECONDS, log_dirs=copied(200 * MB)))
    read = of(doings(moving, [SDB]), Behaviour.MOVE_READ)
    write = of(doings(moving, [DiskKey(1, "sda")]), Behaviour.MOVE_WRITE)
    assert (read.disk, write.disk) == (SDB, DiskKey(1, "sda"))
    assert read.bytes_per_s == write.bytes_per_s == pytest.approx(20 * MB)
    assert read.is_abnormal
    assert read.from_disk
    assert write.is_abnormal


def test_only_the_disks_asked_for_are_told() -> None:
    assert doings(span(cluster(0), cluster(SECONDS)), [DiskKey(1, "sda"), DiskKey(9, "sdb")]) == ()


def test_a_broker_that_was_seen_once_says_nothing() -> None:
    once = replace(span(cluster(0), cluster(SECONDS)), before={})
    assert doings(once, [SDB]) == ()


def test_a_group_elsewhere_counts_for_its_client_on_the_brokers_that_lead_there() -> None:
    partitions = {T0: PartitionState(1, (1, 2), (1, 2)), T1: PartitionState(3, (3, 2), (3, 2))}
    members = (GroupMember("g", "etl", "h", (("t", 0), ("t", 1))),)
    before = replace(cluster(0, partitions=partitions, members=members), committed={"g": {T0: 0, T1: 0}})
    now = replace(
        cluster(SECONDS, partitions=partitions, members=members), committed={"g": {T0: 1_000_000, T1: 300_000}}
    )
    assert client_loads(span(before, now)) == {
        QuotaClient("etl"): {1: pytest.approx(10 * MB), 3: pytest.approx(3 * MB)}
    }


def test_how_much_a_client_reads_of_a_topic_that_no_look_tells_of_is_not_known() -> None:
    """Records elsewhere may be a thousand times as large."""
    u0 = TopicPartition("u", 0)
    partitions = {T0: PartitionState(1, (1, 2), (1, 2)), u0: PartitionState(3, (3, 2), (3, 2))}
    members = (GroupMember("g", "etl", "h", (("t", 0), ("u", 0))),)
    before = replace(cluster(0, partitions=partitions, members=members), committed={"g": {T0: 0, u0: 0}})
    now = replace(cluster(SECONDS, partitions=partitions, members=members), committed={"g": {T0: 1_000_000, u0: 7}})
    assert client_loads(span(before, now)) == {QuotaClient("etl"): {1: pytest.approx(10 * MB), 3: math.inf}}
    still = replace(now, committed={"g": {T0: 1_000_000, u0: 0}})
    assert client_loads(span(before, still)) == {QuotaClient("etl"): {1: pytest.approx(10 * MB), 3: 0.0}}


ETL = QuotaClient("etl")


def late_reader(leader: int, here: Mapping[str, int] | None, there: Mapping[str, int] | None) -> Span:
    """Group g reads 20 MB/s of what left the page cache; the brokers 1 and 2 saw clients read the topic so often."""

    def reads(of: Mapping[str, int] | None) -> dict[tuple[str, str], int] | None:
        return None if of is None else {("t", client): count for client, count in of.items()}

    states = {T0: PartitionState(leader, (1, 2), (1, 2))}
    found = span(
        cluster(0, {"g": 0}, partitions=states),
        cluster(SECONDS, {"g": 2_000_000}, partitions=states),
        readers=reads(here),
    )
    other = replace(found.now[1], broker=2, replicas={}, readers=reads(there))
    return replace(found, now={**found.now, 2: other})


def user_reads(of: Span) -> list[float]:
    """Abnormal ones on broker 1, in MB/s."""
    found = doings(of, [SDB])
    return [each.bytes_per_s / MB for each in found if each.behaviour is Behaviour.USER_READ and each.is_abnormal]


def test_a_client_that_reads_from_a_follower_counts_there() -> None:
    from_here = late_reader(2, {"etl": 60}, {})
    assert user_reads(from_here) == [pytest.approx(20)]
    assert client_loads(from_here) == {ETL: {1: pytest.approx(20 * MB)}}


def test_a_client_that_reads_from_a_follower_elsewhere_does_not_count_for_its_leader() -> None:
    from_there = late_reader(1, {}, {"etl": 60})
    assert user_reads(from_there) == []
    assert client_loads(from_there) == {ETL: {2: pytest.approx(20 * MB)}}


def test_a_client_that_several_replicas_saw_counts_for_each_by_how_often_they_did() -> None:
    """Its commits and its first fetch after five minutes are seen elsewhere too."""
    both = late_reader(1, {"etl": 10}, {"etl": 30})
    assert user_reads(both) == [pytest.approx(5)]
    assert client_loads(both) == {ETL: {1: pytest.approx(5 * MB), 2: pytest.approx(15 * MB)}}


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (None, None, [20]),  # nobody tells
        (None, {}, [20]),
        ({}, {}, [20]),  # all tell, and nobody has seen it yet
        ({"app": 9}, {}, [20]),
        ({}, None, []),  # the leader's broker tells that it is not read there
    ],
)
def test_where_nobody_saw_the_client_it_reads_from_the_leader(
    here: Mapping[str, int] | None, there: Mapping[str, int] | None, expected: list[float]
) -> None:
    assert user_reads(late_reader(1, here, there)) == pytest.approx(expected)


def test_an_offset_that_was_set_back_is_not_read() -> None:
    back = span(cluster(0, {"g": 3_000_000}), cluster(SECONDS, {"g": 0}))
    assert of(doings(back, [SDB]), Behaviour.USER_READ).bytes_per_s == 0.0
