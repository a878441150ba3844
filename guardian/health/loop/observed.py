"""What pages show of a cluster over time, read from the lake: one value a step, for brokers, disks and topics.

A step lasts at least as long as two collections are apart, so that each has a value. A rate is between two samples of
one life of a broker (or of one run of its host, whose counters never go backwards). A step's value is the mean of the
rates that end in it. What was not seen is None, never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from guardian.health.loop.lake_facts import disk_series
from guardian.health.loop.pressure import pressure_seen
from guardian.lake.model.schema import BROKER_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES, TABLES
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.web.observed import (
    BrokerSeen,
    ClusterSeen,
    DiskSeen,
    LogDirSeen,
    ReplicaSeen,
    Series,
    TopicSeen,
    TopicSize,
)
from guardian.web.pressure import PressureSeen

_STEPS = 60
_RECENT_COLLECTIONS = 3
_LEAST_RECENT_MS = 120_000
_BROKER_COLUMNS = (
    "at_ms",
    "broker",
    "broker_started_at_ms",
    "bytes_in_total",
    "bytes_out_total",
    "cpu_busy_ms",
    "cpu_io_wait_ms",
    "cpu_idle_ms",
    "memory_total_bytes",
    "memory_available_bytes",
    "error",
)
_LOG_DIR_COLUMNS = ("at_ms", "broker", "log_dir", "disk", "total_bytes", "usable_bytes", "offline")
_REPLICA_COLUMNS = (
    "at_ms",
    "broker",
    "topic",
    "partition",
    "log_dir",
    "is_leader",
    "size_bytes",
    "log_start_offset",
    "log_end_offset",
    "replicas",
    "in_sync_replicas",
    "fetch_lag",
)
_SIZE_COLUMNS = ("at_ms", "broker", "topic", "partition", "is_leader", "size_bytes", "replicas", "in_sync_replicas")

Numbers = NDArray[np.float64]


class LakeObserved:
    """`lag_ms` is how late rows may be in the lake."""

    def __init__(self, lake_url: str, now_ms: Callable[[], int], interval_s: float, lag_s: float) -> None:
        self._lake_url = lake_url
        self._now_ms = now_ms
        self._interval_ms = int(interval_s * 1000)
        self._recent_ms = max(_LEAST_RECENT_MS, int((_RECENT_COLLECTIONS * interval_s + lag_s) * 1000))

    def cluster(self, cluster: str, span_ms: int) -> ClusterSeen:
        grid, window = self._grid(span_ms)
        lake = LakeReader(self._lake_url)
        rows = lake.table(BROKER_SAMPLES, cluster, window, _BROKER_COLUMNS, "broker", "at_ms")
        if not rows.num_rows:
            return ClusterSeen(grid.steps_ms, grid.step_ms)
        log_dirs = _log_dirs(lake, cluster, self._recent())
        disks = _disks(lake, cluster, window, grid)
        seen = {
            broker: _broker(broker, part, grid, log_dirs.get(broker, ()), disks.get(broker, ()))
            for broker, part in _parts(rows)
        }
        return ClusterSeen(grid.steps_ms, grid.step_ms, seen)

    def topics(self, cluster: str) -> tuple[TopicSize, ...]:
        rows = self._replicas(cluster, _SIZE_COLUMNS, None)
        if not rows.num_rows:
            return ()
        missing = pc.fill_null(pc.less(rows["in_sync_replicas"], rows["replicas"]), False)
        sums = (
            rows.append_column("missing", pc.cast(pc.and_(rows["is_leader"], missing), pa.int64()))
            .group_by("topic")
            .aggregate(
                [("partition", "count_distinct"), ("partition", "count"), ("size_bytes", "sum"), ("missing", "sum")]
            )
            .sort_by("topic")
        )
        columns = ("topic", "partition_count_distinct", "partition_count", "size_bytes_sum", "missing_sum")
        return tuple(map(TopicSize, *(sums[column].to_pylist() for column in columns)))

    def topic(self, cluster: str, topic: str, span_ms: int) -> TopicSeen:
        rows = self._replicas(cluster, _REPLICA_COLUMNS, ds.field("topic") == topic)
        names = [name for name in _REPLICA_COLUMNS if name not in {"at_ms", "topic"}]
        seen = [
            ReplicaSeen(
                row["partition"],
                row["broker"],
                row["log_dir"],
                row["is_leader"],
                row["size_bytes"],
                row["log_start_offset"],
                row["log_end_offset"],
                row["replicas"],
                row["in_sync_replicas"],
                row["fetch_lag"],
            )
            for row in rows.select(names).to_pylist()
        ]
        grid, window = self._grid(span_ms)
        bytes_in, bytes_out = self._traffic(cluster, topic, grid, window)
        seen.sort(key=lambda each: (each.partition, not each.is_leader, each.broker))
        return TopicSeen(tuple(seen), grid.steps_ms, bytes_in, bytes_out)

    def pressure(self, cluster: str, brokers: tuple[int, ...], from_ms: int, to_ms: int) -> PressureSeen:
        return pressure_seen(LakeReader(self._lake_url), cluster, brokers, Window(from_ms, to_ms))

    def _traffic(self, cluster: str, topic: str, grid: _Grid, window: Window) -> tuple[Series, Series]:
        """A topic's totals on a broker are in the row of each partition that it leads: one row a collection tells."""
        led = (ds.field("topic") == topic) & ds.field("is_leader")
        columns = ("at_ms", "broker", "broker_started_at_ms", "topic_bytes_in_total", "topic_bytes_out_total")
        lake = LakeReader(self._lake_url)
        rows = pa.Table.from_batches(
            lake.batches(PARTITION_SAMPLES, cluster, window, columns, where=led),
            pa.schema([TABLES[PARTITION_SAMPLES].field(name) for name in columns]),
        )
        rows = rows.group_by(["broker", "at_ms", "broker_started_at_ms"]).aggregate(
            [("topic_bytes_in_total", "max"), ("topic_bytes_out_total", "max")]
        )
        sums = []
        for name in ("topic_bytes_in_total_max", "topic_bytes_out_total_max"):
            values = [
                grid.rates(_floats(part, "at_ms"), _floats(part, name), _floats(part, "broker_started_at_ms"))
                for _, part in _parts(rows.sort_by([("broker", "ascending"), ("at_ms", "ascending")]))
            ]
            sums.append(_as_series(_sum_of(values, len(grid.steps_ms))))
        return sums[0], sums[1]

    def _replicas(self, cluster: str, columns: Sequence[str], where: ds.Expression | None) -> pa.Table:
        """Each replica as it was seen last, of what its broker still has."""
        lake = LakeReader(self._lake_url)
        batches = list(lake.batches(PARTITION_SAMPLES, cluster, self._recent(), columns, where=where))
        if not batches:
            return pa.table({name: [] for name in columns})
        rows = pa.Table.from_batches(batches)
        known, places = np.unique(rows["broker"].to_numpy(), return_inverse=True)
        moments = rows["at_ms"].to_numpy()
        last = np.zeros(len(known), moments.dtype)
        np.maximum.at(last, places, moments)
        rows = rows.filter(pa.array(moments == last[places]))
        # After compaction, and where two members brought the same collection, a row is there twice for a while.
        keys = ["broker", "topic", "partition"]
        kept = rows.group_by(keys, use_threads=False).aggregate(
            [(name, "first") for name in columns if name not in keys]
        )
        return kept.rename_columns([name.removesuffix("_first") for name in kept.column_names])

    def _grid(self, span_ms: int) -> tuple[_Grid, Window]:
        step_ms = max(span_ms // _STEPS, self._interval_ms, 1000)
        until_ms = self._now_ms() // step_ms * step_ms + step_ms
        count = max(2, span_ms // step_ms)
        grid = _Grid(until_ms - count * step_ms, step_ms, count)
        return grid, Window(max(0, grid.from_ms - step_ms - self._interval_ms), until_ms)

    def _recent(self) -> Window:
        now_ms = self._now_ms()
        return Window(max(0, now_ms - self._recent_ms), now_ms + 1)


class _Grid:
    """Steps of the same length."""

    def __init__(self, from_ms: int, step_ms: int, count: int) -> None:
        self.from_ms = from_ms
        self.step_ms = step_ms
        self.steps_ms = tuple(from_ms + step * step_ms for step in range(count))

    def rates(self, at_ms: Numbers, counter: Numbers, life: Numbers | None = None) -> Numbers:
        """Return how much the counter gained per s, by step. NaN where no pair of samples tells."""
        return self.shares(at_ms, counter, at_ms, life) * 1000

    def shares(self, at_ms: Numbers, counter: Numbers, of: Numbers, life: Numbers | None = None) -> Numbers:
        """Return what the counter gained as a share of what the other one did, by step."""
        steps = len(self.steps_ms)
        gained, whole = np.diff(counter), np.diff(of)
        told = (gained >= 0) & (whole > 0)
        if life is not None:
            told &= np.diff(life) == 0
        where = ((at_ms[1:] - self.from_ms) // self.step_ms).astype(np.int64)
        told &= (where >= 0) & (where < steps)
        sums, counts = np.zeros(steps), np.zeros(steps)
        np.add.at(sums, where[told], gained[told] / whole[told])
        np.add.at(counts, where[told], 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Numbers = np.where(counts > 0, sums / counts, np.nan)
        return found


def _broker(
    broker: int, rows: pa.Table, grid: _Grid, log_dirs: tuple[LogDirSeen, ...], disks: tuple[DiskSeen, ...]
) -> BrokerSeen:
    """Rows of failed collections have an error, and no numbers."""
    error = str(rows["error"][-1].as_py())
    good = rows.filter(pc.equal(rows["error"], ""))
    if not good.num_rows:
        return BrokerSeen(broker, error=error, log_dirs=log_dirs, disks=disks)
    at_ms, life = _floats(good, "at_ms"), _floats(good, "broker_started_at_ms")
    busy, waiting, idle = (_floats(good, name) for name in ("cpu_busy_ms", "cpu_io_wait_ms", "cpu_idle_ms"))
    total, available = (good[name][-1].as_py() or 0 for name in ("memory_total_bytes", "memory_available_bytes"))
    busiest = np.array([[np.nan if value is None else value for value in disk.busy] for disk in disks])
    return BrokerSeen(
        broker,
        int(at_ms[-1]),
        error,
        _as_series(grid.rates(at_ms, _floats(good, "bytes_in_total"), life)),
        _as_series(grid.rates(at_ms, _floats(good, "bytes_out_total"), life)),
        _as_series(grid.shares(at_ms, busy, busy + waiting + idle)),
        _as_series(_highest(busiest)) if disks else (),
        total,
        available,
        log_dirs,
        disks,
    )


def _disks(lake: LakeReader, cluster: str, window: Window, grid: _Grid) -> Mapping[int, tuple[DiskSeen, ...]]:
    found: dict[int, list[DiskSeen]] = defaultdict(list)
    for series in disk_series(lake, cluster, window):
        at_ms = np.asarray(series.at_ms, np.float64)
        busy = np.minimum(grid.shares(at_ms, np.asarray(series.busy_ms, np.float64), at_ms), 1.0)
        moved = grid.rates(at_ms, np.asarray(series.bytes, np.float64))
        found[series.broker].append(DiskSeen(series.disk, _as_series(busy), _as_series(moved)))
    return {broker: tuple(disks) for broker, disks in found.items()}


def _log_dirs(lake: LakeReader, cluster: str, window: Window) -> dict[int, tuple[LogDirSeen, ...]]:
    rows = lake.table(LOG_DIR_SAMPLES, cluster, window, _LOG_DIR_COLUMNS, "broker", "log_dir", "at_ms")
    latest: dict[tuple[int, str], LogDirSeen] = {}
    for row in rows.to_pylist():
        latest[row["broker"], row["log_dir"]] = LogDirSeen(
            row["log_dir"], row["disk"], row["total_bytes"], row["usable_bytes"], row["offline"]
        )
    found: dict[int, list[LogDirSeen]] = defaultdict(list)
    for (broker, _), seen in sorted(latest.items()):
        found[broker].append(seen)
    return {broker: tuple(each) for broker, each in found.items()}


def _parts(rows: pa.Table) -> list[tuple[int, pa.Table]]:
    """Split the rows by broker: they are in that order."""
    brokers = rows["broker"].to_numpy()
    if not len(brokers):
        return []
    cuts = (np.flatnonzero(np.diff(brokers)) + 1).tolist()
    edges = [0, *cuts, len(brokers)]
    return [(int(brokers[a]), rows.slice(a, b - a)) for a, b in pairwise(edges)]


def _floats(rows: pa.Table, name: str) -> Numbers:
    """NaN for null."""
    found: Numbers = pc.cast(rows[name], pa.float64()).to_numpy()
    return found


def _highest(values: Numbers) -> Numbers:
    """Return the highest value of each column; NaN where all are."""
    known = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    found: Numbers = np.where(np.isneginf(known), np.nan, known)
    return found


def _sum_of(values: Sequence[Numbers], steps: int) -> Numbers:
    """Add up the values of each step; NaN where all are."""
    if not values:
        return np.full(steps, np.nan)
    stacked = np.array(values)
    found: Numbers = np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))
    return found


def _as_series(values: Any) -> Series:
    return tuple(None if np.isnan(value) else float(value) for value in values)
