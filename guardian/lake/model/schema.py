"""The schema of the metrics lake, version 3.

    LAKE/<table>/cluster=<name>/hour=<YYYY-MM-DDTHH, UTC>/<member>-<first ms>-<id>.parquet

Of one collection, the row in broker_samples is written last: who lists that table first sees all that belongs to it.

A file is written whole under a name that starts with '.', then renamed: readers (Spark skips such names) see all of it
or nothing. Counters are stored as they are, as monotonic totals since `broker_started_at_ms`; a rate is the reader's,
over the window of its choice, and a restart shows as a new `broker_started_at_ms`.

Columns and tables may be added, which raises the version; none changes its meaning. A column that came later than
version 1 is null in older files, and wherever the broker or its host has no such number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

Rows = Mapping[str, pa.Table]
"""Table name -> rows in the schema of that table."""

VERSION = 3

PARTITION_SAMPLES = "partition_samples"
LOG_DIR_SAMPLES = "log_dir_samples"
DISK_SAMPLES = "disk_samples"
NIC_SAMPLES = "nic_samples"
METRIC_SAMPLES = "metric_samples"
BROKER_SAMPLES = "broker_samples"
PARTITION_HOURS = "partition_hours"

_METADATA = {b"guardian.lake.version": str(VERSION).encode()}
_AT = pa.field("at_ms", pa.int64(), nullable=False)  # the broker's clock
_BROKER = pa.field("broker", pa.int32(), nullable=False)
_STARTED = pa.field("broker_started_at_ms", pa.int64(), nullable=False)

TABLES: dict[str, pa.Schema] = {
    # One row a replica: what this broker holds of a partition.
    PARTITION_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            _STARTED,
            pa.field("topic", pa.string(), nullable=False),
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("log_dir", pa.string(), nullable=False),
            pa.field("is_leader", pa.bool_(), nullable=False),
            pa.field("size_bytes", pa.int64(), nullable=False),
            pa.field("log_start_offset", pa.int64(), nullable=False),
            pa.field("log_end_offset", pa.int64(), nullable=False),
            # Totals of the whole topic on this broker, which Kafka counts for the partitions led here.
            pa.field("topic_bytes_in_total", pa.int64(), nullable=False),
            pa.field("topic_bytes_out_total", pa.int64(), nullable=False),
            # Since version 2.
            pa.field("topic_messages_in_total", pa.int64()),
            pa.field("replicas", pa.int32()),  # as the leader sees it; null on followers, as the next
            pa.field("in_sync_replicas", pa.int32()),
            pa.field("fetch_lag", pa.int64()),  # messages that a follower is behind; null on leaders
        ],
        metadata=_METADATA,
    ),
    # One row a log dir.
    LOG_DIR_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            pa.field("log_dir", pa.string(), nullable=False),
            pa.field("disk", pa.string(), nullable=False),
            pa.field("total_bytes", pa.int64(), nullable=False),
            pa.field("usable_bytes", pa.int64(), nullable=False),
            pa.field("offline", pa.bool_(), nullable=False),
            pa.field("size_bytes", pa.int64()),  # of the replicas stored here; since version 2
        ],
        metadata=_METADATA,
    ),
    # One row a disk of the broker's host: /proc/diskstats.
    DISK_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            pa.field("disk", pa.string(), nullable=False),
            pa.field("bytes_read", pa.int64(), nullable=False),
            pa.field("bytes_written", pa.int64(), nullable=False),
            pa.field("reads_completed", pa.int64(), nullable=False),
            pa.field("writes_completed", pa.int64(), nullable=False),
            pa.field("busy_ms", pa.int64(), nullable=False),
            pa.field("read_ms", pa.int64(), nullable=False),
            pa.field("write_ms", pa.int64(), nullable=False),
            pa.field("in_flight", pa.int32(), nullable=False),
        ],
        metadata=_METADATA,
    ),
    # One row a network interface of the broker's host: /proc/net/dev. Since version 2.
    NIC_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            pa.field("nic", pa.string(), nullable=False),
            pa.field("bytes_received", pa.int64(), nullable=False),
            pa.field("bytes_sent", pa.int64(), nullable=False),
            pa.field("receive_errors", pa.int64(), nullable=False),
            pa.field("send_errors", pa.int64(), nullable=False),
            pa.field("bits_per_s", pa.int64(), nullable=False),  # its speed; 0: unknown
        ],
        metadata=_METADATA,
    ),
    # One row a metric that the member is told to keep under its own name ([collect] keep). Since version 2.
    METRIC_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            _STARTED,
            pa.field("metric", pa.string(), nullable=False),  # "group:type=T,name=N,key=value...:attribute"
            pa.field("value", pa.float64(), nullable=False),
        ],
        metadata=_METADATA,
    ),
    # One row a collection of a broker, also when it failed: `error` is empty when it did not.
    BROKER_SAMPLES: pa.schema(
        [
            _AT,
            _BROKER,
            _STARTED,
            pa.field("rack", pa.string(), nullable=False),
            pa.field("idc", pa.string(), nullable=False),
            pa.field("bytes_in_total", pa.int64(), nullable=False),
            pa.field("bytes_out_total", pa.int64(), nullable=False),
            pa.field("metrics", pa.int32(), nullable=False),  # values in the batch
            pa.field("memory_available_bytes", pa.int64(), nullable=False),
            pa.field("page_cache_bytes", pa.int64(), nullable=False),
            pa.field("error", pa.string(), nullable=False),
            # Since version 2; null in the row of a failed collection, but for `member`.
            pa.field("member", pa.string()),  # of Guardian, who collected
            pa.field("skew_ms", pa.int64()),  # the broker's clock minus the member's; `at_ms` corrects what is wrong
            pa.field("messages_in_total", pa.int64()),
            pa.field("replication_bytes_in_total", pa.int64()),
            pa.field("replication_bytes_out_total", pa.int64()),
            pa.field("memory_total_bytes", pa.int64()),
            pa.field("memory_dirty_bytes", pa.int64()),
            pa.field("cores", pa.int32()),
            pa.field("cpu_busy_ms", pa.int64()),  # user, system and stolen time of all cores since the host's start
            pa.field("cpu_io_wait_ms", pa.int64()),
            pa.field("cpu_idle_ms", pa.int64()),
            pa.field("cpu_pressure_us", pa.int64()),  # some task waited, since the host's start; io and memory alike
            pa.field("io_pressure_us", pa.int64()),
            pa.field("memory_pressure_us", pa.int64()),
        ],
        metadata=_METADATA,
    ),
    # One row a replica and hour, made of its samples when the hour is compacted (guardian.lake.rules.rollup).
    # An hour's directory may hold several files: only the one whose name comes last counts. Since version 3.
    PARTITION_HOURS: pa.schema(
        [
            _AT,  # of the hour's last sample, which all up to `replicas` are of
            _BROKER,
            pa.field("topic", pa.string(), nullable=False),
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("log_dir", pa.string(), nullable=False),
            pa.field("is_leader", pa.bool_(), nullable=False),
            pa.field("size_bytes", pa.int64(), nullable=False),
            pa.field("replicas", pa.int32()),  # as the leader sees it; null on followers
            pa.field("first_at_ms", pa.int64(), nullable=False),
            pa.field("first_size_bytes", pa.int64(), nullable=False),
            pa.field("samples", pa.int32(), nullable=False),
            # Between consecutive samples within one life of the broker: how long they lasted, and messages gained.
            pa.field("covered_ms", pa.int64(), nullable=False),
            pa.field("messages", pa.int64(), nullable=False),
            # Medians in bytes/s of what it took in and gave to consumers; null where no pair of samples tells.
            pa.field("write_rate", pa.float32()),
            pa.field("read_rate", pa.float32()),
            # Of each pair its duration and rates (guardian.lake.rules.rates): hours add up to any window's quantiles.
            pa.field("pairs", pa.binary(), nullable=False),
            pa.field("led", pa.bool_(), nullable=False),  # in these pairs; else it served consumers as a follower
        ],
        metadata=_METADATA,
    ),
}


def table_of(schema: pa.Schema, columns: Mapping[str, Any]) -> pa.Table:
    """Return rows from columns by name, in the schema's order. Raises ValueError where their names are not the
    schema's, and OverflowError or pa.ArrowInvalid for a value that does not fit."""
    names = schema.names
    if columns.keys() != set(names):
        raise ValueError(f"columns: other names than the schema's (got {sorted(columns)}); use {sorted(names)}")
    arrays = [_array(columns[name], kind) for name, kind in zip(names, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)  # from_pydict takes twice as long


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if not isinstance(values, pa.Array):
        return pa.array(values, kind)
    return values if values.type == kind else values.cast(kind)


def hour_of(at_ms: int) -> str:
    """The value of the `hour` partition column for a time in ms since the epoch."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H")


def directory_of(table: str, cluster: str, at_ms: int) -> str:
    """Return where a table's rows of one cluster and hour lie, relative to the lake."""
    return f"{table}/cluster={cluster}/hour={hour_of(at_ms)}"
