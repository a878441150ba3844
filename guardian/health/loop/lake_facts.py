"""What the detectors need, read from the lake: columns summed up batch by batch, so that a large window stays small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from guardian.health.model.disk_reads import HostFacts, LeaderFacts, TopicRates
from guardian.health.model.disks import DiskSeries
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.rules.windows import DISK_COLUMNS
from guardian.lake.store.reader import LakeReader
from guardian.links.rules.links import Flags, Minutes, Moved, Numbers, Replicas, TopicCounters, in_order, moved
from guardian.model.topology import TopicPartition

_DISK_COLUMNS = (*DISK_COLUMNS, "in_flight")
_PLACES_MS = 120_000
_PLACES = 3
_EDGE_MS = 180_000  # the sample before the window, for the first difference in it


def disk_series(lake: LakeReader, cluster: str, window: Window) -> list[DiskSeries]:
    """The disks that have log dirs; all disks of brokers that do not tell which have."""
    log_dirs = _log_dirs(lake, cluster, window)
    known = {broker for broker, _ in log_dirs}
    samples = lake.table(DISK_SAMPLES, cluster, window, _DISK_COLUMNS, "broker", "disk", "at_ms")
    return [series for series in _series(samples, log_dirs) if series.log_dirs or series.broker not in known]


def _log_dirs(lake: LakeReader, cluster: str, window: Window) -> dict[tuple[int, str], tuple[str, ...]]:
    """Return the log dirs by broker and disk."""
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
    """Return the facts of hosts of brokers whose memory and disks are known in the window."""
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
    """Return, of these topics, each partition at the leader that was seen last, and what each broker moved of them."""
    wanted = ds.field("is_leader") & ds.field("topic").isin(pa.array(sorted(topics), pa.string()))
    codes = {"topic": _Codes(), "log_dir": _Codes()}
    columns = _Columns((*_SEATS, *_COUNTED))
    for batch in lake.batches(
        PARTITION_SAMPLES, cluster, window, (*_SEATS, *_COUNTED), coded=("topic", "log_dir"), where=wanted
    ):
        columns.add(_coded(batch, codes))
    rows = columns.result()
    order, begins = _groups(rows, _SEATS)
    highest = {name: np.maximum.reduceat(rows[name][order], begins) for name in _COUNTED} if len(begins) else rows
    grown = {name: highest[name] - np.minimum.reduceat(rows[name][order], begins) for name in _COUNTED if len(begins)}
    if not grown:
        return {}, {}
    # The latest come last: they stay in the dictionaries.
    found = np.argsort(highest["at_ms"], kind="stable")
    found = found[grown["at_ms"][found] > 0]
    written, taken, given = (
        (grown[name][found] * 1000 / grown["at_ms"][found]).tolist()
        for name in ("log_end_offset", "topic_bytes_in_total", "topic_bytes_out_total")
    )
    starts, ends = (highest[name][found].tolist() for name in ("log_start_offset", "log_end_offset"))
    seats = order[begins][found]
    brokers, partitions = (rows[name][seats].tolist() for name in ("broker", "partition"))
    names, log_dirs = (np.array(codes[name].names, object)[rows[name][seats]].tolist() for name in ("topic", "log_dir"))
    idle_s = np.where(grown["log_end_offset"][found] == 0, grown["at_ms"][found] / 1000, 0.0).tolist()
    leaders = map(LeaderFacts, brokers, log_dirs, starts, ends, written, idle_s)
    rates = map(TopicRates, taken, given)
    return (
        dict(zip(map(TopicPartition, names, partitions), leaders, strict=True)),
        dict(zip(zip(brokers, names, strict=True), rates, strict=True)),
    )


_SEATS = ("broker", "broker_started_at_ms", "topic", "partition", "log_dir")
_COUNTED = ("at_ms", "log_start_offset", "log_end_offset", "topic_bytes_in_total", "topic_bytes_out_total")


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where topics' bytes were taken in and given out, and where their replicas are."""

    moved: Moved
    replicas: Replicas
    samples: int


def placed(lake: LakeReader, cluster: str, window: Window, minutes: Minutes) -> Placed | None:
    """Reads what leaders say in the window and just before it, then who follows; None when nothing is said.

    A topic's totals on a broker are in the row of each partition that it leads: Kafka counts for leaders only.
    """
    earlier = Window(max(0, window.from_ms - _EDGE_MS), window.to_ms)
    topics = _Codes()
    codes = {"topic": topics}
    totals, led = _Columns(_TOTALS), _Columns(_LED)
    for rows in lake.batches(
        PARTITION_SAMPLES, cluster, earlier, [*_TOTALS, *_LED[3:]], coded=("topic",), where=ds.field("is_leader")
    ):
        found = _coded(rows, codes)
        totals.add(found, _is_first_of_topic(found))
        led.add(found, _now_and_then(found["at_ms"], earlier))
    if not totals.rows:
        return None
    counters = totals.result()
    replicas = _replicas(led.result(), _followers(lake, cluster, earlier, codes, np.unique(counters["broker"])))
    placed_bytes = moved(_counters(counters, topics.names), minutes)
    return Placed(placed_bytes, replicas, led.rows_seen)


_TOTALS = ("at_ms", "broker", "topic", "broker_started_at_ms", "topic_bytes_in_total", "topic_bytes_out_total")
_LED = ("at_ms", "broker", "topic", "partition", "log_end_offset")
_FOLLOWED = ("at_ms", "broker", "topic", "partition")

_Arrays = dict[str, Numbers]


def _is_first_of_topic(found: Mapping[str, Numbers]) -> Flags:
    """Flag the first of rows that follow each other and say the same of a topic."""
    flags = np.ones(len(found["at_ms"]), np.bool_)
    same = [np.diff(found[name]) == 0 for name in ("at_ms", "broker", "topic")]
    flags[1:] = ~(same[0] & same[1] & same[2])
    return flags


def _now_and_then(at_ms: Numbers, window: Window) -> Flags:
    """Flag rows of the window's end and of some spans before it. Where replicas are changes seldom, and what partitions
    gained tells nearly as well from a few samples as from all.
    """
    spans = (window.to_ms - window.from_ms) // _PLACES_MS
    flags: Flags = (window.to_ms - at_ms) // _PLACES_MS % max(1, spans // _PLACES) == 0
    return flags


def _followers(
    lake: LakeReader, cluster: str, window: Window, codes: Mapping[str, _Codes], brokers: Numbers
) -> _Arrays:
    """Rows of the window's end; of those brokers that said nothing then, rows of all of it."""
    follows = ~ds.field("is_leader")
    found = _Columns(_FOLLOWED)
    latest = Window(max(window.from_ms, window.to_ms - _PLACES_MS), window.to_ms)
    for rows in lake.batches(PARTITION_SAMPLES, cluster, latest, _FOLLOWED, coded=("topic",), where=follows):
        found.add(_coded(rows, codes))
    missing = np.setdiff1d(brokers, found.result("broker")["broker"]).tolist()
    if missing:
        absent = follows & ds.field("broker").isin(missing)
        for rows in lake.batches(PARTITION_SAMPLES, cluster, window, _FOLLOWED, coded=("topic",), where=absent):
            found.add(_coded(rows, codes))
    return found.result()


class _Columns:
    """Numbers of batches, column by column."""

    def __init__(self, names: Sequence[str]) -> None:
        self._parts: dict[str, list[Numbers]] = {name: [] for name in names}
        self.rows = 0
        self.rows_seen = 0

    def add(self, found: Mapping[str, Numbers], chosen: Flags | None = None) -> None:
        for name, parts in self._parts.items():
            parts.append(found[name] if chosen is None or chosen.all() else found[name][chosen])
        self.rows_seen += len(found["at_ms"])
        self.rows += len(parts[-1])

    def result(self, *names: str) -> _Arrays:
        """These columns, or all."""
        return {name: np.concatenate([_NONE, *self._parts[name]]) for name in names or self._parts}


_NONE: Numbers = np.empty(0, np.int64)


class _Codes:
    """Numbers for names, the same in all batches: sums over numbers take a fraction of those over texts."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """Return the names by code."""
        return list(self._codes)

    def of(self, texts: pa.DictionaryArray) -> Numbers:
        codes = [self._codes.setdefault(text, len(self._codes)) for text in texts.dictionary.to_pylist()]
        found: Numbers = np.array(codes, np.int64)[texts.indices.to_numpy()]
        return found


def _coded(rows: pa.RecordBatch, codes: Mapping[str, _Codes]) -> _Arrays:
    """The batch's numbers, with codes for its texts, which come in dictionaries."""
    return {name: codes[name].of(rows[name]) if name in codes else _numbers(rows[name]) for name in rows.schema.names}


def _numbers(column: pa.Array) -> Numbers:
    found: Numbers = column.to_numpy().astype(np.int64, copy=False)
    return found


def _counters(totals: _Arrays, topics: Sequence[str]) -> TopicCounters:
    return TopicCounters(
        at_ms=totals["at_ms"],
        broker=totals["broker"],
        topic=totals["topic"],
        life_ms=totals["broker_started_at_ms"],
        bytes_in=totals["topic_bytes_in_total"],
        bytes_out=totals["topic_bytes_out_total"],
        topics=topics,
    )


def _replicas(led: _Arrays, followed: _Arrays) -> Replicas:
    """Join what brokers led and followed. What a broker does not hold any more when it is last seen was moved away: it
    is no follower. What it led, it led.
    """
    last: dict[int, int] = {}
    for rows in (led, followed):
        brokers, seats = np.unique(rows["broker"], return_inverse=True)
        latest = np.zeros(len(brokers), np.int64)
        np.maximum.at(latest, seats, rows["at_ms"])
        for broker, at_ms in zip(brokers.tolist(), latest.tolist(), strict=True):
            last[broker] = max(last.get(broker, 0), at_ms)
    leaders, gained = _gained(led)
    known = np.array(sorted(last), np.int64)
    seen = np.array([last[broker] for broker in known.tolist()], np.int64)
    kept = np.flatnonzero(followed["at_ms"] == seen[np.searchsorted(known, followed["broker"])])
    is_leader = np.zeros(len(leaders) + len(kept), np.bool_)
    is_leader[: len(leaders)] = True
    broker, topic, partition = (
        np.concatenate([led[name][leaders], followed[name][kept]]) for name in ("broker", "topic", "partition")
    )
    return Replicas(broker, topic, partition, is_leader, np.concatenate([gained, np.zeros(len(kept), np.int64)]))


def _gained(led: _Arrays) -> tuple[Numbers, Numbers]:
    """A row of each partition on each leader, and by how much its log grew there."""
    order, begins = _groups(led, ("broker", "topic", "partition"))
    if not len(begins):
        return _NONE, _NONE
    ends = led["log_end_offset"][order]
    return order[begins], np.maximum.reduceat(ends, begins) - np.minimum.reduceat(ends, begins)


def _groups(rows: _Arrays, keys: Sequence[str]) -> tuple[Numbers, Numbers]:
    """The rows in the order of these keys, and where in that order each new combination begins."""
    order = in_order(*(rows[key] for key in keys))
    if not len(order):
        return _NONE, _NONE
    is_first = np.zeros(len(order), np.bool_)
    is_first[0] = True
    for key in keys:
        is_first[1:] |= np.diff(rows[key][order]) != 0
    return order, np.flatnonzero(is_first)
