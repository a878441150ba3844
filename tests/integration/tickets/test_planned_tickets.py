"""Tickets whose plans are made by `guardian plan`, on real brokers: what Kafka shows afterwards.

Labels (grow from the pool, shrink, rolled back, under a client's load), leaders, a full disk relieved and a log dir
emptied, a new broker's share, a topic created, a tenant and a cluster that migrate, standing rates, and plans that went
stale between approval and start. Brokers 1 to 4 run from the start; 5 is a machine of the pool until it joins. Broker 4
has a small disk of its own, and all others share one that has room. Each test makes topics of its own and deletes them,
so that none sees another's.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from deploy.local import leftovers, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl
from guardian.model.execution import Execution
from guardian.model.throttle import FOLLOWER_RATE, LEADER_RATE
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.entries import entry_from_proto
from protos.guardian.v1 import federation_pb2
from spark_analytics.jobs import session
from tests.command_line import app
from tests.integration.acked_load import Load
from tests.integration.faults.disks import SmallDisk
from tests.patience import CALL_S, CONTROL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RECORD_BYTES = 10_000
SETTINGS = {"log.segment.delete.delay.ms": "1000"}  # else what has left a disk takes room there for a minute
ROOMY_MIB, SMALL_MIB = 4096, 32
DRAFT = "Draft ticket "
# What a person asks for is what is set: nothing that this machine does besides changes it.
FIXED_RATES = "[throttle]\nadaptive = false\n"


@dataclass
class Stage:
    """A cluster, of which a broker waits to join, and a member."""

    home: Path
    kafka: KafkaCluster
    member: Member

    @property
    def cluster(self) -> Cluster:
        return self.kafka.to_cluster(sasl=False)

    def start(self, settings: str) -> None:
        """The member, anew where it ran: with these sections in its configuration."""
        self.stop()
        alone = replace(self.member, process=None)
        self.member = start_member(
            alone, [alone], self.home / "lake", self.home / "member.log", more=settings, kafka=MEMBER_KAFKA
        )
        wait_ready([self.member])

    def stop(self) -> None:
        processes.stop_all([self.member.process] if self.member.process else [])


@dataclass(frozen=True)
class Answer:
    """What a command printed; `error` is its one sentence when it could not do what was asked."""

    code: int
    out: str
    error: str


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("planned")
    with SmallDisk(home / "kafka", ROOMY_MIB), SmallDisk(home / "kafka" / "broker-4" / "disk2", SMALL_MIB):
        yield from running(home)


def running(home: Path) -> Iterator[Stage]:
    """Start the cluster and a member, and end them."""
    kafka = KafkaCluster.plan(
        ClusterSpec("live", brokers=5, log_dirs=2, plugin=True, heap_mb=256, settings=SETTINGS), home / "kafka"
    )
    everyone = kafka.brokers
    kafka.brokers = everyone[:4]
    stage = Stage(home, kafka, *plan_members(1, home))
    try:
        kafka.launch()
        stage.start(FIXED_RATES)
        with GuardianClient([stage.member.grpc], timeout_s=CALL_S) as client:
            register(client, stage.cluster)
        kafka.brokers = everyone  # the fifth is known, and does not run
        yield stage
    finally:
        stage.stop()
        kafka.stop()


@pytest.fixture(scope="module", autouse=True)
def one_spark(stage: Stage) -> Iterator[None]:
    """Commands run in this process, whose session stays: one of its own costs each command many seconds."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        is_ours = SparkSession.getActiveSession() is None
        spark = session.local_session("planned tickets", "local[2]")
        if is_ours:
            stack.callback(spark.stop)
        patch.setattr(session, "local_session", lambda *_, **__: contextlib.nullcontext(spark))
        patch.setenv("GUARDIAN_ENDPOINTS", stage.member.grpc)
        yield


@pytest.fixture
def client(stage: Stage) -> Iterator[GuardianClient]:
    with GuardianClient([stage.member.grpc], timeout_s=60.0) as client:
        yield client


@pytest.fixture
def admin(stage: Stage) -> Iterator[KafkaControl]:
    with closing(KafkaControl(stage.cluster, CONTROL_S)) as admin:
        yield admin


@pytest.fixture
def topics(stage: Stage, new_topic: Callable[[], str]) -> Iterator[Callable[..., str]]:
    """Makes a topic with as many bytes in each partition: `topics((1, 2), (2, 1), size=1_000_000)`."""
    made: list[str] = []

    def make(*replicas: tuple[int, ...], size: int = 500_000) -> str:
        made.append(new_topic())
        data.create_topics(stage.cluster, {made[-1]: dict(enumerate(replicas))}, {}, PATIENCE_S)
        producer = data.producer(stage.cluster, acks="all", linger_ms=20)
        for number in range(len(replicas)):
            for sequence in range(size // RECORD_BYTES):
                producer.produce(made[-1], sequence.to_bytes(RECORD_BYTES, "big"), partition=number)
                producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        return made[-1]

    yield make
    data.delete_topics(stage.cluster, made, PATIENCE_S)


def run(*arguments: str) -> Answer:
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, GuardianError):
        return Answer(2, result.stdout, str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def done(*arguments: str) -> str:
    answer = run(*arguments)
    assert answer.code == 0, answer
    return answer.out


def is_whole(said: str) -> bool:
    """Partitions whose samples are too few are left out of a plan, which says so."""
    return "Not met: " not in said


def planned(*task: str, code: int = 0, accepts: Callable[[str], bool] = is_whole) -> str:
    """What `guardian plan` says once the lake has enough of the newest samples; drafts of half of it are cancelled."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = run("plan", *task, "--cluster", "live", "--window", "15s", "--spark")
        if answer.code == code and "nothing to move" not in answer.out and accepts(answer.out):
            return answer.out
        if DRAFT in answer.out:
            done("ticket", "cancel", drafted_in(answer.out))
        assert time.monotonic() < deadline, answer
        time.sleep(2)  # the lake has nothing new before that, and Spark costs a second


def drafted_in(said: str) -> str:
    return said.split(DRAFT)[1].split(maxsplit=1)[0]


def moved_by(client: GuardianClient, said: str) -> set[TopicPartition]:
    return {move.partition for move in client.plan(client.ticket(drafted_in(said))[0].plan_hash).moves}


def drafted(*task: str, accepts: Callable[[str], bool] = is_whole) -> str:
    """A ticket that waits for its approval, of a plan that Spark made."""
    said = planned(*task, accepts=accepts)
    print(said)  # noqa: T201  (the story of a failure)
    assert "PENDING" in done("ticket", "submit", drafted_in(said))
    return drafted_in(said)


def state_of(client: GuardianClient, ticket_id: str) -> TicketState:
    return client.ticket(ticket_id)[0].state


def finished(
    client: GuardianClient, ticket_id: str, end: TicketState = TicketState.SUCCEEDED
) -> tuple[Ticket, Execution]:
    wait_for(f"the end of {ticket_id}", lambda: state_of(client, ticket_id).is_over)
    ticket, execution = client.ticket(ticket_id)
    assert ticket.state is end, (ticket.history[-1].reason, execution)
    assert execution is not None
    return ticket, execution


def carried_out(client: GuardianClient, ticket_id: str) -> Ticket:
    client.approve(ticket_id, "bob")
    return finished(client, ticket_id)[0]


def replicas(admin: KafkaControl, *names: str) -> dict[TopicPartition, tuple[int, ...]]:
    """Where each partition is, once all brokers show it so, the preferred replica leads and all are in sync."""
    found: dict[TopicPartition, tuple[int, ...]] = {}

    def is_settled() -> bool:
        shown = [admin.partitions_seen_by(broker, names) or {} for broker in admin.describe_cluster().brokers]
        found.update({partition: state.replicas for partition, state in shown[0].items()})
        return all(
            {partition: state.replicas for partition, state in each.items()} == found
            and all(set(state.isr) == set(state.replicas) for state in each.values())
            and all(state.leader == state.replicas[0] for state in each.values())
            for each in shown
        )

    wait_for("the same picture on all brokers", is_settled)
    return found


def on(placement: dict[TopicPartition, tuple[int, ...]]) -> set[int]:
    return {broker for brokers in placement.values() for broker in brokers}


def labels(client: GuardianClient) -> dict[int, str]:
    """Of brokers that have one."""
    (cluster,) = client.list_clusters()
    return {broker.id: broker.label for broker in cluster.brokers if broker.label}


def entries(client: GuardianClient, table: federation_pb2.FederationTable) -> dict[str, str]:
    """The label of each machine or topic."""
    found = {}
    for each in client.federation(table):
        entry = entry_from_proto(each)
        found[getattr(entry, "host", "") or getattr(entry, "name", "")] = getattr(entry, "label", "")
    return found


def log_dirs_of(admin: KafkaControl, broker: int) -> dict[str, set[TopicPartition]]:
    found = admin.describe_log_dirs([broker])
    assert not any(each.error or each.future_replicas for each in found)
    return {each.path: set(each.replicas) for each in found}


def register_again(stage: Stage, *more: str) -> None:
    idcs = dict.fromkeys(f"{broker.rack}={broker.idc}" for broker in stage.kafka.brokers)
    reporters = [f"--reporter={each.id}={each.reporter}" for each in stage.kafka.brokers if each.pid]
    bootstrap = stage.kafka.brokers[0].listener
    done("cluster", "add", "live", "--bootstrap", bootstrap, *(f"--idc={idc}" for idc in idcs), *reporters, *more)


@pytest.fixture
def labels_go(stage: Stage, client: GuardianClient) -> Iterator[None]:
    """No later test finds one, on a broker or on its machine."""
    yield
    register_again(stage, *(f"--label={broker}=" for broker in labels(client)))
    for machine in entries(client, federation_pb2.MACHINES):
        done("machine", "drop", machine)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.usefixtures("labels_go")
@pytest.mark.long
def test_a_label_gets_machines_of_the_pool_and_gives_one_back(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str], stack: ExitStack
) -> None:
    """No record of a client that writes all the while is lost."""
    pay = topics((1, 2), (2, 3), (3, 1), (2, 1))
    orders = topics((1, 2), (2, 4), (4, 2), (2, 1), size=100_000)
    configs = leftovers.dynamic_configs(admin)
    ends = data.end_offsets(stage.cluster, [orders], PATIENCE_S)
    grow = ("isolate", "--label", "payments", "--topic", pay, "--broker", "4")

    done("machine", "put", "spare-5", "--idc=shanghai", "--rack=shanghai-b", "--disk=500G", "--disks=2", "--cores=4")
    from_pool = planned(*grow, "--from-pool", code=1)
    assert "machine spare-5 joins as broker 5 in rack shanghai-b" in from_pool
    assert client.tickets() == ()

    stage.kafka.start_broker(5)
    register_again(stage, "--label=5=payments")
    done("machine", "put", "spare-5", "--cluster=live", "--broker=5", "--rack=shanghai-b", "--idc=shanghai")
    assert labels(client) == {5: "payments"}
    load = stack.enter_context(Load(stage.cluster, pay))
    grown = drafted(*grow)
    assert labels(client) == {5: "payments"}, "not before it is approved and done"
    carried_out(client, grown)
    assert on(replicas(admin, pay)) == {4, 5}
    assert not on(replicas(admin, orders)) & {4, 5}
    assert labels(client) == {4: "payments", 5: "payments"}
    assert entries(client, federation_pb2.TOPICS) == {pay: "payments"}
    assert leftovers.of_cluster(admin, configs) == []

    # Broker 3 is the label's too, with a little of it: what is emptied for the least data.
    late = topics((3, 5), (5, 3), size=100_000)
    register_again(stage, "--label=3=payments")
    done("machine", "put", "m3", "--cluster=live", "--broker=3", "--label=payments")
    done("topic", "put", "--cluster", "live", late, "--label=payments")
    before = replicas(admin, pay, late, orders)
    ends |= data.end_offsets(stage.cluster, [late], PATIENCE_S)
    release = ("isolate", "--label", "payments", "--release", "1")

    def is_all(said: str) -> bool:
        """A topic that the lake has not heard of yet would stay on its brokers."""
        becomes_empty = "broker 3 on m3 becomes empty and loses its label: " in said
        return becomes_empty and {TopicPartition(late, 0), TopicPartition(late, 1)} <= moved_by(client, said)

    shrunk = drafted(*release, accepts=is_all)
    carried_out(client, shrunk)
    assert log_dirs_of(admin, 3) == {path: set() for path in stage.kafka.broker(3).log_dirs}
    assert on(replicas(admin, pay, late)) == {4, 5}
    assert not on(replicas(admin, orders)) & {4, 5}
    assert labels(client) == {4: "payments", 5: "payments"}
    assert entries(client, federation_pb2.MACHINES)["m3"] == ""

    done("ticket", "rollback", shrunk, "--reason", "the month is not over")
    finished(client, shrunk, TicketState.ROLLED_BACK)
    assert replicas(admin, pay, late, orders) == before
    assert labels(client) == {3: "payments", 4: "payments", 5: "payments"}
    stack.close()
    assert load.failures == []
    load.require_all()
    assert data.end_offsets(stage.cluster, [orders, late], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []


def test_leaders_leave_a_broker_without_a_byte_copied_and_come_back_with_the_roll_back(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics((2, 1), (2, 3), (1, 2), (3, 4))
    configs = leftovers.dynamic_configs(admin)
    ends = data.end_offsets(stage.cluster, [topic], PATIENCE_S)
    before = replicas(admin, topic)

    def is_all(said: str) -> bool:
        """Four leaders on the three other brokers can't be spread evenly, so that the plan says what is not met."""
        return {TopicPartition(topic, 0), TopicPartition(topic, 1)} <= moved_by(client, said)

    ticket_id = drafted("leaders", "--topic", topic, "--away-from", "2", accepts=is_all)
    carried_out(client, ticket_id)
    after = replicas(admin, topic)  # preferred replicas lead
    assert 2 not in {brokers[0] for brokers in after.values()}
    assert {partition: set(brokers) for partition, brokers in after.items()} == {
        partition: set(brokers) for partition, brokers in before.items()
    }
    assert leftovers.of_cluster(admin, configs) == []

    done("ticket", "rollback", ticket_id, "--reason", "broker 2 is well again")
    finished(client, ticket_id, TicketState.ROLLED_BACK)
    assert replicas(admin, topic) == before
    assert data.end_offsets(stage.cluster, [topic], PATIENCE_S) == ends


def used(admin: KafkaControl, path: str) -> float:
    """Return the share of broker 4's disk below this log dir that is taken."""
    found = next(each for each in admin.describe_log_dirs([4]) if each.path == path)
    return 1 - found.usable_bytes / found.total_bytes


def test_a_full_disk_is_relieved_by_no_more_than_it_takes(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics(*[(4, 1)] * 4, size=5_000_000)
    small = stage.kafka.broker(4).log_dirs[1]
    assert admin.alter_replica_log_dirs({(TopicPartition(topic, number), 4): small for number in range(4)}) == {}
    all_of_it = {TopicPartition(topic, number) for number in range(4)}
    wait_for("the end of its copies", lambda: not any(each.future_replicas for each in admin.describe_log_dirs([4])))
    assert log_dirs_of(admin, 4)[small] >= all_of_it
    wait_for("a disk that is full", lambda: used(admin, small) > 0.5)
    configs, ends = leftovers.dynamic_configs(admin), data.end_offsets(stage.cluster, [topic], PATIENCE_S)

    def is_of_it(said: str) -> bool:
        return is_whole(said) and moved_by(client, said) <= all_of_it

    ticket_id = drafted("relieve", "--broker", "4", "--below", "0.4", accepts=is_of_it)
    moves = client.plan(client.ticket(ticket_id)[0].plan_hash).moves
    assert len(moves) == 2, "the least: one leaves it above the limit"
    carried_out(client, ticket_id)
    assert log_dirs_of(admin, 4)[small] & all_of_it == all_of_it - {move.partition for move in moves}
    wait_for("a disk below the limit", lambda: used(admin, small) < 0.4)
    assert data.end_offsets(stage.cluster, [topic], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []


def test_a_topic_is_created_as_spark_has_planned_it(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str], new_topic: Callable[[], str]
) -> None:
    topics(*[(1, 2), (2, 1)] * 3)
    made = new_topic()
    ticket_id = drafted(
        *("preallocate", "--topic", made, "--partitions", "4", "--replication-factor", "2"),
        *("--expected-size", "1MB", "--config", "retention.ms=3600000"),
    )
    moves = client.plan(client.ticket(ticket_id)[0].plan_hash).moves
    assert {move.partition for move in moves} == {TopicPartition(made, number) for number in range(4)}
    try:
        carried_out(client, ticket_id)
        assert replicas(admin, made) == {move.partition: move.target_brokers for move in moves}
        held = {broker: log_dirs_of(admin, broker) for broker in admin.describe_cluster().brokers}
        planned_dirs = [(move.partition, place) for move in moves for place in move.target]
        assert all(place.log_dir for _, place in planned_dirs), "log dirs are chosen"
        assert all(partition in held[place.broker][place.log_dir] for partition, place in planned_dirs)
        assert admin.describe_configs([(TOPIC, made)])[TOPIC, made] == {"retention.ms": "3600000"}
    finally:
        data.delete_topics(stage.cluster, [made], PATIENCE_S)


@pytest.fixture
def two_cities(client: GuardianClient) -> Iterator[str]:
    """A policy, and a tenant; no later test finds them."""
    done("idc-policy", "put", "two-cities", "--replicas=shanghai=1", "--replicas=suzhou=1", "--leaders=suzhou")
    done("tenant", "put", "payments")
    yield "two-cities"
    for topic in entries(client, federation_pb2.TOPICS):
        done("topic", "drop", "--cluster", "live", topic)
    done("tenant", "drop", "payments")
    done("idc-policy", "drop", "two-cities")


def test_a_tenant_migrates_and_then_the_whole_cluster(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str], two_cities: str
) -> None:
    pay, orders = topics((1, 2), (2, 1), (4, 2)), topics((2, 1), (1, 2))
    done("topic", "put", "--cluster", "live", pay, "--tenant=payments")
    configs, before = leftovers.dynamic_configs(admin), replicas(admin, pay, orders)
    ends = data.end_offsets(stage.cluster, [pay, orders], PATIENCE_S)

    def moving(*names: str) -> Callable[[str], bool]:
        """Of topics that the lake has not heard of yet a plan says nothing."""
        return lambda said: is_whole(said) and moved_by(client, said) == {tp for tp in before if tp.topic in names}

    def is_in_both_cities(brokers: tuple[int, ...]) -> bool:
        return brokers[0] == 3 and len(brokers) == 2

    to = ("migrate-idc", "--policy", two_cities)
    carried_out(client, drafted(*to, "--tenant", "payments", accepts=moving(pay)))
    after = replicas(admin, pay, orders)
    assert {tp.topic for tp, brokers in after.items() if is_in_both_cities(brokers)} == {pay}
    assert {tp.topic for tp, brokers in after.items() if not is_in_both_cities(brokers)} == {orders}
    assert replicas(admin, orders) == {tp: brokers for tp, brokers in before.items() if tp.topic == orders}

    carried_out(client, drafted(*to, accepts=moving(orders)))
    assert all(is_in_both_cities(brokers) for brokers in replicas(admin, pay, orders).values())
    assert data.end_offsets(stage.cluster, [pay, orders], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []


@pytest.mark.long
def test_a_log_dir_is_emptied_onto_the_brokers_other_one(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics((1, 2), (2, 1), (1, 2), (2, 1), (1, 3), (3, 1))
    configs, before = leftovers.dynamic_configs(admin), replicas(admin, topic)
    ends = data.end_offsets(stage.cluster, [topic], PATIENCE_S)
    held = log_dirs_of(admin, 1)
    bad, good = sorted(held)
    assert held[bad]
    carried_out(client, drafted("empty-disk", "--log-dir", f"1:{bad}"))
    assert log_dirs_of(admin, 1) == {bad: set(), good: held[bad] | held[good]}
    assert replicas(admin, topic) == before, "no other broker is needed"
    assert data.end_offsets(stage.cluster, [topic], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []


@pytest.mark.long
def test_a_broker_without_replicas_gets_its_share_and_nobody_else_gets_anything(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics(*[(1, 2), (2, 1)] * 6)
    configs, before = leftovers.dynamic_configs(admin), replicas(admin, topic)
    ends = data.end_offsets(stage.cluster, [topic], PATIENCE_S)
    assert 3 not in on(before)
    share = 2 * len(before) / len(admin.describe_cluster().brokers)

    def is_of_all(said: str) -> bool:
        return int(said.split("add-brokers, ")[1].split(maxsplit=1)[0]) >= share / 2

    carried_out(client, drafted("add", "--broker", "3", accepts=is_of_all))
    after = replicas(admin, topic)
    copied = [broker for partition in before for broker in {*after[partition]} - {*before[partition]}]
    assert set(copied) == {3}
    assert share / 2 <= len(copied) <= share * 2, after
    assert any(brokers[0] == 3 for brokers in after.values()), "and leads"
    assert data.end_offsets(stage.cluster, [topic], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []


def rates(admin: KafkaControl) -> tuple[str, str]:
    """(what broker 1 sends, what broker 3 takes in), as set by Kafka."""
    found = admin.describe_configs([(BROKER, "1"), (BROKER, "3")])
    return found[BROKER, "1"].get(LEADER_RATE, ""), found[BROKER, "3"].get(FOLLOWER_RATE, "")


@pytest.mark.long
def test_standing_rates_hold_a_running_ticket_back_and_end_without_a_trace(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str], tmp_path: Path
) -> None:
    topic = topics((1, 2), (1, 2), size=25_000_000)  # Kafka lets ten seconds' worth pass at once
    configs = leftovers.dynamic_configs(admin)
    file = tmp_path / "moves.json"
    moves = [{"topic": topic, "partition": number, "replicas": [3, 2]} for number in range(2)]
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    moving = done("ticket", "submit", "--plan", str(file), "--cluster", "live", "--throttle", "600k").split()[1]
    client.approve(moving, "bob")
    wait_for("the ticket's own rate", lambda: rates(admin) == ("600000", "600000"))

    def standing(rate: str, lasting: str) -> str:
        asked = ("broker", "throttle", "--cluster", "live", "3", rate, "--for", lasting, "--reason", "its disk is slow")
        ticket_id = done(*asked).split()[1]
        client.approve(ticket_id, "bob")
        return ticket_id

    kept = standing("200k", "8h")
    wait_for("the standing rate", lambda: rates(admin) == ("600000", "200000"))
    assert state_of(client, kept) is TicketState.RUNNING
    done("ticket", "throttle", moving, "400k", "--reason", "the evening peak")
    wait_for("another rate of the ticket", lambda: rates(admin) == ("400000", "200000"))
    done("ticket", "cancel", kept, "--reason", "its disk is new")
    wait_for("the ticket's rate again", lambda: rates(admin) == ("400000", "400000"))
    assert state_of(client, kept) is TicketState.CANCELLED

    short = standing("150k", "45s")  # from now on: approval, two ticks and a look come within it on any machine
    wait_for("another standing rate", lambda: rates(admin) == ("400000", "150000"))
    ended = finished(client, short)[0]
    assert ended.history[-1].reason == "its time is over: broker 3 has no standing rate any more"
    wait_for("the ticket's rate once more", lambda: rates(admin) == ("400000", "400000"))
    assert state_of(client, moving) is TicketState.RUNNING
    assert any(topic == partition.topic for partition in admin.list_reassignments())

    done("ticket", "throttle", moving, "50MB", "--reason", "it is night")
    said = [past.reason for past in finished(client, moving)[0].history]
    assert any("the evening peak" in reason for reason in said), said
    assert set(replicas(admin, topic).values()) == {(3, 2)}
    assert leftovers.of_cluster(admin, configs) == []


@pytest.fixture(scope="module")
def impatient(stage: Stage) -> None:
    """From here on plans are too old a second after their samples."""
    stage.start(f"{FIXED_RATES}[execute]\nplan_age_s = 1.0\n")


def of_a_new_plan(ticket: Ticket) -> str:
    """Why the plan was made anew, as its history says."""
    assert [past.state for past in ticket.history[-2:]] == [TicketState.RUNNING, TicketState.SUCCEEDED]
    began = ticket.history[-2].reason
    assert "moves of a new plan, since the approved one was stale: " in began, began
    return began.split("stale: ")[1]


@pytest.mark.usefixtures("impatient")
@pytest.mark.long
def test_a_plan_whose_partition_was_moved_meanwhile_is_made_anew(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics((1, 2), (2, 1), (1, 2), (2, 1), (1, 2), (2, 1))
    bad = max(log_dirs_of(admin, 1).items(), key=lambda each: len(each[1]))[0]
    ticket_id = drafted("empty-disk", "--log-dir", f"1:{bad}")
    planned_moves = [move.partition for move in client.plan(client.ticket(ticket_id)[0].plan_hash).moves]
    assert set(planned_moves) == log_dirs_of(admin, 1)[bad]
    assert len(planned_moves) > 1

    taken = planned_moves[0]
    assert admin.alter_reassignments({taken: (2, 3)}) == {}
    wait_for("the end of somebody else's move", lambda: not admin.list_reassignments())
    configs, before = leftovers.dynamic_configs(admin), replicas(admin, topic)
    assert before[taken] == (2, 3)
    ticket = carried_out(client, ticket_id)
    assert str(taken) in of_a_new_plan(ticket)
    execution = client.ticket(ticket_id)[1]
    assert execution is not None
    assert {task.move.partition for task in execution.tasks} == set(planned_moves) - {taken}
    assert log_dirs_of(admin, 1)[bad] == set()
    assert replicas(admin, topic) == before
    assert leftovers.of_cluster(admin, configs) == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.long
def test_a_plan_that_waited_too_long_for_its_approval_is_made_anew(
    stage: Stage, client: GuardianClient, admin: KafkaControl, topics: Callable[..., str]
) -> None:
    topic = topics((1, 2), (2, 1), (1, 2), (2, 1))
    configs, before = leftovers.dynamic_configs(admin), replicas(admin, topic)
    ends = data.end_offsets(stage.cluster, [topic], PATIENCE_S)
    bad, good = sorted(log_dirs_of(admin, 2))
    held = log_dirs_of(admin, 2)
    assert held[bad]
    why = of_a_new_plan(carried_out(client, drafted("empty-disk", "--log-dir", f"2:{bad}")))
    assert why.startswith("it was made of samples that are "), why
    assert why.endswith(" old, more than 1 s"), why
    assert log_dirs_of(admin, 2) == {bad: set(), good: held[bad] | held[good]}
    assert replicas(admin, topic) == before
    assert data.end_offsets(stage.cluster, [topic], PATIENCE_S) == ends
    assert leftovers.of_cluster(admin, configs) == []
