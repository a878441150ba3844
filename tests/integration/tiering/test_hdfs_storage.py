"""Segments in HDFS: the storage manager against a real HDFS (the plugin's own tests), and in a real broker."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Message
from confluent_kafka import TopicPartition as WirePartition

from deploy.local.distribution import PLUGIN, require_java, run_maven
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.tiered_storage import TieredStorage, hdfs_storage, topic_metadata
from guardian.kafka import data
from guardian.kafka.data import KafkaError
from guardian.model.topology import Cluster
from tests.integration.mini_hdfs import MiniHdfs, storage_class_path, tool_class_path
from tests.integration.tiering.harness import TOPIC_CONFIG
from tests.integration.tiering.records import produce, require_whole
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

TOPIC = "orders"
RECORDS = 300
TOOL_S = 120.0
OUTAGE_S = 8.0


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[MiniHdfs]:
    with MiniHdfs(tmp_path / "hdfs") as hdfs:
        yield hdfs


def listing(uri: str) -> list[dict[str, object]]:
    """What HdfsTool says is there; nothing while there is no folder yet."""
    command = [require_java(), "-cp", tool_class_path(), "guardian.kafka.hdfs.HdfsTool", "list", uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_S, check=False)
    if done.returncode == 2:
        return []
    assert done.returncode == 0, done.stderr
    *files, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert end == {"end": True, "files": len(files)}
    return files


def read_through_an_outage(cluster: Cluster, hdfs: MiniHdfs) -> None:
    """A consumer of what lies in HDFS alone waits while HDFS is down, is not sent elsewhere, and goes on by itself."""
    settings: dict[str, str | int | bool] = {"auto_offset_reset": "error", "enable_auto_commit": False}
    hdfs.stop_namenode()
    with closing(data.consumer(cluster, "patient", **settings)) as consumer:
        consumer.assign([WirePartition(TOPIC, 0, 0)])
        down_until = time.monotonic() + OUTAGE_S
        while time.monotonic() < down_until:
            message = consumer.poll(1.0)
            assert message is None or is_passing(message), "nothing can be read, and nothing is out of range"
        hdfs.start_namenode()
        offset, deadline = 0, time.monotonic() + PATIENCE_S
        while offset < RECORDS:
            assert time.monotonic() < deadline, f"nothing comes after offset {offset - 1}, though HDFS is back"
            message = consumer.poll(1.0)
            if message is not None and not is_passing(message):
                assert (message.error(), message.offset()) == (None, offset)
                offset += 1


def is_passing(message: Message) -> bool:
    error = message.error()
    gone = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)
    return error is not None and error.code() not in gone


@pytest.mark.long
def test_the_storage_manager_keeps_its_word_on_a_real_hdfs() -> None:
    run_maven(PLUGIN / "pom.xml", "-Phdfs", "test")


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "segment_bytes"),
    [("4.3", "internal.segment.bytes"), ("3.9", "segment.bytes")],
)
def test_a_broker_offloads_to_hdfs_and_reads_back_whether_hdfs_is_up_or_down(
    version: str, segment_bytes: str, hdfs: MiniHdfs, tmp_path: Path
) -> None:
    uri = f"{hdfs.uri}/kafka/tiered"
    settings = {"hdfs.uri": uri, "cache.dir": str(tmp_path / "cache"), "read.timeout.ms": "3000"}
    storage = hdfs_storage(storage_class_path(), settings)
    spec = ClusterSpec("hdfs", brokers=1, log_dirs=1, kafka=version, tiered=TieredStorage(storage, topic_metadata(1)))
    kafka = KafkaCluster.plan(spec, tmp_path / "kafka")
    kafka.launch()
    try:
        cluster = kafka.to_cluster()
        config = {**TOPIC_CONFIG, "min.insync.replicas": "1", segment_bytes: "32768"}
        data.create_topics(cluster, {TOPIC: {0: (1,)}}, config, PATIENCE_S)
        produce(cluster, TOPIC, range(RECORDS), 1)
        folder = kafka.directory / "broker-1" / "disk1" / f"{TOPIC}-0"
        wait_for("the leader has but its active segment", lambda: len(list(folder.glob("*.log"))) == 1)
        read_through_an_outage(cluster, hdfs)
        require_whole(cluster, TOPIC, RECORDS)

        files = listing(uri)
        logs = [file for file in files if file["kind"] == "log"]
        assert len(logs) >= RECORDS // 40
        assert {file["segmentId"] for file in logs} == {
            file["segmentId"] for file in files if file["kind"] == "indexes"
        }
        assert len(files) == 2 * len(logs), "nothing half done is left"
        assert {(file["topic"], file["partition"]) for file in files} == {(TOPIC, 0)}

        hdfs.stop_namenode()
        require_whole(cluster, TOPIC, RECORDS)
        hdfs.start_namenode()

        data.delete_topics(cluster, [TOPIC], PATIENCE_S)
        wait_for("a deleted topic leaves nothing in HDFS", lambda: listing(uri) == [])
        cached = (tmp_path / "cache" / "broker-1").glob
        wait_for("nor in the cache", lambda: not list(cached("*.log")))
    finally:
        kafka.stop()
