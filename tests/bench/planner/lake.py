"""A metrics lake as a day of collecting would leave it, made by numpy in minutes: what the planner's Spark job is
measured on.

    python -m tests.bench.planner.lake OUT --brokers 1000 --clusters 20 --replicas 1000 --hours 24

One cluster has three tenths of all brokers, the others share the rest unevenly. Traffic is lognormal over partitions,
goes up and down with the time of day, and every sample of it is noisy; hardware differs, and so do the loads of
brokers. Samples are rolled up by the code that rolls up a real lake; those of the newest hour stay as they are, as if
it were not compacted yet. An hour's roll-up stands for the hours that follow it as well, until the next of DISTINCT:
made one by one they would take ten minutes, and a reader has as much work with either. With `--keep-samples` every hour
is made, and its samples are written too; a job over a day does not read them.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    NIC_SAMPLES,
    PARTITION_HOURS,
    PARTITION_SAMPLES,
    TABLES,
    directory_of,
)
from guardian.lake.rules.rollup import SAMPLED, roll_up

START_MS = 1_790_006_400_000  # a full hour
HOUR_MS = 3_600_000
MB = 1_000_000
RACKS = 9
RF = 3
PARTITIONS_PER_TOPIC = 24
MESSAGE_BYTES = 1_000
DISK_BYTES = 8_000_000 * MB
DISTINCT = 4

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LakeSpec:
    """`replicas` and `disks` are a broker's. Every cluster's figures follow from `seed` and its name."""

    brokers: int = 1000
    clusters: int = 20
    replicas: int = 1000
    disks: int = 6
    hours: int = 24
    interval_s: int = 300
    seed: int = 7
    keep_samples: bool = False

    @property
    def until_ms(self) -> int:
        return START_MS + self.hours * HOUR_MS

    def sizes(self) -> dict[str, int]:
        """Brokers by cluster; the first one is by far the largest."""
        if self.clusters == 1:
            return {"c00": self.brokers}
        large = max(RACKS, self.brokers * 3 // 10)
        shares = np.random.default_rng(self.seed).uniform(0.5, 1.5, self.clusters - 1)
        rest = np.maximum(3, np.floor((self.brokers - large) * shares / shares.sum())).astype(int)
        rest[0] += self.brokers - large - rest.sum()
        return {"c00": large} | {f"c{index + 1:02}": int(size) for index, size in enumerate(rest)}


class _Cluster:
    """The same brokers, replicas and rates all day; counters go on from hour to hour."""

    def __init__(self, name: str, brokers: int, spec: LakeSpec) -> None:
        self.name = name
        self.brokers = brokers
        self.spec = spec
        self.random = np.random.default_rng([spec.seed, *name.encode()])
        self.partitions = brokers * spec.replicas // RF
        self.rack = np.arange(brokers) % min(RACKS, brokers)
        self.topic = np.arange(self.partitions) // PARTITIONS_PER_TOPIC
        rate = (
            self.random.lognormal(0, 1.3, self.partitions)
            * np.repeat(self.random.lognormal(0, 1, int(self.topic[-1]) + 1), PARTITIONS_PER_TOPIC)[: self.partitions]
        )
        self.rate = rate / rate.mean() * 60 * MB * brokers / self.partitions  # 60 MB/s a broker
        self.egress = self.random.uniform(0.5, 3, self.partitions)
        size = self.rate * self.random.lognormal(0, 0.7, self.partitions)
        self.size = size / size.sum() * 0.45 * brokers * spec.disks * DISK_BYTES / RF
        self.offset = self.random.integers(10**6, 10**9, self.partitions)
        self.sent = np.zeros(self.partitions)

    @cached_property
    def replicas(self) -> tuple[_Ints, _Ints, _Ints, npt.NDArray[np.bool_]]:
        """Of each replica, by broker: its broker, partition, disk, and whether it leads."""
        racks = int(self.rack.max()) + 1
        first = self.random.integers(0, racks, self.partitions)
        appeal = self.random.uniform(0.6, 1.4, self.brokers)
        broker = np.empty((RF, self.partitions), np.int64)
        for copy in range(RF):
            where = (first + copy) % racks
            for rack in range(racks):
                here, held = np.flatnonzero(where == rack), np.flatnonzero(self.rack == rack)
                broker[copy, here] = self.random.choice(held, len(here), p=appeal[held] / appeal[held].sum())
        disk = np.minimum(self.random.geometric(0.25, broker.shape) - 1, self.spec.disks - 1)
        order = np.argsort(broker, axis=None, kind="stable")
        partition = np.tile(np.arange(self.partitions), RF)
        leads = np.repeat(np.arange(RF) == 0, self.partitions)
        return broker.ravel()[order], partition[order], disk.ravel()[order], leads[order]

    def moments(self, hour: int) -> _Ints:
        """[samples] of the first broker; the others follow one another within the interval."""
        count = 3600 // self.spec.interval_s
        return START_MS + hour * HOUR_MS + np.arange(count) * self.spec.interval_s * 1000

    def at_ms(self, hour: int) -> _Ints:
        """[samples, brokers]"""
        spread = np.arange(self.brokers) * (self.spec.interval_s * 900 // self.brokers)
        return self.moments(hour)[:, None] + spread

    def advance(self, hour: int) -> tuple[_Ints, _Floats]:
        """[samples, partitions] log end offsets, and bytes that consumers have had."""
        count = 3600 // self.spec.interval_s
        of_day = 1 + 0.5 * np.sin(2 * np.pi * (hour + np.arange(count) / count) / 24)
        noise = self.random.lognormal(0, 0.25, (count, self.partitions))
        gained = self.rate * self.spec.interval_s / MESSAGE_BYTES * of_day[:, None] * noise
        offsets = self.offset + np.cumsum(gained, axis=0).astype(np.int64)
        sent = self.sent + np.cumsum(gained * MESSAGE_BYTES * self.egress, axis=0)
        self.offset, self.sent = offsets[-1], sent[-1]
        return offsets, sent


def _write(lake: Path, table: str, cluster: str, at_ms: int, rows: pa.Table, name: str = "merged-0") -> int:
    directory = lake / directory_of(table, cluster, at_ms)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.parquet"
    pq.write_table(rows, path, compression="zstd", row_group_size=250_000)
    return path.stat().st_size


def _names(codes: _Ints, names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names)).cast(pa.string())


def _partition_samples(cluster: _Cluster, hour: int) -> pa.Table:
    broker, partition, disk, leads = cluster.replicas
    offsets, sent = cluster.advance(hour)
    count = len(offsets)
    topic = cluster.topic[partition]
    holder = broker * (int(cluster.topic[-1]) + 1) + topic
    known, holder = np.unique(holder, return_inverse=True)
    at_ms = cluster.at_ms(hour)
    totals: list[list[_Ints]] = [[], []]
    for sample in range(count):
        for kept, values in zip(totals, (offsets[sample] * MESSAGE_BYTES, sent[sample]), strict=True):
            led = np.where(leads, values[partition], 0)
            kept.append(np.bincount(holder, led, len(known)).astype(np.int64)[holder])
    grown = offsets[:, partition] - offsets[0, partition]
    columns = {
        "at_ms": at_ms[:, broker].ravel(),
        "broker": np.tile(broker, count).astype(np.int32),
        "broker_started_at_ms": np.full(count * len(broker), START_MS - HOUR_MS),
        "topic": _names(np.tile(topic, count), [f"topic-{index:05}" for index in range(int(cluster.topic[-1]) + 1)]),
        "partition": np.tile(partition % PARTITIONS_PER_TOPIC, count).astype(np.int32),
        "log_dir": _names(np.tile(disk, count), [f"/data/d{index}/kafka" for index in range(cluster.spec.disks)]),
        "is_leader": np.tile(leads, count),
        "size_bytes": (cluster.size[partition] + grown * MESSAGE_BYTES * 0.1).astype(np.int64).ravel(),
        "log_start_offset": np.zeros(count * len(broker), np.int64),
        "log_end_offset": offsets[:, partition].ravel(),
        "topic_bytes_in_total": np.concatenate(totals[0]),
        "topic_bytes_out_total": np.concatenate(totals[1]),
        "replicas": pa.array(np.full(count * len(broker), RF, np.int32), mask=~np.tile(leads, count)),
    }
    return _of(PARTITION_SAMPLES, columns)


def _of(table: str, columns: dict[str, npt.NDArray[np.generic] | pa.Array]) -> pa.Table:
    """In the table's schema; what is not said is null, or 0 where null is not allowed."""
    rows = len(next(iter(columns.values())))
    arrays = []
    for field in TABLES[table]:
        if field.name in columns:
            column = columns[field.name]
            arrays.append(column if isinstance(column, pa.Array) else pa.array(column, field.type))
        else:
            arrays.append(pa.nulls(rows, field.type) if field.nullable else pa.array(np.zeros(rows), field.type))
    return pa.Table.from_arrays(arrays, schema=TABLES[table])


def _host_tables(cluster: _Cluster, hour: int) -> dict[str, pa.Table]:
    """What the brokers' hosts tell. `load` is a broker's share of the traffic, by its leaders."""
    broker, partition, disk, leads = cluster.replicas
    spec, brokers = cluster.spec, cluster.brokers
    at_ms = cluster.at_ms(hour)
    since_s = (at_ms - START_MS) / 1000
    written = np.bincount(broker, cluster.rate[partition], brokers)
    led = np.bincount(broker, np.where(leads, cluster.rate[partition], 0), brokers)
    sent = np.bincount(broker, np.where(leads, (cluster.rate * cluster.egress)[partition], 0), brokers)
    place = broker * spec.disks + disk
    used = np.bincount(place, cluster.size[partition], brokers * spec.disks)
    io = np.bincount(place, cluster.rate[partition], brokers * spec.disks)
    flat = at_ms.ravel()
    of_broker = np.tile(np.arange(brokers), len(at_ms)).astype(np.int32)
    racks = [f"r{rack}" for rack in range(RACKS)]
    big = np.arange(brokers) % 3 == 0
    cores = np.where(big, 48, 32)

    def total(rate: npt.NDArray[np.number[Any]]) -> _Ints:
        return (rate * since_s).astype(np.int64).ravel()

    brokers_table = {
        "at_ms": flat,
        "broker": of_broker,
        "broker_started_at_ms": np.full(len(flat), START_MS - HOUR_MS),
        "rack": _names(np.tile(cluster.rack, len(at_ms)), racks),
        "idc": pa.array(["sh"] * len(flat)),
        "error": pa.array([""] * len(flat)),
        "bytes_in_total": total(led),
        "bytes_out_total": total(sent),
        "replication_bytes_in_total": total(written - led),
        "replication_bytes_out_total": total(led * (RF - 1)),
        "cores": np.tile(cores, len(at_ms)).astype(np.int32),
        "cpu_busy_ms": total((written + sent) / (10 * MB) * 150),
        "metrics": np.full(len(flat), 1000),
    }
    count = len(at_ms)
    each = np.repeat(at_ms, spec.disks, axis=1)
    disks = np.tile(np.arange(spec.disks), brokers * count)
    place_s = (each - START_MS) / 1000
    room = np.repeat(np.where(big, 2.0, 1.0), spec.disks) * DISK_BYTES

    def by_disk(rate: npt.NDArray[np.number[Any]]) -> _Ints:
        return (rate * place_s).astype(np.int64).ravel()

    host = {"at_ms": each.ravel(), "broker": np.tile(np.repeat(np.arange(brokers), spec.disks), count).astype(np.int32)}
    paths = [f"/data/d{index}/kafka" for index in range(spec.disks)]
    devices = [f"sd{chr(97 + index % 26)}" for index in range(spec.disks)]
    return {
        BROKER_SAMPLES: _of(BROKER_SAMPLES, brokers_table),
        LOG_DIR_SAMPLES: _of(
            LOG_DIR_SAMPLES,
            {
                **host,
                "log_dir": _names(disks, paths),
                "disk": _names(disks, devices),
                "total_bytes": np.tile(room, count).astype(np.int64),
                "usable_bytes": np.maximum(0, np.tile(room - used, count)).astype(np.int64),
                "offline": np.zeros(len(disks), np.bool_),
                "size_bytes": np.tile(used, count).astype(np.int64),
            },
        ),
        DISK_SAMPLES: _of(
            DISK_SAMPLES,
            {
                **host,
                "disk": _names(disks, devices),
                "bytes_read": by_disk(io * 0.1),
                "bytes_written": by_disk(io),
                "reads_completed": by_disk(io / 100_000),
                "writes_completed": by_disk(io / 200_000),
                "busy_ms": by_disk(np.minimum(900, io / MB * 8)),
                "read_ms": by_disk(io / 100_000 * 6),
                "write_ms": by_disk(io / 200_000 * 3),
            },
        ),
        NIC_SAMPLES: _of(
            NIC_SAMPLES,
            {
                "at_ms": flat,
                "broker": of_broker,
                "nic": pa.array(["eth0"] * len(flat)),
                "bytes_received": total(written),
                "bytes_sent": total(sent + led * (RF - 1)),
                "bits_per_s": np.full(len(flat), 25_000_000_000),
            },
        ),
    }


def make_cluster(lake: Path, name: str, brokers: int, spec: LakeSpec) -> tuple[int, int]:
    """Rows of partition_samples that the lake stands for, and bytes that were written."""
    cluster = _Cluster(name, brokers, spec)
    every = 1 if spec.keep_samples else max(1, spec.hours // DISTINCT)
    rolled = TABLES[PARTITION_HOURS].empty_table()
    made = written = 0
    for hour in range(spec.hours):
        start_ms = START_MS + hour * HOUR_MS
        is_newest = hour == spec.hours - 1
        if is_newest or hour % every == 0:
            samples = _partition_samples(cluster, hour)
            if is_newest or spec.keep_samples:
                written += _write(lake, PARTITION_SAMPLES, name, start_ms, samples)
            if not is_newest:
                rolled = roll_up(samples.select(SAMPLED)).cast(TABLES[PARTITION_HOURS])
        else:
            rolled = _an_hour_later(rolled)
        made += samples.num_rows
        if not is_newest:
            written += _write(lake, PARTITION_HOURS, name, start_ms, rolled, "rolled-0000000000000-0")
        for table, rows in _host_tables(cluster, hour).items():
            written += _write(lake, table, name, start_ms, rows)
    return made, written


def _an_hour_later(rolled: pa.Table) -> pa.Table:
    """The same rates; sizes go on growing."""
    grown = pc.subtract(rolled["size_bytes"], rolled["first_size_bytes"])
    more = {"at_ms": HOUR_MS, "first_at_ms": HOUR_MS, "size_bytes": grown, "first_size_bytes": grown}
    for name, add in more.items():
        index = rolled.schema.get_field_index(name)
        rolled = rolled.set_column(index, rolled.schema.field(index), pc.add(rolled[name], add))
    return rolled


def make_lake(lake: Path, spec: LakeSpec, processes: int = 2) -> tuple[int, int]:
    """Samples that it stands for, bytes written. Whatever is there of these clusters is written anew."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        made = [pool.submit(make_cluster, lake, name, brokers, spec) for name, brokers in spec.sizes().items()]
        figures = [each.result() for each in made]
    return sum(rows for rows, _ in figures), sum(size for _, size in figures)


def main() -> int:
    """Makes the lake and says what it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planner.lake", description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    for name in ("brokers", "clusters", "replicas", "disks", "hours", "interval_s", "seed"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(LakeSpec(), name))
    parser.add_argument("--keep-samples", action="store_true")
    options = vars(parser.parse_args())
    out = options.pop("out")
    begun = time.monotonic()
    made, written = make_lake(out, LakeSpec(**options))
    sys.stdout.write(f"{made:,} samples of replicas, {written / MB:,.0f} MB in {time.monotonic() - begun:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
