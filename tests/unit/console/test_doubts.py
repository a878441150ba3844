"""A headline is never better than the numbers below it."""

from __future__ import annotations

from guardian.console.doubts import as_bad_as, doubts_of_collection, doubts_of_durability
from guardian.console.health import HEALTHY, PARTLY_KNOWN, Health
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen
from protos.guardian.v1 import insight_pb2 as pb

BROKERS = (Broker(1, "r1", "sh"), Broker(2, "r2", "sh", state=BrokerState.MAINTENANCE), Broker(3, "r1", "sz"))
CLUSTER = Cluster("live", "h:9092", brokers=BROKERS)
DOWN = Health("bad", "broker down", 1011)


def words(*doubts: Health) -> list[str]:
    return [each.words for each in doubts]


def test_the_worst_is_told_and_what_detectors_found_where_it_is_as_bad() -> None:
    bad, warn = Health("bad", "2 log dirs offline", 7), Health("warn", "broker 3 not heard", 6)
    assert as_bad_as(HEALTHY, []) == HEALTHY
    assert as_bad_as(HEALTHY, [warn, bad]) == bad
    assert as_bad_as(PARTLY_KNOWN, [warn]) == warn
    assert as_bad_as(DOWN, [warn, bad]) == DOWN
    assert as_bad_as(Health("warn", "skew", 11), [bad]) == bad


def test_under_replicated_partitions_and_those_without_a_leader_are_no_health() -> None:
    def told(*numbers: tuple[int, int]) -> list[str]:
        topics = [pb.TopicDurability(offline=offline, under_replicated=missing) for offline, missing in numbers]
        return words(*doubts_of_durability(pb.DurabilityReport(topics=topics)))

    assert told((0, 30), (0, 2)) == ["32 partitions under-replicated"]
    assert told((1, 1)) == ["1 partition offline", "1 partition under-replicated"]
    assert told((0, 0)) == told() == words(*doubts_of_durability(None)) == []


def test_dead_disks_and_brokers_that_are_not_heard_are_no_health_where_they_should_serve() -> None:
    dead = (LogDirSeen("/a", "sda", 1, 1, True), LogDirSeen("/b", "sdb", 1, 1, True), LogDirSeen("/c", "", 1, 1, False))

    def told(*brokers: BrokerSeen) -> list[str]:
        return words(*doubts_of_collection(CLUSTER, ClusterSeen(brokers={each.broker: each for each in brokers})))

    assert told(BrokerSeen(1, log_dirs=dead), BrokerSeen(3, error="refused")) == [
        "2 log dirs offline",
        "broker 3 not heard",
    ]
    assert told(BrokerSeen(2, error="stopped for maintenance"), BrokerSeen(9, error="it is gone", log_dirs=dead)) == []
    assert doubts_of_collection(CLUSTER, None) == []
