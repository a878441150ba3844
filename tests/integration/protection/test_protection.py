"""Partition-level protection on real brokers, whose host looks as if one of its disks had too much to do.

A consumer reads from that disk what the page cache has no more: Guardian sets a quota for it, survives a kill -9 with
the quota set, and lets go when the disk recovers, or when a person says so. Replication and log-dir throttles are set
and taken back on the same brokers, of which one was away and catches up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import confluent_kafka
import pytest

from deploy.local import members, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import Member
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource, KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.model.protection import Behaviour, DiskCondition, DiskKey, DiskState, Doing, Protection
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaEntity
from guardian.model.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LOG_DIR_RATE
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.protection import protection_from_proto
from guardian.protection.loop.protecting import Protector, look_at_cluster
from guardian.protection.rules.disk_doings import BrokerLook
from guardian.protection.rules.protecting import ProtectionSettings, View, remembers_alone
from protos.guardian.v1 import protection_pb2
from tests.freezing import kill
from tests.memory_protection import MemoryProtectionStore
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

DISKS = ("sda", "sdb")
MEMORY_KB = 20_000  # which is gone after less than a second of two disks
RATE = 2_000_000  # that the consumer reads when nothing holds it back
FLOOR = 500_000
PROTECTION = f"""
[protection]
mode = "act"
look_s = 1.0
window_s = 5.0
step_s = 2.0
floor_mb_per_s = {FLOOR / 1e6}
"""
FOREIGN = QuotaEntity(None, "somebody-else")


class FakeHost:
    """A /proc whose disks work at a steady pace; the one that is `overloaded` is always busy."""

    def __init__(self, root: Path, log_dirs: dict[str, str]) -> None:
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "meminfo").write_text(f"MemTotal: 8000000 kB\nMemAvailable: {MEMORY_KB} kB\nCached: 5 kB\n")
        (self.proc / "self/mountinfo").write_text(
            "".join(
                f"{30 + number} 1 {8 + DISKS.index(disk)}:0 / {log_dir} rw - xfs /dev/{disk} rw\n"
                for number, (log_dir, disk) in enumerate(log_dirs.items())
            )
        )
        self.overloaded = ""
        self._done = dict.fromkeys(DISKS, 0.0)
        self._busy_ms = dict.fromkeys(DISKS, 0.0)
        self._told = time.monotonic()
        self._stop = threading.Event()
        self._tell()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        elapsed_ms, self._told = (now - self._told) * 1000, now
        lines = []
        for number, disk in enumerate(DISKS):
            self._done[disk] += elapsed_ms / 2  # 500 I/Os a second, of 100 kB: 51 MB/s
            self._busy_ms[disk] += elapsed_ms * (0.99 if disk == self.overloaded else 0.2)
            done = int(self._done[disk])
            lines.append(
                f"{8 + number} 0 {disk} 0 0 0 0 {done} 0 {done * 200} {done * 4} 1 {int(self._busy_ms[disk])} 0\n"
            )
        hidden = self.proc / ".diskstats"
        hidden.write_text("".join(lines))
        hidden.rename(self.proc / "diskstats")


class LateReader:
    """A consumer that reads a partition from its beginning again and again, at RATE when nothing holds it back."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._consumer = confluent_kafka.Consumer(
            {
                **data.client_config(cluster),
                "group.id": f"late-{topic}",
                "client.id": "etl",
                "enable.auto.commit": False,
                "session.timeout.ms": 60_000,
                "fetch.message.max.bytes": 200_000,
                "fetch.max.bytes": 200_000,
                "message.max.bytes": 150_000,
                "queued.max.messages.kbytes": 400,
                "fetch.queue.backoff.ms": 10,
                "auto.offset.reset": "earliest",
                "statistics.interval.ms": STATISTICS_MS,
                "stats_cb": self._count,
            }
        )
        self.throttled_ms = 0.0
        self._topic = topic
        self._stop = threading.Event()
        self._read: deque[tuple[float, int]] = deque(maxlen=2000)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def rate(self) -> float:
        """Bytes/s over the last five seconds."""
        now = time.monotonic()
        return sum(size for at, size in list(self._read) if now - at < 5) / 5

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def _count(self, statistics: str) -> None:
        """Take down the longest time for which a broker throttled it in the last interval."""
        brokers = json.loads(statistics)["brokers"].values()
        self.throttled_ms = max((each["throttle"]["max"] for each in brokers), default=0)

    def _run(self) -> None:
        consumer = self._consumer
        consumer.subscribe([self._topic])
        offset, committed_at, allowed_at = 0, 0.0, time.monotonic()
        while not self._stop.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error():
                continue
            size = len(message.value() or b"")
            self._read.append((time.monotonic(), size))
            offset = (message.offset() or 0) + 1
            allowed_at = max(allowed_at, time.monotonic() - 1) + size / RATE
            if offset >= RECORDS - 100:
                consumer.seek(confluent_kafka.TopicPartition(self._topic, 0, 0))
            if time.monotonic() - committed_at > 0.3:
                committed_at = time.monotonic()
                consumer.commit(offsets=[confluent_kafka.TopicPartition(self._topic, 0, offset)], asynchronous=False)
            self._stop.wait(max(0.0, allowed_at - time.monotonic()))
        consumer.close()


STATISTICS_MS = 1000
RECORD = 100_000
RECORDS = 800


class Bench:
    """Three brokers, a member of Guardian in a process of its own, and what runs on them."""

    def __init__(self, kafka: KafkaCluster, host: FakeHost, home: Path) -> None:
        self.kafka, self.host, self.home = kafka, host, home
        self.cluster = replace(
            kafka.to_cluster(sasl=False),
            name="live",
            brokers=tuple(Broker(node.id, rack=node.rack, reporter=node.reporter) for node in kafka.brokers),
        )
        self.member: Member = members.plan_members(1, home)[0]
        self.control = KafkaControl(self.cluster, timeout_s=CALL_S)

    def start_member(self) -> None:
        log = self.home / "member.log"
        self.member = members.start_member(self.member, [self.member], self.home / "lake", log, more=PROTECTION)
        members.wait_ready([self.member])

    def kill_member(self) -> None:
        pid = self.member.pid
        assert pid is not None
        kill(pid)

    def end_member(self) -> None:
        if self.member.process is not None and self.member.pid is not None:
            processes.stop_all([self.member.process], PATIENCE_S)

    def client(self) -> GuardianClient:
        return GuardianClient([self.member.grpc], timeout_s=30.0, actor="ann")

    def quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        return self.control.describe_client_quotas()

    def of_etl(self) -> list[float]:
        return [
            values[CONSUMER_BYTE_RATE]
            for entity, values in self.quotas().items()
            if entity.client_id == "etl" and CONSUMER_BYTE_RATE in values
        ]

    def report(self) -> protection_pb2.ProtectionReport:
        with self.client() as client:
            return client.protection("live")

    def owes_nothing(self) -> bool:
        report = self.report()
        return remembers_alone(protection_from_proto(report.held), report.looked_at_ms)

    def until(self, condition: Callable[[], object], what: str = "it") -> None:
        wait_for(what, condition, story=self.tail)

    def tail(self) -> str:
        log = self.home / "member.log"
        return log.read_text()[-3000:] if log.exists() else ""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    home = tmp_path_factory.mktemp("protection")
    log_dirs = {
        str(home / "kafka" / f"broker-{broker}" / f"disk{number}"): DISKS[number - 1]
        for broker in (1, 2, 3)
        for number in (1, 2)
    }
    with ExitStack() as stack:
        host = FakeHost(home, log_dirs)
        stack.callback(host.stop)
        spec = ClusterSpec("live", brokers=3, log_dirs=2, heap_mb=256, settings={"guardian.host.proc": str(host.proc)})
        kafka = stack.enter_context(KafkaCluster.start(spec, home / "kafka"))
        bench = Bench(kafka, host, home)
        stack.callback(bench.control.close)
        data.create_topics(bench.cluster, {"t": {0: (1, 2)}}, {}, PATIENCE_S)
        producer = data.producer(bench.cluster, acks="all")
        for _ in range(RECORDS):
            producer.produce("t", os.urandom(RECORD))
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        assert bench.control.alter_client_quotas({FOREIGN: {CONSUMER_BYTE_RATE: 5_000_000.0}}) == {}
        stack.callback(bench.end_member)
        yield bench


@pytest.fixture
def writer(bench: Bench) -> Iterator[None]:
    """The page cache holds what was written in the last moments, so something has to be written all the while."""
    stop = threading.Event()

    def write() -> None:
        producer = data.producer(bench.cluster, acks="all", client_id="writer")
        while not stop.wait(0.2):
            producer.produce("t", os.urandom(1000))
            producer.poll(0)
        producer.flush(PATIENCE_S)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(PATIENCE_S)


@pytest.mark.usefixtures("writer")
@pytest.mark.long
def test_who_reads_from_an_overloaded_disk_is_held_back_until_it_recovers(bench: Bench) -> None:
    with ExitStack() as stack:
        reader = LateReader(bench.cluster, "t")
        stack.callback(reader.stop)
        bench.start_member()
        with bench.client() as client:
            register(client, bench.cluster)
        before = bench.quotas()
        bench.until(lambda: reader.rate() > 0.6 * RATE, "reading")
        assert reader.throttled_ms == 0
        log_dir = next(d.path for d in bench.control.describe_log_dirs([1]) if TopicPartition("t", 0) in d.replicas)
        bench.host.overloaded = DISKS[int(log_dir[-1]) - 1]
        stack.callback(lambda: setattr(bench.host, "overloaded", ""))

        bench.until(bench.of_etl, "a quota")
        assert bench.quotas()[FOREIGN] == {CONSUMER_BYTE_RATE: 5_000_000.0}
        report = bench.report()
        assert [disk.disk.disk for disk in report.disks if disk.disk.broker == 1][:1] == [bench.host.overloaded]
        reads = [doing for doing in report.queue if doing.topic == "t" and doing.from_disk]
        assert reads
        assert {use.client_id for doing in reads for use in doing.clients} == {"etl"}
        lever = report.held.levers[0]
        assert "etl" in lever.hit
        assert "page cache" in lever.why
        # It is cut again and again while the disk suffers, down to its least, and the broker makes it so.
        bench.until(lambda: min(bench.of_etl(), default=RATE) <= FLOOR, "the floor")
        bench.until(lambda: 0 < reader.rate() < RATE / 2, "slower reading")
        bench.until(lambda: reader.throttled_ms > 0, "a broker that throttles the reader")

        bench.kill_member()
        assert bench.of_etl() == [FLOOR]
        bench.start_member()
        assert bench.report().held.levers
        bench.host.overloaded = ""
        bench.until(lambda: bench.quotas() == before, "the quotas of before")
        bench.until(bench.owes_nothing, "a record of what was put back alone")
        bench.until(lambda: reader.rate() > 0.6 * RATE, "reading as before")
        bench.until(lambda: reader.throttled_ms == 0, "a reader that no broker throttles")
        assert bench.quotas() == before


@pytest.mark.usefixtures("writer")
@pytest.mark.long
def test_a_person_releases_a_disk_with_one_command(bench: Bench) -> None:
    with ExitStack() as stack:
        reader = LateReader(bench.cluster, "t")
        stack.callback(reader.stop)
        if bench.member.pid is None:
            bench.start_member()
            with bench.client() as client:
                register(client, bench.cluster)
        before = bench.quotas()
        assert not bench.of_etl()
        log_dir = next(d.path for d in bench.control.describe_log_dirs([1]) if TopicPartition("t", 0) in d.replicas)
        bench.host.overloaded = DISKS[int(log_dir[-1]) - 1]
        stack.callback(lambda: setattr(bench.host, "overloaded", ""))
        bench.until(bench.of_etl, "a quota")

        released = run(
            bench,
            "disk",
            "release",
            "--cluster",
            "live",
            "--broker",
            "1",
            "--disk",
            bench.host.overloaded,
            "--for",
            "1h",
        )
        assert "consumer_byte_rate" in released
        bench.until(lambda: bench.quotas() == before, "the quotas of before")
        bench.until(bench.owes_nothing, "a record of what was put back alone")
        # The disk suffers on, and nothing is held for it.
        looked_at_ms = bench.report().looked_at_ms
        bench.until(lambda: bench.report().looked_at_ms > looked_at_ms + 8000, "more looks")
        assert bench.quotas() == before
        shown = run(bench, "disk", "queue", "--cluster", "live")
        assert "OVER" in shown
        assert f"nothing is held for broker 1, disk {bench.host.overloaded}" in shown
        assert "OVER" in run(bench, "disk", "show", "--cluster", "live", "--since", "1m")


def run(bench: Bench, *arguments: str) -> str:
    environment = {**os.environ, "GUARDIAN_ENDPOINTS": bench.member.grpc}
    command = [sys.executable, "-m", "guardian.cli.main", *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


LED, FOLLOWED, MOVED = TopicPartition("led", 0), TopicPartition("followed", 0), TopicPartition("t", 0)
PLACES: dict[str, dict[int, tuple[int, ...]]] = {
    LED.topic: {0: (1, 2, 3)},
    FOLLOWED.topic: {0: (3, 2, 1)},
}
LED_DISK, FOLLOWED_DISK = DiskKey(1, "sda"), DiskKey(2, "sda")
RESOURCES = [*((TOPIC, name) for name in ("led", "followed", "t")), *((BROKER, str(each)) for each in (1, 2, 3))]
BEHIND_BYTES = 25_000_000  # that broker 2 lacks of each topic
LEAST = 500_000  # bytes/s that a lever is cut to
QUOTA_S = 11  # Kafka lets what was saved up in so many samples of a second pass at once
A_FETCH = 2_000_000
# Copies that nothing slows would be far beyond the rate by then.
MEASURED_S, MEASURED_BYTES = 8.0, 3_000_000
FOREIGN_RATE = "77000000"


class Scripted:
    """A Watch that looks at the cluster, and says what a test says of its disks."""

    def __init__(self) -> None:
        self.state = DiskState.OVER
        self.doings: list[Doing] = []

    def look(self, _cluster: str, admin: Callable[[], KafkaAdmin], held: Protection, now_ms: int) -> View | None:
        on = {LED_DISK: (LED, MOVED), FOLLOWED_DISK: (FOLLOWED,)}
        looks = [BrokerLook(d.broker, now_ms, {}, 0, {}, {}, dict.fromkeys(found, "/d")) for d, found in on.items()]
        conditions = {disk: DiskCondition(disk, (), self.state, 0.99, 1.0, 0.0, 0.0, 0, "busy") for disk in on}
        return View(look_at_cluster(admin(), looks, held, now_ms), conditions, self.doings)

    def tell(self, cluster: str, view: View, remarks: tuple[str, ...]) -> None:
        del cluster, view
        print(*remarks, sep="\n")  # noqa: T201  (the story of a failure)


class CatchingUp:
    """Broker 2 was away while its topics were written. It is held where it is by throttles of an operator, on the
    other side of each copy than Guardian's lever: the follower's side for LED, the leader's for FOLLOWED."""

    OPERATORS = "1"

    def __init__(self, bench: Bench, control: KafkaControl) -> None:
        self._bench, self._control = bench, control

    def begin(self) -> None:
        """Return once broker 2 is back, and behind. A broker fetches before it knows its throttles, so the leaders hold
        it back until it serves."""
        led = {topic: places[0][0] for topic, places in PLACES.items()}
        data.create_topics(self._bench.cluster, PLACES, {}, PATIENCE_S)
        self.put((BROKER, "2"), **{FOLLOWER_RATE: self.OPERATORS})
        for topic in (LED.topic, FOLLOWED.topic):
            self.put((TOPIC, topic), **{FOLLOWER_REPLICAS: "0:2"})
        broker = self._bench.kafka.broker(2)
        assert broker.process is not None
        assert processes.stop_all([broker.process], PATIENCE_S) == []
        self._bench.until(lambda: self.in_sync() == {LED: {1, 3}, FOLLOWED: {1, 3}}, "an ISR without broker 2")
        producer = data.producer(self._bench.cluster, acks="all")
        for topic in PLACES:
            for _ in range(BEHIND_BYTES // RECORD):
                producer.produce(topic, os.urandom(RECORD))
                producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        for topic, leader in led.items():
            self.put((BROKER, str(leader)), **{LEADER_RATE: self.OPERATORS})
            self.put((TOPIC, topic), **{LEADER_REPLICAS: f"0:{leader}"})
        self._bench.kafka.start_broker(2)
        self._bench.until(lambda: 2 in self._control.describe_cluster().brokers, "broker 2")
        for topic, leader in led.items():
            self.put((TOPIC, topic), **{LEADER_REPLICAS: None})
            self.put((BROKER, str(leader)), **{LEADER_RATE: None})
        had = self.copied()
        assert all(had[each] < BEHIND_BYTES - 2 * MEASURED_BYTES for each in (LED, FOLLOWED)), f"not behind: {had}"

    def put(self, resource: ConfigResource, **values: str | None) -> None:
        """Return once Kafka shows it."""
        assert self._control.alter_configs({resource: values}) == {}

        def shows() -> bool:
            found = self._control.describe_configs([resource])[resource]
            return all(found.get(key) == value for key, value in values.items())

        self._bench.until(shows, f"{values} of {resource}")

    def in_sync(self) -> dict[TopicPartition, set[int]]:
        """The brokers that have all of each partition."""
        found = self._control.describe_partitions([LED.topic, FOLLOWED.topic])
        return {partition: set(state.isr) for partition, state in found.items()}

    def copied(self) -> dict[TopicPartition, int]:
        """The bytes that broker 2 has of each topic, and the log dir that MOVED goes to."""
        dirs = self._control.describe_log_dirs([1, 2])
        found = {
            partition: replica.size_bytes
            for each in dirs
            for partition, replica in each.replicas.items()
            if each.broker == 2 and partition in (LED, FOLLOWED)
        }
        future = [each.future_replicas[MOVED].size_bytes for each in dirs if MOVED in each.future_replicas]
        return {**found, MOVED: future[0] if future else 0}


def test_levers_slow_replicas_that_really_catch_up_and_a_real_move_and_leave_nothing(bench: Bench) -> None:
    """Take a broker away until the ISR shrinks; each lever holds back what it then copies, and lets it end."""
    watch, store = Scripted(), MemoryProtectionStore("live")
    clock = [1_000_000]
    with closing(KafkaControl(bench.cluster, timeout_s=CALL_S)) as control:
        behind = CatchingUp(bench, control)
        settings = ProtectionSettings("act", step_s=1, floor_mb_per_s=LEAST / 1e6)
        protector = Protector(store, lambda _: control, watch, settings, lambda: clock[0])

        def tick_until(condition: Callable[[], object], what: str) -> None:
            def passed() -> object:
                clock[0] += 2000
                print(*protector.tick_cluster("live"), sep="\n")  # noqa: T201  (the story of a failure)
                return condition()

            bench.until(passed, what)

        def shown() -> dict[str, dict[str, str]]:
            return {name: values for (_, name), values in control.describe_configs(RESOURCES).items() if values}

        behind.begin()
        read = Doing(LED_DISK, LED, Behaviour.REPLICATION_READ, 9e5, True, is_abnormal=True, why="late", followers=1)
        write = Doing(FOLLOWED_DISK, FOLLOWED, Behaviour.REPLICATION_WRITE, 8e5, is_abnormal=True, why="late")
        move = Doing(LED_DISK, MOVED, Behaviour.MOVE_WRITE, 7e5, is_abnormal=True, why="copied")
        watch.doings += [read, move]
        theirs = {FOLLOWER_RATE: behind.OPERATORS}
        mine = {LEADER_RATE: str(LEAST), LOG_DIR_RATE: str(LEAST)}
        tick_until(lambda: shown().get("1") == mine, "levers of broker 1")
        assert shown() == {
            "1": mine,
            "2": theirs,
            LED.topic: {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"},
            FOLLOWED.topic: {FOLLOWER_REPLICAS: "0:2"},
        }

        # The operator's throttle of FOLLOWED goes to its leader's side; what stays at broker 2 is of no copy.
        behind.put((BROKER, "3"), **{LEADER_RATE: behind.OPERATORS})
        behind.put((TOPIC, FOLLOWED.topic), **{LEADER_REPLICAS: "0:3", FOLLOWER_REPLICAS: None})
        behind.put((TOPIC, LED.topic), **{FOLLOWER_REPLICAS: None})
        began = Copied(behind)
        behind.put((BROKER, "2"), **{FOLLOWER_RATE: FOREIGN_RATE})
        watch.doings.append(write)
        tick_until(lambda: shown().get("2") == {FOLLOWER_RATE: str(LEAST)}, "a lever of broker 2")
        behind.put((BROKER, "3"), **{LEADER_RATE: None})
        behind.put((TOPIC, FOLLOWED.topic), **{LEADER_REPLICAS: None})
        assert shown() == {
            "1": mine,
            "2": {FOLLOWER_RATE: str(LEAST)},
            LED.topic: {LEADER_REPLICAS: "0:1"},
            FOLLOWED.topic: {FOLLOWER_REPLICAS: "0:2"},
        }
        (other,) = (each.path for each in control.describe_log_dirs([1]) if MOVED not in each.replicas)
        assert control.alter_replica_log_dirs({(MOVED, 1): other}) == {}
        bench.until(lambda: began.lasts_s > MEASURED_S and began.least_since() > MEASURED_BYTES, "copies")
        assert began.too_much() == {}
        assert behind.in_sync() == {LED: {1, 3}, FOLLOWED: {1, 3}}

        watch.state = DiskState.UNDER
        watch.doings.clear()
        tick_until(lambda: store.protection("live").is_idle, "the end of all levers")
        assert shown() == {"2": {FOLLOWER_RATE: FOREIGN_RATE}}
        bench.until(lambda: behind.in_sync() == {each: {1, 2, 3} for each in (LED, FOLLOWED)}, "all in sync")
        bench.until(lambda: behind.copied()[MOVED] == 0, "the end of the move")
        assert MOVED in next(each for each in control.describe_log_dirs([1]) if each.path == other).replicas
        behind.put((BROKER, "2"), **{FOLLOWER_RATE: None})


class Copied:
    """What was copied since a moment, and the most that a rate of LEAST lets through meanwhile."""

    def __init__(self, behind: CatchingUp) -> None:
        self._behind = behind
        self._at_s, self._had = time.monotonic(), behind.copied()

    @property
    def lasts_s(self) -> float:
        return time.monotonic() - self._at_s

    def least_since(self) -> int:
        """The bytes of the copy that has least."""
        found = self._behind.copied()
        return min(found[each] - had for each, had in self._had.items())

    def too_much(self) -> dict[TopicPartition, int]:
        """The copies that went faster, with their bytes: however slow all of this is, a throttled one never does."""
        found = self._behind.copied()
        most = LEAST * (self.lasts_s + QUOTA_S) + A_FETCH
        return {each: found[each] - had for each, had in self._had.items() if found[each] - had > most}
