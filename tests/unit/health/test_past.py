"""A past moment over gRPC and on the command line, from a lake on this disk; oracle: how the lake was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.health.commands.past import moment_of, still_raised
from guardian.health.model.past import Held, PastBroker, Samples
from guardian.health.rules.past import past_brokers
from guardian.lake.model.schema import BROKER_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES
from guardian.lake.store.writer import LakeWriter
from guardian.model.event import Event, EventKind
from guardian.model.wire.federation import cluster_to_proto
from tests.command_line import app
from tests.printed import printed
from tests.unit.member.lake import CLUSTER, FROM_MS, GB, MB, MINUTE_MS, table, write_lake
from tests.unit.member.member import Member

AT_MS = FROM_MS + 20 * MINUTE_MS + 30_000
LATER_MS = FROM_MS + 5_000 * MINUTE_MS
AT = datetime.fromtimestamp(AT_MS / 1000, UTC).isoformat()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour with and one minute, much later, in which broker 3 was restarted and broker 1 could not be read."""
    path = tmp_path_factory.mktemp("lake")
    write_lake(path, twice=True)
    rows = [
        {"at_ms": LATER_MS, "broker": 1, "error": "connection refused"},
        *(later(LATER_MS + seconds * 1000, seconds, started) for seconds, started in ((0, 7), (60, 7), (120, 9))),
    ]
    writer = LakeWriter(str(path), "m2")
    log_dir = {
        "at_ms": LATER_MS,
        "broker": 3,
        "log_dir": "/data/sda",
        "disk": "sda",
        "total_bytes": 10,
        "offline": True,
    }
    replica = {"at_ms": LATER_MS, "broker": 3, "topic": "t", "is_leader": True, "replicas": 3, "in_sync_replicas": 2}
    writer.write(
        CLUSTER.name,
        {
            BROKER_SAMPLES: table(BROKER_SAMPLES, rows),
            LOG_DIR_SAMPLES: table(LOG_DIR_SAMPLES, [log_dir]),
            PARTITION_SAMPLES: table(PARTITION_SAMPLES, [replica, {**replica, "partition": 1, "in_sync_replicas": 3}]),
        },
    )
    writer.flush()
    return path


def later(at_ms: int, seconds: int, started_at_ms: int) -> Mapping[str, Any]:
    """1 MB/s in, none out, half of four cores; counters of the broker begin anew with its life."""
    return {
        "at_ms": at_ms,
        "broker": 3,
        "broker_started_at_ms": started_at_ms,
        "bytes_in_total": seconds * MB if started_at_ms == 7 else 5,
        "cores": 4,
        "cpu_busy_ms": seconds * 2000,
        "memory_available_bytes": GB,
    }


@pytest.fixture
def member(lake: Path) -> Iterator[Member]:
    member = Member(lake=str(lake))
    member.store.put_cluster(cluster_to_proto(CLUSTER))
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=60) as client:
        yield client


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments, "--endpoints", member.endpoint], env={"COLUMNS": "300"})
    return result.exit_code, printed(result, arguments)


def test_a_broker_is_as_the_lake_has_it_before_the_moment(client: GuardianClient) -> None:
    report = client.past("live", AT_MS, 1)
    assert (report.at_ms, report.from_ms) == (AT_MS, AT_MS - 5 * MINUTE_MS)
    (broker,) = report.brokers
    assert broker.seen_at_ms == AT_MS - 30_000
    assert (broker.replicas, broker.leaders, broker.under_replicated) == (1, 1, 0)
    assert broker.memory_available_bytes == 3 * GB
    assert not broker.HasField("cpu")  # this host did not tell
    assert not broker.HasField("messages_in_per_s")
    disks = {each.log_dir: each for each in broker.log_dirs}
    assert disks["/data/sda"].bytes_per_s == pytest.approx(10 * MB)
    assert disks["/data/sda"].busy == pytest.approx(1 / 3)
    assert disks["/data/sda"].await_ms == pytest.approx(4)
    assert not disks["/data/lost"].HasField("busy")
    (topic,) = report.topics
    assert (topic.topic, topic.bytes_in_per_s, topic.bytes_out_per_s) == ("t", MB / 10, MB / 2)


def test_a_cluster_has_all_brokers_and_the_sums_of_topics(client: GuardianClient) -> None:
    report = client.past("live", AT_MS)
    assert [each.broker for each in report.brokers] == [1, 2, 3]
    assert [(each.replicas, each.leaders) for each in report.brokers] == [(1, 1), (1, 0), (2, 1)]
    assert [(each.topic, each.bytes_in_per_s) for each in report.topics] == [("t", MB / 10 + MB / 20)]


def test_what_was_not_seen_then_is_absent(client: GuardianClient) -> None:
    first, second, third = client.past("live", LATER_MS + 3 * MINUTE_MS).brokers
    assert first.error == "connection refused"
    assert not first.HasField("seen_at_ms")
    assert not second.HasField("seen_at_ms")
    assert not second.error
    assert third.started_at_ms == 9
    assert third.bytes_in_per_s == MB  # of its life before: the new one has but one sample
    assert third.cpu == 0.5  # the host was not restarted
    assert (third.replicas, third.leaders, third.under_replicated) == (2, 2, 1)
    assert third.log_dirs[0].offline


def test_the_command_line_says_what_is_known_and_what_is_not(member: Member) -> None:
    code, output = run(member, "broker", "show", "live", "1", "--at", AT)
    assert code == 0
    shown = [" ".join(line.split()) for line in output.splitlines()]
    assert "1 /data/sda sda online not known not known 33% 4.0 ms 10.0 MB/s" in shown
    assert "not known: clients: " in output
    assert "not known: events: none of this cluster is kept from before" in output
    code, output = run(member, "cluster", "show", "live", "--at", AT, "-o", "json")
    shown = json.loads(output)
    assert code == 0
    assert [each["broker"] for each in shown["brokers"]] == [1, 2, 3]
    assert "cpu" not in shown["brokers"][0]
    assert shown["events"] is None


def test_a_moment_of_which_nothing_is_known_ends_with_4(member: Member) -> None:
    long_ago = datetime.fromtimestamp(FROM_MS / 1000 - 86_400, UTC).isoformat()
    code, output = run(member, "broker", "show", "live", "1", "--at", long_ago)
    assert code == 4
    assert "Nothing is known of broker 1 of live: no samples between" in output
    code, output = run(member, "cluster", "show", "live", "--at", long_ago)
    assert code == 4


def test_unknown_clusters_brokers_and_the_future_are_refused(client: GuardianClient) -> None:
    with pytest.raises(NotFound, match="cluster 'dead'"):
        client.past("dead")
    with pytest.raises(NotFound, match="broker is 99"):
        client.past("live", AT_MS, 99)
    with pytest.raises(InvalidInput, match="which is not past"):
        moment_of("2999-01-01", AT_MS)


def test_a_moment_is_local_and_today_or_so_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    now = round(datetime(2026, 11, 21, 12, 0).astimezone().timestamp() * 1000)
    expected = round(datetime(2026, 11, 21, 3, 10).astimezone().timestamp() * 1000)
    assert moment_of("03:10", now) == moment_of("2026-11-21T03:10", now) == expected
    assert moment_of("90m", now) == now - 90 * MINUTE_MS
    assert moment_of("", now) == 0
    with pytest.raises(InvalidInput, match="give the date too"):
        moment_of("12:30", now)
    with pytest.raises(InvalidInput, match="how long ago, as 90m"):
        moment_of("noon", now)


def test_findings_that_stood_are_those_raised_and_not_ended() -> None:
    raised = [Event(i, i, EventKind.FINDING_RAISED, "live", f"{i}", finding=name) for i, name in enumerate("ab")]
    ended = Event(3, 3, EventKind.FINDING_ENDED, "live", "3", finding="a")
    again = Event(4, 4, EventKind.FINDING_RAISED, "live", "4", finding="a")
    assert still_raised([*raised, ended]) == [raised[1]]
    assert still_raised([*raised, ended, again]) == [raised[1], again]


def test_counters_that_go_back_count_for_nothing() -> None:
    def sample(at_ms: int, total: int | None) -> dict[str, Any]:
        numbers = {"broker_started_at_ms": 1, "cores": 0, "cpu_busy_ms": 1, "memory_available_bytes": 5}
        absent = ("bytes_out_total", "replication_bytes_in_total", "replication_bytes_out_total", "messages_in_total")
        words = {"error": "", "rack": "r", "idc": "i"}
        return {**numbers, **dict.fromkeys(absent), **words, "at_ms": at_ms, "bytes_in_total": total}

    rows = (sample(0, 100), sample(1000, 300), sample(2000, 50), sample(2000, 60), sample(3000, 150))
    (found,) = past_brokers(Samples({4: rows}, held={4: Held(1, 0, 0)}), ())
    assert found.bytes_in_per_s == (200 + 90) / 2
    assert found.bytes_out_per_s is found.cpu is None
    assert past_brokers(Samples(), (2,)) == (PastBroker(2),)
