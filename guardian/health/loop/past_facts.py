"""What the lake has of the minutes before a moment, for `guardian.health.rules.past`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from guardian.health.model.past import Held, PastTopic, Sample, Samples
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader

_BROKERS = (
    "at_ms", "broker", "broker_started_at_ms", "rack", "idc", "bytes_in_total", "bytes_out_total", "error",
    "messages_in_total", "replication_bytes_in_total", "replication_bytes_out_total", "memory_available_bytes",
    "cores", "cpu_busy_ms",
)  # fmt: skip
_DISKS = (
    "at_ms", "broker", "disk", "bytes_read", "bytes_written", "reads_completed", "writes_completed", "busy_ms",
    "read_ms", "write_ms",
)  # fmt: skip
_LOG_DIRS = ("at_ms", "broker", "log_dir", "disk", "total_bytes", "usable_bytes", "offline")
_REPLICAS = (
    "at_ms", "broker", "broker_started_at_ms", "topic", "partition", "is_leader", "replicas", "in_sync_replicas",
    "topic_bytes_in_total", "topic_bytes_out_total",
)  # fmt: skip
_MS = 1000


def past_samples(lake: LakeReader, cluster: str, window: Window, broker: int | None) -> Samples:
    """Return the samples of one broker, or of all. Raises InvalidInput where they are more than the reader may read,
    Unavailable when the lake can't be read."""
    where = None if broker is None else ds.field("broker") == broker
    replicas = _replicas(lake, cluster, window, where)
    return Samples(
        {key[0]: rows for key, rows in _by(lake, BROKER_SAMPLES, cluster, window, _BROKERS, broker).items()},
        _by(lake, DISK_SAMPLES, cluster, window, _DISKS, broker, "disk"),
        _by(lake, LOG_DIR_SAMPLES, cluster, window, _LOG_DIRS, broker, "log_dir"),
        _held(replicas),
        _topics(replicas),
    )


def _by(
    lake: LakeReader, name: str, cluster: str, window: Window, columns: Sequence[str], broker: int | None, *part: str
) -> dict[Any, tuple[Sample, ...]]:
    """Return the rows of a small table by broker, and what else names a series of it."""
    rows = lake.table(name, cluster, window, columns, "broker", *part, "at_ms")
    found: dict[tuple[Any, ...], list[Sample]] = defaultdict(list)
    for row in (rows if broker is None else rows.filter(pc.equal(rows["broker"], broker))).to_pylist():
        found[tuple(row[key] for key in ("broker", *part))].append(row)
    return {key: tuple(samples) for key, samples in found.items()}


def _replicas(lake: LakeReader, cluster: str, window: Window, where: ds.Expression | None) -> pa.Table:
    batches = list(lake.batches(PARTITION_SAMPLES, cluster, window, _REPLICAS, coded=("topic",), where=where))
    return pa.Table.from_batches(batches).unify_dictionaries() if batches else pa.table({})


def _held(replicas: pa.Table) -> dict[int, Held]:
    """Count each broker's replicas at its last sample."""
    found = {}
    for broker in pc.unique(replicas["broker"]).to_pylist() if replicas.num_rows else ():
        own = replicas.filter(pc.equal(replicas["broker"], broker))
        last = own.filter(pc.equal(own["at_ms"], pc.max(own["at_ms"])))
        # A sample may be there twice, of two members or after compaction.
        once = last.group_by(["topic", "partition"]).aggregate(
            [("is_leader", "any"), ("replicas", "max"), ("in_sync_replicas", "max")]
        )
        leads = once.filter(once["is_leader_any"])
        lacking = pc.sum(pc.less(leads["in_sync_replicas_max"], leads["replicas_max"])).as_py()
        found[broker] = Held(once.num_rows, leads.num_rows, lacking or 0)
    return found


def _topics(replicas: pa.Table) -> tuple[PastTopic, ...]:
    """Return what topics moved, the busiest first: each row of a partition has its topic's totals on the leader."""
    if not replicas.num_rows:
        return ()
    counters = ("topic_bytes_in_total", "topic_bytes_out_total")
    lives = (
        replicas.filter(replicas["is_leader"])
        .group_by(["broker", "broker_started_at_ms", "topic"])
        .aggregate([(name, end) for name in ("at_ms", *counters) for end in ("min", "max")])
    )
    rates: dict[str, list[float]] = {}
    for row in lives.to_pylist():
        took = row["at_ms_max"] - row["at_ms_min"]
        if took > 0:
            sums = rates.setdefault(row["topic"], [0.0, 0.0])
            for i, name in enumerate(counters):
                sums[i] += (row[f"{name}_max"] - row[f"{name}_min"]) * _MS / took
    found = (PastTopic(topic, written, read) for topic, (written, read) in rates.items())
    return tuple(sorted(found, key=lambda each: (-each.bytes_in_per_s - each.bytes_out_per_s, each.topic)))
