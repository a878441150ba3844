"""The leader's detectors: from Kafka and a lake on this disk to the command line and to Prometheus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from typer.testing import CliRunner

from guardian.activity.store.store import ActivityStore
from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, NotFound, Unavailable
from guardian.health.model.finding import FindingKind
from guardian.links.model import RACK_AWARE, SELECTOR_CLASS
from guardian.member.metrics import findings_metrics
from guardian.model.wire.federation import cluster_to_proto
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.printed import printed
from tests.unit.health.test_insight_lake import Activity
from tests.unit.member.lake import CLUSTER, FROM_MS, MINUTE_MS, TO_MS, write_lake
from tests.unit.member.member import Member

LOOK_MS = 5 * MINUTE_MS
LINES = """
[networks]
sh = ["10.1.0.0/16"]
[[lines]]
between = ["sh", "sz"]
gbit_per_s = {}
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lake")
    write_lake(path)
    return path


@pytest.fixture
def start(lake: Path, tmp_path: Path) -> Iterator[Callable[..., Member]]:
    """A member with topics and brokers of sound settings, whose line between IDCs carries so many Gbit/s."""
    started: list[Member] = []

    def member(gbit_per_s: float | None = None, *, with_activity: bool = True) -> Member:
        file = tmp_path / "links.toml"
        file.write_text(LINES.format(gbit_per_s))
        activity = cast("ActivityStore", Activity()) if with_activity else None
        found = Member(lake=str(lake), activity=activity, links_file=file if gbit_per_s else None)
        racked = tuple(replace(broker, rack=broker.idc) for broker in CLUSTER.brokers)
        found.store.put_cluster(cluster_to_proto(replace(CLUSTER, brokers=racked)))
        found.kafka.delete_topic("t")
        found.kafka.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
        found.kafka.set_config(("TOPIC", "orders"), "min.insync.replicas", "2")
        for broker in (1, 2, 3):
            found.kafka.set_config(("BROKER", str(broker)), SELECTOR_CLASS, RACK_AWARE)
        found.now_ms = TO_MS
        started.append(found)
        return found

    yield member
    for each in started:
        each.stop()


def look(member: Member, minutes: float = 5) -> list[str]:
    """So many minutes later."""
    member.now_ms += int(minutes * MINUTE_MS)
    return member.findings.tick()


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["findings", *arguments, "--endpoints", member.endpoint])
    return result.exit_code, printed(result, arguments)


def found(member: Member, kind: FindingKind) -> list[dict[str, Any]]:
    code, output = run(member, "-o", "json")
    assert code == 0
    report = json.loads(output)
    return [finding for finding in report["findings"] if finding["kind"] == kind.name]


def page(member: Member) -> str:
    class Told:
        def collect(self) -> Any:
            return findings_metrics(member.findings.known()[0])

    registry = CollectorRegistry()
    registry.register(Told())
    return generate_latest(registry).decode()


def test_a_topic_at_risk_is_told_after_its_grace_period_and_not_before(start: Callable[..., Member]) -> None:
    member = start()
    for broker in (2, 3):
        member.kafka.kill_broker(broker)
    said = look(member)
    assert not any("orders" in sentence for sentence in said)
    assert found(member, FindingKind.TOPIC_AT_RISK) == []
    # The topic, two brokers, its partitions below min.insync.replicas, and a disk.
    assert "5 more are seen, and told when they last" in run(member, "--cluster", "live")[1]
    first_ms = member.now_ms
    said = look(member, 1)
    assert {sentence.partition(":")[2].split(" of live")[0].strip() for sentence in said} == {
        "broker_down broker 2",
        "broker_down broker 3",
        "under_min_isr partitions",
    }
    assert found(member, FindingKind.TOPIC_AT_RISK) == []  # not due yet

    said = look(member, 4)
    assert any(sentence.startswith("found: topic_at_risk topic orders of live:") for sentence in said)
    (finding,) = found(member, FindingKind.TOPIC_AT_RISK)
    assert (finding["cluster"], finding["subject"], finding["since_ms"]) == ("live", "topic orders", str(first_ms))
    assert "with one copy in sync" in finding["evidence"]
    assert finding["show"] == "guardian durability --cluster live --topic orders"
    code, table = run(member, "--cluster", "live", "--fail")
    assert code == 1
    assert "topic at risk" in table
    assert 'guardian_findings{cluster="live",kind="topic_at_risk"} 1.0' in page(member)
    assert 'guardian_findings{cluster="live",kind="topic_offline"} 0.0' in page(member)


def test_a_finding_ends_when_it_is_mended_for_good(start: Callable[..., Member]) -> None:
    member = start()
    for broker in (2, 3):
        member.kafka.kill_broker(broker)
    for _ in range(2):
        look(member)
    for broker in (2, 3):
        member.kafka.start_broker(broker)
    member.kafka.advance()
    look(member)
    assert len(found(member, FindingKind.TOPIC_AT_RISK)) == 1  # as long as it may come back
    said = look(member)
    assert "over: topic_at_risk topic orders of live" in said
    assert found(member, FindingKind.TOPIC_AT_RISK) == []
    assert 'kind="topic_at_risk"} 0.0' in page(member)


def test_a_slow_disk_is_told_with_its_beginning_in_the_lake(start: Callable[..., Member]) -> None:
    member = start()
    look(member, 0)
    look(member)
    (finding,) = found(member, FindingKind.SLOW_DISK)
    assert finding["subject"] == "broker 2, disk sdb"
    # The detector looks at thirty intervals, so it can't have been slow for longer.
    assert int(finding["since_ms"]) <= TO_MS - 25 * MINUTE_MS
    assert "ms of its peers" in finding["evidence"]
    assert finding["show"] == "guardian disk show --cluster live --since 1h"


def test_a_line_that_is_near_its_limit_all_the_time_is_told_with_who_crosses(start: Callable[..., Member]) -> None:
    member = start(gbit_per_s=0.0005)
    member.now_ms = FROM_MS + 20 * MINUTE_MS
    look(member, 0)
    assert found(member, FindingKind.LINE_NEAR_LIMIT) == []
    look(member)
    (finding,) = [each for each in found(member, FindingKind.LINE_NEAR_LIMIT) if each["subject"] == "sh to sz"]
    assert finding["cluster"] == ""
    assert "replication of t of live" in finding["evidence"]
    assert 'guardian_findings{cluster="",kind="line_near_limit"}' in page(member)


def test_a_line_on_which_clients_are_not_seen_is_not_called_sound(start: Callable[..., Member]) -> None:
    member = start(gbit_per_s=1.0, with_activity=False)
    why = "audit.url is not set, so that nobody knows what clients move over lines"
    assert f"detector links of all clusters: {why}" in look(member)
    assert f"note: detector links has seen nothing so far: {why}" in run(member, "--cluster", "live")[1]
    assert 'kind="line_near_limit"' not in page(member)


def test_one_busy_minute_of_a_line_is_no_finding_whenever_the_looks_are(start: Callable[..., Member]) -> None:
    for offset in (0, 47, 171):  # seconds
        member = start(gbit_per_s=0.0012)  # only the consumer's minute is above it
        member.now_ms = FROM_MS + offset * 1000
        seen = 0
        for _ in range(6):
            look(member)
            watch, _ = member.findings.known()
            seen += any(subject.kind is FindingKind.LINE_NEAR_LIMIT for subject in watch.seen)
            assert found(member, FindingKind.LINE_NEAR_LIMIT) == []
        assert seen == 1


def test_what_can_not_be_looked_at_is_told_and_nothing_is_called_sound(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()

    def away() -> None:
        raise ClusterUnavailable("cluster live can't be reached")

    monkeypatch.setattr(member.kafka, "describe_partitions", away)
    said = look(member)
    assert any(sentence.startswith("detector durability of live:") for sentence in said)
    output = run(member, "--cluster", "live")[1]
    assert "note: detector durability of live has seen nothing so far:" in output
    assert 'kind="topic_at_risk"' not in page(member)


def test_an_error_that_nobody_foresaw_is_noted_and_not_met_at_every_tick(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()

    asked = member.kafka.effective_configs

    def broken(resources: list[tuple[str, str]], keys: set[str]) -> dict[tuple[str, str], dict[str, str]]:
        if any(kind == "TOPIC" for kind, _ in resources):  # the detector of durability alone asks for these
            raise ZeroDivisionError("a bug")
        return asked(resources, keys)

    monkeypatch.setattr(member.kafka, "effective_configs", broken)
    with pytest.raises(ZeroDivisionError):
        look(member)
    assert look(member, 1) == []
    report = run(member)[1]
    assert "a bug" in report


@pytest.mark.slow
def test_only_the_leader_answers(start: Callable[..., Member]) -> None:
    member = start()
    look(member)
    member.replica.leads = False
    with pytest.raises(Unavailable, match="does not lead"):
        member.findings.known()
    with GuardianClient([member.endpoint], timeout_s=1) as client, pytest.raises(Unavailable, match="does not lead"):
        client.findings()


def lead_anew(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else leads now; here it is the same member, in the next term."""
    later = replace(member.store.status(), term=member.store.status().term + 1)
    monkeypatch.setattr(member.replica, "status", lambda: later)


def test_a_new_leader_goes_on_with_what_is_known_and_says_where_it_has_not_looked(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    look(member, 0)
    look(member)
    (before,) = found(member, FindingKind.SLOW_DISK)
    lead_anew(member, monkeypatch)
    code, output = run(member, "--fail")
    assert (code, "slow disk" in output) == (1, True)
    assert "not known: 8 of 8 looks are still to come" in output
    assert page(member).count("guardian_findings{") == 1, "no zeros where nobody has looked"
    look(member, 1)
    (after,) = found(member, FindingKind.SLOW_DISK)
    assert after["since_ms"] == before["since_ms"]
    assert "still to come" not in run(member)[1]


def test_what_ended_while_nobody_looked_ends_after_the_usual_time(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    member.kafka.kill_broker(2)
    look(member, 0)
    look(member, 1)
    assert found(member, FindingKind.BROKER_DOWN)
    member.kafka.start_broker(2)
    lead_anew(member, monkeypatch)
    look(member, 0)
    assert found(member, FindingKind.BROKER_DOWN), "not seen once"
    look(member, 1)
    assert found(member, FindingKind.BROKER_DOWN) == []


def test_nothing_is_healthy_before_somebody_has_looked(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    assert run(member, "--fail")[0] == 4
    member.now_ms = FROM_MS + 20 * MINUTE_MS  # the disk is not slow yet
    look(member)
    assert run(member, "--fail")[0] == 0
    lead_anew(member, monkeypatch)
    code, output = run(member, "--fail")
    assert (code, "nothing is wrong" in output) == (4, False)


def test_what_was_known_long_ago_is_known_no_more(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    look(member, 0)
    look(member)
    member.now_ms += 4 * MINUTE_MS
    lead_anew(member, monkeypatch)
    assert member.findings.known()[0].seen == {}
    look(member, 0)
    assert found(member, FindingKind.SLOW_DISK) == []


def test_a_cluster_that_is_not_registered_is_told(start: Callable[..., Member]) -> None:
    member = start()
    with GuardianClient([member.endpoint]) as client:
        with pytest.raises(NotFound, match="nowhere"):
            client.findings("nowhere")
        report = client.findings("live")
    assert (list(report.findings), report.leads_since_ms) == ([], TO_MS)
    assert {(look.cluster, look.looked_at_ms) for look in report.looks} == {("live", 0), ("", 0)}


def test_findings_are_cut_at_the_limit_and_the_gravest_stay(start: Callable[..., Member]) -> None:
    member = start()
    member.kafka.create_topic("weak", {0: (1, 2, 3)})
    look(member)
    look(member)
    with GuardianClient([member.endpoint]) as client:
        report = client.findings("live", limit=1)
    assert [finding.kind for finding in report.findings] == [pb.SLOW_DISK]
    assert report.findings_in_all == 2
    assert "1 more, no graver: --limit 2 shows all" in run(member, "--limit", "1")[1]


def test_a_cluster_without_trouble_says_that_somebody_looked(start: Callable[..., Member]) -> None:
    member = start()
    member.now_ms = FROM_MS + 20 * MINUTE_MS  # the disk is not slow yet
    look(member)
    code, output = run(member, "--cluster", "live", "--fail")
    assert code == 0
    assert output.startswith("nothing is wrong: 8 looks")


def test_who_serves_is_told_of_clusters_that_answered_at_the_last_look(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    with GuardianClient([member.endpoint]) as client:

        def serving() -> list[tuple[str, list[int]]]:
            return [(each.cluster, list(each.alive)) for each in client.findings().brokers]

        assert serving() == []
        look(member)
        assert serving() == [("live", [1, 2, 3])]
        member.kafka.kill_broker(2)
        look(member)
        assert serving() == [("live", [1, 3])]

        def silent() -> None:
            raise ClusterUnavailable("no broker of live answers")

        monkeypatch.setattr(member.kafka, "describe_cluster", silent)
        look(member)
        assert serving() == []


def test_what_can_not_be_stored_is_said_and_hides_nothing_that_was_found(
    start: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start()
    member.kafka.kill_broker(2)
    look(member, 0)

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("nobody leads")

    monkeypatch.setattr(member.store, "propose", refuse)
    said = look(member, 1)
    assert any(sentence.startswith("found: broker_down broker 2 of live") for sentence in said)
    assert "findings of live are not kept: nobody leads" in said
