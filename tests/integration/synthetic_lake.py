"""What the collectors would have written of a cluster, sample by sample: for tests of who reads the lake."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    LOG_DIR_SAMPLES,
    PARTITION_SAMPLES,
    TABLES,
    directory_of,
)

T0 = 1_766_000_040_000  # not at the start of an hour
STEP = 10_000
TO = T0 + 6 * STEP
MB = 1_000_000


@dataclass
class SyntheticPartition:
    """Leads and writes at constant rates, bytes/s; a message is 1000 bytes."""

    topic: str
    number: int
    replicas: list[tuple[int, str]]  # the leader first
    write_rate: int
    read_rate: int = 0
    size: int = MB


@dataclass
class SyntheticCluster:
    """Writes what the collectors would have written of a cluster, sample by sample."""

    name: str
    brokers: list[int]
    log_dirs: list[str]
    partitions: list[SyntheticPartition]
    started: dict[int, int] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def sample(self, at_ms: int, brokers: list[int] | None = None, burst: int = 0) -> SyntheticCluster:
        """One collection of each broker. `burst` bytes were written to every partition besides."""
        for broker in self.brokers if brokers is None else brokers:
            self._sample_broker(at_ms, broker, burst)
        return self

    def sample_all(self, start: int = T0, count: int = 7) -> SyntheticCluster:
        for index in range(count):
            self.sample(start + index * STEP)
        return self

    def fail(self, at_ms: int, broker: int) -> SyntheticCluster:
        self._broker_row(at_ms, broker, 0, "no answer within 5 s")
        return self

    def write(self, lake: Path, member: str = "g1") -> SyntheticCluster:
        for table, rows in self.rows.items():
            by_hour: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                by_hour.setdefault(directory_of(table, self.name, row["at_ms"]), []).append(row)
            for directory, some in by_hour.items():
                (lake / directory).mkdir(parents=True, exist_ok=True)
                path = lake / directory / f"{member}-{some[0]['at_ms']}-{len(some)}.parquet"
                pq.write_table(pa.Table.from_pylist(some, schema=TABLES[table]), path, compression="zstd")
        return self

    def _sample_broker(self, at_ms: int, broker: int, burst: int) -> None:
        started = self.started.get(broker, T0 - 3_600_000)
        self._broker_row(at_ms, broker, started, "")
        for log_dir in self.log_dirs:
            self._row(
                LOG_DIR_SAMPLES,
                at_ms=at_ms,
                broker=broker,
                log_dir=log_dir,
                disk="sda",
                total_bytes=10**12,
                usable_bytes=9 * 10**11,
                offline=False,
            )
        for partition in self.partitions:
            for place, log_dir in partition.replicas:
                if place == broker:
                    self._partition_row(at_ms, broker, started, partition, log_dir, burst)

    def _partition_row(
        self, at_ms: int, broker: int, started: int, partition: SyntheticPartition, log_dir: str, burst: int
    ) -> None:
        led = [p for p in self.partitions if p.topic == partition.topic and p.replicas[0][0] == broker]
        lived = at_ms - started
        self._row(
            PARTITION_SAMPLES,
            at_ms=at_ms,
            broker=broker,
            broker_started_at_ms=started,
            topic=partition.topic,
            partition=partition.number,
            log_dir=log_dir,
            is_leader=partition.replicas[0][0] == broker,
            size_bytes=partition.size,
            log_start_offset=0,
            log_end_offset=(partition.write_rate * (at_ms - T0 + 10**7) // 1000 + burst) // 1000,
            topic_bytes_in_total=sum(p.write_rate * lived // 1000 + burst for p in led),
            topic_bytes_out_total=sum(p.read_rate * lived // 1000 for p in led),
        )

    def _broker_row(self, at_ms: int, broker: int, started: int, error: str) -> None:
        self._row(
            BROKER_SAMPLES,
            at_ms=at_ms,
            broker=broker,
            broker_started_at_ms=started,
            rack=f"rack-{broker}",
            idc="shanghai",
            bytes_in_total=0,
            bytes_out_total=0,
            metrics=0 if error else 100,
            memory_available_bytes=0,
            page_cache_bytes=0,
            error=error,
        )

    def _row(self, table: str, **values: Any) -> None:
        self.rows.setdefault(table, []).append(values)


def two_partitions() -> SyntheticCluster:
    return SyntheticCluster(
        "live",
        [1, 2],
        ["/d1", "/d2"],
        [
            SyntheticPartition("orders", 0, [(1, "/d1"), (2, "/d1")], 3 * MB, read_rate=6 * MB),
            SyntheticPartition("orders", 1, [(1, "/d2"), (2, "/d1")], MB, read_rate=2 * MB),
        ],
    )


def skewed(name: str = "live") -> SyntheticCluster:
    """Broker 1's /d1 has a replica of everything."""
    partitions = [
        SyntheticPartition(
            f"t{number % 4}",
            number,
            [(1, "/d1"), (2 + number % 2, "/d1")],
            write_rate=MB * (1 + number * number // 10),
            size=MB * (10 + number),
        )
        for number in range(24)
    ]
    return SyntheticCluster(name, [1, 2, 3], ["/d1", "/d2", "/d3"], partitions)
