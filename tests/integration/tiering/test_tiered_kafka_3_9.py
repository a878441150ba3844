"""The plugin in a broker of Kafka 3.9, the oldest that it is run in: offload, read back, delete."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.kafka import data
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import produce, require_whole
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RECORDS = 300


def test_a_broker_of_kafka_3_9_keeps_its_tiered_metadata_in_guardian(tmp_path: Path) -> None:
    """One broker, which nobody else could vouch for: so its claims go in their order."""
    with Members(tmp_path / "guardian") as members, members.client() as client:
        plugin = guardian_plugin(members.endpoints, fence="claim-order")
        with TieredCluster(tmp_path, plugin, kafka="3.9", brokers=1) as tiered:
            tiered.create_topic("orders", {0: (1,), 1: (1,)}, min_insync_replicas="1")
            stored = Stored(client, tiered, "orders", 2)
            produce(tiered.cluster, "orders", range(RECORDS), 2)
            tiered.wait_offloaded("orders")
            stored.wait_tidy()
            assert all(len(segments) >= 5 for segments in stored.live().values())
            require_whole(tiered.cluster, "orders", RECORDS)

            tiered.kafka.kill_broker(1)
            tiered.kafka.start_broker(1)
            produce(tiered.cluster, "orders", range(RECORDS, 2 * RECORDS), 2)
            tiered.wait_offloaded("orders")
            require_whole(tiered.cluster, "orders", 2 * RECORDS)

            remote = tiered.remote_files("orders")
            data.delete_topics(tiered.cluster, ["orders"], PATIENCE_S)
            wait_for("no remote file is left", lambda: not remote())
            wait_for("no segment is listed", lambda: not any(stored.live().values()))
            tiered.require_all_alive()
