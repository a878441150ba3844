"""What a cluster did in a window, without Spark: for who plans at once, on what Kafka shows now.

    partition_hours ── whole hours of a long window, where they are rolled up ──┐
    partition_samples ── what is younger, and the ragged ends ──────────────────┴─▶ a row a replica
    broker_samples, nic_samples, log_dir_samples, disk_samples ─────────────────▶ a row a broker, log dir, disk

The rules are those of Spark's workers (guardian.lake.rules.windows), so the rows are the same. Where things are is
Kafka's to say; the lake only tells what they cost. It may lack all of it: then a plan is one of bytes alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    NIC_SAMPLES,
    PARTITION_HOURS,
    PARTITION_SAMPLES,
    TABLES,
)
from guardian.lake.model.window import Window
from guardian.lake.model.windows import REPLICAS, Windows
from guardian.lake.rules.replicas import NEEDED, window_rows
from guardian.lake.rules.rollup import SAMPLED
from guardian.lake.rules.windows import (
    BROKER_COLUMNS,
    DISK_COLUMNS,
    LOG_DIR_COLUMNS,
    NIC_COLUMNS,
    broker_rows,
    disk_rows,
    log_dir_rows,
)
from guardian.lake.store.reader import LakeReader

_CODED = ("topic", "log_dir")


def windows_of(lake: LakeReader, cluster: str, window: Window) -> Windows:
    """Return the rows of the cluster in the window.

    Raises InvalidInput when the window has more than the reader may read, Unavailable when the lake is away.
    """

    def samples(table: str, columns: tuple[str, ...]) -> pa.Table:
        schema = pa.schema([TABLES[table].field(name) for name in columns])
        return pa.Table.from_batches(lake.batches(table, cluster, window, columns), schema)

    # broker_samples first, since they are written last: whatever they speak of is in the other listings.
    brokers = samples(BROKER_SAMPLES, BROKER_COLUMNS)
    return Windows(
        broker_rows(brokers, samples(NIC_SAMPLES, NIC_COLUMNS)),
        log_dir_rows(samples(LOG_DIR_SAMPLES, LOG_DIR_COLUMNS)),
        disk_rows(samples(DISK_SAMPLES, DISK_COLUMNS)),
        _replicas(lake, cluster, window),
    )


def _replicas(lake: LakeReader, cluster: str, window: Window) -> pa.Table:
    """Broker by broker, since what is known of one fits into a processor's cache."""
    hours, rolled_up = _rolled_up(lake, cluster, window)
    samples = _by_broker(list(lake.batches(PARTITION_SAMPLES, cluster, window, SAMPLED, _CODED, but=hours)))
    parts = [
        window_rows(window, samples.get(broker), rolled_up.get(broker)).cast(REPLICAS)
        for broker in sorted(samples.keys() | rolled_up.keys())
    ]
    return pa.concat_tables(parts) if parts else REPLICAS.empty_table()


def _rolled_up(lake: LakeReader, cluster: str, window: Window) -> tuple[frozenset[int], Mapping[int, pa.Table]]:
    """Return which hours are rolled up, and their rows: the hours that were there before and after they were read."""
    before = lake.rolled_up(cluster, window)
    if not before:
        return before, {}
    rows = _by_broker(list(lake.batches(PARTITION_HOURS, cluster, window, NEEDED, _CODED)))
    return before & lake.rolled_up(cluster, window), rows


def _by_broker(batches: list[pa.RecordBatch]) -> Mapping[int, pa.Table]:
    if not any(len(batch) for batch in batches):
        return {}
    rows = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    broker = rows["broker"].to_numpy()
    order = np.argsort(broker, kind="stable")
    cuts = np.flatnonzero(np.diff(broker[order], prepend=-1)).tolist()
    ends = [*cuts[1:], len(order)]
    return {
        int(broker[order[begin]]): rows.take(pa.array(order[begin:end])) for begin, end in zip(cuts, ends, strict=True)
    }
