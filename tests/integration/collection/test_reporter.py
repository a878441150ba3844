"""From inside real brokers to the lake: the plugin's one call, and the collector that pulls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import grpc
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from deploy.local.kafka_cluster import KafkaCluster
from guardian.collection.loop.asking import CountersAsker
from guardian.collection.loop.collector import Collector, CollectorSettings
from guardian.collection.rules.names import NOTHING_KNOWN, MetricNames, values_by_name
from guardian.kafka.cluster_truth import MAX_LAG_MS
from guardian.kafka.control import KafkaControl
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES, TABLES
from guardian.lake.store.writer import LakeWriter
from guardian.member.connecting import KafkaConnector
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc
from tests.freezing import frozen
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

PARTITIONS = 6


def registered(kafka: KafkaCluster) -> Cluster:
    """The cluster as the federation would know it; asked anew, a broker that moved is found where it is."""
    brokers = tuple(Broker(node.id, node.rack, node.idc, node.reporter) for node in kafka.brokers)
    return Cluster(kafka.name, kafka.bootstrap, kafka.cluster_id, brokers=brokers)


def call(endpoint: str, request: pb.CollectRequest) -> pb.MetricBatch:
    options = [("grpc.max_receive_message_length", 64 * 1024 * 1024), ("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(endpoint, options=options) as channel:
        batch: pb.MetricBatch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(request, timeout=PATIENCE_S)
        return batch


def end_offsets(kafka: KafkaCluster, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "offsets-only"})
    try:
        return {
            partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE_S)[1]
            for partition in range(PARTITIONS)
        }
    finally:
        consumer.close()


def leaders(kafka: KafkaCluster, topic: str) -> dict[int, int]:
    described = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(topic, timeout=PATIENCE_S).topics[topic]
    return {partition: state.leader for partition, state in described.partitions.items()}


@pytest.fixture
def filled_topic(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> Iterator[str]:
    """A topic of RF 2 whose partition p holds 10 * (p + 1) records of 500 bytes: no two are alike."""
    topic, admin = new_topic(), AdminClient({"bootstrap.servers": kafka_cluster.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 2)])[topic].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap, "acks": "all"})
    wait_for("leaders", lambda: len(leaders(kafka_cluster, topic)) == PARTITIONS)
    for partition in range(PARTITIONS):
        for _ in range((partition + 1) * 10):
            producer.produce(topic, b"x" * 500, partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    yield topic
    admin.delete_topics([topic])[topic].result(PATIENCE_S)


@contextmanager
def collecting(kafka: KafkaCluster, lake_dir: Path) -> Iterator[Collector]:
    lake = LakeWriter(str(lake_dir), "m1", max_age_s=0.0)
    settings = CollectorSettings(interval_s=0.5, timeout_s=CALL_S)
    collector = Collector("m1", lake, lambda: [registered(kafka)], lambda brokers: brokers, settings)
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


def read(lake_dir: Path, table: str) -> pa.Table:
    if not any((lake_dir / table).glob("*/*/[!.]*")):
        return TABLES[table].empty_table()
    return ds.dataset(lake_dir / table, format="parquet", partitioning="hive").to_table()


def rows_of(lake_dir: Path, broker: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read(lake_dir, BROKER_SAMPLES).sort_by("at_ms").to_pylist()
    return [row for row in rows if row["broker"] == broker]


def test_one_call_returns_every_metric_and_the_facts_of_the_host(kafka_cluster: KafkaCluster) -> None:
    node = kafka_cluster.brokers[0]
    batch = call(node.reporter, NOTHING_KNOWN.request())
    assert len(batch.values) > 1000
    assert (batch.cluster_id, batch.broker_id, batch.rack) == (kafka_cluster.cluster_id, node.id, node.rack)
    assert batch.collected_at_ms > batch.broker_started_at_ms > 0
    assert batch.host.memory.total_bytes > batch.host.memory.available_bytes > 0
    assert [log_dir.path for log_dir in batch.host.log_dirs] == list(node.log_dirs)
    assert all(log_dir.total_bytes >= log_dir.usable_bytes > 0 for log_dir in batch.host.log_dirs)

    values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
    assert values["kafka.server:type=ReplicaManager,name=PartitionCount:Value"] == sum(
        len(log_dir.replicas) for log_dir in batch.host.log_dirs
    )
    # One of Kafka's own registry, under the name that JMX has for it.
    assert "kafka.server:type=app-info:start-time-ms" in values


def test_names_are_sent_once_and_only_what_is_asked_for_is_measured(kafka_cluster: KafkaCluster) -> None:
    endpoint = kafka_cluster.brokers[0].reporter
    first = call(endpoint, NOTHING_KNOWN.request())
    names = NOTHING_KNOWN.extended_by(first)
    again = call(endpoint, names.request())
    assert again.dictionary_id == first.dictionary_id
    assert len(again.names) < 100
    assert again.ByteSize() < first.ByteSize() / 4

    wanted = "kafka.server:type=ReplicaManager,name=PartitionCount"
    few = call(endpoint, names.request((wanted,)))
    assert list(values_by_name(few, names.extended_by(few))) == [f"{wanted}:Value"]

    lost = call(endpoint, MetricNames(names.id ^ 1, names.names).request())
    assert lost.first_name_id == 0
    assert len(lost.names) >= len(names.names)


def test_the_age_of_metadata_is_small_and_grows_while_a_broker_hears_no_controller(kafka_cluster: KafkaCluster) -> None:
    connector = KafkaConnector(CountersAsker(None, patience_s=20.0))
    lags = cast("KafkaControl", connector.connect(registered(kafka_cluster))).lags
    wait_for("fresh metadata on three brokers", lambda: len(lags()) == 3 and max(lags().values()) < MAX_LAG_MS)
    with frozen(*(node.pid for node in kafka_cluster.controllers if node.pid is not None)):
        wait_for("old metadata on three brokers", lambda: len(lags()) == 3 and min(lags().values()) > MAX_LAG_MS)
    wait_for("fresh metadata again", lambda: len(lags()) == 3 and max(lags().values()) < MAX_LAG_MS)


def test_the_lake_holds_what_kafka_says(kafka_cluster: KafkaCluster, filled_topic: str, tmp_path: Path) -> None:
    expected = end_offsets(kafka_cluster, filled_topic)
    assert expected == {partition: (partition + 1) * 10 for partition in range(PARTITIONS)}

    def newest() -> dict[tuple[int, int], dict[str, Any]]:
        rows = read(tmp_path, PARTITION_SAMPLES).sort_by("at_ms").to_pylist()
        return {(row["partition"], row["broker"]): row for row in rows if row["topic"] == filled_topic}

    with collecting(kafka_cluster, tmp_path) as collector:
        wait_for("share", collector.collects)
        assert collector.collects() == [f"{kafka_cluster.name}/{node.id}" for node in kafka_cluster.brokers]
        wait_for("row for each of the topic's replicas", lambda: len(newest()) == 2 * PARTITIONS)

    replicas = newest()
    assert all(row["log_end_offset"] == expected[partition] for (partition, _), row in replicas.items())
    assert all(row["log_start_offset"] == 0 and row["size_bytes"] > 5000 for row in replicas.values())
    assert {partition: broker for (partition, broker), row in replicas.items() if row["is_leader"]} == leaders(
        kafka_cluster, filled_topic
    )
    for (partition, broker), row in replicas.items():
        assert row["log_dir"] in kafka_cluster.broker(broker).log_dirs
        assert (Path(row["log_dir"]) / f"{filled_topic}-{partition}").is_dir()
    # Kafka counts a topic's bytes where it is led.
    led = {row["broker"]: row["topic_bytes_in_total"] for row in replicas.values()}
    assert sum(led.values()) > 500 * sum(expected.values())


def test_pyarrow_reads_every_table_in_the_declared_schema(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    with collecting(kafka_cluster, tmp_path):
        wait_for("three brokers", lambda: len({row["broker"] for row in read(tmp_path, DISK_SAMPLES).to_pylist()}) == 3)
    for table in (LOG_DIR_SAMPLES, DISK_SAMPLES, BROKER_SAMPLES):
        rows = read(tmp_path, table)
        assert rows.select(TABLES[table].names).schema.equals(TABLES[table])
        assert set(rows.column_names) - set(TABLES[table].names) == {"cluster", "hour"}
        assert rows.num_rows >= 3
    log_dirs = read(tmp_path, LOG_DIR_SAMPLES).to_pylist()
    assert {(row["broker"], row["log_dir"]) for row in log_dirs} == {
        (node.id, log_dir) for node in kafka_cluster.brokers for log_dir in node.log_dirs
    }
    assert {row["error"] for row in read(tmp_path, BROKER_SAMPLES).to_pylist()} == {""}


def test_a_killed_broker_is_an_error_row_and_its_return_is_rows_again(
    kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    victim = kafka_cluster.brokers[-1].id
    with collecting(kafka_cluster, tmp_path):
        wait_for("row of the broker", lambda: rows_of(tmp_path, victim))
        kafka_cluster.kill_broker(victim)
        wait_for("error row", lambda: rows_of(tmp_path, victim)[-1]["error"])
        others = len(rows_of(tmp_path, kafka_cluster.brokers[0].id))
        wait_for("rows of the other brokers", lambda: len(rows_of(tmp_path, kafka_cluster.brokers[0].id)) > others)
        kafka_cluster.start_broker(victim)
        wait_for("rows again", lambda: not rows_of(tmp_path, victim)[-1]["error"])
    rows = rows_of(tmp_path, victim)
    assert "UNAVAILABLE" in next(row["error"] for row in rows if row["error"])
    starts = sorted({row["broker_started_at_ms"] for row in rows if not row["error"]})
    assert len(starts) == 2
