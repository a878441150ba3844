"""Clusters in one word."""

from __future__ import annotations

from guardian.console.health import (
    HEALTHY,
    PARTLY_KNOWN,
    UNKNOWN,
    Health,
    findings_known,
    findings_of,
    gravity_of,
    health_of,
    idc_lines,
    latest,
    name_of,
    offline_dirs,
    skews,
    sums,
    where_of,
)
from guardian.health.model.finding import FindingKind
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen
from protos.guardian.v1 import insight_pb2 as pb

CLUSTER = Cluster(
    "live",
    "h:9092",
    brokers=(Broker(1, "r1", "sh"), Broker(2, "r2", "sh", state=BrokerState.DRAINING), Broker(3, "r1", "sz")),
)


def told(report: pb.FindingsReport | None) -> Health:
    return health_of(CLUSTER, report, findings_of(CLUSTER.name, report))


def finding(kind: FindingKind, cluster: str = "live") -> pb.Finding:
    return pb.Finding(kind=pb.FindingKind.Name(kind.value), cluster=cluster)


def test_the_worst_finding_gives_a_cluster_its_word() -> None:
    skew, down = finding(FindingKind.SKEW), finding(FindingKind.BROKER_DOWN)
    elsewhere = finding(FindingKind.BROKER_DOWN, "bulk")
    assert told(pb.FindingsReport(findings=[skew, elsewhere])).kind == "warn"
    both = told(pb.FindingsReport(findings=[skew, down]))
    assert (both.kind, both.words) == ("bad", "broker down and 1 more")
    assert both.rank > told(pb.FindingsReport(findings=[skew, skew])).rank > UNKNOWN.rank


def test_only_what_all_detectors_could_look_at_is_called_healthy() -> None:
    looked = pb.DetectorLook(detector="brokers", cluster="live", looked_at_ms=5)
    refused = pb.DetectorLook(detector="balance", cluster="live", failed_at_ms=5, error="refused")
    elsewhere = pb.DetectorLook(detector="balance", cluster="bulk", failed_at_ms=5, error="refused")
    to_come = pb.DetectorLook(detector="replicas", cluster="live")
    assert told(pb.FindingsReport(looks=[looked, elsewhere])) == HEALTHY
    for unknown in (refused, to_come):
        assert told(pb.FindingsReport(looks=[looked, unknown])) == PARTLY_KNOWN
        assert told(pb.FindingsReport(looks=[unknown])) == UNKNOWN
    assert told(pb.FindingsReport()) == UNKNOWN
    assert told(None) == UNKNOWN


def test_a_cluster_is_not_healthy_while_one_of_its_brokers_does_not_serve() -> None:
    looked = pb.DetectorLook(detector="brokers", cluster="live", looked_at_ms=5)

    def health(*alive: int) -> str:
        seen = pb.BrokersSeen(cluster="live", alive=alive, looked_at_ms=5)
        return told(pb.FindingsReport(looks=[looked], brokers=[seen])).words

    assert health(1, 3) == "healthy", "broker 2 drains: it is not expected"
    assert health(1, 2) == "broker 3 does not serve"


def test_every_kind_has_a_gravity_and_a_name_and_so_has_one_of_a_newer_member() -> None:
    for kind in FindingKind:
        assert gravity_of(kind) in {"bad", "warn"}
        assert name_of(kind)
    assert (gravity_of(9999), name_of(9999)) == ("warn", "kind 9999")


def test_no_number_stands_for_what_nobody_has_looked_at() -> None:
    waits = pb.FindingsReport(looks=[pb.DetectorLook(detector="brokers", cluster="live", failed_at_ms=5)])
    assert findings_known(None, ["live"]) is None
    assert findings_known(waits, ["live"]) is None
    waits.looks[0].looked_at_ms = 6
    assert (findings_known(waits, ["live"]), findings_known(waits, ["bulk"])) == (0, None)
    assert findings_known(pb.FindingsReport(findings=[finding(FindingKind.SKEW)]), ["live"]) == 1
    assert offline_dirs([BrokerSeen(1), BrokerSeen(2)]) is None
    assert offline_dirs([BrokerSeen(1, log_dirs=(LogDirSeen("/d", "sda", 1, 1, True),)), BrokerSeen(2)]) == 1


def test_what_a_finding_is_about_has_a_page() -> None:
    def where(kind: FindingKind, subject: str, *brokers: int, cluster: str = "live") -> str:
        name = pb.FindingKind.Name(kind.value)
        return where_of(pb.Finding(kind=name, cluster=cluster, subject=subject, brokers=brokers))

    assert where(FindingKind.TOPIC_AT_RISK, "topic a/b") == "clusters/live/topics/a%2Fb"
    assert where(FindingKind.BROKER_DOWN, "broker 3", 3) == "clusters/live/brokers/3"
    assert where(FindingKind.SLOW_DISK, "broker 2, disk sdb", 2) == "clusters/live/brokers/2"
    assert where(FindingKind.UNDER_MIN_ISR, "partitions") == "clusters/live/durability"
    assert where(FindingKind.CLUSTER_UNREACHABLE, "") == "clusters/live"
    assert where(FindingKind.MEMBER_DOWN, "member g2", cluster="") == "members"
    assert where(FindingKind.LINE_NEAR_LIMIT, "sh to sz", cluster="") == ""


def test_data_centres_count_racks_by_cluster() -> None:
    found = {line.name: (line.clusters, line.brokers, line.racks) for line in idc_lines([CLUSTER])}
    assert found == {"sh": (1, 2, 2), "sz": (1, 1, 1)}


def test_skew_is_of_what_is_known() -> None:
    seen = ClusterSeen(
        (0, 1, 2),
        1,
        {
            1: BrokerSeen(1, bytes_in=(None, 10.0, None), log_dirs=(LogDirSeen("/d", "sda", 100, 10, False),)),
            2: BrokerSeen(2, bytes_in=(1.0, 30.0, None), log_dirs=(LogDirSeen("/d", "sda", 0, 0, False),)),
            3: BrokerSeen(3),
        },
    )
    assert [(each.name, each.highest, each.spread) for each in skews(seen)] == [("bytes in", 2, 0.5)]
    assert sums(seen, "bytes_in") == [1.0, 40.0, None]
    assert latest((5.0, None, None, None, None)) is None
