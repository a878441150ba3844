"""Healing on real brokers, by a member that an operator runs: a dead broker, one that is back, a log dir that fails."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local import leftovers, members, processes
from deploy.local.answering import register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import PartitionState
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import insight_pb2 as pb
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

BROKER_GRACE_S = 20.0
LONG_GRACE_S = 3600.0  # however long a broker takes to start, it is back by then
TOPIC = "orders"
PARTITIONS = 8
RECORDS = 100
RECORD_BYTES = 10_000
SETTINGS = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500", "min.insync.replicas": "2"}
HEALING = """
[healing]
broker_grace_s = 3600.0

[healing.clusters."healed*"]
mode = "act"
broker_grace_s = {grace_s}
log_dir_grace_s = 5.0
storm_share = 0.25
rest_s = 60.0
"""


class Healed:
    """A cluster of four brokers, each in a rack of its own, and one member that heals it."""

    def __init__(self, kafka: KafkaCluster, federation: Federation, client: GuardianClient, control: KafkaControl):
        self.kafka = kafka
        self.federation = federation
        self.client = client
        self.control = control

    def waits_for_brokers(self, grace_s: float) -> None:
        """The member goes on with this grace period."""
        (member,) = self.federation.members
        if member.process is not None:
            processes.stop_all([member.process])
        home = member.data.parent
        started = members.start_member(
            member, [member], home / "lake", home / "member.log", more=HEALING.format(grace_s=grace_s)
        )
        self.federation.members = [started]
        members.wait_ready(self.federation.members)
        self.wait_for("a first look", lambda: self.client.healing(self.kafka.name).clusters[0].looked_at_ms)

    def tickets(self) -> list[Ticket]:
        """Healing's, the oldest first."""
        return [ticket for ticket in reversed(self.client.tickets()) if ticket.author == "healing"]

    def partitions(self) -> dict[TopicPartition, PartitionState]:
        return self.control.describe_partitions([TOPIC])

    def found(self, kind: int) -> list[pb.Finding]:
        return [finding for finding in self.client.findings(self.kafka.name).findings if finding.kind == kind]

    def is_whole(self) -> bool:
        return all(len(state.isr) == 3 for state in self.partitions().values())

    def offsets(self) -> dict[TopicPartition, int]:
        return data.end_offsets(self.kafka.to_cluster(), [TOPIC], PATIENCE_S)

    def why(self) -> str:
        report = self.client.healing(self.kafka.name)
        tickets = [(ticket.id, ticket.state.name, ticket.history[-1].reason) for ticket in self.tickets()]
        return f"{report}\n{tickets}\n{self.partitions()}"

    def wait_for(self, what: str, holds: Callable[[], object]) -> None:
        wait_for(what, holds, story=self.why)


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Healed]:
    home = tmp_path_factory.mktemp("healing")
    spec = ClusterSpec("healed", brokers=4, log_dirs=2, plugin=False, racks=("a", "b", "c", "d"), settings=SETTINGS)
    with KafkaCluster.start(spec, home / "kafka") as kafka:
        federation = Federation(home)
        try:
            (planned,) = members.plan_members(1, home)
            started = members.start_member(
                planned, [planned], home / "lake", home / "member.log", more=HEALING.format(grace_s=LONG_GRACE_S)
            )
            federation.members = [started]
            members.wait_ready(federation.members)
            with (
                GuardianClient(federation.endpoints, timeout_s=CALL_S) as client,
                closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as control,
            ):
                register(client, kafka.to_cluster())
                _fill(kafka)
                yield Healed(kafka, federation, client, control)
        finally:
            processes.stop_all([member.process for member in federation.members if member.process])


def _fill(kafka: KafkaCluster) -> None:
    cluster = kafka.to_cluster()
    replicas = {number: tuple((number + step) % 4 + 1 for step in range(3)) for number in range(PARTITIONS)}
    data.create_topics(cluster, {TOPIC: replicas}, {"min.insync.replicas": "2"}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for number in range(PARTITIONS):
        for sequence in range(RECORDS):
            producer.produce(TOPIC, sequence.to_bytes(RECORD_BYTES, "big"), partition=number)
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.long
def test_a_killed_broker_that_is_back_within_its_grace_period_costs_no_move(healed: Healed) -> None:
    healed.wait_for("a first look", lambda: healed.client.healing("healed").clusters[0].looked_at_ms)
    before = {partition: state.replicas for partition, state in healed.partitions().items()}
    offsets, configs = healed.offsets(), leftovers.dynamic_configs(healed.control)
    healed.kafka.kill_broker(2)
    healed.wait_for("a finding", lambda: healed.found(pb.BROKER_DOWN))
    status = healed.client.healing("healed").clusters[0]
    (trouble,) = [each for each in status.troubles if each.kind == pb.BROKER_DOWN]
    assert (trouble.subject, trouble.phase) == ("broker 2", "grace"), trouble
    healed.kafka.start_broker(2)
    healed.wait_for("the end of the finding", lambda: not healed.found(pb.BROKER_DOWN))
    healed.wait_for("a whole cluster", healed.is_whole)
    # A grace period that ended now would find nothing to heal either.
    healed.waits_for_brokers(BROKER_GRACE_S)
    looks = healed.client.healing("healed").clusters[0]
    over_ms = looks.looked_at_ms + 1000 * (BROKER_GRACE_S + 10)
    healed.wait_for("another look", lambda: healed.client.healing("healed").clusters[0].looked_at_ms > over_ms)
    assert healed.tickets() == []
    assert healed.control.list_reassignments() == {}
    assert {partition: state.replicas for partition, state in healed.partitions().items()} == before
    assert healed.offsets() == offsets
    assert leftovers.of_cluster(healed.control, configs) == []


def test_a_killed_broker_that_stays_away_has_its_replicas_rebuilt_elsewhere(healed: Healed, guardian: Cli) -> None:
    healed.waits_for_brokers(BROKER_GRACE_S)
    known = {ticket.id for ticket in healed.tickets()}
    offsets, configs = healed.offsets(), leftovers.dynamic_configs(healed.control)
    began = time.monotonic()
    healed.kafka.kill_broker(4)
    healed.wait_for("new places", lambda: not any(4 in state.replicas for state in healed.partitions().values()))
    healed.wait_for("a whole cluster", healed.is_whole)
    print(f"whole again {time.monotonic() - began:.1f} s after kill -9, {BROKER_GRACE_S:g} s of them grace")  # noqa: T201

    def ended() -> bool:
        return bool(tickets := healed.tickets()) and all(ticket.state.is_over for ticket in tickets)

    healed.wait_for("the end of its ticket", ended)
    (ticket,) = [ticket for ticket in healed.tickets() if ticket.id not in known]
    assert (ticket.state, ticket.kind) == (TicketState.SUCCEEDED, "heal"), ticket
    assert ticket.evidence.startswith("broker_down broker 4: broker 4 is fenced or gone"), ticket.evidence
    assert healed.offsets() == offsets
    shown = guardian(healed.federation, "healing", "status", "--cluster", "healed")
    assert shown.returncode == 0, shown.stderr
    assert "broker down: broker 4" in shown.stdout
    assert ticket.id in shown.stdout
    policy = guardian(healed.federation, "healing", "policy", "--cluster", "healed")
    assert "act" in policy.stdout.splitlines()[1]
    healed.kafka.start_broker(4)
    healed.wait_for("the end of the finding", lambda: not healed.found(pb.BROKER_DOWN))
    assert leftovers.of_cluster(healed.control, configs) == []


@pytest.mark.long
def test_the_replicas_of_a_log_dir_that_fails_move_to_another_broker(healed: Healed) -> None:
    known = {ticket.id for ticket in healed.tickets()}
    healed.wait_for("four brokers", lambda: len(healed.control.describe_cluster().brokers) == 4)
    offsets, configs = healed.offsets(), leftovers.dynamic_configs(healed.control)
    log_dirs = healed.control.describe_log_dirs([1])
    victim = max(log_dirs, key=lambda log_dir: len(log_dir.replicas))
    lost = sorted(victim.replicas)
    assert lost
    path = Path(victim.path)
    path.rename(path.with_name(path.name + "-gone"))
    path.write_text("no directory: as root, permissions would stop nobody")

    def is_offline() -> bool:
        return any(log_dir.error for log_dir in healed.control.describe_log_dirs([1]))

    healed.wait_for("a log dir that is offline", is_offline)
    assert healed.kafka.broker(1).pid is not None
    healed.wait_for("a new place", lambda: not any(1 in healed.partitions()[name].replicas for name in lost))
    healed.wait_for("a whole cluster", healed.is_whole)
    healed.wait_for("the end of its ticket", lambda: all(ticket.state.is_over for ticket in healed.tickets()))
    (ticket,) = [ticket for ticket in healed.tickets() if ticket.id not in known]
    assert (ticket.state, ticket.moves) == (TicketState.SUCCEEDED, len(lost)), ticket
    assert f"log_dir_offline broker 1, log dir {victim.path}: " in ticket.evidence
    assert healed.offsets() == offsets
    assert leftovers.of_cluster(healed.control, configs) == []
    healed.wait_for("a finding that stays", lambda: healed.found(pb.LOG_DIR_OFFLINE))
