"""A real broker on a host that looks as if it had three disks, one of them slow: from /proc through the plugin, the
collector and the lake to `guardian disk` and `guardian group disk-reads`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from typer.testing import CliRunner

from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.cli.exits import DONE, UNKNOWN
from guardian.collection.loop.collector import Collector, CollectorSettings
from guardian.kafka import data
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.command_line import app
from tests.patience import CALL_S, PATIENCE_S, wait_for
from tests.unit.member.member import Member

pytestmark = pytest.mark.integration

DISKS = ("sda", "sdb", "sdc")
SLOW = "sdb"
IOS_PER_S = 500
SECTORS_PER_IO = 200  # of 512 bytes: 51 MB/s a disk
MEMORY_KB = 100_000  # which is gone after less than a second of three disks


class FakeHost:
    """A /proc whose disks work at a steady pace: the counters follow the clock, however seldom they are looked at."""

    def __init__(self, root: Path, log_dirs: tuple[str, ...]) -> None:
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "meminfo").write_text(f"MemTotal: 8000000 kB\nMemAvailable: {MEMORY_KB} kB\nCached: 5 kB\n")
        (self.proc / "self/mountinfo").write_text(
            "".join(
                f"{30 + number} 1 {8 + number}:0 / {log_dir} rw - xfs /dev/{disk} rw\n"
                for number, (disk, log_dir) in enumerate(zip(DISKS, log_dirs, strict=True))
            )
        )
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._tell()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            self._tell()

    def _tell(self) -> None:
        elapsed_ms = int((time.monotonic() - self._began) * 1000)
        lines = []
        for number, disk in enumerate(DISKS):
            done = elapsed_ms * IOS_PER_S // 1000
            await_ms, busy = (60, 0.95) if disk == SLOW else (3, 0.2)
            written = f"{done} 0 {done * SECTORS_PER_IO} {done * await_ms}"
            lines.append(f"{8 + number} 0 {disk} 0 0 0 0 {written} 1 {int(elapsed_ms * busy)} 0\n")
        hidden = self.proc / ".diskstats"
        hidden.write_text("".join(lines))
        hidden.rename(self.proc / "diskstats")


class RealMember(Member):
    """The member of the unit tests, on a real cluster."""

    def _connect(self, cluster: Cluster) -> KafkaAdmin:
        return KafkaControl(cluster, timeout_s=CALL_S)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[tuple[RealMember, Cluster]]:
    log_dirs = tuple(str(tmp_path / "kafka" / "broker-1" / f"disk{number}") for number in (1, 2, 3))
    lake = str(tmp_path / "lake")
    with ExitStack() as stack:
        host = FakeHost(tmp_path, log_dirs)
        stack.callback(host.stop)
        settings = {"guardian.host.proc": str(host.proc)}
        spec = ClusterSpec("slow", brokers=1, heap_mb=256, settings=settings)
        kafka = stack.enter_context(KafkaCluster.start(spec, tmp_path / "kafka"))
        node = kafka.brokers[0]
        cluster = Cluster("slow", kafka.bootstrap, kafka.cluster_id, brokers=(Broker(1, reporter=node.reporter),))
        collector = Collector(
            "m1",
            LakeWriter(lake, "m1", max_age_s=0.0),
            lambda: [cluster],
            lambda brokers: brokers,
            CollectorSettings(0.5, CALL_S),
        )
        collector.start()
        stack.callback(collector.stop)
        member = RealMember(lake=lake)
        stack.callback(member.stop)
        member.store.put_cluster(cluster_to_proto(cluster))
        yield member, cluster


def ask(member: RealMember, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "-o", "json", "--endpoints", member.endpoint])
    assert result.exit_code in {DONE, UNKNOWN}, result.exception  # nobody knows before the first samples
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_slow_disk_and_who_reads_from_disk_are_found(member: tuple[RealMember, Cluster]) -> None:
    running, cluster = member
    data.create_topics(cluster, {"t": {0: (1,)}}, {}, PATIENCE_S)
    group = data.consumer(cluster, "late", enable_auto_commit=False, session_timeout_ms=60_000)
    group.subscribe(["t"])
    producer = data.producer(cluster, acks="all")

    def slow() -> dict[str, Any] | None:
        found = ask(running, "disk", "show", "--cluster", "slow")
        return next((disk for disk in found["disks"] if disk["verdict"] == "DISK_SLOW"), None)

    def reader() -> dict[str, Any] | None:
        """Writing goes on, the group stays at the beginning."""
        for _ in range(100):
            producer.produce("t", bytes(1000))
        assert producer.flush(PATIENCE_S) == 0
        group.poll(0.1)
        if group.assignment():
            group.commit(offsets=[confluent_kafka.TopicPartition("t", 0, 1)], asynchronous=False)
        return next(iter(ask(running, "group", "disk-reads", "--cluster", "slow")["readers"]), None)

    disk = wait_for("slow disk", slow)
    assert (disk["broker"], disk["disk"], disk["peers"]) == (1, SLOW, 2)
    assert disk["log_dirs"] == [str(Path(path)) for path in disk["log_dirs"] if path.endswith("disk2")]
    assert disk["await_ms"] == pytest.approx(60, abs=1)
    assert disk["peers_await_ms"] == pytest.approx(3, abs=1)

    found = wait_for("reader from disk", reader)
    group.close()
    assert (found["group"], found["topic"], found["partition"], found["broker"]) == ("late", "t", 0, 1)
    assert found["committed_offset"] == "1"
    assert found["disk"] in DISKS
    assert found["behind_s"] > 0
