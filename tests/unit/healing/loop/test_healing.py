"""`guardian healing`, from findings to the command line; what is decided: tests/simulation/test_healing.py."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import NotFound, Unavailable
from guardian.healing.model import HealingPolicy
from guardian.healing.rules.decision import Decision, decide
from guardian.healing.rules.verdict import Known
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.command_line import app
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    member.kafka.now_ms = member.now_ms = 1_000_000
    yield member
    member.stop()


def run(member: Member, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["healing", *arguments, "--endpoints", member.endpoint])
    return result.exit_code, result.output


def look(member: Member, times: int = 2) -> None:
    for _ in range(times):
        member.now_ms += 6000
        member.findings.tick()
        member.healer.tick()


def test_before_anybody_looked_it_says_so(member: Member) -> None:
    assert run(member, "status") == (0, "live: nobody has looked yet, ask again in a minute\n")


def test_without_trouble_it_says_what_was_looked_at(member: Member) -> None:
    look(member)
    code, output = run(member, "status", "--cluster", "live", "--fail")
    assert code == 0
    assert output.startswith("live: nothing to heal among 3 brokers, as of ")
    assert output.endswith("(mode observe)\n")


def test_a_trouble_is_shown_with_what_is_done_about_it(member: Member) -> None:
    look(member)
    member.kafka.kill_broker(2)
    look(member)
    code, output = run(member, "status")
    assert code == 0
    assert "broker down: broker 2" in output
    assert "observed" in output
    assert "broker 2 is fenced or gone, and is to have 1 replicas; 2 brokers live" in output


def test_a_storm_is_told_first_and_fails(member: Member) -> None:
    look(member)
    for broker in (1, 2):
        member.kafka.kill_broker(broker)
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=tuple(map(Broker, (1, 2, 3))))))
    look(member)
    code, output = run(member, "status", "--fail")
    assert code == 1
    assert output.startswith("STORM in live: 2 of 3 brokers are in trouble at once (1, 2), more than the 1 that")
    report = json.loads(run(member, "status", "-o", "json")[1])
    assert report["clusters"][0]["storm"].startswith("2 of 3 brokers")
    assert report["clusters"][0]["troubles"][0]["kind"] == "BROKER_DOWN"


def test_a_storm_and_what_was_not_seen_keep_others_from_moving_too(member: Member) -> None:
    look(member, 1)
    assert "has not seen" in member.healer.why_not_move("elsewhere")
    look(member, 5)
    assert member.healer.why_not_move("live") == ""
    for broker in (1, 2):
        member.kafka.kill_broker(broker)
    look(member)
    assert member.healer.why_not_move("live").startswith("2 of 3 brokers are in trouble at once")


def test_one_clusters_failure_stops_no_others_healing(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    member.store.put_cluster(cluster_to_proto(Cluster("also", "h:9092", "fake-2")))
    look(member, 1)

    def decide_or_fail(policy: HealingPolicy, known: Known, now_ms: int) -> Decision:
        if known.cluster == "also":
            raise ZeroDivisionError
        return decide(policy, known, now_ms)

    monkeypatch.setattr("guardian.healing.loop.healing.decide", decide_or_fail)
    member.now_ms += 6000
    assert "healing of also failed: ZeroDivisionError()" in member.healer.tick()
    assert member.healer.status()[0]["live"].decided_at_ms == member.now_ms


def test_the_policy_is_shown(member: Member) -> None:
    code, output = run(member, "policy")
    assert code == 0
    assert output.splitlines()[1].split()[:6] == ["live", "observe", "10", "min", "1", "min"]
    assert json.loads(run(member, "policy", "--cluster", "live", "-o", "json")[1])["live"]["mode"] == "observe"


@pytest.mark.slow
def test_only_the_leader_knows_and_only_clusters_that_are_registered(member: Member) -> None:
    with GuardianClient([member.endpoint]) as client, pytest.raises(NotFound, match="nowhere"):
        client.healing("nowhere")
    member.replica.leads = False
    with GuardianClient([member.endpoint], timeout_s=1) as client, pytest.raises(Unavailable, match="does not lead"):
        client.healing()
