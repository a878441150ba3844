"""The leader's looks at disks, and what people are told and may release."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from typer.testing import CliRunner

from guardian.errors import ClusterUnavailable, InvalidInput, NotFound, Unavailable
from guardian.execution.loop.proving import HOLDS_S
from guardian.health.rules.disk_limits import DiskCounters
from guardian.model.protection import DiskKey, DiskState, Lever, LeverKind, Protection
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaEntity
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.protection.commands import show_protection
from guardian.protection.loop.protecting import Protector
from guardian.protection.loop.protection import DiskWatch, ProtectionServicer, ReplicatedProtectionStore, Suspects
from guardian.protection.rules.disk_doings import BrokerLook, LogFacts
from guardian.protection.rules.protecting import ProtectionSettings
from guardian.replication.store.store import ReplicatedStore
from protos.guardian.v1 import protection_pb2 as pb
from protos.guardian.v1 import tickets_pb2
from tests.command_line import app
from tests.unit.health.test_insight_lake import SPAN
from tests.unit.member.lake import write_lake
from tests.unit.member.member import Member

T0 = TopicPartition("t", 0)
SDB = DiskKey(1, "sdb")
MB = 1_000_000
SETTINGS = ProtectionSettings("act", window_s=10, step_s=5, floor_mb_per_s=1)
LEVER = Lever(SDB, LeverKind.CLIENT_QUOTA, "client-id=etl", CONSUMER_BYTE_RATE, 5 * MB, 9 * MB, hit="etl", why="late")


class Context:
    """What a servicer asks of a call."""

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def auth_context(self) -> dict[str, list[bytes]]:
        return {}

    def set_trailing_metadata(self, _metadata: object) -> None:
        pass


CONTEXT = cast("grpc.ServicerContext", Context())


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    brokers = tuple(Broker(broker, reporter="h:1") for broker in (1, 2))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    yield member
    member.stop()


class Looks:
    """Broker 1's disk is busy, and group g reads from it what the page cache has no more."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.busy_ms = 0
        self.at_ms = 0
        self.is_up = True

    def look(self, _cluster: Cluster, broker: Broker, now_ms: int) -> BrokerLook:
        self.asked.append(broker.id)
        if not self.is_up:
            raise ClusterUnavailable(f"the reporter of broker {broker.id}: UNAVAILABLE")
        self.busy_ms += now_ms - self.at_ms
        self.at_ms = now_ms
        end = now_ms * 1000
        disks = {"sdb": DiskCounters(now_ms, now_ms * 100_000, 0, now_ms, now_ms, self.busy_ms)}
        return BrokerLook(broker.id, now_ms, disks, MB, {"/d0": "sdb"}, {T0: LogFacts(end * 100, 0, end)}, {T0: "/d0"})


AskLake = Callable[[str, int], Suspects]
BOTH = frozenset({1, 2})


def watch_of(
    store: ReplicatedStore, looks: Looks, suspects: AskLake = lambda _, __: Suspects(frozenset({1}), BOTH)
) -> DiskWatch:
    return DiskWatch(store, ReplicatedProtectionStore(store).held_keys, suspects, looks.look, SETTINGS, 1000)


class Story:
    """Of the member's own watch, where it has one that looks with these looks."""

    def __init__(
        self,
        member: Member,
        suspects: AskLake = lambda _, __: Suspects(frozenset({1}), BOTH),
        looks: Looks | None = None,
    ) -> None:
        self.member = member
        self.looks = looks or Looks()
        self.held = ReplicatedProtectionStore(member.store)
        self.watch = member.disk_watch or watch_of(member.store, self.looks, suspects)
        self.protector = Protector(self.held, lambda _: member.kafka, self.watch, SETTINGS, lambda: member.now_ms)
        self.servicer = ProtectionServicer(member.store, self.watch, "act", lambda: member.now_ms)
        self.per_ms = 100  # offsets that g commits: far behind the 1000 that are written
        member.kafka.join("g", "etl")

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.member.now_ms += 2000
            # Offsets of 100 bytes: 10 MB/s.
            self.member.kafka.commit("g", {T0: self.member.now_ms * self.per_ms})
            self.protector.tick()

    def report(self, **request: Any) -> pb.ProtectionReport:
        return self.servicer.GetProtection(pb.GetProtectionRequest(cluster="live", **request), CONTEXT)


def test_where_nothing_is_suspected_nobody_is_asked(member: Member) -> None:
    story = Story(member, lambda _, __: Suspects(frozenset(), BOTH))
    story.tick(10)
    assert story.looks.asked == []
    assert member.kafka.opened == 0
    report = story.report()
    assert (report.mode, len(report.disks), report.looked_at_ms) == ("act", 0, 0)
    assert (report.asked_at_ms, list(report.unseen_brokers), list(report.remarks)) == (member.now_ms, [], [])


def test_a_suspect_is_looked_at_and_who_reads_from_its_disk_is_held_back(member: Member) -> None:
    story = Story(member)
    story.tick(12)
    assert set(story.looks.asked) == {1}
    report = story.report()
    assert [(disk.disk.broker, disk.disk.disk, disk.state) for disk in report.disks] == [(1, "sdb", pb.DISK_OVER)]
    (doing,) = report.queue
    assert (doing.behaviour, doing.from_disk, doing.clients[0].client_id) == (pb.USER_READ, True, "etl")
    assert {doing.behaviour for doing in report.normal} >= {pb.USER_WRITE}
    quotas = member.kafka.describe_client_quotas()
    assert list(quotas) == [QuotaEntity(None, "etl")]
    assert story.held.protection("live").levers[0].value == quotas[QuotaEntity(None, "etl")][CONSUMER_BYTE_RATE]
    assert len(story.report(max_doings=1).normal) == 0


def test_who_has_caught_up_is_let_go_though_the_disk_stays_over_its_limits(member: Member) -> None:
    story = Story(member)
    story.tick(12)
    assert member.kafka.describe_client_quotas()
    story.per_ms = 1000
    story.tick(20)
    assert member.kafka.describe_client_quotas() == {}
    assert [disk.state for disk in story.report().disks] == [pb.DISK_OVER]


def test_whoever_is_stopped_behind_its_commit_and_leads_no_longer_sets_nothing(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    story, clock = Story(member), [0.0]
    story.protector = Protector(
        story.held, lambda _: member.kafka, story.watch, SETTINGS, lambda: member.now_ms, lambda: clock[0]
    )
    save = story.held.save

    def save_and_stop(protection: Protection, did: str) -> None:
        save(protection, did)
        if protection.intents:
            clock[0] += 2 * HOLDS_S
            member.replica.leads = False

    monkeypatch.setattr(story.held, "save", save_and_stop)
    story.tick(12)
    assert member.kafka.describe_client_quotas() == {}
    member.replica.leads = True
    assert story.held.protection("live").intents


def test_a_reporter_that_does_not_answer_is_said_so(member: Member) -> None:
    story = Story(member)
    story.looks.is_up = False
    story.tick(2)
    assert list(story.report().remarks) == ["the reporter of broker 1: UNAVAILABLE"]
    assert story.held.protection("live") == Protection("live")


def away(_cluster: str, _now_ms: int) -> Suspects:
    raise OSError("the bucket does not answer")


def test_that_the_lake_does_not_tell_is_not_told_as_health(member: Member) -> None:
    story = Story(member, away)
    assert story.report().asked_at_ms == 0
    for _ in range(2):  # also between two times that it is asked
        story.tick()
        report = story.report()
        assert (len(report.disks), report.asked_at_ms) == (0, 0)
        assert list(report.remarks) == [
            "the lake does not say which disks are over their limits: the bucket does not answer"
        ]


def test_brokers_of_whose_disks_the_lake_has_nothing_and_suspects_that_nobody_can_look_at_are_told(
    member: Member,
) -> None:
    bare = tuple(Broker(broker) for broker in (1, 2))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=bare)))
    story = Story(member, lambda _, __: Suspects(frozenset({1}), frozenset({1})))
    story.tick()
    report = story.report()
    assert (len(report.disks), report.asked_at_ms, list(report.unseen_brokers)) == (0, member.now_ms, [1, 2])
    assert list(report.remarks) == [
        "broker 1: a disk was over its limits, and no reporter is registered to look at it: see guardian cluster add "
        "--reporter",
        "broker 2: the lake has too few samples of disks, so that nobody knows whether one is over its limits: see "
        "guardian collection",
    ]


def test_that_kafka_does_not_tell_what_is_done_to_disks_is_said(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(member)
    story.tick()

    def silent() -> None:
        raise ClusterUnavailable("cluster live does not answer")

    monkeypatch.setattr(member.kafka, "describe_cluster", silent)
    story.tick()
    report = story.report()
    assert (len(report.disks), report.looked_at_ms) == (1, member.now_ms - 2000)
    assert list(report.remarks) == ["what is done to disks is not known: cluster live does not answer"]


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (pb.ProtectionReport(mode="off", asked_at_ms=1), "disks are not looked at"),
        (pb.ProtectionReport(mode="act"), "whether a disk is over its limits is not known"),
        (pb.ProtectionReport(mode="act", asked_at_ms=1), "no disk is over its limits"),
        (
            pb.ProtectionReport(mode="act", asked_at_ms=1, unseen_brokers=[2, 3]),
            "no disk is known to be over its limits; nothing is known of those of brokers 2, 3",
        ),
    ],
)
def test_the_cli_tells_silence_from_health(
    report: pb.ProtectionReport, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_protection(report)
    assert capsys.readouterr().out.splitlines()[1] == sentence


@pytest.mark.parametrize(
    ("changed_at_ms", "sentence"),
    [
        (80_000, "1 settings are being taken back"),
        (70_000, " taken back again if a late request sets it: the quota of client id etl"),
    ],
)
def test_the_cli_tells_a_quota_that_was_put_back_from_one_that_is_not_yet(
    changed_at_ms: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = tickets_pb2.OwnedSetting(resource_type="CLIENT", resource_name="client-id=etl", key=CONSUMER_BYTE_RATE)
    intent.values.add(text="5")
    held = pb.ProtectionState(intents=[intent], changed_at_ms=changed_at_ms)
    show_protection(pb.ProtectionReport(mode="act", held=held, looked_at_ms=90_000))
    assert capsys.readouterr().out.splitlines()[-1].endswith(sentence)


def test_a_lake_that_is_away_keeps_nothing_held(member: Member) -> None:
    story = Story(member)
    story.tick(12)
    assert story.held.protection("live").levers
    late = Story(member, away)
    request = pb.ReleaseProtectionRequest(cluster="live", hold_ms=600_000)
    late.servicer.ReleaseProtection(request, CONTEXT)
    late.tick(1)
    assert member.kafka.describe_client_quotas() == {}
    assert "the bucket does not answer" in late.report().remarks[0]


def test_a_new_term_begins_with_new_samples(member: Member) -> None:
    story = Story(member)
    story.tick(4)
    view = story.watch.told("live")
    assert view is not None
    story.watch._term = -2
    story.tick(1)
    told = story.watch.told("live")
    assert told is not None
    assert told.view is not None
    assert told.view.conditions[SDB].state is DiskState.UNKNOWN


def test_only_the_leader_tells(member: Member) -> None:
    story = Story(member)
    member.replica.leads = False
    with pytest.raises(Unavailable, match="ask the leader"):
        story.report()


def test_a_release_is_stored_with_who_and_until_when(member: Member) -> None:
    story = Story(member)
    story.tick(12)
    request = pb.ReleaseProtectionRequest(cluster="live", broker=1, disk="sdb", hold_ms=60_000, actor="ann")
    reply = story.servicer.ReleaseProtection(request, CONTEXT)
    assert [lever.subject for lever in reply.released] == ["client-id=etl"]
    (hold,) = story.held.protection("live").holds
    assert (hold.disk, hold.until_ms, hold.by) == (SDB, member.now_ms + 60_000, "ann")
    story.tick(1)
    assert member.kafka.describe_client_quotas() == {}


@pytest.mark.parametrize(
    ("request_", "error", "sentence"),
    [
        (pb.ReleaseProtectionRequest(cluster="live"), NotFound, "nothing is held in cluster 'live'"),
        (pb.ReleaseProtectionRequest(cluster="live", broker=7), NotFound, "nothing is held .* for broker 7"),
        (pb.ReleaseProtectionRequest(cluster="live", disk="sdb"), InvalidInput, "say which broker's disk"),
        (pb.ReleaseProtectionRequest(cluster="live", hold_ms=-1), InvalidInput, "hold_ms is -1: use 1 to"),
    ],
)
def test_a_release_of_nothing_or_of_nonsense_is_refused(
    member: Member, request_: pb.ReleaseProtectionRequest, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        Story(member).servicer.ReleaseProtection(request_, CONTEXT)


def test_a_cluster_that_does_not_exist_is_not_found(member: Member) -> None:
    with pytest.raises(NotFound, match="not registered"):
        Story(member).servicer.GetProtection(pb.GetProtectionRequest(cluster="no"), CONTEXT)


def test_the_cli_shows_what_is_held_and_releases_it(member: Member) -> None:
    ReplicatedProtectionStore(member.store).save(Protection("live", (LEVER,), note="etl was cut"), "etl was cut")

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["disk", *arguments, "--endpoints", member.endpoint])
        assert result.exit_code == 0, result.exception
        return result.output

    shown = run("queue", "--cluster", "live")
    assert "protection is off" in shown
    assert "client quota: consumer_byte_rate of client-id=etl" in shown
    assert "etl was cut" in shown
    assert json.loads(run("queue", "--cluster", "live", "-o", "json"))["held"]["levers"][0]["value"] == "5000000"
    assert "released: client quota" in run("release", "--cluster", "live", "--broker", "1")
    assert "nothing is held for broker 1, disk sdb until" in run("queue", "--cluster", "live")


@pytest.mark.slow
def test_the_health_of_disks_the_abnormal_queue_and_why_are_one_command(tmp_path: Path) -> None:
    looks = Looks()
    write_lake(tmp_path)
    member = Member(lake=str(tmp_path), watch_disks=lambda store: watch_of(store, looks))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=(Broker(1, reporter="h:1"),))))
    try:
        story = Story(member, looks=looks)
        story.tick(12)
        words = ["disk", "show", "--cluster", "live", *SPAN, "--endpoints", member.endpoint]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.exception
        assert "cluster live: 6 disks: 1 SLOW, 5 sound" in result.output
        lines = [" ".join(line.split()) for line in result.output.splitlines()]
        (health,) = [line for line in lines if line.startswith("1 sdb OVER")]
        assert "busy, limit 90%" in health
        (doing,) = [line for line in lines if line.startswith("1 sdb t-0 user read")]
        assert "etl" in doing
        assert "g reads what is older than" in doing
        (held,) = [line for line in lines if line.startswith("client quota: consumer_byte_rate of client-id=etl")]
        assert "g reads what is older than" in held
        as_json = json.loads(CliRunner().invoke(app, [*words, "-o", "json"]).stdout)
        assert as_json["disks"]
        found = as_json["protection"]
        assert [each["why"] for each in found["queue"]] == [each.why for each in story.report().queue]
        assert [each["subject"] for each in found["held"]["levers"]] == ["client-id=etl"]
        member.replica.leads = False
        without = json.loads(CliRunner().invoke(app, [*words, "-o", "json"]).stdout)
        assert "ask the leader" in without["protection"]["unknown"]
    finally:
        member.stop()
