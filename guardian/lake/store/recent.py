"""What the newest samples say of a cluster, without Spark: for who plans at once, on what Kafka shows now.

    partition_samples ── roll_up, replica_rows (those of Spark's workers) ──▶ a row a replica with its rates
    broker_samples, disk_samples, log_dir_samples, nic_samples ─────────────▶ how busy, on which disk, how fast

Where things are is Kafka's to say; the lake only tells what they cost. It may lack all of it: then nothing is known of
rates, and a plan is one of bytes alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    NIC_SAMPLES,
    PARTITION_SAMPLES,
)
from guardian.lake.model.window import Window
from guardian.lake.rules.replicas import REPLICAS, replica_rows
from guardian.lake.rules.rollup import SAMPLED, roll_up
from guardian.lake.store.reader import LakeReader

RECENT_MS = 15 * 60_000

_BROKERS = ("at_ms", "broker", "error", "cores", "cpu_busy_ms")
_DISKS = (
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


@dataclass(frozen=True, slots=True, eq=False)
class Recent:
    """`replicas` has the columns of guardian.lake.rules.replicas.REPLICAS.

    `cpu` is percent of one core, `nics` bytes/s each way, `disks` by (broker, disk) have io_rate and io_p95 (bytes/s),
    busy (0 to 1) and await_ms; `disk_of` tells the disk of (broker, log dir).
    """

    replicas: pa.Table = field(default_factory=REPLICAS.empty_table)
    cpu: Mapping[int, float] = field(default_factory=dict)
    cores: Mapping[int, int] = field(default_factory=dict)
    nics: Mapping[int, float] = field(default_factory=dict)
    disks: Mapping[tuple[int, str], Mapping[str, float]] = field(default_factory=dict)
    disk_of: Mapping[tuple[int, str], str] = field(default_factory=dict)

    @property
    def brokers(self) -> frozenset[int]:
        """Those of which there is at least one good sample."""
        return frozenset(self.cores)


def recent(lake: LakeReader, cluster: str, window: Window) -> Recent:
    """Raises InvalidInput when the window has more than the reader may read, Unavailable when the lake is away."""
    cpu, cores = _brokers(lake, cluster, window)
    return Recent(
        _replicas(lake, cluster, window),
        cpu,
        cores,
        _nics(lake, cluster, window),
        _disks(lake, cluster, window),
        _disk_of(lake, cluster, window),
    )


def _replicas(lake: LakeReader, cluster: str, window: Window) -> pa.Table:
    batches = list(lake.batches(PARTITION_SAMPLES, cluster, window, SAMPLED, coded=("topic", "log_dir")))
    if not batches:
        return REPLICAS.empty_table()
    rows = pa.Table.from_batches(batches).unify_dictionaries()
    brokers = np.unique(rows["broker"].to_numpy()).tolist()
    parts = [replica_rows(roll_up(rows.filter(pc.equal(rows["broker"], broker)))) for broker in brokers]
    return pa.concat_tables([part.cast(REPLICAS) for part in parts])


def _brokers(lake: LakeReader, cluster: str, window: Window) -> tuple[dict[int, float], dict[int, int]]:
    """How busy each host was and how many cores it has; a busy time that goes backwards is a restart of the host."""
    rows = lake.table(BROKER_SAMPLES, cluster, window, _BROKERS, "broker", "at_ms")
    seen: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows.filter(pc.equal(rows["error"], "")).to_pylist():
        seen[row["broker"]].append(row)
    cpu = {}
    for broker, samples in seen.items():
        first, last = samples[0], samples[-1]
        lasted, busy = last["at_ms"] - first["at_ms"], (last["cpu_busy_ms"] or 0) - (first["cpu_busy_ms"] or 0)
        if lasted > 0 and busy > 0:
            cpu[broker] = 100.0 * busy / lasted
    return cpu, {broker: samples[-1]["cores"] or 0 for broker, samples in seen.items()}


def _nics(lake: LakeReader, cluster: str, window: Window) -> dict[int, float]:
    rows = lake.table(NIC_SAMPLES, cluster, window, ("at_ms", "broker", "nic", "bits_per_s"), "broker", "nic", "at_ms")
    speeds = {(row["broker"], row["nic"]): row["bits_per_s"] for row in rows.to_pylist()}
    found: dict[int, float] = defaultdict(float)
    for (broker, _), bits in speeds.items():
        found[broker] += bits / 8
    return {broker: speed for broker, speed in found.items() if speed > 0}


def _disk_of(lake: LakeReader, cluster: str, window: Window) -> dict[tuple[int, str], str]:
    columns = ("at_ms", "broker", "log_dir", "disk")
    rows = lake.table(LOG_DIR_SAMPLES, cluster, window, columns, "broker", "log_dir", "at_ms")
    return {(row["broker"], row["log_dir"]): row["disk"] for row in rows.to_pylist() if row["disk"]}


def _disks(lake: LakeReader, cluster: str, window: Window) -> dict[tuple[int, str], dict[str, float]]:
    rows = lake.table(DISK_SAMPLES, cluster, window, _DISKS, "broker", "disk", "at_ms")
    seen: dict[tuple[int, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows.to_pylist():
        seen[row["broker"], row["disk"]].append(row)
    return {key: found for key, samples in seen.items() if (found := _disk(samples))}


def _disk(samples: list[Mapping[str, Any]]) -> dict[str, float]:
    """Over the whole window, of what went forward; empty where nothing did."""
    gained: dict[str, int] = defaultdict(int)
    fastest = 0.0
    for before, after in pairwise(samples):
        lasted = after["at_ms"] - before["at_ms"]
        if lasted <= 0 or after["busy_ms"] < before["busy_ms"] or after["bytes_written"] < before["bytes_written"]:
            continue
        for name in _DISKS[3:]:
            gained[name] += max(0, after[name] - before[name])
        gained["lasted"] += lasted
        moved = after["bytes_read"] + after["bytes_written"] - before["bytes_read"] - before["bytes_written"]
        fastest = max(fastest, moved * 1000 / lasted)
    if not gained["lasted"]:
        return {}
    requests = gained["reads_completed"] + gained["writes_completed"]
    return {
        "io_rate": (gained["bytes_read"] + gained["bytes_written"]) * 1000 / gained["lasted"],
        "io_p95": fastest,
        "busy": gained["busy_ms"] / gained["lasted"],
        "await_ms": (gained["read_ms"] + gained["write_ms"]) / requests if requests else 0.0,
    }
