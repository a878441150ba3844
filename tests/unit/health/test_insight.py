"""Durability over gRPC and on the command line, with Kafka in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.health.loop import described_topics
from guardian.kafka.admin import TOPIC
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.printed import printed
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    member.kafka.create_topic("orders-eu", {0: (1, 2, 3), 1: (2, 3, 1)})
    member.kafka.set_config((TOPIC, "orders-eu"), "min.insync.replicas", "2")
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=30) as client:
        yield client


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["durability", *arguments, "--endpoints", member.endpoint])
    return result.exit_code, printed(result, arguments)


def test_topics_are_rated_by_what_kafka_says(client: GuardianClient) -> None:
    report = client.durability("live")
    assert [(topic.topic, topic.rating, topic.survives_brokers) for topic in report.topics] == [
        ("t", pb.WEAK, 0),
        ("orders-eu", pb.DEGRADED if report.topics[1].reasons else pb.SOUND, 1),
    ]
    assert {loss.scope for loss in report.losses} >= {"broker"}
    assert dict(report.topics_by_rating) == {int(topic.rating): 1 for topic in report.topics}


def test_patterns_choose_topics_and_a_limit_keeps_the_worst(client: GuardianClient) -> None:
    assert [topic.topic for topic in client.durability("live", ["orders-*"]).topics] == ["orders-eu"]
    worst = client.durability("live", max_topics=1)
    assert ([topic.topic for topic in worst.topics], worst.topics_in_all) == (["t"], 2)
    with pytest.raises(NotFound, match="topics is nope-\\*: cluster live has none of that name"):
        client.durability("live", ["nope-*"])
    with pytest.raises(NotFound, match="cluster 'dead' is not registered"):
        client.durability("dead")


def test_topics_are_described_as_they_are_and_as_moves_will_leave_them(member: Member, client: GuardianClient) -> None:
    member.kafka.create_topic("__consumer_offsets", {0: (1, 2)})
    member.kafka.bytes_per_call = 1
    member.kafka.alter_reassignments({TopicPartition("orders-eu", 1): (1, 2, 3), TopicPartition("t", 0): (3, 2)})
    report = client.described_topics("live")
    assert [
        (each.topic, [tuple(it.brokers) for it in each.partitions], dict(each.configs)) for each in report.topics
    ] == [
        ("orders-eu", [(1, 2, 3), (1, 2, 3)], {"min.insync.replicas": "2"}),
        ("t", [(3, 2)], {}),
    ]
    assert [each.topic for each in client.described_topics("live", ["__*", "t"]).topics] == ["__consumer_offsets", "t"]
    with pytest.raises(NotFound, match="topics is nope: cluster live has none of that name"):
        client.described_topics("live", ["nope"])


def test_one_answer_holds_so_many_topics_and_says_how_many_there_are(
    client: GuardianClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(described_topics, "MAX_PARTITIONS", 2)
    report = client.described_topics("live")
    assert ([each.topic for each in report.topics], report.topics_in_all) == (["orders-eu"], 2)


@pytest.mark.parametrize("to_ms", [7_258_118_400_001, 2**62])
def test_a_time_far_from_now_is_refused_by_name(client: GuardianClient, to_ms: int) -> None:
    for ask in (client.disk_health, client.disk_readers):
        with pytest.raises(InvalidInput, match=f"window ends at {to_ms}: use milliseconds since 1970"):
            ask("live", to_ms=to_ms)
    for ask_for_lines in (client.link_use, client.lines):
        with pytest.raises(InvalidInput, match=f"window ends at {to_ms}"):
            ask_for_lines(to_ms=to_ms)


def test_a_broker_that_died_is_in_every_answer(member: Member, client: GuardianClient) -> None:
    member.kafka.kill_broker(2)
    report = client.durability("live")
    assert any(remark.startswith("broker 2 not alive") for remark in report.remarks)
    by_topic = {topic.topic: topic for topic in report.topics}
    assert by_topic["orders-eu"].rating == pb.DEGRADED
    assert by_topic["orders-eu"].under_replicated == 2
    assert {loss.name for loss in report.losses if loss.scope == "broker"} == {"1", "3"}


def test_the_table_names_the_worst_first_and_the_exit_code_can_guard_a_pipeline(member: Member) -> None:
    code, output = run(member, "--cluster", "live", "--limit", "1")
    assert code == 0
    assert "cluster live: 2 topics: 1 weak" in output
    assert "replication factor 2: acks=all may be on the leader alone" in output
    assert "1 more topics, rated the same or better: --limit 2 shows all" in output
    assert "broker 1" in output.split("if this were lost now")[1]
    assert run(member, "--cluster", "live", "--fail-below", "weak")[0] == 0
    assert run(member, "--cluster", "live", "--fail-below", "degraded")[0] == 1
    assert run(member, "--cluster", "live", "--topic", "orders-*", "--fail-below", "degraded", "-o", "json")[0] == 0
