"""Three brokers, segments in a real HDFS, metadata in Guardian: all is read back in order, and each segment once."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from deploy.local.hdfs import MiniHdfs, storage_class_path
from deploy.local.tiered_storage import hdfs_storage
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.reporter.names import NOTHING_KNOWN, values_by_name
from protos.guardian.v1 import reporter_pb2, reporter_pb2_grpc
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin, until
from tests.integration.tiering.records import produce, require_whole

pytestmark = pytest.mark.integration

RECORDS = 300
PARTITIONS = 3


def counted(tiered: TieredCluster, name: str) -> float:
    """What the storage managers of all brokers have counted, as Guardian collects it."""
    total = 0.0
    for broker in tiered.kafka.brokers:
        with grpc.insecure_channel(broker.reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            batch = stub.Collect(reporter_pb2.CollectRequest(known_names=0), timeout=30)
        values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
        total += values[f"guardian.kafka:type=HdfsRemoteStorageManager,name={name}:Count"]
    return total


def test_records_offloaded_to_hdfs_are_read_back_in_order_and_each_segment_once(tmp_path: Path) -> None:
    with (
        Members(tmp_path / "guardian") as members,
        GuardianClient(members.endpoints) as client,
        MiniHdfs(tmp_path / "hdfs") as hdfs,
    ):
        settings = {"hdfs.uri": f"{hdfs.uri}/guardian", "cache.dir": str(tmp_path / "cache")}
        storage = hdfs_storage(storage_class_path(), settings)
        with TieredCluster(tmp_path, guardian_plugin(members.endpoints), storage) as tiered:
            client.register_cluster(tiered.cluster)
            tiered.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)})
            stored = Stored(client, tiered, "orders", PARTITIONS)
            produce(tiered.cluster, "orders", range(RECORDS), PARTITIONS)
            tiered.wait_offloaded("orders")
            segments = stored.finished()
            assert segments >= 5 * PARTITIONS

            require_whole(tiered.cluster, "orders", RECORDS)
            # One download of a segment's records, one of its indexes.
            assert counted(tiered, "HdfsReads") == 2 * segments
            for _ in range(2):
                require_whole(tiered.cluster, "orders", RECORDS)
            assert counted(tiered, "HdfsReads") == 2 * segments, "a segment that is cached was read again"

            data.delete_topics(tiered.cluster, ["orders"])
            until("no segment is listed", lambda: not any(stored.live().values()))
            tiered.require_all_alive()
