"""The service as an operator meets it: the CLI, three members as processes, real brokers.

The main job but for Spark, which test_spark_balance and `make demo` run: a file of kafka-reassign-partitions becomes a
ticket, is approved, carried out under a throttle, survives the death of the leader; and bad input changes nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from deploy.local import federation, leftovers, processes
from deploy.local.answering import register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.ports import pick
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import insight_pb2
from tests.integration.leading import who_leads
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

RECORDS = 300
RECORD_BYTES = 10_000
RATE_KEYS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, kafka_cluster: KafkaCluster) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("tickets")
    try:
        group = federation.up(members=3, clusters=0, home=home)
        with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka_cluster.to_cluster(sasl=False))
        yield group
    finally:
        federation.wipe(home)


@pytest.fixture
def client(members: Federation) -> Iterator[GuardianClient]:
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        yield client


@pytest.fixture
def admin(kafka_cluster: KafkaCluster) -> Iterator[KafkaControl]:
    with closing(KafkaControl(kafka_cluster.to_cluster(sasl=False), CONTROL_S)) as admin:
        yield admin


@pytest.fixture
def topic(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> str:
    """Six partitions on brokers 1 and 2, 3 MB each: at 500 kB/s their copies last for many ticks,
    though Kafka lets ten seconds' worth pass at once."""
    name = new_topic()
    cluster = kafka_cluster.to_cluster(sasl=False)
    data.create_topics(cluster, {name: dict.fromkeys(range(6), (1, 2))}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for partition in range(6):
        for sequence in range(RECORDS):
            producer.produce(name, sequence.to_bytes(RECORD_BYTES, "big"), partition=partition)
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    return name


def reassignment(topic: str, *replicas: list[int], version: int = 1) -> str:
    partitions = [{"topic": topic, "partition": n, "replicas": chosen} for n, chosen in enumerate(replicas)]
    return json.dumps({"version": version, "partitions": partitions})


def read_back(kafka_cluster: KafkaCluster, topic: str) -> dict[int, list[int]]:
    """The sequences of each partition, in order."""
    found: dict[int, list[int]] = {}
    cluster = kafka_cluster.to_cluster(sasl=False)
    ends = data.end_offsets(cluster, [topic], PATIENCE_S)
    with closing(data.consumer(cluster, f"read-{topic}", auto_offset_reset="earliest")) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + PATIENCE_S
        while sum(map(len, found.values())) < sum(ends.values()) and time.monotonic() < deadline:
            for message in consumer.consume(500, timeout=1.0):
                value, partition = message.value(), message.partition()
                if value is not None and partition is not None:
                    found.setdefault(partition, []).append(int.from_bytes(value, "big"))
    return found


def test_a_file_becomes_a_ticket_and_survives_the_death_of_the_leader(
    guardian: Cli,
    members: Federation,
    client: GuardianClient,
    admin: KafkaControl,
    kafka_cluster: KafkaCluster,
    topic: str,
    tmp_path: Path,
) -> None:
    configs = leftovers.dynamic_configs(admin)
    plan = tmp_path / "moves.json"
    plan.write_text(reassignment(topic, [3, 1], [3, 2], [2, 3], [1, 3], [2, 1], [3, 1]))

    dry_run = guardian(members, "ticket", "submit", "--plan", str(plan), "--cluster", "shared", "--dry-run")
    assert dry_run.returncode == 0, dry_run.stderr
    assert f"{topic}-0" in dry_run.stdout
    assert not [ticket for ticket in client.tickets() if ticket.moves == 6]

    submitted = guardian(
        members,
        "ticket",
        "submit",
        "--plan",
        str(plan),
        "--cluster",
        "shared",
        "--throttle",
        "500k",
        "--reason",
        "skew",
    )
    assert submitted.returncode == 0, submitted.stderr
    ticket_id = submitted.stdout.split()[1]
    assert client.ticket(ticket_id)[0].state is TicketState.PENDING
    assert guardian(members, "ticket", "approve", ticket_id).returncode == 0

    def tasks(*states: TaskState) -> int:
        execution = client.ticket(ticket_id)[1]
        return sum(task.state in states for task in execution.tasks) if execution else 0

    wait_for("a throttle on the brokers", lambda: any(_rates(admin)))
    wait_for("a task under way", lambda: tasks(TaskState.RUNNING) > 0)
    leads = who_leads(client)
    victim = next(member for member in members.members if member.name == leads)
    assert victim.process is not None
    assert tasks(TaskState.DONE) < 6  # asked afterwards, the next leader may have done them all before it answers
    processes.kill(victim.process)

    watched = guardian(members, "ticket", "watch", ticket_id)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "SUCCEEDED" in watched.stdout.splitlines()[-1]
    partitions = admin.describe_partitions([topic])
    assert [partitions[TopicPartition(topic, n)].replicas for n in range(6)] == [
        (3, 1),
        (3, 2),
        (2, 3),
        (1, 3),
        (2, 1),
        (3, 1),
    ]
    assert all(state.leader == state.replicas[0] for state in partitions.values())
    assert leftovers.of_cluster(admin, configs) == []
    assert read_back(kafka_cluster, topic) == {n: list(range(RECORDS)) for n in range(6)}

    again = federation.up(members=3, clusters=0, home=members.home)
    members.members = again.members
    views = []
    for endpoint in members.endpoints:
        with GuardianClient([endpoint], timeout_s=CALL_S) as member:
            views.append(member.ticket(ticket_id))
    assert len(views) == 3
    assert all(view == views[0] for view in views)


def test_a_cancelled_ticket_leaves_the_replicas_as_they_were(
    guardian: Cli, members: Federation, client: GuardianClient, admin: KafkaControl, topic: str, tmp_path: Path
) -> None:
    configs = leftovers.dynamic_configs(admin)
    plan = tmp_path / "moves.json"
    plan.write_text(reassignment(topic, *[[3, 2]] * 6))
    submitted = guardian(members, "ticket", "submit", "--plan", str(plan), "--cluster", "shared", "--throttle", "100k")
    ticket_id = submitted.stdout.split()[1]
    guardian(members, "ticket", "approve", ticket_id)
    wait_for("a reassignment", lambda: any(tp.topic == topic for tp in admin.list_reassignments()))
    cancelled = guardian(members, "ticket", "cancel", ticket_id, "--reason", "consumers lag")
    assert cancelled.returncode == 0, cancelled.stderr
    watched = guardian(members, "ticket", "watch", ticket_id)
    assert watched.returncode == 1
    assert "CANCELLED" in watched.stdout.splitlines()[-1]
    ticket, execution = client.ticket(ticket_id)
    assert ticket.state is TicketState.CANCELLED
    assert execution is not None
    done = {task.move.partition.partition for task in execution.tasks if task.state is TaskState.DONE}
    partitions = admin.describe_partitions([topic])
    for number in range(6):
        expected = (3, 2) if number in done else (1, 2)
        assert partitions[TopicPartition(topic, number)].replicas == expected
    assert len(done) < 6
    assert leftovers.of_cluster(admin, configs) == []


def test_the_same_idempotency_key_makes_one_ticket(
    guardian: Cli, members: Federation, topic: str, tmp_path: Path
) -> None:
    plan = tmp_path / "moves.json"
    plan.write_text(reassignment(topic, [2, 1]))
    command = ("ticket", "submit", "--plan", str(plan), "--cluster", "shared", "--idempotency-key", topic)
    first, second = guardian(members, *command), guardian(members, *command)
    assert first.stdout == second.stdout
    ticket_id = first.stdout.split()[1]
    assert guardian(members, "ticket", "reject", ticket_id).returncode == 0
    late = guardian(members, "ticket", "approve", ticket_id)
    assert late.returncode == 2
    assert late.stderr == f"Error: ticket {ticket_id} is REJECTED: only a PENDING ticket can be approved\n"


def test_bad_plans_get_one_sentence_and_change_nothing(
    guardian: Cli,
    members: Federation,
    client: GuardianClient,
    admin: KafkaControl,
    kafka_cluster: KafkaCluster,
    topic: str,
    tmp_path: Path,
) -> None:
    deleted = f"{topic}-deleted"
    cluster = kafka_cluster.to_cluster(sasl=False)
    data.create_topics(cluster, {deleted: {0: (1, 2)}}, {}, PATIENCE_S)
    data.delete_topics(cluster, [deleted], PATIENCE_S)
    files = {
        "an unknown broker": (reassignment(topic, [3, 9]), f"broker 9 of {topic}-0 is not in cluster shared"),
        "a topic that is being deleted": (reassignment(deleted, [2, 3]), f"{deleted}"),
        "a partition that is not there": (reassignment(topic, *[[1, 3]] * 7), f"{topic}-6"),
        "a change of the replication factor": (reassignment(topic, [3]), "replication factor"),
        "a malformed file": ('{"version":1,"partitions":[{"topic":"t"', "JSON"),
        "a wrong type": ('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":"1,2"}]}', "replicas"),
        "another version": (reassignment(topic, [3, 1], version=7), "version is 7"),
        "nothing to do": (reassignment(topic, [1, 2]), "nothing to do"),
    }
    before = (client.tickets(), admin.describe_partitions(), leftovers.dynamic_configs(admin))
    for what, (text, expected) in files.items():
        plan = tmp_path / "bad.json"
        plan.write_text(text)
        refused = guardian(members, "ticket", "submit", "--plan", str(plan), "--cluster", "shared")
        assert refused.returncode == 2, (what, refused.stdout, refused.stderr)
        assert refused.stdout == "", what
        assert refused.stderr.startswith("Error: "), (what, refused.stderr)
        assert refused.stderr.count("\n") == 1, (what, refused.stderr)
        assert expected in refused.stderr, (what, refused.stderr)
    unknown = guardian(members, "ticket", "submit", "--plan", str(plan), "--cluster", "nowhere")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "cluster 'nowhere' is not registered" in unknown.stderr
    assert (client.tickets(), admin.describe_partitions(), leftovers.dynamic_configs(admin)) == before


def test_a_cluster_that_is_down_or_refuses_the_password_is_not_registered(
    guardian: Cli, members: Federation, client: GuardianClient, kafka_cluster: KafkaCluster
) -> None:
    secrets = members.home / "secrets"
    secrets.mkdir(exist_ok=True)
    (secrets / "wrong").write_text("not the password")
    before = client.list_clusters()
    sasl = ("--protocol", "SASL_PLAINTEXT", "--mechanism", "SCRAM-SHA-512", "--username", kafka_cluster.sasl_username)
    cases = {
        "down": (("--bootstrap", f"127.0.0.1:{pick(1)[0]}"), "can't be reached"),
        "refused": (("--bootstrap", kafka_cluster.sasl_bootstrap, *sasl, "--password-secret", "wrong"), "password"),
    }
    for name, (options, expected) in cases.items():
        refused = guardian(members, "cluster", "add", name, *options)
        assert refused.returncode == 2, (name, refused.stdout, refused.stderr)
        assert refused.stderr.count("\n") == 1, refused.stderr
        assert expected in refused.stderr, refused.stderr
        assert client.list_clusters() == before
    # The cluster that is registered may change how Guardian logs in: that it was accepted shows that it was tried.
    right = ("--bootstrap", kafka_cluster.sasl_bootstrap, *sasl)
    shutil.copy(kafka_cluster.sasl_password_file, secrets / "right")
    added = guardian(members, "cluster", "add", "shared", *right, "--password-secret", "right")
    assert added.returncode == 0, added.stderr
    assert client.list_clusters()[0].security.username == kafka_cluster.sasl_username
    restored = guardian(members, "cluster", "add", "shared", "--bootstrap", kafka_cluster.bootstrap)
    assert restored.returncode == 0, restored.stderr
    assert client.list_clusters()[0].bootstrap == kafka_cluster.bootstrap


def test_grpc_health_and_reflection_are_served(members: Federation) -> None:
    with grpc.insecure_channel(members.endpoints[0]) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        services = set(ProtoReflectionDescriptorDatabase(channel).get_services())
    assert {f"guardian.v1.{name}" for name in ("Federation", "Tickets", "Tiering")} <= services


def _rates(admin: KafkaControl) -> list[str]:
    resources = [(BROKER, str(broker)) for broker in admin.describe_cluster().brokers]
    found = admin.describe_configs([*resources, (TOPIC, "none")])
    return [values[key] for values in found.values() for key in RATE_KEYS if key in values]


def test_the_durability_of_real_topics_is_told_and_what_a_loss_would_do(
    kafka_cluster: KafkaCluster, client: GuardianClient, new_topic: Callable[[], str]
) -> None:
    prefix, cluster = new_topic(), kafka_cluster.to_cluster(sasl=False)
    safe, single = f"{prefix}-safe", f"{prefix}-single"
    data.create_topics(cluster, {safe: {0: (1, 2, 3), 1: (2, 3, 1)}}, {"min.insync.replicas": "2"}, PATIENCE_S)
    data.create_topics(cluster, {single: {0: (3,)}}, {}, PATIENCE_S)
    register(client, cluster)  # another test registers it without its IDCs
    report = client.durability(cluster.name, [f"{prefix}-*"])
    rated = {topic.topic: topic for topic in report.topics}
    assert (rated[safe].rating, rated[safe].min_isr, rated[safe].survives_brokers) == (insight_pb2.SOUND, 2, 1)
    assert rated[single].reasons[0].startswith("replication factor 1")
    effects = {loss.name: (loss.offline, loss.unwritable) for loss in report.losses if loss.scope == "broker"}
    assert effects == {"1": (0, 0), "2": (0, 0), "3": (1, 0)}
    assert {loss.scope for loss in report.losses} == {"broker", "rack", "idc"}
