"""Slow disks, readers from disk and lines between IDCs over gRPC and on the command line, from a lake on this disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from guardian.activity.rules.database import Question
from guardian.activity.store.store import ActivityStore
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.health.loop.lake_facts import leaders_and_topics, placed
from guardian.lake.model.schema import PARTITION_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.lake.store.writer import LakeWriter
from guardian.links.rules.links import Minutes
from guardian.model.links import Direction
from guardian.model.topology import TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.lines import lines_from_proto
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.printed import printed
from tests.unit.member.lake import CLUSTER, FROM_MS, MB, MINUTE_MS, MINUTES, SLOW_FROM, TO_MS, table, write_lake
from tests.unit.member.member import Member

SPAN = (
    *("--from", datetime.fromtimestamp(FROM_MS / 1000, UTC).isoformat()),
    *("--to", datetime.fromtimestamp((TO_MS + 999) / 1000, UTC).isoformat()),
)
LINKS = """
currency = "EUR"
[networks]
sh = ["10.1.0.0/16"]
[[lines]]
between = ["sh", "sz"]
gbit_per_s = 0.001
price_gb = 10.0
"""


class Activity:
    """Stands for the activity store: one consumer in sh reads from sz, 12 MB in the tenth minute."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self._lock = threading.Lock()

    def ask(self, question: Question) -> list[dict[str, Any]]:
        with self._lock:
            self.asked.append(question)
        from_ms = FROM_MS + 10 * MINUTE_MS
        is_inside = cast("int", question.parameters["from_ms"]) <= from_ms < cast("int", question.parameters["to_ms"])
        if not is_inside:
            return []
        place = {"broker_idc": 1, "client_idc": 0, "operation": "READ", "sum_bytes": 12 * MB, "blind": 0}
        if "principal" in question.sql.partition(" FROM ")[0]:
            return [{**place, "resource": "t", "principal": "User:a", "client_id": "app", "address": "10.1.0.9"}]
        if "resource" in question.sql.partition(" FROM ")[0]:
            return [{**place, "resource": "t"}]
        return [{**place, "from_time": datetime.fromtimestamp(from_ms / 1000, UTC), "duration_ms": MINUTE_MS}]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lake")
    write_lake(path, twice=True)
    return path


@pytest.fixture
def member(lake: Path, tmp_path: Path) -> Iterator[Member]:
    links_file = tmp_path / "links.toml"
    links_file.write_text(LINKS)
    member = Member(lake=str(lake), activity=cast("ActivityStore", Activity()), links_file=links_file)
    member.store.put_cluster(cluster_to_proto(CLUSTER))
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=60) as client:
        yield client


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments, "--endpoints", member.endpoint], env={"COLUMNS": "200"})
    return result.exit_code, printed(result, arguments)


def test_the_slow_disk_is_first_with_its_evidence(client: GuardianClient) -> None:
    report = client.disk_health("live", FROM_MS, TO_MS)
    assert [(disk.broker, disk.disk) for disk in report.disks] == [
        (2, "sdb"),
        (1, "sda"),
        (1, "sdb"),
        (2, "sda"),
        (3, "sda"),
        (3, "sdb"),
    ]  # nvme0n1 has no log dir
    worst = report.disks[0]
    assert worst.verdict == pb.DISK_SLOW
    assert list(worst.log_dirs) == ["/data/sdb"]
    assert worst.await_ms == pytest.approx(4 + 560_000 / 6000)
    assert worst.peers_await_ms == worst.siblings_await_ms == pytest.approx(4)
    assert worst.since_ms == FROM_MS + SLOW_FROM * MINUTE_MS
    assert (worst.odd_intervals, worst.judged_intervals) == (MINUTES - SLOW_FROM, MINUTES)
    assert dict(report.disks_by_verdict) == {pb.DISK_SLOW: 1, pb.DISK_SOUND: 5}
    assert [disk.disk for disk in client.disk_health("live", FROM_MS, TO_MS, 1).disks] == ["sdb"]


def test_the_table_of_disks_says_why_and_the_exit_code_can_raise_an_alarm(member: Member) -> None:
    code, output = run(member, "disk", "show", "--cluster", "live", *SPAN, "--limit", "1", "--fail")
    assert code == 1
    assert "cluster live: 6 disks: 1 SLOW, 5 sound" in output
    assert "in 30 of 60 intervals" in output
    assert "5 more disks, no worse: --limit 6 shows all" in output
    code, output = run(member, "disk", "show", "--cluster", "live", *SPAN, "-o", "json")
    assert code == 0
    assert len(json.loads(output)["disks"]) == 6


def test_a_group_beyond_the_page_cache_reads_from_disk(member: Member, client: GuardianClient) -> None:
    newest = MINUTES * 60_000
    member.kafka.commit("late", {TopicPartition("t", 0): newest - 600_000, TopicPartition("t", 1): newest - 10})
    member.kafka.commit("tail", {TopicPartition("t", 0): newest - 10})
    report = client.disk_readers("live", FROM_MS, TO_MS)
    assert [(cache.broker, cache.seconds) for cache in report.caches] == [(1, 150.0), (2, 150.0), (3, 150.0)]
    (reader,) = report.readers
    assert (reader.group, reader.topic, reader.partition) == ("late", "t", 0)
    assert (reader.broker, reader.disk, reader.log_dir) == (1, "sda", "/data/sda")
    assert reader.behind_s == pytest.approx(600)
    assert reader.bytes_per_s == pytest.approx((30 - 6) * MB / 60)
    code, output = run(member, "group", "disk-reads", "--cluster", "live", *SPAN)
    assert code == 0
    assert "sda (/data/sda)" in output
    assert "400.0 kB" in output


def test_without_readers_there_is_a_sentence(member: Member) -> None:
    assert (
        "no consumer group of cluster live has members now"
        in run(member, "group", "disk-reads", "--cluster", "live", *SPAN)[1]
    )
    member.kafka.commit("tail", {TopicPartition("t", 0): MINUTES * 60_000})
    output = run(member, "group", "disk-reads", "--cluster", "live", *SPAN)[1]
    assert "none of 1 consumer groups reads from disk" in output
    assert "hold 2.5 min or more of what is written" in output


def test_groups_that_brokers_do_not_tell_are_not_said_to_be_none(member: Member, client: GuardianClient) -> None:
    member.kafka.commit("tail", {TopicPartition("t", 0): 0})
    member.kafka.silent_coordinators = frozenset({1, 2})
    assert list(client.disk_readers("live", FROM_MS, TO_MS).silent_brokers) == [1, 2]
    code, output = run(member, "group", "disk-reads", "--cluster", "live", *SPAN)
    assert code == 4
    assert "who reads from disk is not known" in output
    assert "brokers 1, 2 did not tell all groups" in output
    assert "nobody reads" not in output


def test_lines_are_told_by_minute_with_cost_finding_and_crossers(client: GuardianClient) -> None:
    report = client.link_use(FROM_MS, TO_MS)
    back, out = report.links
    # 3 MB of partition 1 each minute to broker 2, and 12 MB to a consumer in the tenth.
    assert (back.from_idc, back.to_idc) == ("sz", "sh")
    assert (back.replicated_bytes, back.consumed_bytes) == (MINUTES * 3 * MB, 12 * MB)
    assert back.minute_bytes[8:12] == [3 * MB, 3 * MB, 15 * MB, 3 * MB]
    assert back.peak_at_ms == FROM_MS + 10 * MINUTE_MS
    assert back.peak_bits_per_s == 2_000_000
    assert back.cost == pytest.approx(10 * 0.192)
    assert [(each.topic, each.principal, each.bytes) for each in back.crossers] == [
        ("t", "", 180 * MB),
        ("t", "User:a", 12 * MB),
    ]
    assert [(each.crossing, each.bytes) for each in back.peak_crossers] == [
        (pb.CONSUME, 12 * MB),
        (pb.REPLICATE, 3 * MB),
    ]
    assert (out.from_idc, out.replicated_bytes) == ("sh", MINUTES * 6 * MB)
    assert (report.currency, len(report.findings)) == ("EUR", 1 + (out.peak_bits_per_s >= 800_000))
    assert "User:a consumed from t of live, 12.0 MB" in report.findings[0]


def test_the_first_minute_is_whole_though_its_first_sample_is_before_the_time_asked_for(client: GuardianClient) -> None:
    begin_ms = FROM_MS + 20 * MINUTE_MS + 30_000
    out = client.link_use(begin_ms, begin_ms + 5 * MINUTE_MS).links[0]
    assert out.minute_bytes[:5] == [6 * MB] * 5


def test_a_replica_that_moved_away_is_no_follower_any_more(tmp_path: Path) -> None:
    """Of m-0, broker 2 has a copy in the first half and broker 3 in the second."""
    rows = [
        {
            "at_ms": FROM_MS + minute * MINUTE_MS,
            "broker": broker,
            "topic": "t" if broker != 1 and (broker == 2) == (minute >= 30) else "m",
            "is_leader": broker == 1,
            "log_end_offset": minute,
        }
        for minute in range(MINUTES)
        for broker in (1, 2, 3)
    ]
    writer = LakeWriter(str(tmp_path), "m1")
    writer.write("live", {PARTITION_SAMPLES: table(PARTITION_SAMPLES, rows)})
    writer.flush()
    window = Window(FROM_MS, TO_MS)
    found = placed(LakeReader(str(tmp_path)), "live", window, Minutes.of(FROM_MS, TO_MS))
    assert found is not None
    replicas = found.replicas
    of_m = [topic == found.moved.topics.index("m") for topic in replicas.topic.tolist()]
    assert sorted(replicas.broker[of_m].tolist()) == [1, 3]
    assert replicas.is_leader[of_m].tolist().count(True) == 1


def test_the_table_of_lines_names_who_crosses(member: Member) -> None:
    code, output = run(member, "links", *SPAN, "--limit", "1", "--fail")
    assert code == 1
    assert "NEAR ITS LIMIT: sz to sh carried" in output
    assert "1.92 EUR" in output
    assert "sz to sh, the largest in its busiest minute" in output
    code, output = run(member, "links", *SPAN, "--cluster", "live", "-o", "json")
    assert len(json.loads(output)["links"][0]["minute_bytes"]) == MINUTES + 1


def test_a_plan_is_told_the_lines_and_where_clients_are(client: GuardianClient) -> None:
    report = client.lines("live", FROM_MS, TO_MS)
    (line,) = report.lines
    assert (line.one, line.other, line.bits_per_s, line.price_gb, report.currency) == ("sh", "sz", 1e6, 10.0, "EUR")
    (place,) = report.clients
    assert (place.topic, place.idc, place.produced_bytes_per_s) == ("t", "sh", 0.0)
    assert place.fetched_bytes_per_s == pytest.approx(12 * MB / 3600, rel=0.05)
    (remark,) = report.remarks
    assert remark.startswith("nobody has told who moves ")
    assert lines_from_proto(report).line(Direction("sz", "sh")).price_gb == 10.0
    assert not client.lines().clients
    assert client.lines().lines == report.lines


def test_a_plan_is_told_what_is_not_known_of_clients(lake: Path) -> None:
    member = Member(lake=str(lake))
    try:
        member.store.put_cluster(cluster_to_proto(CLUSTER))
        with GuardianClient([member.endpoint], timeout_s=60) as client:
            (remark,) = client.lines("live", FROM_MS, TO_MS).remarks
            assert remark.startswith("audit.url is not set, so that producers and consumers are not in the numbers")
            (remark,) = client.lines("live", 1, 2).remarks
            assert remark == "the lake has nothing of cluster live in this time"
            with pytest.raises(NotFound, match="cluster 'dead'"):
                client.lines("dead")
    finally:
        member.stop()


def test_a_wrong_links_file_is_told_to_who_asks(member: Member, tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text("near = 2")
    result = CliRunner().invoke(app, ["links", *SPAN, "--endpoints", member.endpoint])
    assert isinstance(result.exception, InvalidInput)
    assert "near is 2: use more than 0, up to 1" in str(result.exception)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["disk", "show", "--cluster", "live"], "the disks of cluster live"),
        (["group", "disk-reads", "--cluster", "live"], "the hosts of cluster live"),
    ],
)
def test_where_nothing_was_sampled_that_is_said(member: Member, command: list[str], what: str) -> None:
    for form in ("table", "json"):
        result = CliRunner().invoke(app, [*command, "--since", "10m", "-o", form, "--endpoints", member.endpoint])
        assert result.exit_code == 4, "that is not known, which is no zero"
        said = " ".join(result.output.split())
        assert f"no samples of {what} between" in said
    assert "is the reporter registered? see `guardian collection`" in said


def test_links_without_samples_activity_or_idcs_say_what_is_missing(lake: Path) -> None:
    member = Member(lake=str(lake))
    try:
        code, output = run(member, "links", "--since", "10m")
        assert code == 4
        assert "no samples of any partition between" in output
        assert "audit.url is not set" in output
        code, output = run(member, "links", *SPAN)
        assert "nothing crossed a line between IDCs" in output
    finally:
        member.stop()


def test_unknown_clusters_and_impossible_times_are_refused(client: GuardianClient) -> None:
    with pytest.raises(NotFound, match="cluster 'dead'"):
        client.disk_health("dead")
    with pytest.raises(NotFound, match="cluster 'dead'"):
        client.disk_readers("dead")
    with pytest.raises(NotFound, match="cluster 'dead'"):
        client.link_use(clusters=["live", "dead"])
    with pytest.raises(InvalidInput, match="must end after it begins"):
        client.disk_health("live", TO_MS, FROM_MS)


def test_for_how_long_nobody_has_written_to_a_partition_is_read_from_the_lake(tmp_path: Path) -> None:
    rows = [
        {"at_ms": FROM_MS + minute * MINUTE_MS, "broker": 1, "topic": topic, "is_leader": True, "log_end_offset": end}
        for topic, grown in (("done", 0), ("live", 600))
        for minute in range(4)
        for end in (1000 + minute * grown,)
    ]
    writer = LakeWriter(str(tmp_path), "m1")
    writer.write("live", {PARTITION_SAMPLES: table(PARTITION_SAMPLES, rows)})
    writer.flush()
    leaders, _ = leaders_and_topics(LakeReader(str(tmp_path)), "live", Window(FROM_MS, TO_MS), {"done", "live"})
    found = {partition.topic: (each.messages_per_s, each.idle_s) for partition, each in leaders.items()}
    assert found == {"done": (0.0, 180.0), "live": (10.0, 0.0)}
