"""Three brokers, segments in a real HDFS, metadata in Guardian: all is read back in order, and each segment once. What
a topic leaves that is deleted while its leader is away is named, and swept."""

from __future__ import annotations

import getpass
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from deploy.local.answering import register
from deploy.local.tiered_storage import hdfs_storage
from guardian.client import GuardianClient
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from guardian.kafka import data
from protos.guardian.v1 import reporter_pb2, reporter_pb2_grpc
from tests.integration.mini_hdfs import MiniHdfs, storage_class_path, tool_class_path
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import produce, require_whole
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RECORDS = 300
PARTITIONS = 3
LOST_BROKER = 3
CANT_BE_ASKED = 2


def counted(tiered: TieredCluster, name: str) -> float:
    """What the storage managers of all brokers have counted, as Guardian collects it."""
    total = 0.0
    for broker in tiered.kafka.brokers:
        with grpc.insecure_channel(broker.reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            batch = stub.Collect(reporter_pb2.CollectRequest(known_names=0), timeout=PATIENCE_S)
        values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
        total += values[f"guardian.kafka:type=HdfsRemoteStorageManager,name={name}:Count"]
    return total


Cli = Callable[..., subprocess.CompletedProcess[str]]


def test_records_offloaded_to_hdfs_are_read_back_in_order_and_what_deleted_topics_leave_is_swept(
    tmp_path: Path, guardian: Cli
) -> None:
    with (
        Members(tmp_path / "guardian") as members,
        GuardianClient(members.endpoints, timeout_s=CALL_S) as client,
        MiniHdfs(tmp_path / "hdfs") as hdfs,
    ):
        url = f"{hdfs.uri}/guardian"
        storage = hdfs_storage(storage_class_path(), {"hdfs.uri": url, "cache.dir": str(tmp_path / "cache")})

        def tiering(*words: str) -> dict[str, Any]:
            """Again while too few brokers answer in time."""
            results = []

            def is_answered() -> bool:
                results.append(guardian(members, "tiering", *words, "-o", "json"))
                return results[-1].returncode != CANT_BE_ASKED

            wait_for(f"the cluster can be asked for {words[0]}", is_answered)
            assert results[-1].returncode == 0, results[-1].stdout + results[-1].stderr
            return dict(json.loads(results[-1].stdout))

        with TieredCluster(tmp_path, guardian_plugin(members.endpoints), storage) as tiered:
            register(client, tiered.cluster)
            tiered.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)})
            tiered.create_topic("leaked", {0: (LOST_BROKER,)}, min_insync_replicas="1")
            stored = Stored(client, tiered, "orders", PARTITIONS)
            leaked = Stored(client, tiered, "leaked", 1)
            produce(tiered.cluster, "orders", range(RECORDS), PARTITIONS)
            produce(tiered.cluster, "leaked", range(RECORDS // 3), 1)
            for topic in ("orders", "leaked"):
                tiered.wait_offloaded(topic)
            segments = stored.finished()
            assert segments >= 5 * PARTITIONS

            require_whole(tiered.cluster, "orders", RECORDS)
            # One download of a segment's records, one of its indexes.
            assert counted(tiered, "HdfsReads") == 2 * segments
            for _ in range(2):
                require_whole(tiered.cluster, "orders", RECORDS)
            assert counted(tiered, "HdfsReads") == 2 * segments, "a segment that is cached was read again"

            in_hdfs = ("--remote", url, "--cluster", tiered.cluster.name, "--classpath", tool_class_path())
            found = tiering("verify", *in_hdfs)
            assert (found["finished_segments"], found["differs"]) == (segments + leaked.finished(), False)

            data.delete_topics(tiered.cluster, ["orders"], PATIENCE_S)
            wait_for("no segment is listed", lambda: not any(stored.live().values()))
            tiered.require_all_alive()

            left = leaked.finished()
            tiered.kafka.kill_broker(LOST_BROKER)
            data.delete_topics(tiered.cluster, ["leaked"], PATIENCE_S)
            require_swept(tiering, in_hdfs, left)
            assert all(one.deleted for one in client.list_partitions(tiered.kafka.cluster_id))
            [audited] = [one for one in client.audit() if one.action == "delete_partitions"]
            assert (audited.actor, audited.detail) == (getpass.getuser(), f"{PARTITIONS + 1} partitions")


def require_swept(tiering: Callable[..., dict[str, Any]], in_hdfs: tuple[str, ...], segments: int) -> None:
    """The deleted topics' empty partitions, and so many segments that nobody has deleted, are named, then gone."""
    expected = {("orders", 0), ("leaked", segments)}
    wait_for(
        "what deleted topics have left is named",
        lambda: {(one["topic"], one["live_segments"]) for one in tiering("orphans")["deleted_topics"]} == expected,
    )
    found = tiering("orphans", "--sweep", "--yes", "--older-than", "1s", *in_hdfs)
    swept = found["swept"]
    assert (swept["segments"], swept["partitions"], swept["refused"]) == (segments, PARTITIONS + 1, [])
    assert (swept["files"], swept["reclaimed_bytes"]) == (2 * segments, found["bytes"])
    after = tiering("verify", *in_hdfs)
    assert (after["files"], after["differs"]) == (0, False)
