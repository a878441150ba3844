"""Who did what, the whole way: two real brokers that count, a real member that collects, its embedded ClickHouse, and
the command line that asks.

Slices and collections take a second or two here. No test waits for a time: a moment is over for the audit when a slice
that began after it is stored of every broker.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner

from deploy.local import members, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.cli.exits import DONE, UNKNOWN
from guardian.client import GuardianClient
from guardian.errors import Unavailable
from guardian.kafka import data
from tests.command_line import app
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

BROKERS = (1, 2)
USERS = ("alice", "bob", "carol", "dave", "mallory", "ops")
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required {};"
SETTINGS = {
    "authorizer.class.name": "guardian.kafka.GuardianAuthorizer",
    # Who comes over the listener without a login: the brokers, the controller and the test's own admin.
    "super.users": "User:ANONYMOUS",
    "guardian.activity.slice.s": "1",
    "listener.name.sasl.plain.sasl.jaas.config": LOGIN.format(" ".join(f'user_{user}="{user}"' for user in USERS)),
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """What happened between two moments, in ms since the epoch, and nothing else did."""

    from_ms: int
    to_ms: int

    @property
    def options(self) -> tuple[str, str, str, str]:
        begin, end = (datetime.fromtimestamp(at_ms / 1000, UTC).isoformat() for at_ms in (self.from_ms, self.to_ms))
        return "--from", begin, "--to", end


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster "shop" and the member that collects from it; alice wrote first, then bob and carol read."""

    kafka: KafkaCluster
    endpoint: str
    http: str
    wrote: Span
    read: Span


def audit(endpoint: str, *words: str) -> Row:
    answer: Row = json.loads(run(endpoint, *words, "-o", "json")[0])
    return answer


def run(endpoint: str, *words: str) -> tuple[str, str]:
    """What it says, and what it notes on stderr."""
    result = CliRunner().invoke(app, ["audit", *words, "--endpoints", endpoint], catch_exceptions=False)
    is_unknown = "Nothing is known" in result.stderr  # of a time of which no slice has come yet
    assert result.exit_code == (UNKNOWN if is_unknown else DONE), result.output
    return result.stdout, result.stderr


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def client(kafka: KafkaCluster, user: str, client_id: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": kafka.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": user,
        "client.id": client_id,
    }


def allow(admin: AdminClient) -> None:
    """Who may do what; dave has a right that he never uses."""
    topic, group, operation = ResourceType.TOPIC, ResourceType.GROUP, AclOperation
    rules = [
        (topic, "orders", "alice", operation.WRITE),
        (topic, "unread", "alice", operation.WRITE),
        (topic, "orders", "bob", operation.READ),
        (group, "billing", "bob", operation.READ),
        (topic, "orders", "dave", operation.READ),
        (group, "billing", "dave", operation.DELETE),
        (topic, "made", "ops", operation.CREATE),
        (topic, "made", "ops", operation.DELETE),
        (topic, "made", "ops", operation.ALTER_CONFIGS),
    ]
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", granted, AclPermissionType.ALLOW)
        for kind, name, user, granted in rules
    ]
    prefixed = (ResourcePatternType.PREFIXED, "User:carol", "*", operation.READ, AclPermissionType.ALLOW)
    bindings.append(AclBinding(topic, "cl", *prefixed))
    for result in admin.create_acls(bindings).values():
        result.result(PATIENCE_S)


def administrate(kafka: KafkaCluster) -> None:
    """Ops makes a topic, alters it and deletes it: all of which a controller authorizes."""
    admin = AdminClient(client(kafka, "ops", "ops-tool"))
    admin.create_topics([NewTopic("made", 1, 1)])["made"].result(PATIENCE_S)
    longer = ConfigEntry("retention.ms", "1000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "made", incremental_configs=[longer])

    def altered() -> bool:
        """A broker that has not heard of the topic yet does not know it."""
        with suppress(KafkaException):
            admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
            return True
        return False

    wait_for("altered topic", altered)
    admin.delete_topics(["made"])["made"].result(PATIENCE_S)


def write(kafka: KafkaCluster) -> None:
    producer = Producer({**client(kafka, "alice", "shop"), "linger.ms": 0})
    failures: list[object] = []
    for topic, partition in (("orders", 0), ("orders", 1), ("unread", 0)):
        for _ in range(3):
            producer.produce(
                topic, b"x" * 1000, partition=partition, on_delivery=lambda error, _: failures.append(error)
            )
            assert producer.flush(PATIENCE_S) == 0
    assert failures == [None] * 9


def read(kafka: KafkaCluster) -> None:
    """Bob takes what alice wrote, as a group; carol looks at an empty topic; mallory is kept out."""
    bob = Consumer({**client(kafka, "bob", "billing-app"), "group.id": "billing", "auto.offset.reset": "earliest"})
    bob.subscribe(["orders"])
    taken: list[object] = []

    def took_all() -> bool:
        message = bob.poll(0.2)
        if message is not None and message.error() is None:
            taken.append(message)
        return len(taken) == 6

    wait_for("orders for bob", took_all)
    bob.close()
    to_the_end = {"group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True}
    carol = Consumer({**client(kafka, "carol", "analysis"), **to_the_end})
    carol.assign([TopicPartition("clicks", 0, 0)])
    wait_for("end of clicks for carol", lambda: is_at_end(carol.poll(0.2)))
    carol.close()
    mallory = Consumer({**client(kafka, "mallory", "intruder"), "group.id": "none"})
    with suppress(KafkaException):
        mallory.list_topics("orders", timeout=PATIENCE_S)
    mallory.close()


def is_at_end(message: Message | None) -> bool:
    error = message.error() if message is not None else None
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def wait_past(endpoint: str, at_ms: int) -> None:
    """Returns when a slice that began later is stored of every broker: followers keep all of them busy."""

    def is_past(broker: int) -> bool:
        try:
            rows = audit(endpoint, "broker", "--cluster", "shop", str(broker), "--since", "1h")["rows"]
        except Unavailable:  # the activity store is still starting
            return False
        return any(int(row["last_ms"]) > at_ms for row in rows)

    for broker in BROKERS:
        wait_for(f"later slice of broker {broker}", lambda broker=broker: is_past(broker))  # type: ignore[misc]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("audited")
    spec = ClusterSpec("shop", brokers=2, log_dirs=1, sasl=True, heap_mb=256, settings=SETTINGS)
    with ExitStack() as stack:
        group = members.plan_members(1, home)
        member = members.start_member(group[0], group, home / "lake", home / "g1.log")
        assert member.process is not None
        stack.callback(processes.stop_all, [member.process])
        kafka = stack.enter_context(KafkaCluster.start(spec, home / "kafka"))
        members.wait_ready([member])
        with GuardianClient([member.grpc], timeout_s=CALL_S) as guardian:
            register(guardian, kafka.to_cluster(sasl=False))
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        topics: dict[str, dict[int, tuple[int, ...]]] = {"orders": {0: (1, 2), 1: (2, 1)}}
        topics |= {name: {0: (1, 2)} for name in ("unread", "clicks", "clearing")}
        data.create_topics(kafka.to_cluster(sasl=False), topics, {}, PATIENCE_S)
        allow(admin)
        administrate(kafka)

        begin = now_ms()
        wait_past(member.grpc, begin)
        wrote_from = now_ms()
        write(kafka)
        wrote_to = now_ms()
        wait_past(member.grpc, wrote_to)
        read_from = now_ms()
        read(kafka)
        read_to = now_ms()
        wait_past(member.grpc, read_to)
        yield Site(kafka, member.grpc, member.http, Span(wrote_from, wrote_to), Span(read_from, read_to))


def test_who_wrote_and_who_read_a_topic_between_two_times(site: Site) -> None:
    def users(span: Span) -> dict[tuple[str, str, str], Row]:
        reply = audit(site.endpoint, "topic", "--cluster", "shop", "orders", *span.options)
        assert reply["coverage"]["brokers"] == len(BROKERS)
        assert (reply["coverage"]["dropped_events"], reply["coverage"]["lost_slices"]) == ("0", "0")
        return {(row["principal"], row["client_id"], row["operation"]): row for row in reply["rows"]}

    written, found = users(site.wrote), users(site.read)
    alice = written["User:alice", "shop", "WRITE"]
    assert (alice["address"], alice["brokers"]) == ("127.0.0.1", 2)
    assert int(alice["allowed"]) >= 6  # a request that is sent again is authorized again
    # Guardian's detectors describe topics and their configurations meanwhile, and read and write none.
    describing = ("DESCRIBE", "DESCRIBE_CONFIGS")
    assert {who for who, _, operation in written if operation not in describing} == {"User:alice"}
    assert int(found["User:bob", "billing-app", "READ"]["allowed"]) > 0
    assert "User:alice" not in {who for who, _, _ in found}
    refused = found["User:mallory", "intruder", "DESCRIBE"]
    assert refused["allowed"] == "0"
    assert int(refused["denied"]) > 0


@pytest.mark.parametrize("broker", BROKERS)
def test_what_a_broker_did_then_and_for_whom(site: Site, broker: int) -> None:
    rows = audit(site.endpoint, "broker", "--cluster", "shop", str(broker), *site.wrote.options)["rows"]
    done = {(row["principal"], row["resource"], row["operation"]): row["allowed"] for row in rows}
    assert int(done["User:alice", "orders", "WRITE"]) >= 3  # it leads one of the two partitions
    assert ("User:ANONYMOUS", "kafka-cluster", "CLUSTER_ACTION") in done
    assert not any(principal == "User:bob" for principal, _, _ in done)


def test_what_a_principal_did(site: Site) -> None:
    rows = audit(site.endpoint, "principal", "--cluster", "shop", "bob", *site.read.options)["rows"]
    done = {(row["resource_type"], row["resource"], row["operation"]) for row in rows if row["allowed"] != "0"}
    assert {("TOPIC", "orders", "READ"), ("GROUP", "billing", "READ")} <= done
    assert {row["client_id"] for row in rows} == {"billing-app"}


def test_topics_that_nobody_reads_or_writes(site: Site) -> None:
    topics = audit(site.endpoint, "idle-topics", "--cluster", "shop", "--since", "1h")["topics"]
    idle = {topic["name"]: (topic["without_readers"], topic["without_writers"]) for topic in topics}
    assert idle == {"unread": (True, False), "clicks": (False, True), "clearing": (True, True)}


def test_acls_that_nobody_uses_or_that_are_too_wide_but_never_what_controllers_authorize(site: Site) -> None:
    reply = audit(site.endpoint, "acls", "--cluster", "shop", "--since", "1h")
    verdicts = {
        (acl["principal"].removeprefix("User:"), acl["operation"], acl["resource_name"]): acl["verdict"]
        for acl in reply["acls"]
    }
    assert verdicts["alice", "WRITE", "orders"] == verdicts["bob", "READ", "orders"] == "ACL_USED"
    assert verdicts["bob", "READ", "billing"] == "ACL_USED"
    assert verdicts["dave", "READ", "orders"] == verdicts["dave", "DELETE", "billing"] == "ACL_UNUSED"
    assert verdicts["carol", "READ", "cl"] == "ACL_TOO_WIDE"
    (carols,) = [acl for acl in reply["acls"] if acl["principal"] == "User:carol"]
    assert (carols["names"], carols["names_covered"]) == (["clicks"], 2)
    # Ops used these, before a controller: where none tells of it, nobody can say.
    for operation in ("CREATE", "DELETE", "ALTER_CONFIGS"):
        assert verdicts["ops", operation, "made"] in ("ACL_UNSEEN", "ACL_USED")
    assert verdicts["ops", "CREATE", "made"] == "ACL_UNSEEN"
    table, notes = run(site.endpoint, "acls", "--cluster", "shop", "--since", "1h")
    assert "unseen    User:ops" in table
    assert "controllers authorize" in notes


def test_the_leaders_detectors_tell_what_is_weak_without_being_asked(site: Site) -> None:
    """Acknowledged data may be on one of two copies: min.insync.replicas is 1, as Kafka has it."""

    def told() -> list[Row]:
        result = CliRunner().invoke(app, ["findings", "--cluster", "shop", "-o", "json", "--endpoints", site.endpoint])
        assert result.exit_code == 0, result.output
        wanted = ("TOPIC_WEAK", "topic orders")
        return [each for each in json.loads(result.stdout)["findings"] if (each["kind"], each["subject"]) == wanted]

    wait_for("finding", told)
    (finding,) = told()
    assert finding["cluster"] == "shop"
    assert "acks=all may be on the leader alone" in finding["evidence"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{site.http}/metrics", timeout=PATIENCE_S) as page:
        assert 'guardian_findings{cluster="shop",kind="topic_weak"}' in page.read().decode()
