"""What is read of a cluster for a decision on a few of its brokers' disks."""

from __future__ import annotations

from guardian.kafka.fake import FakeKafka
from guardian.model.protection import DiskKey, Lever, LeverKind, Protection
from guardian.model.topology import TopicPartition
from guardian.protection.loop.protecting import look_at_cluster
from guardian.protection.rules.disk_doings import BrokerLook

HERE, ELSEWHERE, OTHERS = (TopicPartition(topic, 0) for topic in ("here", "elsewhere", "others"))


def cluster() -> FakeKafka:
    """Client etl reads `here`, of broker 1, for one group, and `elsewhere` for another one."""
    fake = FakeKafka({broker: f"r{broker}" for broker in range(1, 5)}, dict.fromkeys(range(1, 5), ("/d",)))
    for partition, brokers in ((HERE, (1, 2)), (ELSEWHERE, (3, 4)), (OTHERS, (3, 4))):
        fake.create_topic(partition.topic, {0: brokers}, 1_000_000)
    for group, client, partition in (("g", "etl", HERE), ("nightly", "etl", ELSEWHERE), ("web", "web", OTHERS)):
        fake.join(group, client)
        fake.commit(group, {partition: 5})
    return fake


def test_what_a_client_reads_from_brokers_that_nobody_looked_at_is_seen_too() -> None:
    look = BrokerLook(1, 0, {}, 0, {"/d": "sdb"}, {}, {HERE: "/d"})
    seen = look_at_cluster(cluster(), [look], Protection("live"), 0)
    assert seen.partitions.keys() == {HERE, ELSEWHERE}
    assert seen.partitions[ELSEWHERE].leader == 3


def test_whether_a_held_replica_is_needed_is_seen_without_any_look() -> None:
    lever = Lever(DiskKey(1, "sdb"), LeverKind.FOLLOWER_RATE, "", "", 5, 9, ("here:0:1",))
    fake = cluster()
    fake.bytes_per_call = 0
    fake.set_config(("TOPIC", "here"), "min.insync.replicas", "2")
    assert fake.alter_reassignments({HERE: (1, 3)}) == {}
    seen = look_at_cluster(fake, [], Protection("live", (lever,)), 0)
    assert seen.min_isr == {"here": 2}
    assert seen.reassignments.keys() == {HERE}


def test_coordinators_that_do_not_tell_their_groups_are_named() -> None:
    look = BrokerLook(1, 0, {}, 0, {"/d": "sdb"}, {}, {HERE: "/d"})
    fake = cluster()
    assert look_at_cluster(fake, [look], Protection("live"), 0).silent_coordinators == frozenset()
    fake.silent_coordinators = frozenset({3})
    seen = look_at_cluster(fake, [look], Protection("live"), 0)
    assert (seen.silent_coordinators, dict(seen.committed)) == (frozenset({3}), {})
