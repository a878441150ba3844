"""What the detectors need, read from the lake: columns summed up batch by batch, so that a large window stays small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from guardian.core.links import Minutes, Moved, Replicas, TopicCounters, moved
from guardian.model.disk_reads import HostFacts, LeaderFacts, TopicRates
from guardian.model.disks import DiskSeries
from guardian.model.topology import TopicPartition
from spark_analytics.lake.samples import LakeReader
from spark_analytics.lake.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES
from spark_analytics.lake.window import Window

_DISK_COLUMNS = (
    "at_ms",
    "broker",
    "disk",
    "bytes_read",
    "bytes_written",
    "reads_completed",
    "writes_completed",
    "busy_ms",
    "read_ms",
    "write_ms",
    "in_flight",
)
_PENDING = 32  # batches that are summed up at a time
_PLACES_MS = 120_000
_PLACES = 3
_EDGE_MS = 180_000  # the sample before the window, for the first difference in it

_Aggregates = list[tuple[str, str]]


def disk_series(lake: LakeReader, cluster: str, window: Window) -> list[DiskSeries]:
    """The disks that have log dirs; all disks of brokers that do not tell which have."""
    log_dirs = _log_dirs(lake, cluster, window)
    known = {broker for broker, _ in log_dirs}
    samples = lake.table(DISK_SAMPLES, cluster, window, _DISK_COLUMNS, "broker", "disk", "at_ms")
    return [series for series in _series(samples, log_dirs) if series.log_dirs or series.broker not in known]


def _log_dirs(lake: LakeReader, cluster: str, window: Window) -> dict[tuple[int, str], tuple[str, ...]]:
    """By broker and disk."""
    rows = lake.table(
        LOG_DIR_SAMPLES, cluster, window, ("at_ms", "broker", "log_dir", "disk"), "broker", "log_dir", "at_ms"
    )
    latest: dict[tuple[int, str], str] = {}
    for broker, log_dir, disk in zip(*(rows[name].to_pylist() for name in ("broker", "log_dir", "disk")), strict=True):
        if disk:
            latest[broker, log_dir] = disk
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for (broker, log_dir), disk in sorted(latest.items()):
        found[broker, disk].append(log_dir)
    return {key: tuple(paths) for key, paths in found.items()}


def _series(samples: pa.Table, log_dirs: Mapping[tuple[int, str], tuple[str, ...]]) -> Iterator[DiskSeries]:
    """One a broker and disk; the samples are in that order."""
    if not samples.num_rows:
        return
    columns = {name: samples[name].to_numpy() for name in _DISK_COLUMNS if name != "disk"}
    disks = samples["disk"].combine_chunks().dictionary_encode()
    codes = disks.indices.to_numpy()
    cuts = np.flatnonzero((np.diff(columns["broker"]) != 0) | (np.diff(codes) != 0)) + 1
    for begin, end in zip((0, *cuts), (*cuts, samples.num_rows), strict=True):
        part = {name: values[begin:end].astype(np.int64) for name, values in columns.items()}
        broker, disk = int(part["broker"][0]), disks.dictionary[int(codes[begin])].as_py()
        yield DiskSeries(
            broker,
            disk,
            part["at_ms"],
            part["bytes_read"] + part["bytes_written"],
            part["reads_completed"] + part["writes_completed"],
            part["read_ms"] + part["write_ms"],
            part["busy_ms"],
            part["in_flight"],
            log_dirs.get((broker, disk), ()),
        )


def hosts(lake: LakeReader, cluster: str, window: Window) -> dict[int, HostFacts]:
    """Of brokers whose memory and disks are known in the window."""
    rates: dict[int, float] = defaultdict(float)
    disks: dict[int, dict[str, str]] = defaultdict(dict)
    for series in disk_series(lake, cluster, window):
        rates[series.broker] += _rate(series)
        disks[series.broker].update(dict.fromkeys(series.log_dirs, series.disk))
    memory = lake.table(
        BROKER_SAMPLES,
        cluster,
        window,
        ("at_ms", "broker", "memory_available_bytes", "error"),
        "broker",
        "at_ms",
    )
    memory = memory.filter(pc.equal(memory["error"], ""))
    latest = dict(zip(memory["broker"].to_pylist(), memory["memory_available_bytes"].to_pylist(), strict=True))
    return {broker: HostFacts(latest[broker], rates[broker], disks[broker]) for broker in latest if broker in rates}


def _rate(series: DiskSeries) -> float:
    """bytes/s; counters that go backwards are a restart of the host."""
    steps, lasts = np.diff(series.bytes), np.diff(series.at_ms)
    forward = (steps >= 0) & (lasts > 0)
    total_ms = int(lasts[forward].sum())
    return float(steps[forward].sum()) * 1000 / total_ms if total_ms else 0.0


def leaders_and_topics(
    lake: LakeReader, cluster: str, window: Window, topics: Collection[str]
) -> tuple[dict[TopicPartition, LeaderFacts], dict[tuple[int, str], TopicRates]]:
    """Of these topics: each partition at the leader that was seen last, and what each broker moved of them."""
    columns = (
        "at_ms",
        "broker",
        "broker_started_at_ms",
        "topic",
        "partition",
        "log_dir",
        "is_leader",
        "log_start_offset",
        "log_end_offset",
        "topic_bytes_in_total",
        "topic_bytes_out_total",
    )
    wanted = pa.array(sorted(topics), pa.string())
    batches = (
        rows.filter(pc.and_(rows["is_leader"], pc.is_in(rows["topic"], wanted)))
        for rows in lake.batches(PARTITION_SAMPLES, cluster, window, columns)
    )
    counters = ("log_end_offset", "topic_bytes_in_total", "topic_bytes_out_total")
    keys = ("broker", "broker_started_at_ms", "topic", "partition", "log_dir")
    values: _Aggregates = [(name, kind) for name in ("at_ms", *counters) for kind in ("min", "max")]
    found = _grouped(batches, keys, [*values, ("log_start_offset", "max")])
    leaders: dict[TopicPartition, tuple[int, LeaderFacts]] = {}
    rates: dict[tuple[int, str], tuple[int, TopicRates]] = {}
    for row in found.to_pylist():
        lasts_s = (row["at_ms_max"] - row["at_ms_min"]) / 1000
        if lasts_s <= 0:
            continue
        written, taken, given = ((row[f"{name}_max"] - row[f"{name}_min"]) / lasts_s for name in counters)
        partition, at_ms = TopicPartition(row["topic"], row["partition"]), row["at_ms_max"]
        leader = LeaderFacts(
            row["broker"], row["log_dir"], row["log_start_offset_max"], row["log_end_offset_max"], written
        )
        if partition not in leaders or leaders[partition][0] < at_ms:
            leaders[partition] = (at_ms, leader)
        key = (row["broker"], row["topic"])
        if key not in rates or rates[key][0] < at_ms:
            rates[key] = (at_ms, TopicRates(taken, given))
    return (
        {partition: leader for partition, (_, leader) in leaders.items()},
        {key: topic for key, (_, topic) in rates.items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where topics' bytes were taken in and given out, and where their replicas are."""

    moved: Moved
    replicas: Replicas
    samples: int


def placed(lake: LakeReader, cluster: str, window: Window, minutes: Minutes) -> Placed | None:
    """Reads the samples of the window, and those just before it; None when there are none."""
    columns = (
        "at_ms",
        "broker",
        "broker_started_at_ms",
        "topic",
        "partition",
        "is_leader",
        "log_end_offset",
        "topic_bytes_in_total",
        "topic_bytes_out_total",
    )
    totals = _Groups(
        ("at_ms", "broker", "topic"),
        [("broker_started_at_ms", "max"), ("topic_bytes_in_total", "max"), ("topic_bytes_out_total", "max")],
    )
    held = _Groups(
        ("broker", "topic", "partition", "is_leader"),
        [("at_ms", "max"), ("log_end_offset", "min"), ("log_end_offset", "max")],
    )
    samples = 0
    earlier = Window(max(0, window.from_ms - _EDGE_MS), window.to_ms)
    topics = _Codes()
    for rows in lake.batches(PARTITION_SAMPLES, cluster, earlier, columns, coded=("topic",)):
        samples += rows.num_rows
        coded = topics.replace(rows, "topic")
        totals.add(coded)
        held.add(coded.filter(_now_and_then(coded["at_ms"], earlier)))
    if not samples:
        return None
    return Placed(moved(_counters(totals.result(), topics.names), minutes), _replicas(held.result()), samples)


def _now_and_then(at_ms: pa.ChunkedArray, window: Window) -> pa.Array:
    """Rows of the window's end and of some spans before it: where replicas are changes seldom, and what partitions
    gained tells nearly as well from a few samples as from all."""
    spans = (window.to_ms - window.from_ms) // _PLACES_MS
    before_end: npt.NDArray[np.int64] = (window.to_ms - at_ms.to_numpy()) // _PLACES_MS
    return pa.array(before_end % max(1, spans // _PLACES) == 0)


class _Codes:
    """Numbers for names, the same in all batches: sums over numbers take a fraction of those over texts."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """By code."""
        return list(self._codes)

    def replace(self, rows: pa.RecordBatch, column: str) -> pa.Table:
        """The batch with codes instead of the texts of a column, which comes in a dictionary."""
        texts = rows[column]
        codes = [self._codes.setdefault(text, len(self._codes)) for text in texts.dictionary.to_pylist()]
        coded = pa.array(codes, pa.int32()).take(texts.indices)
        return pa.Table.from_batches([rows]).set_column(rows.schema.get_field_index(column), column, coded)


def _counters(rows: pa.Table, topics: Sequence[str]) -> TopicCounters:
    at_ms, broker, topic, life_ms, bytes_in, bytes_out = (
        rows[name].to_numpy().astype(np.int64)
        for name in (
            "at_ms",
            "broker",
            "topic",
            "broker_started_at_ms_max",
            "topic_bytes_in_total_max",
            "topic_bytes_out_total_max",
        )
    )
    return TopicCounters(at_ms, broker, topic, life_ms, bytes_in, bytes_out, topics)


def _replicas(rows: pa.Table) -> Replicas:
    """What a broker does not hold any more when it is last seen was moved away: it is no follower. What it led, it
    led."""
    broker, topic, partition, at_ms, begin, end = (
        rows[name].to_numpy().astype(np.int64)
        for name in ("broker", "topic", "partition", "at_ms_max", "log_end_offset_min", "log_end_offset_max")
    )
    is_leader = rows["is_leader"].to_numpy()
    _, seat = np.unique(broker, return_inverse=True)
    last = np.zeros(int(seat.max(initial=0)) + 1, np.int64)
    np.maximum.at(last, seat, at_ms)
    kept = is_leader | (at_ms == last[seat])
    return Replicas(broker[kept], topic[kept], partition[kept], is_leader[kept], (end - begin)[kept])


class _Groups:
    """Sums up rows by keys as they come; only minima and maxima, so that a row that comes twice does no harm. In one
    thread: for batches of this size several take ten times the CPU, and the member has other work."""

    def __init__(self, keys: Sequence[str], values: _Aggregates) -> None:
        self._keys = list(keys)
        self._values = values
        self._again: _Aggregates = [(f"{name}_{kind}", kind) for name, kind in values]
        self._parts: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        self._parts.append(rows.group_by(self._keys, use_threads=False).aggregate(self._values))
        if len(self._parts) >= _PENDING:
            self._parts = [self._merged()]

    def result(self) -> pa.Table:
        """The keys, and each value as name_min or name_max; no columns when there was no row."""
        return self._merged()

    def _merged(self) -> pa.Table:
        if not self._parts:
            return pa.table({})
        found = pa.concat_tables(self._parts).group_by(self._keys, use_threads=False).aggregate(self._again)
        names = {f"{name}_{kind}": name for name, kind in self._again}
        return found.rename_columns([names.get(name, name) for name in found.column_names])


def _grouped(batches: Iterator[pa.RecordBatch], keys: Sequence[str], values: _Aggregates) -> pa.Table:
    groups = _Groups(keys, values)
    for batch in batches:
        groups.add(pa.Table.from_batches([batch]))
    return groups.result()
