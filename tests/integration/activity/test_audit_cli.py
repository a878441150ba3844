"""`guardian audit` from end to end: slices as brokers send them, the embedded store, a member, the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.activity.store.embedded import EmbeddedDatabase
from guardian.activity.store.store import ActivityStore, Position
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.model.acl import AclBinding
from guardian.model.federation import Entry, Tenant, Topic
from guardian.model.wire.entries import entry_to_proto
from protos.guardian.v1 import federation_pb2
from protos.guardian.v1.reporter_pb2 import ActivitySlice, MetricBatch
from tests.command_line import app
from tests.patience import CALL_S, until
from tests.unit.member.member import Member

pytestmark = pytest.mark.integration

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
STRINGS = ["User:alice", "alice", "app", "10.0.0.1", "TOPIC", "GROUP", "READ", "WRITE", "orders", "clicks", "readers"]
ALICE, USER, APP, ADDRESS, TOPIC, GROUP, READ, WRITE, ORDERS, CLICKS, READERS = range(len(STRINGS))


def batch(broker: int, number: int, from_ms: int, *uses: tuple[int, int, int, int], produced: float = 0) -> MetricBatch:
    """`uses` are (resource type, resource, operation, how often), all of alice's app."""
    count = len(uses)
    found = ActivitySlice(
        number=number,
        from_ms=from_ms,
        to_ms=from_ms + MINUTE_MS,
        strings=STRINGS,
        principals=[ALICE] * count,
        client_ids=[APP] * count,
        addresses=[ADDRESS] * count,
        resource_types=[use[0] for use in uses],
        resources=[use[1] for use in uses],
        operations=[use[2] for use in uses],
        allowed=[use[3] for use in uses],
        denied=[0] * count,
        byte_users=[USER] if produced else [],
        byte_client_ids=[APP] if produced else [],
        bytes_produced=[produced] if produced else [],
        bytes_fetched=[0] if produced else [],
    )
    return MetricBatch(broker_id=broker, broker_started_at_ms=5, collected_at_ms=from_ms, activity=[found])


class Scene:
    """A member whose cluster "live" has three brokers and the topics t, orders, clicks and forgotten."""

    def __init__(self, member: Member, activity: ActivityStore, now_ms: int) -> None:
        self.member = member
        self.activity = activity
        self.now_ms = now_ms

    def audit(self, *words: str) -> dict[str, Any]:
        """The answer as JSON."""
        result = self.run(*words, "-o", "json")
        answer: dict[str, Any] = json.loads(result)
        return answer

    def run(self, *words: str) -> str:
        result = CliRunner().invoke(app, ["audit", *words, "--endpoints", self.member.endpoint], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    database = EmbeddedDatabase(tmp_path_factory.mktemp("audit") / "activity", memory_mb=500)
    with closing(ActivityStore(database, 30, flush_s=0.05)) as activity:
        activity.start()
        member = Member(activity=activity)
        try:
            now_ms = time.time_ns() // 1_000_000
            member.now_ms = now_ms
            for topic in ("orders", "clicks", "forgotten", "__internal"):
                member.kafka.create_topic(topic, {0: [1, 2]}, 10)
            _register(member)
            _happened(activity, now_ms)
            yield Scene(member, activity, now_ms)
        finally:
            member.stop()


def _register(member: Member) -> None:
    entries: list[Entry] = [Tenant("payments"), Topic("live", "orders", tenant="payments", owner="ann")]
    with GuardianClient([member.endpoint]) as client:
        client.change_federation([federation_pb2.FederationChange(put=entry_to_proto(entry)) for entry in entries])


def _happened(activity: ActivityStore, now_ms: int) -> None:
    """Five minutes ago alice wrote orders on two brokers and read clicks; three days ago she read orders."""
    until(lambda: activity.position("live", 1) is not None)
    recently, long_ago = now_ms - 5 * MINUTE_MS, now_ms - 3 * DAY_MS
    activity.write("live", batch(1, 1, long_ago, (TOPIC, ORDERS, READ, 3)))
    activity.write("live", batch(1, 2, recently, (TOPIC, ORDERS, WRITE, 10), (GROUP, READERS, READ, 4), produced=5e9))
    activity.write("live", batch(2, 1, recently, (TOPIC, ORDERS, WRITE, 7), (TOPIC, CLICKS, READ, 1)))
    until(lambda: activity.position("live", 1) == Position(5, 2) and activity.position("live", 2) == Position(5, 1))


def test_who_used_a_topic(scene: Scene) -> None:
    reply = scene.audit("topic", "--cluster", "live", "orders", "--since", "10m")
    (row,) = reply["rows"]
    assert (row["principal"], row["client_id"], row["address"], row["operation"]) == (
        "User:alice",
        "app",
        "10.0.0.1",
        "WRITE",
    )
    assert (row["allowed"], row["bytes_produced"], row["brokers"]) == ("17", "5000000000", 2)
    assert (reply["coverage"]["slices"], reply["coverage"]["brokers"]) == ("2", 2)
    assert len(scene.audit("topic", "--cluster", "live", "orders", "--since", "4d")["rows"]) == 2
    assert "5.0 GB" in scene.run("topic", "--cluster", "live", "orders", "--since", "10m")


def test_what_a_broker_did_minutes_and_days_ago(scene: Scene) -> None:
    recent = scene.audit("broker", "--cluster", "live", "1", "--since", "10m")["rows"]
    assert [(row["resource"], row["operation"]) for row in recent] == [("orders", "WRITE"), ("readers", "READ")]
    days = scene.audit("broker", "--cluster", "live", "1", "--since", "4d")
    assert {(row["resource"], row["operation"]) for row in days["rows"]} == {
        ("orders", "WRITE"),
        ("readers", "READ"),
        ("orders", "READ"),
    }
    assert int(days["coverage"]["from_ms"]) % (60 * MINUTE_MS) == 0


def test_what_a_principal_did(scene: Scene) -> None:
    rows = scene.audit("principal", "--cluster", "live", "alice", "--since", "10m")["rows"]
    assert [(row["resource"], row["allowed"], row["brokers"]) for row in rows] == [
        ("orders", "17", 2),
        ("readers", "4", 1),
        ("clicks", "1", 1),
    ]
    assert scene.audit("principal", "--cluster", "live", "bob", "--since", "10m")["rows"] == []


def test_idle_topics_with_their_owners(scene: Scene) -> None:
    topics = {
        topic["name"]: topic for topic in scene.audit("idle-topics", "--cluster", "live", "--since", "1d")["topics"]
    }
    assert topics.keys() == {"orders", "clicks", "forgotten", "t"}
    assert (topics["orders"]["without_readers"], topics["orders"]["without_writers"]) == (True, False)
    assert (topics["orders"]["owner"], topics["orders"]["tenant"]) == ("ann", "payments")
    assert int(topics["orders"]["last_read_ms"]) == scene.now_ms - 3 * DAY_MS
    assert (topics["clicks"]["without_readers"], topics["clicks"]["without_writers"]) == (False, True)
    assert topics["forgotten"]["last_read_ms"] == "0"
    assert "__internal" in scene.run("idle-topics", "--cluster", "live", "--internal")


def test_nothing_is_idle_or_unused_where_no_activity_was_collected(tmp_path: Path) -> None:
    database = EmbeddedDatabase(tmp_path / "activity", memory_mb=500)
    with closing(ActivityStore(database, 30, flush_s=0.05)) as activity:
        activity.start()
        member = Member(activity=activity)
        try:
            member.kafka.create_topic("orders", {0: [1, 2]}, 10)
            member.kafka.set_acls(AclBinding("TOPIC", "LITERAL", "orders", "User:ann", "*", "READ", "ALLOW"))
            for words, field in ((["idle-topics"], "topics"), (["acls"], "acls")):
                command = ["audit", *words, "--cluster", "live", "--endpoints", member.endpoint, "-o", "json"]
                result = CliRunner().invoke(app, command)
                assert (result.exit_code, json.loads(result.stdout)[field]) == (4, [])
        finally:
            member.stop()


def test_tenants_pay_for_their_topics(scene: Scene, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[default]\nproduced_gb = 2.0\nmillion_requests = 1000000\n")
    words = ("costs", "--tenants", "--cluster", "live", "--since", "10m", "--prices", str(prices))
    by_name = {line["tenant"]: line for line in scene.audit(*words)["lines"]}
    assert by_name["payments"]["cost"] == pytest.approx(10.0 + 17)
    assert by_name[""]["cost"] == pytest.approx(1)
    assert by_name[""]["fetched"] is None


def test_acls_that_nobody_uses_or_that_allow_too_much(scene: Scene) -> None:
    with (
        GuardianClient([scene.member.endpoint], timeout_s=CALL_S) as client,
        pytest.raises(InvalidInput, match="no authorizer"),
    ):
        client.acl_use("live", scene.now_ms - DAY_MS)
    scene.member.kafka.set_acls(
        AclBinding("TOPIC", "LITERAL", "orders", "User:alice", "*", "WRITE", "ALLOW"),
        AclBinding("TOPIC", "LITERAL", "*", "User:alice", "*", "READ", "ALLOW"),
        AclBinding("TOPIC", "LITERAL", "orders", "User:alice", "10.0.0.1", "WRITE", "ALLOW"),
        AclBinding("TOPIC", "LITERAL", "orders", "User:alice", "10.0.0.2", "WRITE", "ALLOW"),
        AclBinding("GROUP", "PREFIXED", "read", "User:bob", "*", "READ", "ALLOW"),
        AclBinding("TOPIC", "LITERAL", "orders", "User:bob", "*", "READ", "DENY"),
    )
    reply = scene.audit("acls", "--cluster", "live", "--since", "1d")
    verdicts = {(acl["resource_type"], acl["resource_name"], acl["host"]): acl["verdict"] for acl in reply["acls"]}
    assert verdicts == {
        ("TOPIC", "orders", "*"): "ACL_USED",
        ("TOPIC", "*", "*"): "ACL_TOO_WIDE",
        ("TOPIC", "orders", "10.0.0.1"): "ACL_USED",
        ("TOPIC", "orders", "10.0.0.2"): "ACL_UNUSED",
        ("GROUP", "read", "*"): "ACL_UNUSED",
    }
    assert reply["denials"] == 1


def test_a_cluster_that_is_not_registered_and_a_member_that_keeps_nothing_are_told(scene: Scene) -> None:
    with GuardianClient([scene.member.endpoint], timeout_s=CALL_S) as client, pytest.raises(NotFound, match="nowhere"):
        client.topic_activity("nowhere", "orders", 0, 5)
    bare = Member()
    try:
        with (
            GuardianClient([bare.endpoint], timeout_s=CALL_S) as client,
            pytest.raises(InvalidInput, match=r"audit\.url is not set"),
        ):
            client.topic_activity("live", "orders", 0, 5)
    finally:
        bare.stop()
