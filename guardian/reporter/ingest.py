"""From a broker's batch to rows of the lake. Pure.

A replica is a directory in one of the broker's log dirs; the metrics of its log say the rest. One whose log has no
metrics (it is being loaded, or deleted) gets no row: a gap is honest, an offset of 0 would look like lost data.
Counters that do not exist yet (Kafka makes a topic's at its first byte) are 0. A broker that is starting is refused:
it has the directories of all its replicas and the logs of some, as if the others were gone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from guardian.errors import InvalidInput
from guardian.model.topology import Broker, Cluster
from guardian.reporter.names import MetricNames, values_by_name
from protos.guardian.v1 import reporter_pb2
from spark_analytics.lake.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES, TABLES

Rows = Mapping[str, pa.Table]
"""Table name -> rows in the schema of that table."""

_LOG = "kafka.log:type=Log,name={},topic={},partition={}:Value"
_REPLICAS = "kafka.cluster:type=Partition,name=ReplicasCount,topic={},partition={}:Value"
_TOPIC_TOTAL = "kafka.server:type=BrokerTopicMetrics,name={},topic={}:Count"
_BROKER_TOTAL = "kafka.server:type=BrokerTopicMetrics,name={}:Count"
_BROKER_STATE = "kafka.server:type=KafkaServer,name=BrokerState:Value"
_RUNNING = 3  # below it: not running, starting, recovery; above it: two kinds of shutting down
_BYTES_IN, _BYTES_OUT = "BytesInPerSec", "BytesOutPerSec"
_INT64_MAX = 2**63 - 1
_YEAR_9999_MS = 253_370_764_800_000


def ingest(batch: reporter_pb2.MetricBatch, names: MetricNames, cluster: Cluster, broker: Broker) -> Rows:
    """The rows of one collection. `names` are those known after the batch.

    Raises InvalidInput when the batch comes from another broker or cluster than expected, from a broker that is still
    starting, or contradicts itself.
    """
    _require_from(batch, cluster, broker)
    if not 0 < batch.collected_at_ms < _YEAR_9999_MS:
        raise InvalidInput(f"collected_at_ms is {batch.collected_at_ms}: set the clock of broker {broker.id}'s host")
    values = values_by_name(batch, names)
    state = values.get(_BROKER_STATE, _RUNNING)
    if state < _RUNNING:
        raise InvalidInput(
            f"BrokerState of broker {broker.id} is {state:g}: it is starting, collect again when it is 3"
        )
    return {
        PARTITION_SAMPLES: _table(PARTITION_SAMPLES, _partition_rows(batch, values)),
        LOG_DIR_SAMPLES: _table(LOG_DIR_SAMPLES, _log_dir_rows(batch)),
        DISK_SAMPLES: _table(DISK_SAMPLES, _disk_rows(batch)),
        BROKER_SAMPLES: _table(BROKER_SAMPLES, [_broker_row(batch, values, broker)]),
    }


def failed_collection(broker: Broker, at_ms: int, error: str) -> Rows:
    """The row that says that a collection failed, and why. `at_ms` is the collecting member's clock."""
    row = (at_ms, broker.id, 0, broker.rack, broker.idc, 0, 0, 0, 0, 0, error or "the collection failed")
    return {BROKER_SAMPLES: _table(BROKER_SAMPLES, [row])}


def _require_from(batch: reporter_pb2.MetricBatch, cluster: Cluster, broker: Broker) -> None:
    if cluster.cluster_id and batch.cluster_id != cluster.cluster_id:
        raise InvalidInput(
            f"cluster_id is {batch.cluster_id!r} at {broker.reporter}: cluster {cluster.name} has "
            f"{cluster.cluster_id!r}, correct the reporter of broker {broker.id}"
        )
    if batch.broker_id != broker.id:
        raise InvalidInput(
            f"broker_id is {batch.broker_id} at {broker.reporter}: that is registered as broker {broker.id} of cluster "
            f"{cluster.name}, correct its reporter"
        )


def _partition_rows(batch: reporter_pb2.MetricBatch, values: Mapping[str, float]) -> list[tuple[Any, ...]]:
    rows = []
    for log_dir in batch.host.log_dirs:
        for replica in log_dir.replicas:
            topic, _, number = replica.rpartition("-")
            if not topic or not number.isdecimal():
                raise InvalidInput(f"replicas has {replica!r} in {log_dir.path}: use topic-partition")
            log = [
                _whole(values, _LOG.format(name, topic, number)) for name in ("Size", "LogStartOffset", "LogEndOffset")
            ]
            if None in log:
                continue
            rows.append(
                (
                    batch.collected_at_ms,
                    batch.broker_id,
                    batch.broker_started_at_ms,
                    topic,
                    int(number),
                    log_dir.path,
                    (_whole(values, _REPLICAS.format(topic, number)) or 0) > 0,
                    *log,
                    _whole(values, _TOPIC_TOTAL.format(_BYTES_IN, topic)) or 0,
                    _whole(values, _TOPIC_TOTAL.format(_BYTES_OUT, topic)) or 0,
                )
            )
    return rows


def _log_dir_rows(batch: reporter_pb2.MetricBatch) -> list[tuple[Any, ...]]:
    return [
        (
            batch.collected_at_ms,
            batch.broker_id,
            log_dir.path,
            log_dir.disk,
            log_dir.total_bytes,
            log_dir.usable_bytes,
            log_dir.offline,
        )
        for log_dir in batch.host.log_dirs
    ]


def _disk_rows(batch: reporter_pb2.MetricBatch) -> list[tuple[Any, ...]]:
    return [
        (
            batch.collected_at_ms,
            batch.broker_id,
            disk.name,
            disk.bytes_read,
            disk.bytes_written,
            disk.reads_completed,
            disk.writes_completed,
            disk.busy_ms,
            disk.read_ms,
            disk.write_ms,
            disk.in_flight,
        )
        for disk in batch.host.disks
    ]


def _broker_row(batch: reporter_pb2.MetricBatch, values: Mapping[str, float], broker: Broker) -> tuple[Any, ...]:
    return (
        batch.collected_at_ms,
        batch.broker_id,
        batch.broker_started_at_ms,
        batch.rack or broker.rack,
        broker.idc,
        _whole(values, _BROKER_TOTAL.format(_BYTES_IN)) or 0,
        _whole(values, _BROKER_TOTAL.format(_BYTES_OUT)) or 0,
        len(batch.values),
        batch.host.memory.available_bytes,
        batch.host.memory.page_cache_bytes,
        "",
    )


def _whole(values: Mapping[str, float], name: str) -> int | None:
    """A count, an offset or a size; None when the broker has no such number."""
    value = values.get(name, math.nan)
    return int(value) if abs(value) <= _INT64_MAX else None


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = TABLES[name]
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    try:
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"a number of {name} is out of range: {error}, look at the broker's host facts") from error
    return pa.Table.from_arrays(arrays, schema=schema)
