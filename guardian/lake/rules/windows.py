"""From samples to one row a broker, log dir and disk of a window: the one definition, for Spark and for members.

A rate is that of a pair: two consecutive samples of one life of the broker, whose counters begin anew with a restart; a
counter that goes backwards tells nothing. What stands for the window is the **median** over its pairs, each weighing as
long as it lasts, so a burst, a pause or a bad sample does not make a plan; beside it is the 95th percentile.

A pair longer than one and a half of the usual intervals is a gap, which covers nothing. One shorter than half of it is
a sliver between two collectors, which is no pair by itself. Rows come in any order, and twice: the result is the same.
What replicas did is made by guardian.lake.rules.rollup and guardian.lake.rules.replicas, by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from guardian.lake.model.schema import table_of
from guardian.lake.model.windows import BROKERS, DISKS, LOG_DIRS
from guardian.lake.rules.rates import Bools, Floats, Ints

BROKER_COLUMNS = (
    "at_ms",
    "broker",
    "broker_started_at_ms",
    "rack",
    "idc",
    "error",
    "bytes_in_total",
    "bytes_out_total",
    "replication_bytes_in_total",
    "replication_bytes_out_total",
    "cores",
    "cpu_busy_ms",
)
LOG_DIR_COLUMNS = ("at_ms", "broker", "log_dir", "disk", "total_bytes", "usable_bytes", "offline")
DISK_COLUMNS = (
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
)
NIC_COLUMNS = ("at_ms", "broker", "nic", "bits_per_s")
"""The columns of each table of samples that are needed."""

MEDIAN, HIGH = 0.5, 0.95
_GAP, _SLIVER = 1.5, 0.5  # of the usual interval


@dataclass(frozen=True, slots=True, eq=False)
class BrokerPairs:
    """Good collections, by broker, life and time, each once; the pair that ends with one lasts `lasts_ms` (nan: none).

    `group` is the index of its broker in `brokers`; `cpu` in percent of one core, `nw_in` and `nw_out` in bytes/s with
    replication, nan where nothing tells.
    """

    brokers: Ints
    group: Ints
    at_ms: Ints
    lasts_ms: Floats
    cores: Floats
    cpu: Floats
    nw_in: Floats
    nw_out: Floats


def broker_pairs(samples: pa.Table) -> BrokerPairs:
    """Return what brokers did from each good collection to the next. `samples` have the columns BROKER_COLUMNS."""
    rows = _each_once(
        samples.filter(pc.equal(samples["error"], "")), ("broker", "broker_started_at_ms", "at_ms"), BROKER_COLUMNS
    )
    broker, at_ms = _ints(rows["broker"]), _ints(rows["at_ms"])
    brokers, group = np.unique(broker, return_inverse=True)
    goes_on = _same(broker) & _same(_ints(rows["broker_started_at_ms"]))
    lasts = np.where(goes_on, _since(at_ms.astype(np.float64)), np.nan)
    total = {name: _floats(rows[name]) for name in BROKER_COLUMNS if name.endswith(("_total", "_busy_ms"))}
    into = total["bytes_in_total"] + total["replication_bytes_in_total"]
    out = total["bytes_out_total"] + total["replication_bytes_out_total"]
    return BrokerPairs(
        brokers,
        group.astype(np.int64),
        at_ms,
        lasts,
        _floats(rows["cores"]),
        _rate(total["cpu_busy_ms"], lasts) / 10,  # ms in a second: 1000 are one core
        _rate(into, lasts),
        _rate(out, lasts),
    )


def broker_rows(samples: pa.Table, nics: pa.Table) -> pa.Table:
    """Return a row for each broker of which anything is known, in the order of their ids.

    `samples` and `nics` have the columns BROKER_COLUMNS and NIC_COLUMNS. A failed collection still says that the broker
    belongs to the cluster.
    """
    latest = latest_of(samples, ("broker",), ("rack", "idc"))
    ids = _ints(latest["broker"])
    failed = pc.not_equal(samples["error"], "")
    of = np.searchsorted(ids, _ints(samples["broker"]))
    has_failed = np.asarray(failed.to_numpy(), dtype=np.bool_)
    failed_at = np.full(len(ids), -1, dtype=np.int64)
    np.maximum.at(failed_at, of[has_failed], _ints(samples["at_ms"])[has_failed])
    failures = np.bincount(of[has_failed], minlength=len(ids))
    return table_of(
        BROKERS,
        {
            **{name: latest[name].combine_chunks() for name in ("broker", "rack", "idc")},
            "failed": failures,
            "failed_at_ms": pa.array(failed_at, mask=failures == 0),
            **_sampled(broker_pairs(samples), ids),
            "nic_bytes_per_s": _known(_speeds(nics, ids)),
        },
    )


def log_dir_rows(samples: pa.Table) -> pa.Table:
    """Return each log dir as it was last seen. `samples` have the columns LOG_DIR_COLUMNS."""
    rows = latest_of(samples, ("broker", "log_dir"), ("offline", "disk", "total_bytes", "usable_bytes"))
    return rows.select(LOG_DIRS.names).cast(LOG_DIRS)


def disk_rows(samples: pa.Table) -> pa.Table:
    """Return what each disk did. `samples` have the columns DISK_COLUMNS."""
    rows = _each_once(samples, ("broker", "disk", "at_ms"), DISK_COLUMNS)
    broker, disk = _ints(rows["broker"]), _ranks(rows["disk"])
    goes_on = _same(broker) & _same(disk)
    begins = np.flatnonzero(~goes_on)
    group, count = np.cumsum(~goes_on) - 1, len(begins)
    total = {name: _floats(rows[name]) for name in DISK_COLUMNS[3:]}
    lasts = np.where(goes_on, _since(_floats(rows["at_ms"])), np.nan)
    moved = _rate(total["bytes_read"] + total["bytes_written"], lasts)
    is_told = ~np.isnan(moved)
    waited = _sum(group, _gained(total["read_ms"] + total["write_ms"], lasts), count)
    requests = _sum(group, _gained(total["reads_completed"] + total["writes_completed"], lasts), count)
    with np.errstate(divide="ignore", invalid="ignore"):
        await_ms = np.where(requests > 0, waited / requests, np.nan)
    io_rate, io_p95 = quantiles(group, moved, lasts, count, (MEDIAN, HIGH))
    (read_rate,) = quantiles(group, _rate(total["bytes_read"], lasts), lasts, count, (MEDIAN,))
    (busy,) = quantiles(group, _rate(total["busy_ms"], lasts), lasts, count, (MEDIAN,))
    first = pa.array(begins)
    return table_of(
        DISKS,
        {
            "broker": rows["broker"].take(first).combine_chunks(),
            "disk": rows["disk"].take(first).combine_chunks(),
            "pairs": np.bincount(group[is_told], minlength=count),
            "covered_ms": _sum(group, np.where(is_told, lasts, 0.0), count).astype(np.int64),
            "io_rate": _known(io_rate),
            "io_p95": _known(io_p95),
            "read_rate": _known(read_rate),
            "busy": _known(busy / 1000),
            "await_ms": _known(await_ms),
        },
    )


def nic_speeds(samples: pa.Table) -> dict[int, float]:
    """Return what each broker's interfaces can carry together, bytes/s each way; those that tell none are left out.

    `samples` have the columns NIC_COLUMNS.
    """
    latest = latest_of(samples, ("broker", "nic"), ("bits_per_s",))
    brokers, group = np.unique(_ints(latest["broker"]), return_inverse=True)
    speeds = np.bincount(group, _floats(latest["bits_per_s"]) / 8, len(brokers))
    return {int(broker): float(speed) for broker, speed in zip(brokers, speeds, strict=True) if speed > 0}


def quantiles(group: Ints, values: Floats, weights_ms: Floats, count: int, shares: Sequence[float]) -> list[Floats]:
    """Return for each share, by group, the value below which that share of the time lies; nan of a group without any.

    Between two values it is in proportion, as percentiles of milliseconds are. A value that is nan has no weight.
    """
    there = ~np.isnan(values) & (weights_ms > 0)
    order = np.lexsort((values[there], group[there]))
    of, ordered = group[there][order], values[there][order]
    summed = np.cumsum(weights_ms[there][order].astype(np.int64))
    total = np.bincount(of, weights_ms[there][order], count).astype(np.int64)
    before = np.cumsum(total) - total
    known = np.flatnonzero(total)
    found = []
    for share in shares:
        place = (total[known] - 1) * share
        low, high = np.floor(place), np.ceil(place)
        below, above = (
            ordered[np.searchsorted(summed, before[known] + each.astype(np.int64) + 1)] for each in (low, high)
        )
        result = np.full(count, np.nan)
        result[known] = np.where(below == above, below, (high - place) * below + (place - low) * above)
        found.append(result)
    return found


def _sampled(pairs: BrokerPairs, ids: Ints) -> dict[str, object]:
    """Return how well each broker of `ids` was sampled, and how busy it was."""
    count = len(ids)
    group = np.searchsorted(ids, pairs.brokers)[pairs.group]
    (usual,) = quantiles(group, pairs.lasts_ms, pairs.lasts_ms, count, (MEDIAN,))
    with np.errstate(invalid="ignore"):
        is_pair = pairs.lasts_ms >= _SLIVER * usual[group]
        covers = pairs.lasts_ms <= _GAP * usual[group]
    cpu, cpu_p95 = quantiles(group, pairs.cpu, pairs.lasts_ms, count, (MEDIAN, HIGH))
    (nw_in,) = quantiles(group, pairs.nw_in, pairs.lasts_ms, count, (MEDIAN,))
    (nw_out,) = quantiles(group, pairs.nw_out, pairs.lasts_ms, count, (MEDIAN,))
    last_at, cores = np.zeros(count, dtype=np.int64), np.full(count, np.nan)
    np.maximum.at(last_at, group, pairs.at_ms)
    newest = np.lexsort((np.nan_to_num(pairs.cores, nan=-1.0), pairs.at_ms))
    cores[group[newest]] = pairs.cores[newest]  # of several the last one stays
    return {
        "samples": np.bincount(group, minlength=count),
        "pairs": np.bincount(group[is_pair], minlength=count),
        "interval_ms": np.nan_to_num(usual),
        "covered_ms": _sum(group, np.where(covers, pairs.lasts_ms, 0.0), count).astype(np.int64),
        "last_at_ms": last_at,
        "cores": _known(cores).cast(pa.int32()),
        "cpu": _known(cpu),
        "cpu_p95": _known(cpu_p95),
        "nw_in": _known(nw_in),
        "nw_out": _known(nw_out),
    }


def _speeds(nics: pa.Table, ids: Ints) -> Floats:
    known = nic_speeds(nics)
    return np.array([known.get(broker, np.nan) for broker in ids.tolist()], dtype=np.float64)


def _each_once(rows: pa.Table, keys: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Return the rows in the order of the keys, one a key: of several always the same, in whatever order they come."""
    others = [name for name in columns if name not in keys]
    ordered = rows.select(columns).sort_by([(name, "ascending") for name in (*keys, *others)])
    is_new = np.ones(ordered.num_rows, dtype=np.bool_)
    if ordered.num_rows > 1:
        is_new[1:] = False
        for name in keys:
            column = ordered[name].combine_chunks()
            is_new[1:] |= pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy(zero_copy_only=False)
    return ordered.filter(pa.array(is_new))


def latest_of(rows: pa.Table, keys: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Return each key's row at the latest `at_ms`, by key; of a tie the larger values, in whatever order rows come."""
    names = (*keys, "at_ms", *columns)
    ordered = rows.select(names).sort_by([(name, "ascending") for name in names])
    is_last = np.ones(ordered.num_rows, dtype=np.bool_)
    if ordered.num_rows > 1:
        is_last[:-1] = False
        for name in keys:
            column = ordered[name].combine_chunks()
            is_last[:-1] |= pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy(
                zero_copy_only=False
            )
    return ordered.filter(pa.array(is_last))


def _ints(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _floats(column: pa.ChunkedArray) -> Floats:
    """Return the numbers, nan for null."""
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _ranks(column: pa.ChunkedArray) -> Ints:
    coded = column.combine_chunks().dictionary_encode()
    return np.asarray(coded.indices.to_numpy(), dtype=np.int64)


def _known(values: Floats) -> pa.Array:
    """Return the values, null for nan."""
    return pa.array(values, from_pandas=True)


def _same(values: Ints) -> Bools:
    """Return whether a value is the one before; the first is not."""
    same = np.zeros(len(values), dtype=np.bool_)
    np.equal(values[1:], values[:-1], out=same[1:])
    return same


def _since(values: Floats) -> Floats:
    return np.diff(values, prepend=values[:1])


def _gained(total: Floats, lasts_ms: Floats) -> Floats:
    """Since the sample before; nan where there is none, or a counter began anew."""
    gained = _since(total)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(lasts_ms) | ~(gained >= 0), np.nan, gained)


def _rate(total: Floats, lasts_ms: Floats) -> Floats:
    return _gained(total, lasts_ms) * 1000 / lasts_ms


def _sum(group: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(group, np.nan_to_num(values), count).astype(np.float64)
