"""A lake of a cluster of three brokers in two IDCs, an hour long, as collectors would have written it.

Broker 1 and 2 are in "sh", 3 is in "sz". Each has disks sda and sdb; sdb of broker 2 is slow for the last half hour.
Topic t has partition 0 on 1 (leader) and 3, and partition 1 on 3 (leader), 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES, TABLES
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster

MINUTE_MS = 60_000
FROM_MS = 1_790_000_040_000 // MINUTE_MS * MINUTE_MS
MINUTES = 60
TO_MS = FROM_MS + MINUTES * MINUTE_MS + 1
SLOW_FROM = 30
MB = 10**6
GB = 10**9

CLUSTER = Cluster(
    "live",
    "h:9092",
    "fake",
    brokers=(Broker(1, idc="sh"), Broker(2, idc="sh"), Broker(3, idc="sz")),
)

_Row = Mapping[str, Any]


def write_lake(path: Path, twice: bool = False) -> None:
    """`twice`: as it is for some minutes after compaction."""
    for member in ("m1", "merged") if twice else ("m1",):
        writer = LakeWriter(str(path), member)
        writer.write(
            CLUSTER.name,
            {
                BROKER_SAMPLES: table(BROKER_SAMPLES, _brokers()),
                LOG_DIR_SAMPLES: table(LOG_DIR_SAMPLES, _log_dirs()),
                DISK_SAMPLES: table(DISK_SAMPLES, _disks()),
                PARTITION_SAMPLES: table(PARTITION_SAMPLES, _partitions()),
            },
        )
        writer.flush()


def table(name: str, rows: Iterable[_Row]) -> pa.Table:
    """What a row lacks is null, or the zero of its kind."""
    listed, schema = list(rows), TABLES[name]
    columns = [
        pa.array([row.get(field.name, None if field.nullable else _zero(field.type)) for row in listed], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _zero(kind: pa.DataType) -> object:
    return "" if kind == pa.string() else False if kind == pa.bool_() else 0


def _moments() -> Iterable[tuple[int, int, dict[str, Any]]]:
    """Minute, broker, and what every row has."""
    for minute in range(MINUTES + 1):
        for broker in (1, 2, 3):
            yield minute, broker, {"at_ms": FROM_MS + minute * MINUTE_MS, "broker": broker, "broker_started_at_ms": 7}


def _brokers() -> Iterable[_Row]:
    for _, _, moment in _moments():
        yield {**moment, "memory_available_bytes": 3 * GB}


def _log_dirs() -> Iterable[_Row]:
    for _, _, moment in _moments():
        for disk in ("sda", "sdb"):
            yield {**moment, "log_dir": f"/data/{disk}", "disk": disk}
        yield {**moment, "log_dir": "/data/lost", "disk": ""}


def _disks() -> Iterable[_Row]:
    """10 MB/s and 100 I/Os/s each: with 3 GB of memory, and 20 MB/s a host, the page cache holds 150 s."""
    for minute, broker, moment in _moments():
        for disk in ("sda", "sdb", "nvme0n1"):
            slow = max(0, minute - SLOW_FROM) if (broker, disk) == (2, "sdb") else 0
            yield {
                **moment,
                "disk": disk,
                "bytes_read": minute * 60 * MB,
                "bytes_written": minute * 540 * MB,
                "reads_completed": minute * 600,
                "writes_completed": minute * 5400,
                "read_ms": minute * 2400 + slow * 60_000,
                "write_ms": minute * 21_600 + slow * 500_000,
                "busy_ms": (minute - slow) * 20_000 + slow * 59_000,
            }


def _partitions() -> Iterable[_Row]:
    """1000 messages a second in each partition, 6 MB a minute in and 30 MB out on broker 1, half of that on 3."""
    for minute, broker, moment in _moments():
        part = 2 if broker == 3 else 1
        for number, leader, follower in ((0, 1, 3), (1, 3, 2)):
            if broker in (leader, follower):
                yield {
                    **moment,
                    "topic": "t",
                    "partition": number,
                    "log_dir": "/data/sda",
                    "is_leader": broker == leader,
                    "log_end_offset": minute * 60_000,
                    "topic_bytes_in_total": 0 if broker == 2 else minute * 6 * MB // part,
                    "topic_bytes_out_total": 0 if broker == 2 else minute * 30 * MB // part,
                }
