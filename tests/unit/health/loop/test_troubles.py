"""What the detectors of healing look at: a cluster in memory, a lake on this disk, and the member's own group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from guardian.errors import ClusterUnavailable
from guardian.health.loop.troubles import TroubleLooks
from guardian.health.model.finding import FindingKind
from guardian.lake.model.schema import LOG_DIR_SAMPLES
from guardian.lake.store.reader import LakeReader
from guardian.lake.store.writer import LakeWriter
from guardian.model.operation import Quorum, VoterLag
from guardian.model.topology import Broker, Cluster
from guardian.security.model.certificate import CertificateLife
from raft.configuration import Role
from raft.protocol import LastWords, MemberStatus, StopCause
from tests.unit.member.lake import table
from tests.unit.member.member import Member

CLUSTER = Cluster("live", "h:9092", "fake", brokers=tuple(map(Broker, (1, 2, 3))))
HOUR_MS = 3_600_000
FROM_MS = 1_790_000_000_000 // HOUR_MS * HOUR_MS
GB = 10**9


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def looks(member: Member) -> TroubleLooks:
    return TroubleLooks(member.store, lambda _: member.kafka)


def lake_of(folder: Path, gb_an_hour: float, hours: int = 60) -> LakeReader:
    """Log dir /d0 of broker 1 holds 20 of 100 GB and grows; /d1 does not, and was offline once."""
    rows = [
        {
            "at_ms": FROM_MS + hour * HOUR_MS,
            "broker": 1,
            "log_dir": log_dir,
            "disk": log_dir,
            "total_bytes": 100 * GB,
            "usable_bytes": round((80 - growth * hour) * GB),
            "offline": log_dir == "/d1" and hour == 7,
        }
        for hour in range(hours)
        for log_dir, growth in (("/d0", gb_an_hour), ("/d1", 0.0))
    ]
    writer = LakeWriter(str(folder), "m1")
    writer.write("live", {LOG_DIR_SAMPLES: table(LOG_DIR_SAMPLES, rows)})
    writer.flush()
    return LakeReader(str(folder))


def test_a_disk_that_is_full_within_a_week_is_told_with_when(looks: TroubleLooks, tmp_path: Path) -> None:
    end_ms = FROM_MS + 60 * HOUR_MS
    (found,) = looks.balance(CLUSTER, lake_of(tmp_path, gb_an_hour=0.5), end_ms)
    assert (found.subject.kind, found.subject.name) == (FindingKind.DISK_FILLS, "broker 1, log dir /d0")
    assert (found.brokers, found.log_dirs) == ((1,), ("/d0",))
    # 20 GB and 59 half ones are 49.5: 40.5 GB are left up to 90 %, at 12 GB a day.
    assert found.evidence == (
        "49.5 GB are used and 12.0 GB more a day: 90.0 GB, 90% of the disk, are reached in 3.4 days"
    )


def test_a_disk_that_fills_slowly_or_of_which_little_is_known_is_no_trouble(
    looks: TroubleLooks, tmp_path: Path
) -> None:
    end_ms = FROM_MS + 60 * HOUR_MS
    assert list(looks.balance(CLUSTER, lake_of(tmp_path / "slow", gb_an_hour=0.05), end_ms)) == []
    assert list(looks.balance(CLUSTER, lake_of(tmp_path / "new", gb_an_hour=5, hours=6), end_ms)) == []
    assert list(looks.balance(CLUSTER, LakeReader(str(tmp_path / "nowhere")), end_ms)) == []


def test_how_many_brokers_there_are_to_be_is_learned_from_looks(member: Member, looks: TroubleLooks) -> None:
    bare = Cluster("live", "h:9092", "fake")
    assert looks.broker_count(bare) == 0
    list(looks.brokers(bare))
    member.kafka.kill_broker(3)
    assert list(looks.brokers(bare)) == []  # nobody has registered it, and it is to have nothing
    member.kafka.kill_broker(2)
    (down,) = looks.brokers(bare)
    assert (down.brokers, down.replicas) == ((2,), 1)
    assert looks.broker_count(bare) == 2
    assert looks.broker_count(CLUSTER) == 3


def test_a_cluster_that_is_silent_is_not_waited_for_again_until_it_answers(member: Member, looks: TroubleLooks) -> None:
    member.kafka.kill_broker(2)
    assert len(list(looks.brokers(CLUSTER))) == 1
    looks.require_reachable("live")
    member.kafka.reachable = False
    kinds = [each.subject.kind for each in looks.brokers(CLUSTER)]
    assert kinds == [FindingKind.CLUSTER_UNREACHABLE, FindingKind.BROKER_DOWN]  # what was known has not ended
    with pytest.raises(ClusterUnavailable):
        looks.require_reachable("live")
    member.kafka.reachable = True
    assert len(list(looks.brokers(CLUSTER))) == 1
    looks.require_reachable("live")


def test_a_cluster_whose_brokers_can_t_be_believed_is_unknown_and_not_unreachable(
    member: Member, looks: TroubleLooks
) -> None:
    member.kafka.kill_broker(2)
    assert [each.subject.title for each in looks.brokers(CLUSTER)] == ["broker_down broker 2"]
    for broker in (1, 3):
        member.kafka.cut_off(broker)
    unknown, down = looks.brokers(CLUSTER)
    assert unknown.subject.title == "state_unknown cluster"
    assert "nothing is moved, restarted or removed until a controller answers" in unknown.evidence
    assert down.subject.title == "broker_down broker 2"
    with pytest.raises(ClusterUnavailable):
        list(looks.replicas(CLUSTER, 0))
    for broker in (1, 3):
        member.kafka.reconnect(broker)
    assert [each.subject.title for each in looks.brokers(CLUSTER)] == ["broker_down broker 2"]


def test_a_broker_that_is_fenced_and_serves_is_told_first_with_what_it_says_it_leads(
    member: Member, looks: TroubleLooks
) -> None:
    member.kafka.cut_off(1)
    member.kafka.fence(1)
    served, down = looks.brokers(CLUSTER)
    assert (served.subject.title, served.brokers) == ("fenced_serves broker 1", (1,))
    assert "it says that it leads 1 partitions" in served.evidence
    assert down.subject.title == "broker_down broker 1"
    assert served.subject.kind.gravity == 0
    for broker in (2, 3):  # nobody knows now, so it has not ended
        member.kafka.cut_off(broker)
    member.kafka.hide(3)
    assert [each.subject.title for each in looks.brokers(CLUSTER)] == [
        "state_unknown cluster",
        "fenced_serves broker 1",
        "broker_down broker 1",
    ]
    for broker in (1, 2, 3):
        member.kafka.reconnect(broker)
    member.kafka.hide(3, hidden=False)
    assert list(looks.brokers(CLUSTER)) == []


def test_members_that_are_not_connected_are_down(
    member: Member, looks: TroubleLooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(looks.members(0)) == []
    status = member.store.status()
    group = tuple(MemberStatus(name, "h:1", Role.VOTER, is_connected=name == "g2") for name in ("g1", "g2", "g3"))
    monkeypatch.setattr(member.replica, "status", lambda: replace(status, name="g1", members=group))
    assert [each.subject.name for each in looks.members(0)] == ["member g3"]


def test_certificates_that_run_out_are_seen(member: Member) -> None:
    life = CertificateLife("g2", "grpc_tls", "certificate", "127.0.0.1:9760", 0, 30 * 86_400_000)
    looks = TroubleLooks(member.store, lambda _: member.kafka, lambda: [life])
    assert list(looks.members(15 * 86_400_000)) == []
    (found,) = looks.members(29 * 86_400_000)
    assert found.subject.title == "certificate_expires certificate of member g2, grpc_tls"
    assert found.evidence == "the certificate at 127.0.0.1:9760 expires in 1.0 days: renew it"


def test_a_failed_log_dir_and_what_it_costs_are_seen_in_kafka(member: Member, looks: TroubleLooks) -> None:
    member.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "2")
    assert list(looks.replicas(CLUSTER, 0)) == []
    (held,) = [each.path for each in member.kafka.describe_log_dirs([2]) if each.replicas]
    member.kafka.fail_log_dir(2, held)
    offline, under = looks.replicas(CLUSTER, 20_000)
    assert (offline.subject.kind, offline.log_dirs, offline.replicas) == (FindingKind.LOG_DIR_OFFLINE, (held,), 1)
    assert under.evidence == "t-0 (1 of 2 in sync, 2 needed): producers with acks=all are refused"


def test_a_broker_that_tells_nothing_of_its_log_dirs_for_a_moment_is_not_healed_by_that(
    member: Member, looks: TroubleLooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    (held,) = [each.path for each in member.kafka.describe_log_dirs([2]) if each.replicas]
    member.kafka.fail_log_dir(2, held)
    list(looks.brokers(CLUSTER))

    def offline() -> list[tuple[str, ...]]:
        seen = looks.replicas(CLUSTER, 0)
        return [each.log_dirs for each in seen if each.subject.kind is FindingKind.LOG_DIR_OFFLINE]

    assert offline() == [(held,)]
    with monkeypatch.context() as patch:
        patch.setattr(member.kafka, "describe_log_dirs", lambda _: ())
        assert offline() == [(held,)]
        assert offline() == [(held,)]
    member.kafka.kill_broker(2)
    assert offline() == [(held,)]  # who looks at brokers has not seen it yet
    list(looks.brokers(CLUSTER))
    assert offline() == []


def test_a_member_that_stopped_by_itself_is_told_of_with_its_reason_and_not_as_down(
    member: Member, looks: TroubleLooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = LastWords(StopCause.DAMAGED, "a file of its store is damaged: checksum mismatch")
    group = tuple(
        MemberStatus(name, "h:1", Role.VOTER, is_connected=name == "g4", last_words=words if name in "g2 g4" else None)
        for name in ("g1", "g2", "g3", "g4")
    )
    status = replace(member.store.status(), name="g1", members=group)
    monkeypatch.setattr(member.replica, "status", lambda: status)
    found = {each.subject.title: each.evidence for each in looks.members(0)}
    assert sorted(found) == ["member_down member g3", "member_stopped member g2"], "g4 is back"
    assert found["member_stopped member g2"].startswith(
        "member g2 stopped: a file of its store is damaged: checksum mismatch; "
    )


def test_a_controller_that_falls_behind_is_told_and_the_log_is_measured_from_look_to_look(
    looks: TroubleLooks, member: Member
) -> None:
    three = frozenset({100, 101, 102})
    member.kafka.quorum = Quorum(100, three, three, committed=1000)
    assert list(looks.controllers(CLUSTER, 10_000)) == []
    member.kafka.quorum = Quorum(100, three, three - {102}, 9000, {102: VoterLag(700)})
    assert [each.subject.kind for each in looks.controllers(CLUSTER, 30_000)] == [
        FindingKind.CONTROLLERS_AT_RISK,
        FindingKind.CONTROLLER_BEHIND,
        FindingKind.METADATA_GROWS,
    ]
    looks.forget()
    member.kafka.quorum = Quorum(100, three, three, committed=90_000)
    assert list(looks.controllers(CLUSTER, 50_000)) == []
    member.kafka.quorum = None
    assert list(looks.controllers(CLUSTER, 70_000)) == []
