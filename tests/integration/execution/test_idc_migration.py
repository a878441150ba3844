"""A topic goes to other data centres under load, on real brokers; Guardian's leader is killed on the way.

    before    shanghai-a (leader), shanghai-b, suzhou-a          a consumer in each data centre, each with client.rack
    after     two in suzhou, which leads, one in shanghai        reads where it is: before, and again after

No record is lost or doubled, each keeps its offset, and a group goes on where it had committed. The line between the
two carries no more than its limit in the members' file of lines lets, in each stretch of some seconds up to the whole.
Nor is suzhou's broker ever let take more: with a line of 1 Gbit/s its rate rises to more than twice as much on the way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import grpc
import pytest
from confluent_kafka import KafkaError as WireError
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as WirePartition
from kafka import KafkaConsumer
from kafka import TopicPartition as WireTopicPartition
from kafka.errors import KafkaError

from deploy.local import leftovers, processes
from deploy.local.answering import once_answered, register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import PLANNER, Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import MigrateIdc
from guardian.model.throttle import FOLLOWER_RATE
from guardian.model.ticket import TicketState
from guardian.model.topology import Cluster, TopicPartition
from guardian.planning.model import PlansConfig
from guardian.planning.service.planning import LivePlanner
from guardian.replication.store.store import now_ms
from protos.guardian.v1 import reporter_pb2_grpc
from tests.integration.beside import beside
from tests.integration.leading import who_leads
from tests.patience import CALL_S, CONTROL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RACKS = ("shanghai-a", "shanghai-b", "suzhou-a", "suzhou-b")
SHANGHAI, SUZHOU = frozenset({1, 2}), frozenset({3, 4})
FETCH_BYTES = 50_000
SETTINGS = {
    "replica.selector.class": "guardian.kafka.IdcAwareReplicaSelector",
    "guardian.replica.warm.up.ms": "0",
    "guardian.replica.max.lag.ms": "0",  # no test depends on how quick a follower is
    # Else Kafka would let ten seconds' worth of a throttle pass at once, which is half of the copy.
    "replication.quota.window.num": "2",
    # What one fetch brings passes whatever the rate is: a megabyte of each partition, unless said otherwise.
    "replica.fetch.max.bytes": str(FETCH_BYTES),
}
POLICY = IdcPolicy("mostly-suzhou", (("shanghai", 1), ("suzhou", 2)), preferred_leader_idc="suzhou")
PARTITIONS, RECORDS, RECORD_BYTES = 3, 4000, 1000
BATCH_BYTES = FETCH_BYTES  # at the most: a fetch brings one batch at least, however large
GROUP = "settlement"
_COORDINATOR_MOVES = (WireError.COORDINATOR_LOAD_IN_PROGRESS, WireError.NOT_COORDINATOR)
COMMITTED = {0: 1, 1: RECORDS // 2, 2: RECORDS}  # by partition
THROTTLE = 8_000_000  # what the ticket asks for
LINE_SHARE, LINE_GBIT_PER_S = 0.8, 0.004
CAP = round(LINE_SHARE * LINE_GBIT_PER_S * 1e9 / 8)  # bytes/s over the line
FLOOR_MB_PER_S = 0.3  # below the cap: also where the members can't tell what the line has left
LINKS = f"""
[networks]
shanghai = ["10.1.0.0/16"]
suzhou = ["10.2.0.0/16"]

[[lines]]
between = ["shanghai", "suzhou"]
gbit_per_s = {LINE_GBIT_PER_S}
"""
PAUSE_S = 0.2  # between two rounds of one record for each partition
QUOTA_SAMPLES, QUOTA_WINDOW_S = 2, 3  # for so long Kafka lets what was saved up pass at once
LOOK_EVERY_S = 1.0
STRETCH_S = 8.0  # no stretch that is as long or longer carries more than the cap lets: a quarter of the copy
OVERHEAD_BYTES = 120  # of a record that is alone in its batch
SKEW_ROUNDS = 10
READ_ON = 180  # records, in which it is seen where they come from


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    spec = ClusterSpec("cities", brokers=4, log_dirs=1, heap_mb=256, racks=RACKS, settings=SETTINGS)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@dataclass
class Group:
    """The members."""

    members: list[Member]

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaCluster) -> Iterator[Group]:
    home = tmp_path_factory.mktemp("cities")
    links = home / "links.toml"
    links.write_text(LINKS)
    more = (
        f"[throttle]\nfloor_mb_per_s = {FLOOR_MB_PER_S}\nline_share = {LINE_SHARE}\n"
        "fill_lines_without_client_activity = true\n"
    )
    planned = plan_members(3, home)
    group: list[Member] = []
    try:
        for each in planned:
            group.append(
                start_member(
                    each, planned, home / "lake", home / f"{each.name}.log", more=more, links=links, kafka=MEMBER_KAFKA
                )
            )
        wait_ready(group)
        with GuardianClient([member.grpc for member in group], timeout_s=CALL_S) as client:
            register(client, kafka.to_cluster())
        yield Group(group)
    finally:
        processes.stop_all([member.process for member in group if member.process])


class Writer:
    """Writes the numbers from 0 on into each partition, so that a record's number is its offset, until it is ended."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        # Where an answer takes too long, nothing is written twice: a record's number would be its offset no more.
        self._producer = data.producer(
            cluster, acks="all", enable_idempotence=True, linger_ms=5, batch_size=BATCH_BYTES, message_timeout_ms=0
        )
        # Many small batches, each of which would wait for replicas that fetch little at a time.
        patient_ms = round(CALL_S * 1000)
        self._filling = data.producer(
            cluster,
            acks="1",
            linger_ms=5,
            batch_size=BATCH_BYTES,
            request_timeout_ms=patient_ms,
            socket_timeout_ms=patient_ms,
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.written = 0  # into each partition, acknowledged or not
        self.failed: list[str] = []

    def fill(self, rounds: int) -> None:
        for _ in range(rounds):
            self._round(self._filling)
        assert self._filling.flush(PATIENCE_S) == 0

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert self._producer.flush(PATIENCE_S) == 0

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            self._round(self._producer)

    def _round(self, producer: data.Producer) -> None:
        for partition in range(PARTITIONS):
            value = self.written.to_bytes(RECORD_BYTES, "big")
            producer.produce(self._topic, value, partition=partition, on_delivery=self._note)
        self.written += 1
        producer.poll(0)

    def _note(self, error: object, _message: object) -> None:
        if error is not None:
            self.failed.append(str(error))


@dataclass
class Reader:
    """Reads all partitions from the beginning, as a client in that rack, and looks at each record."""

    cluster: Cluster
    topic: str
    rack: str
    next: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    wrong: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def records(self) -> int:
        return sum(self.next.values())

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE_S)

    def _run(self) -> None:
        # Not librdkafka (2.16.1): where the follower that it reads from becomes the leader, it may stay with the leader
        # of before, in another data centre, until the leader changes again (confluentinc/librdkafka, pull 5593).
        consumer = KafkaConsumer(
            bootstrap_servers=self.cluster.bootstrap,
            client_rack=self.rack,
            group_id=None,
            auto_offset_reset="none",
            enable_auto_commit=False,
            metadata_max_age_ms=2000,
        )
        partitions = [WireTopicPartition(self.topic, number) for number in range(PARTITIONS)]
        try:
            consumer.assign(partitions)
            for partition in partitions:
                consumer.seek(partition, 0)
            while not self.stop.is_set():
                for records in consumer.poll(timeout_ms=500).values():
                    for record in records:
                        self._look_at(record.partition, record.offset, record.value)
        except KafkaError as error:
            self.wrong.append(f"{self.rack}: {error!r}")
        finally:
            consumer.close()

    def _look_at(self, partition: int, offset: int, value: bytes) -> None:
        if offset != self.next[partition] or int.from_bytes(value, "big") != offset:
            self.wrong.append(f"{self.rack}: {partition} at {offset} instead of {self.next[partition]}")
        self.next[partition] = self.next[partition] + 1


def values(kafka: KafkaCluster, name: str) -> dict[int, float]:
    """A counter of each broker."""
    found = {}
    for node in kafka.brokers:
        with grpc.insecure_channel(node.reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            batch = stub.Collect(NOTHING_KNOWN.request((name,)), timeout=PATIENCE_S)
        found[node.id] = values_by_name(batch, NOTHING_KNOWN.extended_by(batch)).get(f"{name}:Count", 0.0)
    return found


def given(kafka: KafkaCluster, topic: str) -> dict[int, float]:
    """Bytes of the topic that consumers got, by broker."""
    return values(kafka, f"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={topic}")


def copied_to_suzhou(kafka: KafkaCluster) -> float:
    """Bytes that replicas copied which a reassignment adds there: what is throttled, and nothing of what those fetch
    that were there before."""
    found = values(kafka, "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec")
    return sum(found[broker] for broker in SUZHOU)


def migration(kafka: KafkaCluster, members: Group, topic: str) -> Plan:
    """As the leader makes urgent plans: from what Kafka shows now."""
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        directory = Directory(clusters=client.list_clusters(), policies=(POLICY,))
    planner = LivePlanner(
        lambda _: KafkaControl(kafka.to_cluster(), CONTROL_S),
        lambda: directory,
        "",
        PlannerSettings.of(PLANNER),
        now_ms,
        PlansConfig(deadline_s=PATIENCE_S),
    )
    with closing(planner):
        return planner.plan_for("ann", lambda: True, "cities", MigrateIdc(POLICY, (topic,)))


class Look(NamedTuple):
    """`copied` bytes were counted at some time between the two; so many records were `written` into each partition
    before the look, and after it."""

    began_s: float
    ended_s: float
    copied: float
    written_before: int
    written_after: int


@dataclass
class LineWatch:
    """Looks all along at what suzhou's brokers copied, at what was written meanwhile, and at what they may copy.
    `rates` are bytes/s of both brokers together, where any is set."""

    kafka: KafkaCluster
    writer: Writer
    admin: KafkaControl
    looks: list[Look] = field(default_factory=list)
    rates: list[int] = field(default_factory=list)

    def __call__(self, over: threading.Event) -> None:
        while not over.is_set():
            began_s, before = time.monotonic(), self.writer.written
            copied = copied_to_suzhou(self.kafka)
            self.looks.append(Look(began_s, time.monotonic(), copied, before, self.writer.written))
            configs = self.admin.describe_configs([(BROKER, str(broker)) for broker in SUZHOU])
            rates = [int(values[FOLLOWER_RATE]) for values in configs.values() if FOLLOWER_RATE in values]
            self.rates += [sum(rates)] if rates else []
            over.wait(LOOK_EVERY_S)

    def beyond(self) -> list[str]:
        """The stretches that carried more than `allowed`. Each lasts from before the look at its begin until after the
        one at its end, so that looks that take long make none look busier."""
        found = []
        for first, last in combinations(self.looks, 2):
            lasted_s, copied = last.ended_s - first.began_s, last.copied - first.copied
            most = allowed(lasted_s, last.written_after - first.written_before)
            if lasted_s >= STRETCH_S and copied > most:
                found.append(f"{copied:.0f} bytes in {lasted_s:.1f} s, {most:.0f} are allowed")
        return found


def allowed(lasted_s: float, rounds: int) -> float:
    """Bytes that a line under its cap may have carried in a stretch of so many seconds, however fast all of this is.

    Kafka looks at its quota before a fetch and not at what that brings, so its two samples of a second may hold what
    the rate lets and one fetch more: with `FETCH_BYTES` from each partition that is a fifth of the cap. What was saved
    up before the stretch comes within it, as much as the samples span. A new replica that is in sync, until its
    reassignment ends a moment later, fetches what producers write whatever the rate is; how many rounds it lags is
    guessed.
    """
    a_fetch = FETCH_BYTES * PARTITIONS
    unthrottled = PARTITIONS * (RECORD_BYTES + OVERHEAD_BYTES) * (rounds + SKEW_ROUNDS)
    return (CAP + a_fetch / QUOTA_SAMPLES) * (lasted_s + QUOTA_WINDOW_S) + unthrottled


def wait_until_each_reads_at_home(kafka: KafkaCluster, topic: str, readers: tuple[Reader, Reader], when: str) -> None:
    seen: list[str] = []

    def is_so() -> bool:
        seen[:] = [read_abroad(kafka, topic, readers)]
        return seen == [""]

    wait_for(f"{when}: each reads at home", is_so, story=lambda: seen)


def read_abroad(kafka: KafkaCluster, topic: str, readers: tuple[Reader, Reader]) -> str:
    """Who gave how much to whom, unless each data centre gave at least what its own reader got: a reader that got one
    of its partitions elsewhere got a third there.

    The readers' counts are taken between the brokers': looks that take long make these larger, and no reader suspect.
    """
    before = given(kafka, topic)
    had = [reader.records for reader in readers]
    wait_for("both read on", lambda: all(r.records >= h + READ_ON for r, h in zip(readers, had, strict=True)))
    got = [(reader.records - then) * RECORD_BYTES for reader, then in zip(readers, had, strict=True)]
    after = given(kafka, topic)
    gave = {broker: after[broker] - before[broker] for broker in after}
    on_their_way = READ_ON // 6 * RECORD_BYTES  # given before the first look, and read after it
    at_home = [sum(gave[broker] for broker in idc) for idc in (SHANGHAI, SUZHOU)]
    if all(home >= read - on_their_way for home, read in zip(at_home, got, strict=True)):
        return ""
    return f"brokers gave {gave}, and readers got {got[0]} bytes in shanghai and {got[1]} in suzhou"


def test_a_topic_migrates_under_load_and_consumers_read_at_home_before_and_after(
    kafka: KafkaCluster, members: Group, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    cluster = kafka.to_cluster()
    data.create_topics(
        cluster, {topic: dict.fromkeys(range(PARTITIONS), (1, 2, 3))}, {"min.insync.replicas": "2"}, PATIENCE_S
    )
    writer = Writer(cluster, topic)
    writer.fill(RECORDS)
    readers = (Reader(cluster, topic, "shanghai-b"), Reader(cluster, topic, "suzhou"))
    writer.start()
    try:
        try:
            wait_for("both have caught up", lambda: all(r.records >= PARTITIONS * RECORDS for r in readers))
            wait_until_each_reads_at_home(kafka, topic, readers, "before")
            commit(cluster, topic)
            migrate(kafka, members, writer, topic)
            wait_until_each_reads_at_home(kafka, topic, readers, "after")
        finally:
            writer.end()
        total = writer.written
        wait_for("all is read", lambda: all(r.records >= PARTITIONS * total for r in readers))
    finally:
        for reader in readers:
            reader.end()
    assert writer.failed == []
    assert [reader.wrong for reader in readers] == [[], []]
    assert [reader.next for reader in readers] == [dict.fromkeys(range(PARTITIONS), total)] * 2
    assert set(data.end_offsets(cluster, [topic], PATIENCE_S).values()) == {total}
    assert goes_on_at(cluster, topic) == COMMITTED


def commit(cluster: Cluster, topic: str) -> None:
    """As a group that is elsewhere in each partition."""
    with closing(data.consumer(cluster, GROUP, enable_auto_commit=False)) as consumer:
        offsets = [WirePartition(topic, number, offset) for number, offset in COMMITTED.items()]

        def is_committed() -> bool:
            try:
                consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_MOVES:
                    raise
                return False
            return True

        wait_for("the group's coordinator", is_committed)


def committed(cluster: Cluster, topic: str) -> dict[int, int]:
    with closing(data.consumer(cluster, GROUP)) as consumer:
        found = consumer.committed([WirePartition(topic, number) for number in range(PARTITIONS)], timeout=PATIENCE_S)
    return {partition.partition: partition.offset for partition in found}


def goes_on_at(cluster: Cluster, topic: str) -> dict[int, int]:
    """The first offset that the group gets of each partition, and of that record its number."""
    found: dict[int, int] = {}
    with closing(data.consumer(cluster, GROUP, auto_offset_reset="error", enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + PATIENCE_S
        while found.keys() != COMMITTED.keys():
            assert time.monotonic() < deadline, f"the group got nothing but of {sorted(found)}"
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, message.error()
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            assert int.from_bytes(value, "big") == offset
            found.setdefault(partition, offset)
    return found


def migrate(kafka: KafkaCluster, members: Group, writer: Writer, topic: str) -> None:
    """By a ticket, whose leader is killed while it copies; the line is watched from before until after."""
    plan = migration(kafka, members, topic)
    assert len(plan.moves) == PARTITIONS
    assert plan.unmet == ()
    # Of each partition one new replica comes over the line: `allowed` counts on it.
    assert [len(SUZHOU & (set(m.target_brokers) - set(m.original_brokers))) for m in plan.moves] == [1] * PARTITIONS
    with (
        closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as admin,
        closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as watching,
        GuardianClient(members.endpoints, timeout_s=CALL_S) as client,
    ):
        assert committed(kafka.to_cluster(), topic) == COMMITTED
        configs = leftovers.dynamic_configs(admin)
        watch = LineWatch(kafka, writer, watching)
        with beside(watch):
            ticket, noted = once_answered(
                lambda: client.create_ticket(plan, author="ann", throttle=THROTTLE, submit=True, reason="to suzhou")
            )
            told = any("becomes the leader" in note for note in noted.notes)
            assert told == any(move.target_brokers[0] in move.original_brokers for move in plan.moves)
            client.approve(ticket.id, "ben", "planned")
            wait_for("it copies", lambda: any(tp.topic == topic for tp in admin.list_reassignments()))
            leads = who_leads(client)
            victim = next(member for member in members.members if member.name == leads)
            assert victim.process is not None
            processes.kill(victim.process)
            wait_for("it is over", lambda: client.ticket(ticket.id)[0].state.is_over)
        ended, _ = client.ticket(ticket.id)
        assert ended.state is TicketState.SUCCEEDED, ended.history[-1].reason
        assert watch.beyond() == []
        assert watch.rates
        assert max(watch.rates) <= CAP, "the line lets no more"
        first, last = watch.looks[0], watch.looks[-1]
        assert last.began_s - first.ended_s > 2 * STRETCH_S, watch.looks
        assert last.copied - first.copied >= PARTITIONS * RECORDS * RECORD_BYTES, "a whole copy went there"
        assert committed(kafka.to_cluster(), topic) == COMMITTED
        for number in range(PARTITIONS):
            state = admin.describe_partitions([topic])[TopicPartition(topic, number)]
            assert len(SUZHOU & set(state.replicas)) == 2
            assert len(SHANGHAI & set(state.replicas)) == 1
            assert state.leader in SUZHOU
            assert set(state.isr) == set(state.replicas)
        assert leftovers.of_cluster(admin, configs) == []
