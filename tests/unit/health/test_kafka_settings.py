"""A topic's configuration and a cluster's quotas, over gRPC and on the command line; Kafka is in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import NotFound
from guardian.kafka.admin import TOPIC
from guardian.model.quota import CONSUMER_BYTE_RATE, EVERY, PRODUCER_BYTE_RATE, QuotaEntity
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.printed import printed
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    member.kafka.create_topic("t", {0: (1, 2), 1: (2, 3)})
    yield member
    member.stop()


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments, "--endpoints", member.endpoint], env={"COLUMNS": "200"})
    return result.exit_code, printed(result, arguments)


def lines(output: str) -> list[str]:
    return [" ".join(line.split()) for line in output.splitlines()]


def test_a_topic_says_what_differs_and_where_it_is_set(member: Member) -> None:
    code, output = run(member, "topic", "show", "t", "--cluster", "live")
    assert code == 0
    assert lines(output) == [
        "topic t of live: 2 partitions of 2 replicas",
        "all of its configuration is Kafka's default",
    ]
    key = "leader.replication.throttled.replicas"
    assert member.kafka.alter_configs({(TOPIC, "t"): {key: "*", "min.insync.replicas": "2"}}) == {}
    code, output = run(member, "topic", "show", "t", "--cluster", "live")
    assert lines(output)[2:] == [
        "KEY VALUE SET ON OTHERWISE",
        f"{key} * topic -",
        "min.insync.replicas 2 topic min.insync.replicas=1 (Kafka's default)",
    ]
    code, output = run(member, "topic", "show", "t", "--cluster", "live", "-o", "json")
    assert [each["origin"] for each in json.loads(output)["settings"]] == ["SET_ON_TOPIC"] * 2


def test_settings_come_where_they_are_asked_for_alone(member: Member) -> None:
    member.kafka.alter_configs({(TOPIC, "t"): {"min.insync.replicas": "2"}})
    with GuardianClient([member.endpoint]) as client:
        assert not client.described_topics("live", ["t"]).topics[0].settings
        (setting,) = client.described_topics("live", ["t"], with_settings=True).topics[0].settings
        assert (setting.key, setting.value, setting.origin) == ("min.insync.replicas", "2", pb.SET_ON_TOPIC)
        with pytest.raises(NotFound, match="cluster live has none of that name"):
            client.described_topics("live", ["nope"], with_settings=True)


def test_quotas_are_listed_by_whom_they_are_for(member: Member) -> None:
    code, output = run(member, "quota", "list", "live")
    assert (code, output) == (0, "cluster live has no quotas of users and client ids\n")
    member.kafka.alter_client_quotas(
        {
            QuotaEntity("alice", "etl"): {CONSUMER_BYTE_RATE: 1_000_000.0, PRODUCER_BYTE_RATE: 2_000_000.0},
            QuotaEntity(EVERY): {PRODUCER_BYTE_RATE: 5000.0},
            QuotaEntity(None, "batch"): {CONSUMER_BYTE_RATE: 75.0},
        }
    )
    code, output = run(member, "quota", "list", "live")
    assert code == 0
    assert lines(output) == [
        "USER CLIENT ID QUOTA ON EACH BROKER",
        "any batch consumer_byte_rate 75 B/s",
        "<default> any producer_byte_rate 5.0 kB/s",
        "alice etl consumer_byte_rate 1.0 MB/s",
        "alice etl producer_byte_rate 2.0 MB/s",
    ]
    code, output = run(member, "quota", "list", "live", "-o", "json")
    assert "user" not in json.loads(output)["quotas"][0]
    with GuardianClient([member.endpoint]) as client, pytest.raises(NotFound, match="cluster 'dead'"):
        client.client_quotas("dead")
