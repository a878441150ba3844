"""Fail-slow disks: outliers against their peers, from the counters of /proc/diskstats. Pure.

A disk that dies is noticed by Kafka. One that gets slow takes its partitions' produce and fetch latency with it, and no
fixed limit tells it from a loaded one. So each disk is held, interval by interval, against the others of its kind in
the cluster: by await (ms of service, waiting included, over I/Os completed) and by utilisation.

counters ─▶ intervals ─▶ a matrix, disks x slots of time ─▶ median and MAD of the others ─▶ odd or not ─▶ verdict

An interval counts only when the disk had something to do, and when enough peers had, too. It is odd when it lies beyond
three times the peers' median, four robust sigmas of them, and a few ms: any one alone would call noise slow. One that
does much more than its peers is busy, which a plan can mend; one that does not is slow, which only a new disk mends.
A verdict needs several odd intervals in a row: compaction and a log's roll are bursts.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from guardian.health.model.disks import DiskHealth, DiskReport, DiskSeries, DiskVerdict, Load

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MIN_IOS_PER_S = 2.0
MIN_PEERS = 2
MIN_INTERVALS = 5
ODD_OF_LAST = 4  # of the last MIN_INTERVALS judged: an outlier now
SUSPECT_SHARE = 0.3
AWAIT_RATIO = 3.0
AWAIT_MORE_MS = 5.0
BUSY_RATIO = 2.0
BUSY_LEAST = 0.5
SIGMAS = 4.0
LOADED_RATIO = 1.5

_MAD_TO_SIGMA = 1.4826
_LONGEST = 3  # intervals; a longer pair of samples spans a gap
_FEW = 40  # in a larger group one disk does not move the median
_KIND = re.compile(r"(?:sd|vd|xvd|hd)(?=[a-z]+\d*$)|[a-zA-Z]*")  # the driver, without what counts its disks


def judge(disks: Sequence[DiskSeries]) -> DiskReport:
    """Every disk's verdict. Peers are the disks of one driver (sd, nvme): of one kind, and mostly of one model."""
    kinds: dict[str, list[DiskSeries]] = defaultdict(list)
    for series in disks:
        kinds[_kind(series.disk)].append(series)
    found = [health for group in kinds.values() for health in _judge_group(group)]
    found.sort(key=lambda each: (each.verdict, -_severity(each), each.broker, each.disk))
    return DiskReport(tuple(found), tuple(_remarks(found)))


def _kind(disk: str) -> str:
    match = _KIND.match(disk)
    return match[0] if match else ""


def _severity(health: DiskHealth) -> float:
    return health.own.await_ms / max(health.of_peers.await_ms, 0.1)


@dataclass(frozen=True, slots=True, eq=False)
class _Matrix:
    """By disk and slot of time; NaN where a disk has no interval. `ends` is when the slot's interval ended, and
    `lasts` how long it was."""

    await_ms: Floats
    busy: Floats
    ios: Floats
    bytes: Floats
    hangs: Flags
    ends: Floats
    lasts: Floats

    @property
    def has_work(self) -> Flags:
        return (self.ios >= MIN_IOS_PER_S) | self.hangs


def _judge_group(disks: Sequence[DiskSeries]) -> Iterator[DiskHealth]:
    matrix = _matrix(disks)
    if matrix is None:
        yield from (_unjudged(series, DiskVerdict.UNKNOWN, 0, "too few samples in this time") for series in disks)
        return
    has_work = matrix.has_work
    await_ms, busy, ios, moved = (
        np.where(has_work, values, np.nan) for values in (matrix.await_ms, matrix.busy, matrix.ios, matrix.bytes)
    )
    peers = has_work.sum(axis=0)[np.newaxis, :] - has_work
    judged = has_work & (peers >= MIN_PEERS)
    await_mid, await_sigma = _others(await_ms)
    busy_mid, busy_sigma = _others(busy)
    ios_mid, bytes_mid = _others(ios)[0], _others(moved)[0]
    waits = _exceeds(await_ms, await_mid, await_sigma, AWAIT_RATIO) & (await_ms - await_mid >= AWAIT_MORE_MS)
    works = _exceeds(busy, busy_mid, busy_sigma, BUSY_RATIO) & (busy >= BUSY_LEAST)
    is_loaded = ((ios > LOADED_RATIO * ios_mid) | (moved > LOADED_RATIO * bytes_mid)) & ~matrix.hangs
    # Much to do explains a high utilisation, and a long wait; only the wait is worth a word then.
    slow = judged & (waits | works) & ~is_loaded
    loaded = judged & waits & is_loaded
    by_broker = _rows_by_broker(disks)
    own = _medians((await_ms, busy, ios, moved), judged)
    of_peers = _medians((await_mid, busy_mid, ios_mid, bytes_mid), judged)
    for row, series in enumerate(disks):
        at = np.flatnonzero(judged[row])
        if not len(at):
            yield _without_judgement(series, matrix, row, int(peers[row].max(initial=0)))
            continue
        health = _health(series, slow[row, at], slow[row, at] | loaded[row, at], own[row], of_peers[row])
        health = replace(health, peers=int(np.median(peers[row, at])))
        if health.verdict < DiskVerdict.SOUND:
            odd = at[slow[row, at] | loaded[row, at]]
            siblings = [other for other in by_broker[series.broker] if other != row]
            health = _with_evidence(
                health,
                _Evidence(
                    Load(*(_median(values[row, odd]) for values in (await_ms, busy, ios, moved))),
                    Load(*(_median(values[row, odd]) for values in (await_mid, busy_mid, ios_mid, bytes_mid))),
                    _median(await_ms[np.ix_(siblings, odd)].ravel()),
                    matrix.ends[row, at] - matrix.lasts[row, at],
                    slow[row, at] | loaded[row, at],
                    int(matrix.hangs[row, odd].sum()),
                ),
            )
        yield health


def _exceeds(values: Floats, mid: Floats, sigma: Floats, ratio: float) -> Flags:
    with np.errstate(invalid="ignore"):
        found: Flags = (values >= ratio * mid) & (values >= mid + SIGMAS * sigma)
    return found


def _health(series: DiskSeries, slow: Flags, odd: Flags, own: Load, of_peers: Load) -> DiskHealth:
    """Over all intervals that were judged."""
    verdict = _verdict(slow, odd)
    return DiskHealth(
        broker=series.broker,
        disk=series.disk,
        log_dirs=series.log_dirs,
        verdict=verdict,
        own=own,
        of_peers=of_peers,
        siblings_await_ms=0.0,
        odd_intervals=int(odd.sum()),
        judged_intervals=len(odd),
        since_ms=0,
        peers=0,
        why=(f"too few intervals with work: {len(odd)} of {MIN_INTERVALS}" if verdict is DiskVerdict.UNKNOWN else ""),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """Of an outlier: medians over its odd intervals; when each judged interval began, and which of them were odd."""

    own: Load
    of_peers: Load
    siblings_await_ms: float
    begins: Floats
    odd: Flags
    hangs: int


def _with_evidence(health: DiskHealth, evidence: _Evidence) -> DiskHealth:
    odd, own, of_peers = evidence.odd, evidence.own, evidence.of_peers
    is_odd_now = odd[-MIN_INTERVALS:].sum() >= ODD_OF_LAST
    stuck = f", with nothing completed in {evidence.hangs} of them" if evidence.hangs else ""
    return replace(
        health,
        own=own,
        of_peers=of_peers,
        siblings_await_ms=evidence.siblings_await_ms,
        since_ms=int(evidence.begins[_run_begins(odd)]) if is_odd_now else 0,
        why=(
            f"await {own.await_ms:.1f} ms against {of_peers.await_ms:.1f} ms of its peers, {own.busy:.0%} busy against "
            f"{of_peers.busy:.0%}, at {_times(own.ios_per_s, of_peers.ios_per_s)} their I/Os, in {odd.sum()} of "
            f"{len(odd)} intervals{stuck}"
        ),
    )


def _verdict(slow: Flags, odd: Flags) -> DiskVerdict:
    if len(odd) < MIN_INTERVALS:
        return DiskVerdict.UNKNOWN
    if odd[-MIN_INTERVALS:].sum() >= ODD_OF_LAST:
        is_slow = 2 * slow[-MIN_INTERVALS:].sum() >= odd[-MIN_INTERVALS:].sum()
        return DiskVerdict.SLOW if is_slow else DiskVerdict.BUSY
    return DiskVerdict.SUSPECT if slow.sum() >= SUSPECT_SHARE * len(slow) else DiskVerdict.SOUND


def _run_begins(odd: Flags) -> int:
    """Return where the run that lasts until now began; one sound interval does not end it, two do."""
    begins = len(odd)
    for position in range(len(odd) - 1, -1, -1):
        if odd[position]:
            begins = position
        elif position > 0 and not odd[position - 1]:
            break
    return begins


def _times(own: float, of_peers: float) -> str:
    return f"{own / of_peers:.1f} times" if of_peers else "many times"


def _without_judgement(series: DiskSeries, matrix: _Matrix, row: int, peers: int) -> DiskHealth:
    known = ~np.isnan(matrix.busy[row])
    if not known.any():
        return _unjudged(series, DiskVerdict.UNKNOWN, peers, "too few samples in this time")
    load = Load(*(_median(values[row][known]) for values in (matrix.await_ms, matrix.busy, matrix.ios, matrix.bytes)))
    if not matrix.has_work[row].any():
        why = f"under {MIN_IOS_PER_S:g} I/Os a second: not judged"
        return _unjudged(series, DiskVerdict.IDLE, peers, why, load)
    why = f"{peers} other disks had work at the same time: {MIN_PEERS} are needed to compare"
    return _unjudged(series, DiskVerdict.UNKNOWN, peers, why, load)


def _unjudged(series: DiskSeries, verdict: DiskVerdict, peers: int, why: str, load: Load | None = None) -> DiskHealth:
    return DiskHealth(
        series.broker, series.disk, series.log_dirs, verdict, load or Load(), Load(), 0.0, 0, 0, 0, peers, why
    )


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _matrix(disks: Sequence[DiskSeries]) -> _Matrix | None:
    """Brokers are sampled each at its own moment: a slot is an interval long, and holds whichever ends in it."""
    steps = [np.diff(series.at_ms) for series in disks]
    lengths = np.concatenate([step[step > 0] for step in steps]) if steps else np.empty(0)
    if not len(lengths):
        return None
    interval_ms = float(np.median(lengths))
    first_ms = min(float(series.at_ms[0]) for series in disks if len(series.at_ms))
    last_ms = max(float(series.at_ms[-1]) for series in disks if len(series.at_ms))
    slots = int((last_ms - first_ms) // interval_ms) + 1
    empty = (len(disks), slots)
    await_ms, busy, ios, moved = (np.full(empty, np.nan) for _ in range(4))
    matrix = _Matrix(await_ms, busy, ios, moved, np.zeros(empty, np.bool_), np.zeros(empty), np.zeros(empty))
    for row, series in enumerate(disks):
        _fill(matrix, row, series, first_ms, interval_ms)
    return matrix


def _fill(matrix: _Matrix, row: int, series: DiskSeries, first_ms: float, interval_ms: float) -> None:
    lasts, moved, completed, service, busy = (
        np.diff(column).astype(np.float64)
        for column in (series.at_ms, series.bytes, series.completed, series.service_ms, series.busy_ms)
    )
    # Counters that go backwards are a restart of the host; the pair says nothing.
    forward = (moved >= 0) & (completed >= 0) & (service >= 0) & (busy >= 0)
    good = np.flatnonzero(forward & (lasts > 0.5 * interval_ms) & (lasts <= _LONGEST * interval_ms))
    if not len(good):
        return
    lasts, moved, completed, service, busy = (each[good] for each in (lasts, moved, completed, service, busy))
    ends = series.at_ms[1:][good].astype(np.float64)
    slots = ((ends - first_ms) // interval_ms).astype(np.int64)
    share = np.minimum(busy / lasts, 1.0)
    hangs = (completed == 0) & (series.in_flight[1:][good] > 0) & (series.in_flight[:-1][good] > 0) & (share > 0.9)
    waited = np.divide(service, completed, out=np.zeros_like(service), where=completed > 0)
    matrix.await_ms[row, slots] = np.where(hangs, lasts, waited)  # at the least
    matrix.busy[row, slots] = share
    matrix.ios[row, slots] = completed * 1000 / lasts
    matrix.bytes[row, slots] = moved * 1000 / lasts
    matrix.hangs[row, slots] = hangs
    matrix.ends[row, slots] = ends
    matrix.lasts[row, slots] = lasts


def _others(values: Floats) -> tuple[Floats, Floats]:
    """Compute for each disk and slot the median of the others and a robust sigma (1.4826 MAD) of them."""
    rows = len(values)
    if rows > _FEW:
        mid = _nan_median(values)
        sigma = _MAD_TO_SIGMA * _nan_median(np.abs(values - mid))
        return np.broadcast_to(mid, values.shape), np.broadcast_to(sigma, values.shape)
    mids, sigmas = np.empty_like(values), np.empty_like(values)
    for row in range(rows):
        others = np.delete(values, row, axis=0)
        mids[row] = _nan_median(others)
        sigmas[row] = _MAD_TO_SIGMA * _nan_median(np.abs(others - mids[row]))
    return mids, sigmas


def _nan_median(values: Floats) -> Floats:
    """Compute the median by column; NaN where nothing is known, without numpy's warning."""
    result = np.full(values.shape[1], np.nan)
    known = ~np.isnan(values).all(axis=0) if len(values) else np.zeros(values.shape[1], np.bool_)
    if known.any():
        result[known] = np.nanmedian(values[:, known], axis=0)
    return result


def _rows_by_broker(disks: Sequence[DiskSeries]) -> dict[int, list[int]]:
    by_broker: dict[int, list[int]] = defaultdict(list)
    for row, series in enumerate(disks):
        by_broker[series.broker].append(row)
    return by_broker


def _medians(columns: tuple[Floats, Floats, Floats, Floats], judged: Flags) -> list[Load]:
    """Compute the median load of each disk over its judged intervals."""
    by_column = [np.nan_to_num(_nan_median(np.where(judged, values, np.nan).T)) for values in columns]
    return [Load(*values) for values in np.column_stack(by_column).tolist()]


def _remarks(found: Iterable[DiskHealth]) -> Iterator[str]:
    """All disks of a broker at once are not its disks' fault."""
    by_broker: dict[int, list[DiskHealth]] = defaultdict(list)
    for health in found:
        by_broker[health.broker].append(health)
    for broker, disks in sorted(by_broker.items()):
        slow = [disk for disk in disks if disk.verdict is DiskVerdict.SLOW]
        judged = [disk for disk in disks if disk.verdict < DiskVerdict.IDLE]
        if len(slow) > 1 and len(slow) > math.ceil(len(judged) / 2):
            yield (
                f"{len(slow)} of {len(judged)} disks of broker {broker} are slow: look at its host, controller or "
                "cabling rather than at one disk"
            )
