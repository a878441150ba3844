"""Who is gone: a broker that is down gives no samples, so its death is told by what others say of it since.

    silent      its last collection failed, and the last good one is longer ago than a restart takes (SILENT_MS)
    dead        silent, and most of the partitions that it led are led by others now: Kafka has given it up
    unseen      not one collection of it in the window went well, and several failed
    doubtful    silent, and nobody's leadership tells: it led nothing, or nothing that others hold too

A silent broker whose partitions nobody else leads is alive: its reporter alone is out of reach. One that is expected to
be away (MAINTENANCE) will be back: its replicas are not to be made anew. Replicas of dead brokers and of log dirs that
went offline are those last seen there, unless the partition's leader knows of no more than the others hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from guardian.model.directory import Directory
from guardian.model.topology import BrokerState
from spark_analytics.lake.measured import coded, numbers
from spark_analytics.model.facts import Bools, Ints

SILENT_INTERVALS = 3
SILENT_MS = 5 * 60_000
MIN_FAILED = 3

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Liveness:
    """Who is gone, as ids of brokers, and which rows of replicas count."""

    dead: frozenset[int]
    unseen: frozenset[int]
    doubtful: frozenset[int]
    shown: Bools  # [replica rows] what each broker and log dir held when it was last sampled
    present: Bools  # [replica rows] less what has been made anew elsewhere since
    lost: Bools  # [replica rows] those of `present` that are on dead brokers and offline log dirs

    @classmethod
    def of(cls, brokers: Sequence[_Row], log_dirs: pa.Table, replicas: pa.Table, told: Directory) -> Liveness:
        """`brokers` are in the order of their ids."""
        ids = np.array([row["broker"] for row in brokers], dtype=np.int64)
        unseen = frozenset(row["broker"] for row in brokers if not row["samples"] and row["failed"] >= MIN_FAILED)
        index, current = _index_of(replicas, ids), is_current(replicas, brokers)
        silent = _silent(brokers, told)
        dead, doubtful = np.zeros_like(silent), np.zeros_like(silent)
        if silent.any():
            taken, kept = _leadership(brokers, replicas, current, index, silent)
            dead, doubtful = silent & (taken > kept), silent & (taken + kept == 0)
        broken = _on_broken(brokers, log_dirs, replicas, index, frozenset(ids[dead].tolist()))
        lost = broken | (current & dead[index] if dead.any() else False)
        shown = current | broken
        present = _without_stale(replicas, shown, lost)
        down, maybe = (frozenset(ids[each].tolist()) for each in (dead, doubtful))
        return cls(down, unseen, maybe, shown, present, lost & present)

    @property
    def gone(self) -> frozenset[int]:
        return self.dead | self.unseen


def is_current(rows: pa.Table, brokers: Sequence[_Row]) -> Bools:
    """[rows] whether it was still there when its broker was last sampled; else it was deleted, or has moved away."""
    if not brokers:
        return np.zeros(rows.num_rows, dtype=np.bool_)
    ids = np.array([row["broker"] for row in brokers], dtype=np.int64)
    since = np.array([row["last_at_ms"] - row["interval_ms"] / 2 for row in brokers], dtype=np.float64)
    index = _index_of(rows, ids)
    return np.asarray((ids[index] == numbers(rows, "broker", -1.0)) & (numbers(rows, "at_ms", 0.0) >= since[index]))


def _index_of(rows: pa.Table, broker_ids: Ints) -> Ints:
    """[rows] the index of each row's broker, or any where it is none of these."""
    index = np.searchsorted(broker_ids, numbers(rows, "broker", -1.0))
    return np.minimum(index, max(len(broker_ids) - 1, 0)).astype(np.int64)


def _silent(brokers: Sequence[_Row], told: Directory) -> Bools:
    away = {
        broker.id for cluster in told.clusters for broker in cluster.brokers if broker.state is BrokerState.MAINTENANCE
    }
    failed_at = [row.get("failed_at_ms") or 0 for row in brokers]
    now = max([*failed_at, *(row["last_at_ms"] for row in brokers)], default=0)
    usual = float(np.median([row["interval_ms"] for row in brokers if row["interval_ms"]] or [0.0]))
    return np.array(
        [
            row["samples"] > 0
            and row["broker"] not in away
            and at > row["last_at_ms"]
            and now - row["last_at_ms"] > max(SILENT_MS, SILENT_INTERVALS * (row["interval_ms"] or usual))
            for row, at in zip(brokers, failed_at, strict=True)
        ],
        dtype=np.bool_,
    )


def _leadership(
    brokers: Sequence[_Row], replicas: pa.Table, current: Bools, index: Ints, silent: Bools
) -> tuple[Ints, Ints]:
    """[brokers] of the partitions that each silent one led and others hold too: how many they lead since, and not."""
    partition, count = _partitions(replicas)
    last_at = np.array([row["last_at_ms"] for row in brokers], dtype=np.float64)
    leads, at_ms = numbers(replicas, "is_leader", 0.0) > 0, numbers(replicas, "at_ms", 0.0)
    others = current & ~silent[index]
    held = np.bincount(partition[others], minlength=count) > 0
    led_at = np.zeros(count)
    np.maximum.at(led_at, partition[others & leads], at_ms[others & leads])
    told = current & silent[index] & leads & held[partition]
    taken = told & (led_at[partition] > last_at[index])
    return tuple(np.bincount(index[rows], minlength=len(brokers)) for rows in (taken, told & ~taken))  # type: ignore[return-value]


def _on_broken(
    brokers: Sequence[_Row], log_dirs: pa.Table, replicas: pa.Table, index: Ints, dead: frozenset[int]
) -> Bools:
    """[replica rows] what was on a log dir when it was last sampled, of those that are offline since."""
    position = {row["broker"]: at for at, row in enumerate(brokers) if row["broker"] not in dead}
    offline = [row for row in log_dirs.to_pylist() if row["offline"] and row["broker"] in position]
    if not offline or not replicas.num_rows:
        return np.zeros(replicas.num_rows, dtype=np.bool_)
    path, paths = coded(replicas["log_dir"])
    code = {name: number for number, name in enumerate(paths)}
    table = np.full((len(brokers), len(paths)), -1)
    for number, row in enumerate(offline):
        if row["log_dir"] in code:
            table[position[row["broker"]], code[row["log_dir"]]] = number
    ids = np.array([row["broker"] for row in brokers], dtype=np.int64)
    at = np.where(ids[index] == numbers(replicas, "broker", -1.0), table[index, path], -1)
    rows, at_ms = at >= 0, numbers(replicas, "at_ms", 0.0)
    latest = np.zeros(len(offline))
    np.maximum.at(latest, at[rows], at_ms[rows])
    interval = np.array([row["interval_ms"] for row in brokers], dtype=np.float64)
    return np.asarray(rows & (at_ms >= latest[at] - interval[index] / 2))


def _without_stale(replicas: pa.Table, present: Bools, lost: Bools) -> Bools:
    """Leave out stale replicas. Where a leader that lives knows of no more replicas than live, what was lost has been
    made anew elsewhere.
    """
    if not lost.any():
        return present
    partition, count = _partitions(replicas)
    lives = present & ~lost
    leads = np.flatnonzero(lives & (numbers(replicas, "is_leader", 0.0) > 0))
    leads = leads[np.argsort(numbers(replicas, "at_ms", 0.0)[leads], kind="stable")]
    known = np.full(count, np.nan)
    known[partition[leads]] = numbers(replicas, "replicas", np.nan)[leads]
    members = np.bincount(partition[lives], minlength=count)
    return present & ~(lost & (known <= members)[partition])


def _partitions(replicas: pa.Table) -> tuple[Ints, int]:
    """[rows] a number for each partition, and how many there are."""
    topic, _ = coded(replicas["topic"])
    number = numbers(replicas, "partition", 0.0).astype(np.int64)
    key = topic * (int(number.max(initial=0)) + 1) + number
    _, partition = np.unique(key, return_inverse=True)
    return partition.astype(np.int64), int(partition.max(initial=-1)) + 1
