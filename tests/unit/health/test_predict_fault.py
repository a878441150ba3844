"""Predictions over gRPC and on the command line, with Kafka in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.health.loop.fault_facts import cluster_now, metadata_dir
from guardian.kafka.admin import BROKER, TOPIC
from guardian.model.faults.fault import Blow
from guardian.model.topology import Cluster
from guardian.planning.commands.faults import COMMANDS
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app
from tests.patience import CALL_S
from tests.printed import printed
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


def invoked(member: Member, *arguments: str) -> Result:
    member_at = ("--cluster", "live", "--endpoints", member.endpoint, "--timeout", f"{CALL_S:.0f}s")
    return CliRunner().invoke(app, ["what-if", *arguments, *member_at])


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = invoked(member, *arguments)
    return result.exit_code, printed(result, arguments)


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
    assert {each.read_lost for each in report.topics} == {pb.IN_NO_WAY}  # readers get what all of the ISR have
    for each in report.topics:  # and stay with a leader that nobody follows any more
        assert 31 < each.unread_s.least_s < each.unread_s.most_s < 54
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


LOG_DIR = ("log-dir", "--broker", "1", "--log-dir")


def test_a_log_dir_that_fails_touches_what_is_on_it(member: Member) -> None:
    """Broker 1 has orders-0 and orders-1 on two log dirs: the one that it leads is on the first."""
    code, output = run(member, *LOG_DIR, "/d0", "--topic", "orders", "-o", "json")
    assert code == 0
    found = {each["acks_all"]: each for each in json.loads(output)["topics"]}
    assert {each["partitions"] for each in found.values()} == {1}
    assert found[True]["lost"] == "LOST_NOTHING"
    assert found[True]["silent_s"]["most_s"] < 3  # others lead at once: the broker tells the controllers
    member.kafka.fail_log_dir(1, "/d1")
    assert "broker 1 halts: it has no other log dir that works" in run(member, *LOG_DIR, "/d0")[1]


def test_a_broker_whose_metadata_log_fails_halts(member: Member) -> None:
    member.kafka.set_config((BROKER, "1"), "log.dirs", "/d0, /d1")
    code, output = run(member, *LOG_DIR, "/d0", "--topic", "orders", "-o", "json")
    found = {each["acks_all"]: each for each in json.loads(output)["topics"]}
    assert (code, {each["partitions"] for each in found.values()}) == (0, {2})
    assert found[True]["silent_s"]["most_s"] > 9
    assert "broker 1 halts" not in run(member, *LOG_DIR, "/d1")[1]


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({}, ""),
        ({"log.dirs": "/a/, /b"}, "/a"),
        ({"log.dir": "/tmp/kafka-logs", "log.dirs": ""}, "/tmp/kafka-logs"),
        ({"log.dirs": "/a,/b", "metadata.log.dir": "/m"}, "/m"),
    ],
)
def test_the_metadata_log_is_on_the_first_log_dir_unless_it_is_told(config: dict[str, str], path: str) -> None:
    assert metadata_dir(config) == path


def test_a_slow_disk_holds_up_the_producers_of_its_leaders(member: Member) -> None:
    arguments = ("slow-disk", "--broker", "1", "--each", "2s", "--for", "25s", "--topic", "orders")
    code, output = run(member, *arguments)
    assert (code, "slow-disk of broker 1: 1 topics are touched: SAFE" in output) == (0, True)
    assert "nobody else is elected while a disk is slow" in output
    code, output = run(member, *arguments, "--log-dir", "/d0", "-o", "json")
    assert {each["partitions"] for each in json.loads(output)["topics"]} == {1}


def test_a_slow_follower_holds_up_acks_all_where_it_follows(member: Member) -> None:
    arguments = ("slow-follower", "--broker", "1", "--share", "0.05", "--for", "2m", "--topic", "orders", "-o", "json")
    found = {each["acks_all"]: each for each in json.loads(run(member, *arguments)[1])["topics"]}
    assert {each["partitions"] for each in found.values()} == {1}  # the other one it leads
    assert (found[True]["ended"], found[False]["silent_s"]["most_s"]) == ("ISR_SHRUNK", 0)
    assert found[True]["silent_s"]["least_s"] >= 30


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


def test_a_broker_that_does_not_tell_its_log_dirs_is_named(member: Member, client: GuardianClient) -> None:
    member.kafka.kill_broker(3)
    request = pb.PredictFaultRequest(cluster="live", log_dir=pb.FailedLogDirs(brokers=[3], log_dirs=["/d0"]))
    with pytest.raises(InvalidInput, match="brokers: one does not tell its log dirs now \\(got 3\\); start it"):
        client.predict_fault(request)


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
    assert "all that was never fsynced  some  " in output
    code, output = run(member, "lose", "--broker", "1", "--broker", "2", "--broker", "3", "-o", "json")
    assert {(each["lost"], each["read_lost"]) for each in json.loads(output)["topics"]} == {
        ("LOST_EVERYTHING", "IN_ALL_WAYS")
    }
    code, output = run(member, "lose", "--broker", "1", "--broker", "2", "--broker", "3", "--limit", "1")
    assert "1 more topics, hurt the same or less: --limit 2 shows all" in output


def test_faults_are_the_same_on_the_wire_and_for_people() -> None:
    asked = pb.PredictFaultRequest.DESCRIPTOR.oneofs_by_name["fault"].fields
    assert [field.name.replace("_", "-") for field in asked] == [*COMMANDS] == [str(blow) for blow in Blow]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("kill", "--broker", "1", "--order", "1,x"), "--order: no broker id (got 'x')"),
        (("kill", "--broker", "1", "--acks", "2"), "--acks: unknown (got '2'); use 1 or all"),
        (("kill", "--broker", "1", "--client", "linger.ms"), "--client: no value (got 'linger.ms')"),
        (("cut", "2", "--broker", "1", "--for", "soon"), "--for is 'soon': use a number and"),
        (("clock", "--broker", "1"), "--ahead and --behind: one is needed (got none)"),
        (("kill",), "nothing is hit (got none); name a broker"),
        (("log-dir", "--broker", "1"), "log_dirs: nothing fails (got none); name a log dir"),
        (("log-dir", "--log-dir", "/d0"), "nothing is hit (got none); name a broker"),
        (("log-dir", "--broker", "9", "--log-dir", "/d0"), "brokers: unknown (got 9)"),
        (
            ("log-dir", "--broker", "1", "--log-dir", "/d7"),
            "log_dirs: broker 1 has none of that path (got /d7); use /d0, /d1",
        ),
        (
            ("slow-disk", "--broker", "2", "--each", "1s", "--log-dir", "/d7"),
            "log_dirs: broker 2 has none of that path (got /d7)",
        ),
        (("slow-disk", "--broker", "1", "--each", "never"), "each_s: out of range (got 0)"),
        (("slow-follower", "--broker", "1", "--share", "1.5"), "share: out of range (got 1.5)"),
        (("slow-follower", "--broker", "9", "--share", "0.5"), "brokers: unknown (got 9)"),
    ],
)
def test_what_is_typed_wrong_is_named_with_the_fix(member: Member, arguments: tuple[str, ...], sentence: str) -> None:
    result = invoked(member, *arguments)
    assert result.exit_code != 0
    assert sentence in str(result.exception) + result.output
