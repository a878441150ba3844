"""Segments in HDFS: the storage manager against a real HDFS (the plugin's own tests), and in a real broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.distribution import PLUGIN, require_java, run_maven
from deploy.local.hdfs import MiniHdfs, storage_class_path, tool_class_path
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.tiered_storage import TieredStorage, hdfs_storage, topic_metadata
from guardian.kafka import data
from tests.integration.tiering.harness import TOPIC_CONFIG, until
from tests.integration.tiering.records import produce, require_whole

pytestmark = pytest.mark.integration

TOPIC = "orders"
RECORDS = 300
TOOL_S = 60.0


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


def test_the_storage_manager_keeps_its_word_on_a_real_hdfs() -> None:
    run_maven(PLUGIN / "pom.xml", "-Phdfs", "test")


@pytest.mark.parametrize(("version", "segment_bytes"), [("4.3", "internal.segment.bytes"), ("3.9", "segment.bytes")])
def test_a_broker_offloads_to_hdfs_and_reads_back_from_its_cache_while_hdfs_is_down(
    version: str, segment_bytes: str, hdfs: MiniHdfs, tmp_path: Path
) -> None:
    uri = f"{hdfs.uri}/kafka/tiered"
    storage = hdfs_storage(storage_class_path(), {"hdfs.uri": uri, "cache.dir": str(tmp_path / "cache")})
    spec = ClusterSpec("hdfs", brokers=1, log_dirs=1, kafka=version, tiered=TieredStorage(storage, topic_metadata(1)))
    kafka = KafkaCluster.plan(spec, tmp_path / "kafka")
    kafka.launch()
    try:
        cluster = kafka.to_cluster()
        config = {**TOPIC_CONFIG, "min.insync.replicas": "1", segment_bytes: "32768"}
        data.create_topics(cluster, {TOPIC: {0: (1,)}}, config)
        produce(cluster, TOPIC, range(RECORDS), 1)
        folder = kafka.directory / "broker-1" / "disk1" / f"{TOPIC}-0"
        until("the leader has but its active segment", lambda: len(list(folder.glob("*.log"))) == 1)
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

        data.delete_topics(cluster, [TOPIC])
        until("a deleted topic leaves nothing in HDFS", lambda: listing(uri) == [])
        assert not list((tmp_path / "cache" / "broker-1").glob("*.log"))
    finally:
        kafka.stop()
