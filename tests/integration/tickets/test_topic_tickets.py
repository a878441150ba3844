"""Tickets about topics themselves, on two real brokers that count their clients: configurations set and restored, and
topics deleted after proof that nobody uses them. What became of it is told by librdkafka, not by Guardian.

Slices and collections take a second or two here; a hold is some seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from typer.testing import CliRunner

from deploy.local import members, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.model.ticket import TicketState
from tests.command_line import app
from tests.patience import CALL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

SETTINGS = {
    "authorizer.class.name": "guardian.kafka.GuardianAuthorizer",
    "super.users": "User:ANONYMOUS",
    "guardian.activity.slice.s": "1",
}
OLD_CONFIG = {"retention.ms": "777000", "cleanup.policy": "compact"}


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster "shop", which a member collects from."""

    kafka: KafkaCluster
    endpoint: str
    admin: AdminClient
    client: GuardianClient

    def configs(self, topic: str) -> dict[str, str]:
        """What is set on the topic itself."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        found = self.admin.describe_configs([resource])[resource].result(PATIENCE_S)
        return {key: entry.value for key, entry in found.items() if entry.source == 1}  # DYNAMIC_TOPIC_CONFIG

    def set_config(self, topic: str, key: str, value: str) -> None:
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def exists(self, topic: str) -> bool:
        return topic in self.admin.list_topics(timeout=PATIENCE_S).topics

    def write(self, topic: str) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "linger.ms": 0})
        failures: list[object] = []
        producer.produce(topic, b"x", key=b"k", on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(PATIENCE_S) == 0
        assert failures == [None]

    def ask(self, *words: str) -> str:
        """The output of a command about the cluster."""
        result = CliRunner().invoke(app, [*words, "--cluster", "shop", "--endpoints", self.endpoint])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    def run(self, *words: str) -> str:
        """The id of an approved ticket that a command asked for."""
        said = self.ask(*words)
        ticket_id = said.partition("Ticket ")[2].split()[0]
        if self.state(ticket_id) is TicketState.PENDING:
            self.client.approve(ticket_id, "ann")
        return ticket_id

    def state(self, ticket_id: str) -> TicketState:
        return self.client.ticket(ticket_id)[0].state

    def ended(self, ticket_id: str, end: TicketState) -> str:
        """The reason of the end, which is this one."""
        wait_for(f"end of {ticket_id}", lambda: self.state(ticket_id).is_over)
        ticket, _ = self.client.ticket(ticket_id)
        assert ticket.state is end, ticket.history[-1].reason
        return ticket.history[-1].reason


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("topics")
    spec = ClusterSpec("shop", brokers=2, log_dirs=1, heap_mb=256, settings=SETTINGS)
    with ExitStack() as stack:
        group = members.plan_members(1, home)
        member = members.start_member(group[0], group, home / "lake", home / "g1.log", kafka=MEMBER_KAFKA)
        assert member.process is not None
        stack.callback(processes.stop_all, [member.process])
        kafka = stack.enter_context(KafkaCluster.start(spec, home / "kafka"))
        members.wait_ready([member])
        client = stack.enter_context(GuardianClient([member.grpc], timeout_s=CALL_S))
        cluster = kafka.to_cluster(sasl=False)
        register(client, cluster)
        data.create_topics(cluster, {"old": {0: (1, 2), 1: (2, 1)}}, OLD_CONFIG, PATIENCE_S)
        data.create_topics(cluster, {name: {0: (1, 2)} for name in ("orders", "clicks", "logs")}, {}, PATIENCE_S)
        yield Site(kafka, member.grpc, AdminClient({"bootstrap.servers": kafka.bootstrap}), client)


def test_a_configuration_is_set_and_restored_unless_somebody_set_another(site: Site) -> None:
    site.set_config("logs", "segment.bytes", "20000000")
    words = ("topic", "config", "logs", "--set", "retention.ms=3600000", "--set", "segment.bytes=30000000")
    said = site.ask(*words, "--dry-run")
    assert "retention.ms of topic logs: not set -> 3600000" in said
    assert "segment.bytes of topic logs: 20000000 -> 30000000" in said
    assert site.configs("logs") == {"segment.bytes": "20000000"}, "a dry run changes nothing"
    ticket_id = site.run(*words)
    site.ended(ticket_id, TicketState.SUCCEEDED)
    wait_for("configuration", lambda: site.configs("logs") == {"retention.ms": "3600000", "segment.bytes": "30000000"})
    site.set_config("logs", "segment.bytes", "40000000")
    wait_for("foreign configuration", lambda: site.configs("logs")["segment.bytes"] == "40000000")
    site.client.roll_back(ticket_id, "ann")
    reason = site.ended(ticket_id, TicketState.ROLLED_BACK)
    assert "segment.bytes of topic logs was set to 40000000 by somebody else and is left alone" in reason
    wait_for("restored configuration", lambda: site.configs("logs") == {"segment.bytes": "40000000"})


def test_values_are_compared_as_kafka_shows_them(site: Site) -> None:
    values = ("min.cleanable.dirty.ratio=1", "cleanup.policy=compact, delete", "unclean.leader.election.enable=TRUE")
    words = [word for value in values for word in ("--set", value)]
    site.ended(site.run("topic", "config", "orders", *words), TicketState.SUCCEEDED)


def test_what_kafka_would_refuse_is_refused_before_there_is_a_ticket(site: Site) -> None:
    with pytest.raises(GuardianError, match=r"refuses the configuration of topic logs: .*[Ii]nvalid value soon"):
        site.ask("topic", "config", "logs", "--set", "retention.ms=soon")
    with pytest.raises(GuardianError, match="topic 'nowhere' is not in cluster shop"):
        site.ask("topic", "config", "nowhere", "--set", "retention.ms=1000")


def test_a_topic_of_which_no_use_is_proven_is_not_deleted(site: Site) -> None:
    with pytest.raises(GuardianError, match="who used the topics is not known: broker"):
        site.ask("topic", "delete", "old", "--idle", "30d", "--dry-run")
    assert site.exists("old")


def is_proven(site: Site, topic: str, idle_s: int) -> bool:
    """Whether the audit reaches back far enough, and nobody used the topic since."""
    with suppress(GuardianError):
        site.ask("topic", "delete", topic, "--idle", f"{idle_s}s", "--dry-run")
        return True
    return False


def test_a_topic_that_a_client_just_wrote_is_not_deleted(site: Site) -> None:
    wait_for("proof for orders", lambda: is_proven(site, "orders", 5))
    site.write("orders")

    def is_refused() -> bool:
        try:
            site.ask("topic", "delete", "orders", "--idle", "10m", "--dry-run")
        except GuardianError as error:
            return "topic orders was written in the last" in str(error)
        return False

    # Before that reaches back ten minutes, what is not known refuses it: ask for the time that is known.
    began = time.monotonic()

    def is_refused_for_its_use() -> bool:
        try:
            site.ask("topic", "delete", "orders", "--idle", f"{int(time.monotonic() - began) + 4}s", "--dry-run")
        except GuardianError as error:
            return "topic orders was written in the last" in str(error)
        return False

    wait_for("refusal", lambda: is_refused() or is_refused_for_its_use())
    assert site.exists("orders")


def test_an_unused_topic_is_deleted_after_its_hold_and_comes_back_in_its_form(site: Site) -> None:
    rule = (ResourceType.TOPIC, "old", ResourcePatternType.LITERAL, "User:ann", "*", AclOperation.READ)
    binding = AclBinding(*rule, AclPermissionType.ALLOW)
    for result in site.admin.create_acls([binding]).values():
        result.result(PATIENCE_S)
    wait_for("proof for old", lambda: is_proven(site, "old", 5))
    ticket_id = site.run("topic", "delete", "old", "--idle", "5s", "--hold", "3s")
    site.ended(ticket_id, TicketState.SUCCEEDED)
    wait_for("deletion", lambda: not site.exists("old"))
    any_of_old = AclBindingFilter(*rule[:5], AclOperation.ANY, AclPermissionType.ANY)
    site.client.roll_back(ticket_id, "ann")
    site.ended(ticket_id, TicketState.ROLLED_BACK)
    wait_for("topic made anew", lambda: site.exists("old"))
    partitions = site.admin.list_topics("old", timeout=PATIENCE_S).topics["old"].partitions
    assert {number: tuple(each.replicas) for number, each in partitions.items()} == {0: (1, 2), 1: (2, 1)}
    assert site.configs("old") == OLD_CONFIG
    assert site.admin.describe_acls(any_of_old).result(PATIENCE_S) == [binding], "it stays all the time"


@pytest.mark.long
def test_a_client_that_comes_in_the_hold_keeps_the_topic(site: Site) -> None:
    wait_for("proof for clicks", lambda: is_proven(site, "clicks", 5))
    ticket_id = site.run("topic", "delete", "clicks", "--idle", "5s", "--hold", "10m")
    wait_for("hold", lambda: site.state(ticket_id) is TicketState.RUNNING)
    site.write("clicks")
    reason = site.ended(ticket_id, TicketState.FAILED)
    assert "topic clicks was written" in reason
    assert site.exists("clicks")


@pytest.mark.long
def test_a_deletion_is_cancelled_in_its_hold(site: Site) -> None:
    wait_for("proof for logs", lambda: is_proven(site, "logs", 5))
    ticket_id = site.run("topic", "delete", "logs", "--idle", "5s", "--hold", "10m")
    wait_for("hold", lambda: site.state(ticket_id) is TicketState.RUNNING)
    site.client.cancel(ticket_id, "ann")
    site.ended(ticket_id, TicketState.CANCELLED)
    assert site.exists("logs")


def test_nobody_deletes_what_a_consumer_group_reads(site: Site) -> None:
    wait_for("proof for logs", lambda: is_proven(site, "logs", 5))

    consumer = Consumer({"bootstrap.servers": site.kafka.bootstrap, "group.id": "readers"})
    try:
        consumer.subscribe(["logs"])
        wait_for("assignment", lambda: consumer.poll(0.2) is None and bool(consumer.assignment()))
        with suppress(KafkaException):
            consumer.poll(0.2)
        assert not is_proven(site, "logs", 1)
    finally:
        consumer.close()
