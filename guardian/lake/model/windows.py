"""What a cluster did in a window of time, one row a broker, log dir, disk and replica.

`guardian.lake.rules.windows` and `guardian.lake.rules.replicas` make these rows of samples: in Spark's workers, broker
by broker, and in a member. Who plans reads them, wherever they were made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

BROKER, LOG_DIR, DISK, REPLICA = "broker", "log_dir", "disk", "replica"

BROKERS = pa.schema(
    [
        ("broker", pa.int32()),
        ("rack", pa.string()),
        ("idc", pa.string()),
        ("failed", pa.int64()),
        ("failed_at_ms", pa.int64()),
        ("samples", pa.int64()),
        ("pairs", pa.int64()),
        ("interval_ms", pa.float64()),
        ("covered_ms", pa.int64()),
        ("last_at_ms", pa.int64()),
        ("cores", pa.int32()),
        ("cpu", pa.float64()),
        ("cpu_p95", pa.float64()),
        ("nw_in", pa.float64()),
        ("nw_out", pa.float64()),
        ("nic_bytes_per_s", pa.float64()),
    ]
)
"""`failed` collections and the last one's time. Of those that did not fail: how many, how many `pairs` of them tell,
their usual interval, how much of the window they cover (gaps left out), and the last one's time. `cpu` in percent of
one core, `nw_in` and `nw_out` in bytes/s with replication: medians; null where nothing tells."""

LOG_DIRS = pa.schema(
    [
        ("broker", pa.int32()),
        ("log_dir", pa.string()),
        ("at_ms", pa.int64()),
        ("offline", pa.bool_()),
        ("disk", pa.string()),
        ("total_bytes", pa.int64()),
        ("usable_bytes", pa.int64()),
    ]
)
"""As each was last seen."""

DISKS = pa.schema(
    [
        ("broker", pa.int32()),
        ("disk", pa.string()),
        ("pairs", pa.int64()),
        ("covered_ms", pa.int64()),
        ("io_rate", pa.float64()),
        ("io_p95", pa.float64()),
        ("read_rate", pa.float64()),
        ("busy", pa.float64()),
        ("await_ms", pa.float64()),
    ]
)
"""Rates in bytes/s, `busy` from 0 to 1: medians, and a 95th percentile; `await_ms` is the mean of a request."""

REPLICAS = pa.schema(
    [
        ("broker", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("log_dir", pa.string()),
        ("is_leader", pa.bool_()),
        ("size_bytes", pa.int64()),
        ("at_ms", pa.int64()),
        ("replicas", pa.int32()),
        ("samples", pa.int64()),
        ("covered_ms", pa.int64()),
        ("messages_rate", pa.float64()),
        ("growth_bytes_per_s", pa.float64()),
        ("rate_pairs", pa.int64()),
        ("led_ms", pa.int64()),
        ("write_rate", pa.float64()),
        ("write_p95", pa.float64()),
        ("read_rate", pa.float64()),
        ("read_p95", pa.float64()),
    ]
)
"""As guardian.lake.rules.replicas makes them."""

SERIES = pa.schema(
    [
        ("broker", pa.int32()),
        ("log_dir", pa.string()),
        ("resource", pa.string()),
        ("at_ms", pa.int64()),
        ("value", pa.float64()),
        ("capacity", pa.float64()),
    ]
)
"""What a broker (`log_dir` is "") or a log dir did in an hour, whose last sample is `at_ms`; `capacity` is null where
it is not known."""

KINDS: Mapping[str, pa.Schema] = {BROKER: BROKERS, LOG_DIR: LOG_DIRS, DISK: DISKS, REPLICA: REPLICAS}


@dataclass(frozen=True, eq=False)
class Windows:
    """The rows of one cluster and window, a table for each kind, in any order. It may lack all of them."""

    brokers: pa.Table = field(default_factory=BROKERS.empty_table)
    log_dirs: pa.Table = field(default_factory=LOG_DIRS.empty_table)
    disks: pa.Table = field(default_factory=DISKS.empty_table)
    replicas: pa.Table = field(default_factory=REPLICAS.empty_table)

    @classmethod
    def of(cls, rows: pa.Table) -> Windows:
        """Return the rows of a table with a column `kind`, and the columns of all kinds."""
        tables = (rows.filter(pc.equal(rows["kind"], kind)).select(KINDS[kind].names) for kind in KINDS)
        return cls(*(table.cast(schema) for table, schema in zip(tables, KINDS.values(), strict=True)))

    @cached_property
    def sampled(self) -> Mapping[int, Mapping[str, Any]]:
        """Return the rows of those brokers of which there is at least one good sample."""
        return {row["broker"]: row for row in self.brokers.to_pylist() if row["samples"]}

    @cached_property
    def cpu(self) -> Mapping[int, float]:
        """Return the percent of one core that each broker's host was busy, where that is known."""
        return {broker: row["cpu"] for broker, row in self.sampled.items() if row["cpu"] is not None}

    @cached_property
    def cores(self) -> Mapping[int, int]:
        """Return the cores of each sampled broker's host; 0 where it does not tell."""
        return {broker: row["cores"] or 0 for broker, row in self.sampled.items()}

    @cached_property
    def nics(self) -> Mapping[int, float]:
        """Return what each broker's interfaces carry in bytes/s each way, where they tell."""
        found = zip(*(self.brokers[name].to_pylist() for name in ("broker", "nic_bytes_per_s")), strict=True)
        return {broker: speed for broker, speed in found if speed}

    @cached_property
    def disks_by_name(self) -> Mapping[tuple[int, str], Mapping[str, Any]]:
        """Return the rows of disks by broker and disk."""
        return {(row["broker"], row["disk"]): row for row in self.disks.to_pylist()}

    @cached_property
    def disk_of(self) -> Mapping[tuple[int, str], str]:
        """Return the disk below each broker's log dir, where it is known."""
        return {(row["broker"], row["log_dir"]): row["disk"] for row in self.log_dirs.to_pylist() if row["disk"]}
