"""Predictions over gRPC and on the command line, with Kafka in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.health.loop.fault_facts import cluster_now
from guardian.kafka.admin import BROKER, TOPIC
from guardian.model.topology import Cluster
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.patience import CALL_S
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    member.kafka.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
    member.kafka.set_config((TOPIC, "orders"), "min.insync.replicas", "2")
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client:
        yield client


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["what-if", *arguments, "--cluster", "live", "--endpoints", member.endpoint])
    return result.exit_code, result.output


def test_a_cut_is_predicted_for_both_kinds_of_producers(client: GuardianClient) -> None:
    request = pb.PredictFaultRequest(
        cluster="live", topics=["orders"], cut=pb.NetworkCut(number=4, brokers=[1], seconds=45)
    )
    report = client.predict_fault(request)
    assert [(each.topic, each.acks_all, each.partitions, each.lost, each.loses) for each in report.topics] == [
        ("orders", False, 1, pb.LOST_SECONDS, 1),
        ("orders", True, 1, pb.LOST_NOTHING, 0),
    ]
    assert report.topics[0].lost_s.least_s > 30
    assert report.topics[1].silent_s.most_s > 40
    assert (report.topics_in_all, report.topics_that_may_lose, report.keeps_elr) == (1, 1, True)
    assert report.fault == "cut 4 of broker 1"
    assert report.advice

    request.acks = pb.ACKS_ALL
    assert [each.acks_all for each in client.predict_fault(request).topics] == [True]


def test_it_begins_with_the_isr_and_the_elr_of_now(member: Member, client: GuardianClient) -> None:
    for broker in (3, 2):
        member.kafka.kill_broker(broker)
    now = cluster_now(member.kafka, Cluster("live", "h:9092"), ["orders"], {})
    assert now.topics["orders"].eligible[0].replicas == (2,)
    assert [broker for broker, place in now.brokers.items() if not place.is_alive] == [2, 3]
    request = pb.PredictFaultRequest(
        cluster="live", topics=["orders"], kill=pb.BrokersDown(brokers=[1], seconds=20), acks=pb.ACKS_ALL
    )
    (found,) = client.predict_fault(request).topics
    assert (found.lost, found.ended) == (pb.LOST_NOTHING, pb.NEVER_ENDED)  # min.insync.replicas is not met before


def test_wrong_clocks_are_held_against_the_topic_s_limits(member: Member) -> None:
    topic = (TOPIC, "orders")
    member.kafka.set_config(topic, "message.timestamp.after.max.ms", "3600000")
    code, output = run(member, "clock", "--broker", "1", "--behind", "2h", "--for", "30s", "--topic", "orders")
    assert code == 0
    assert "clock of broker 1: 1 topics are touched: SAFE" in output
    assert "30 to 30 s  it is over" in output
    assert "set clocks by NTP" in output
    member.kafka.set_config(topic, "message.timestamp.type", "LogAppendTime")
    assert "records are taken" in run(member, "clock", "--broker", "1", "--behind", "2h")[1]


def test_the_slowest_of_the_brokers_settings_counts(member: Member) -> None:
    for broker, lag in ((1, "10000"), (2, "9000")):
        member.kafka.set_config((BROKER, str(broker)), "replica.lag.time.max.ms", lag)
    now = cluster_now(member.kafka, Cluster("live", "h:9092"), [], {"request.timeout.ms": "5000"})
    assert (now.times.replica_lag_s, now.times.request_timeout_s) == (30.0, 5.0)  # broker 3 has Kafka's default
    assert now.controllers == (100,)


@pytest.mark.parametrize(
    ("request_of", "sentence"),
    [
        (pb.PredictFaultRequest(), "fault: missing"),
        (pb.PredictFaultRequest(cut=pb.NetworkCut(number=9)), "cut: unknown number (got 9)"),
        (pb.PredictFaultRequest(kill=pb.BrokersDown(racks=["nowhere"])), "racks: unknown (got nowhere)"),
        (pb.PredictFaultRequest(cut=pb.NetworkCut(number=8), acks=9), "acks: unknown to this version (got 9)"),  # type: ignore[arg-type]
        (
            pb.PredictFaultRequest(cut=pb.NetworkCut(number=8), client={"linger.ms": "5"}),
            "client: unknown setting (got 'linger.ms'); use delivery.timeout.ms",
        ),
        (
            pb.PredictFaultRequest(cut=pb.NetworkCut(number=8), client={"request.timeout.ms": "soon"}),
            "client: request.timeout.ms is no time (got 'soon'); use milliseconds",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    client: GuardianClient, request_of: pb.PredictFaultRequest, sentence: str
) -> None:
    request_of.cluster = "live"
    with pytest.raises(InvalidInput) as refused:
        client.predict_fault(request_of)
    assert sentence in str(refused.value)
    request_of.cluster = "dead"
    with pytest.raises(NotFound):
        client.predict_fault(request_of)


def test_a_topic_that_is_not_there_is_named(client: GuardianClient) -> None:
    request = pb.PredictFaultRequest(cluster="live", topics=["nope-*"], cut=pb.NetworkCut(number=8))
    with pytest.raises(NotFound, match="topics is nope-\\*: cluster live has none of that name"):
        client.predict_fault(request)


def test_the_table_says_what_is_lost_and_how_long_producers_wait(member: Member) -> None:
    code, output = run(member, "cut", "4", "--broker", "1", "--for", "45s", "--topic", "orders")
    assert code == 0
    assert "cluster live, cut 4 of broker 1: 1 topics are touched: NOT SAFE: 1 of them may lose records" in output
    rows = {line.split()[1]: line for line in output.splitlines() if line.startswith("orders")}
    assert "records of 3" in rows["1"]
    assert "nothing" in rows["all"]
    assert "it is over" in rows["all"]
    assert "note: only producers with acks=0 or 1 lose records" in output


def test_each_command_asks_about_its_fault_and_fail_guards_a_pipeline(member: Member) -> None:
    assert "another leads" in run(member, "kill", "--broker", "1", "--topic", "orders", "--acks", "all")[1]
    assert run(member, "kill", "--broker", "1", "--topic", "orders", "--acks", "all", "--fail")[0] == 0
    code, output = run(member, "power", "--broker", "1", "--broker", "2", "--broker", "3", "--order", "3,2", "--fail")
    assert code == 1
    assert "all that was never fsynced" in output
    code, output = run(member, "lose", "--broker", "1", "--broker", "2", "--broker", "3", "-o", "json")
    assert {each["lost"] for each in json.loads(output)["topics"]} == {"LOST_EVERYTHING"}
    code, output = run(member, "lose", "--broker", "1", "--broker", "2", "--broker", "3", "--limit", "1")
    assert "1 more topics, hurt the same or less: --limit 2 shows all" in output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("kill", "--broker", "1", "--order", "1,x"), "--order: no broker id (got 'x')"),
        (("kill", "--broker", "1", "--acks", "2"), "--acks: unknown (got '2'); use 1 or all"),
        (("kill", "--broker", "1", "--client", "linger.ms"), "--client: no value (got 'linger.ms')"),
        (("cut", "2", "--broker", "1", "--for", "soon"), "--for is 'soon': use a number and"),
        (("clock", "--broker", "1"), "--ahead and --behind: one is needed (got none)"),
        (("kill",), "nothing is hit (got none); name a broker"),
    ],
)
def test_what_is_typed_wrong_is_named_with_the_fix(member: Member, arguments: tuple[str, ...], sentence: str) -> None:
    result = CliRunner().invoke(app, ["what-if", *arguments, "--cluster", "live", "--endpoints", member.endpoint])
    assert result.exit_code != 0
    assert sentence in str(result.exception) + result.output
