"""The schema of the metrics lake, version 1.

    LAKE/<table>/cluster=<name>/hour=<YYYY-MM-DDTHH, UTC>/<member>-<first ms>-<id>.parquet

Of one collection, the row in broker_samples is written last: who lists that table first sees all that belongs to it.

A file is written whole under a name that starts with '.', then renamed: readers (Spark skips such names) see all of it
or nothing. Counters are stored as they are, as monotonic totals since `broker_started_at_ms`; a rate is the reader's,
over the window of its choice, and a restart shows as a new `broker_started_at_ms`.

Columns may be added; none changes its meaning.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

VERSION = 1

PARTITION_SAMPLES = "partition_samples"
LOG_DIR_SAMPLES = "log_dir_samples"
DISK_SAMPLES = "disk_samples"
BROKER_SAMPLES = "broker_samples"

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
        ],
        metadata=_METADATA,
    ),
}


def hour_of(at_ms: int) -> str:
    """The value of the `hour` partition column for a time in ms since the epoch."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H")


def directory_of(table: str, cluster: str, at_ms: int) -> str:
    """Where a table's rows of one cluster and hour lie, relative to the lake."""
    return f"{table}/cluster={cluster}/hour={hour_of(at_ms)}"
