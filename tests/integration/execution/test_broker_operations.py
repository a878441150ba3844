"""Brokers removed and restarted on real brokers, by three members whose leader dies in the middle, under load.

Five brokers in three racks. The hook stops and starts them as processes, as systemd would on machines.
"""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from deploy.local import broker_hook, leftovers, processes
from deploy.local.answering import once_answered, register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import PLANNER, Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import PartitionState
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind, HookRun, OperationPhase
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState, Cluster, TopicPartition
from guardian.replication.store.store import now_ms
from protos.guardian.v1 import federation_pb2
from tests.integration.acked_load import Load
from tests.integration.beside import beside
from tests.integration.leading import who_leads
from tests.integration.placement import placement
from tests.patience import CALL_S, CONTROL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

PLANNING_S = 300.0
LOOK_EVERY_S = 0.2
MAKE_EVERY_S = 1.0
ANSWER_S = 10.0
_NO_ANSWER = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT)
BROKERS = (1, 2, 3, 4, 5)
RELEASE = "4.1"  # of the cluster's feature levels: its brokers know higher ones
SETTINGS = {"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"}
PARTITIONS = 12
RECORD_BYTES = 20_000
NO_ROOM = r"broker 5 can't go: .*room for [\d.]+ [kM]B of disk, and [\d.]+ [kM]B can stand in no other rack"


@dataclass
class Stage:
    """A cluster, the folder of its hooks, and the members."""

    kafka: KafkaCluster
    folder: Path
    members: list[Member]
    start: Callable[[Member], Member]

    @property
    def cluster(self) -> Cluster:
        return self.kafka.to_cluster(sasl=False)

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("operations")
    spec = ClusterSpec("live", brokers=len(BROKERS), plugin=False, heap_mb=256, settings=SETTINGS, release=RELEASE)
    folder = home / "hooks"
    hooks = broker_hook.config_section(folder)
    with KafkaCluster.start(spec, home / "kafka") as kafka:
        broker_hook.save(kafka, folder)
        planned = plan_members(3, home)
        group: list[Member] = []

        def start(member: Member) -> Member:
            return start_member(
                member, planned, home / "lake", home / f"{member.name}.log", more=hooks, kafka=MEMBER_KAFKA
            )

        try:
            group += [start(each) for each in planned]
            wait_ready(group)
            with GuardianClient([member.grpc for member in group], timeout_s=CALL_S) as client:
                register(client, kafka.to_cluster(sasl=False))
            yield Stage(kafka, folder, group, start)
        finally:
            processes.stop_all([member.process for member in group if member.process])
            now = broker_hook.load(folder)
            for broker, known in zip(kafka.brokers, now.brokers, strict=True):
                broker.process = known.process


@pytest.fixture
def client(stage: Stage) -> Iterator[GuardianClient]:
    with GuardianClient(stage.endpoints, timeout_s=60.0) as client:
        yield client


@pytest.fixture
def admin(stage: Stage) -> Iterator[KafkaControl]:
    with closing(KafkaControl(stage.cluster, CONTROL_S)) as admin:
        yield admin


@dataclass
class Watch:
    """Looks at the in-sync replicas of a topic; `looks` are the times (ms) of those that had an answer: a broker that
    restarts may owe one."""

    cluster: Cluster
    topic: str
    min_isr: int
    looks: list[int] = field(default_factory=list)
    too_few: list[str] = field(default_factory=list)

    def __call__(self, over: threading.Event) -> None:
        with closing(KafkaControl(self.cluster, CONTROL_S)) as admin:
            while not over.wait(LOOK_EVERY_S):
                try:
                    states = admin.describe_partitions([self.topic])
                except GuardianError:
                    continue
                self.looks.append(now_ms())
                few = [f"{tp}: {state.isr}" for tp, state in states.items() if len(state.isr) < self.min_isr]
                self.too_few += few

    def during(self, run: HookRun) -> int:
        """How often it looked while the hook ran."""
        return sum(run.asked_at_ms <= at_ms <= run.ended_at_ms for at_ms in self.looks)


@dataclass
class TopicMaker:
    """Makes topics all along: where Kafka chooses the brokers, and ever more rarely on those that leave, so that they
    are empty at last, and once when they are shut down. What Kafka refuses of the latter, since they are down or gone,
    is counted. `made` is by the phase of the removal just before."""

    cluster: Cluster
    leaving: tuple[int, int]
    phase: Callable[[], OperationPhase | None]
    names: list[str] = field(default_factory=list)
    made: Counter[tuple[OperationPhase | None, str]] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)

    def __call__(self, over: threading.Event) -> None:
        number, is_late = 0, False
        while not over.wait(MAKE_EVERY_S):
            number += 1
            phase, name = self.phase(), f"new-{number}"
            is_first_late = phase is OperationPhase.SHUT_DOWN and not is_late
            is_late |= is_first_late
            is_explicit = is_first_late or number & (number + 1) == 0
            topic = NewTopic(name, 2, 3)
            if is_explicit:
                topic = NewTopic(name, 1, replica_assignment=[[*self.leaving, 3]])
            try:
                self._make(name, topic)
            except ClusterUnavailable as error:
                # Whoever had the request may have been the broker that is stopped: it may have been carried out.
                if not (is_explicit or _has_no_answer(error)):
                    raise
                self.refused.append(f"{name} in {phase}: {error}")
                continue
            self.names.append(name)
            self.made[phase, "explicit" if is_explicit else "chosen"] += 1

    def _make(self, name: str, topic: NewTopic) -> None:
        """With a client of its own, which knows no broker that is gone."""
        with data._admin(self.cluster, ANSWER_S) as admin:
            admin.create_topics([topic], request_timeout=ANSWER_S)[name].result(2 * ANSWER_S)


def _has_no_answer(error: ClusterUnavailable) -> bool:
    cause = error.__cause__
    return not isinstance(cause, KafkaException) or cause.args[0].code() in _NO_ANSWER


def written(cluster: Cluster, topic: str, replicas: Sequence[tuple[int, ...]], records: int) -> None:
    data.create_topics(cluster, {topic: dict(enumerate(replicas))}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=20)
    for partition in range(len(replicas)):
        for sequence in range(records):
            producer.produce(topic, sequence.to_bytes(RECORD_BYTES, "big"), partition=partition)
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def spread(count: int) -> list[tuple[int, ...]]:
    """Three replicas on three racks (1 4, 2 5, 3), leaders everywhere."""
    racks = ((1, 4), (2, 5), (3,))
    found = []
    for number in range(count):
        chosen = [rack[(number // 3) % len(rack)] for rack in racks]
        turn = number % 3
        found.append(tuple(chosen[turn:] + chosen[:turn]))
    return found


def approved(client: GuardianClient, ask: Ask, throttle: int = 0) -> str:
    ticket, _ = once_answered(
        lambda: client.ask_for("live", ask, author="ann", submit=True, throttle=throttle, reason="a test")
    )
    client.approve(ticket.id, "bob")
    return ticket.id


def finished(client: GuardianClient, ticket_id: str) -> tuple[Ticket, Execution]:
    found: list[tuple[Ticket, Execution | None]] = []

    def is_over() -> bool:
        found[:] = [client.ticket(ticket_id)]
        return found[0][0].state.is_over or found[0][0].state is TicketState.PAUSED

    wait_for(f"the end of {ticket_id}", is_over)
    ticket, execution = found[0]
    assert ticket.state is TicketState.SUCCEEDED, (ticket.history[-1].reason, execution)
    assert execution is not None
    return ticket, execution


def kill_leader(stage: Stage, client: GuardianClient) -> None:
    """It comes back as a follower."""
    leader = who_leads(client)
    victim = next(index for index, member in enumerate(stage.members) if member.name == leader)
    process = stage.members[victim].process
    assert process is not None
    processes.kill(process)
    stage.members[victim] = stage.start(replace(stage.members[victim], process=None))


def phase(client: GuardianClient, ticket_id: str) -> OperationPhase | None:
    execution = client.ticket(ticket_id)[1]
    return execution.operation.phase if execution and execution.operation else None


def exclusions(client: GuardianClient) -> list[int]:
    return [entry.exclusion.broker_id for entry in client.federation(federation_pb2.EXCLUSIONS)]


def test_a_rolling_restart_under_load_loses_no_write_and_leaves_the_leaders_as_before(
    stage: Stage, client: GuardianClient, admin: KafkaControl
) -> None:
    written(stage.cluster, "orders", spread(PARTITIONS), 20)
    before = placement(admin, "orders")
    started = {broker.id: broker.pid for broker in broker_hook.load(stage.folder).brokers}

    with pytest.raises(InvalidInput, match="hook is 'none-such'"):
        client.ask_for("live", Ask(AskKind.RESTART, BROKERS, hook="none-such"), author="ann", dry_run=True)
    version = admin.metadata_version()
    old, new = version.level, version.highest
    assert old < new
    ask = Ask(AskKind.RESTART, BROKERS, hook="local", finalize=True)
    _, rehearsed = once_answered(lambda: client.ask_for("live", ask, author="ann", dry_run=True))
    assert rehearsed is not None
    assert rehearsed.notes[0].startswith("batch 1: ")
    assert rehearsed.notes[-1].startswith(f"then metadata.version {old} -> {new}")
    assert {broker.id: broker.pid for broker in broker_hook.load(stage.folder).brokers} == started

    watch = Watch(stage.cluster, "orders", min_isr=2)
    with Load(stage.cluster, "orders") as load, beside(watch):
        ticket_id = approved(client, ask)
        wait_for("a restart", lambda: phase(client, ticket_id) is OperationPhase.RESTART)
        kill_leader(stage, client)
        ticket, execution = finished(client, ticket_id)
    assert load.failures == []
    assert ticket.history[-1].reason.endswith(f"; metadata.version raised from {old} to {new}")
    wait_for("a broker to tell the new level", lambda: admin.metadata_version().level == new)
    assert load.sent > 100
    assert watch.too_few == []
    assert execution.operation is not None
    runs = {work.node: work.hook for work in execution.operation.brokers if work.hook is not None}
    assert runs.keys() == set(BROKERS)
    # No broker was away without looks.
    assert min(watch.during(run) for run in runs.values()) >= 2, (runs, watch.looks)
    now = broker_hook.load(stage.folder)
    assert all(broker.pid not in (None, started[broker.id]) for broker in now.brokers)
    wait_for("the leaders of before", lambda: placement(admin, "orders") == before)
    registered = next(each for each in client.list_clusters() if each.name == "live")
    assert {broker.state for broker in registered.brokers} == {BrokerState.ACTIVE}
    assert exclusions(client) == []


def test_a_broker_is_taken_offline_and_comes_back_with_everything_as_it_was(
    stage: Stage, client: GuardianClient, admin: KafkaControl
) -> None:
    written(stage.cluster, "invoices", spread(PARTITIONS), 1)
    before = placement(admin, "invoices")
    finished(client, approved(client, Ask(AskKind.OFFLINE, (3,), shutdown=True, hook="local")))
    wait_for("the end of broker 3", lambda: broker_hook.load(stage.folder).broker(3).pid is None)
    assert exclusions(client) == [3]
    away = {broker.id: broker.state for broker in client.list_clusters()[0].brokers}
    assert away[3] is BrokerState.MAINTENANCE
    finished(client, approved(client, Ask(AskKind.ONLINE, (3,), hook="local")))
    wait_for("the leaders of before", lambda: placement(admin, "invoices") == before)
    assert exclusions(client) == []
    assert {broker.state for broker in client.list_clusters()[0].brokers} == {BrokerState.ACTIVE}


def test_a_ticket_of_brokers_is_amended_by_the_cli(stage: Stage, client: GuardianClient, guardian: Cli) -> None:
    made = guardian(
        stage, "broker", "remove", "--cluster", "live", "4", "--hook", "local", "--reason", "an old machine"
    )
    assert made.returncode == 0, made.stderr
    ticket_id = made.stdout.split()[1]
    amended = guardian(stage, "ticket", "amend", ticket_id, "--add", "5", "--reason", "both of rack b")
    assert amended.returncode == 0, amended.stderr
    ask = client.ticket(ticket_id)[0].ask
    assert ask is not None
    assert (ask.brokers, ask.revision) == ((4, 5), 1)
    again = guardian(stage, "ticket", "amend", ticket_id, "--add", "5")
    assert again.returncode == 2
    assert f"--add is 5, but ticket {ticket_id} asks for 4, 5: leave it out" in again.stderr
    shown = guardian(stage, "ticket", "show", ticket_id)
    assert shown.returncode == 0, shown.stderr
    unknown = guardian(stage, "broker", "restart", "--cluster", "live", "99", "--hook", "local")
    assert "brokers has 99, which is not in cluster live" in unknown.stderr
    assert guardian(stage, "ticket", "cancel", ticket_id).returncode == 0
    assert exclusions(client) == []


def test_a_removal_for_which_disks_have_no_room_is_refused_with_numbers(
    stage: Stage, admin: KafkaControl, tmp_path: Path
) -> None:
    """By a member that lets planners fill so little of the disks that broker 2 alone can't hold its rack's replicas."""
    written(stage.cluster, "heavy", spread(PARTITIONS), 100)
    dirs = admin.describe_log_dirs(BROKERS)
    held = sum(replica.size_bytes for each in dirs for replica in each.replicas.values())
    of_broker = sum(each.total_bytes for each in dirs if each.broker == 1)
    limit = {**PLANNER, "disk_limit": held / 3.5 / of_broker}
    planned = plan_members(1, tmp_path)
    member = start_member(
        planned[0], planned, tmp_path / "lake", tmp_path / "g1.log", planner=limit, kafka=MEMBER_KAFKA
    )
    try:
        wait_ready([member])
        with GuardianClient([member.grpc], timeout_s=PLANNING_S) as strict:
            register(strict, stage.cluster)
            with pytest.raises(InvalidInput, match=NO_ROOM):
                strict.ask_for("live", Ask(AskKind.REMOVE, (5,)), author="ann", dry_run=True)
    finally:
        if member.process:
            processes.stop_all([member.process])


def make_cordons_possible(admin: KafkaControl) -> None:
    """Below the level that the rolling restart here finalizes, Kafka has no cordon: while topics are created all along,
    a removal never ends."""
    version = admin.metadata_version()
    if version.level < version.highest:
        assert admin.raise_metadata_version(version.highest) == ""
        wait_for("a broker to tell the new level", lambda: admin.metadata_version().level == version.highest)


def test_two_of_five_brokers_are_removed_one_by_an_amendment_while_topics_come_and_the_leader_dies(
    stage: Stage, client: GuardianClient, admin: KafkaControl
) -> None:
    make_cordons_possible(admin)
    gone = {(BROKER, "4"), (BROKER, "5")}
    configs = {key: values for key, values in leftovers.dynamic_configs(admin).items() if key not in gone}
    written(stage.cluster, "payments", spread(PARTITIONS), 100)

    ask = Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="local")
    with GuardianClient(stage.endpoints, timeout_s=PLANNING_S) as patient:
        too_few = "has 3 replicas, and without brokers 2, 3, 4, 5 only 1 .*: 2 of the 4 brokers asked for could go"
        with pytest.raises(InvalidInput, match=too_few):
            patient.ask_for("live", Ask(AskKind.REMOVE, (2, 3, 4, 5)), author="ann", dry_run=True)
        with pytest.raises(InvalidInput, match="broker 3 can't go: 2 racks with 4 brokers would be left for topics"):
            patient.ask_for("live", Ask(AskKind.REMOVE, (3,)), author="ann", dry_run=True)
        _, rehearsed = once_answered(lambda: patient.ask_for("live", ask, author="ann", dry_run=True))
    assert rehearsed is not None
    assert rehearsed.moves
    assert exclusions(client) == []

    with GuardianClient(stage.endpoints, timeout_s=PLANNING_S) as eyes:
        asked: list[str] = []
        maker = TopicMaker(stage.cluster, (4, 5), lambda: phase(eyes, asked[0]) if asked else None)
        with beside(maker):
            wait_for("topics before", lambda: len(maker.names) > 1)
            asked.append(approved(client, replace(ask, brokers=(4,)), throttle=1_000_000))
            wait_for("the moves", lambda: phase(client, asked[0]) is OperationPhase.EXECUTE)
            assert exclusions(client) == [4]
            ticket, _ = client.ticket(asked[0])
            client.amend(ticket, ask, "bob", "both of the old machines go")
            wait_for("both are excluded", lambda: sorted(exclusions(client)) == [4, 5])
            wait_for("the moves of both", lambda: phase(client, asked[0]) is OperationPhase.EXECUTE)
            kill_leader(stage, client)
            finished(client, asked[0])

    during = {OperationPhase.PLAN, OperationPhase.EXECUTE}
    late = {OperationPhase.SHUT_DOWN, OperationPhase.CLEAN_UP}
    assert "chosen" in {how for at, how in maker.made if at in during}, maker
    assert "chosen" in {how for at, how in maker.made if at in late}, maker
    assert maker.made[OperationPhase.SHUT_DOWN, "explicit"] + len(maker.refused) > 0, maker
    assert sum(count for (at, how), count in maker.made.items() if at in during | late and how == "explicit"), maker
    made = {"payments", *maker.names}
    partitions: dict[TopicPartition, PartitionState] = {}

    def all_are_known() -> bool:
        partitions.update(admin.describe_partitions())
        return {tp.topic for tp in partitions} >= made

    wait_for("that brokers know the last topic", all_are_known)
    assert not [tp for tp, state in partitions.items() if {4, 5} & set(state.replicas)]
    assert {len(state.replicas) for tp, state in partitions.items() if tp.topic == "payments"} == {3}
    assert admin.registered_brokers() == {1: False, 2: False, 3: False}
    now = broker_hook.load(stage.folder)
    assert [now.broker(broker).pid for broker in (4, 5)] == [None, None]
    assert exclusions(client) == []
    assert [broker.id for broker in client.list_clusters()[0].brokers] == [1, 2, 3]
    assert leftovers.of_cluster(admin, configs) == []
    ends = data.end_offsets(stage.cluster, ["payments"], PATIENCE_S)
    assert ends == {TopicPartition("payments", number): 100 for number in range(PARTITIONS)}
