"""From a replica's hours to what it did in the window: median, 95th percentile, trend of its size.

Hours keep each rate of theirs, so quantiles are those of all pairs in the window (guardian.lake.rules.rates). The trend
is the straight line through its sizes at the beginning and the end of each hour (least squares). Segments are deleted
whole, so sizes go up and down like a saw, which a line through many points does not follow.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from guardian.lake.model.schema import table_of
from guardian.lake.model.window import Window
from guardian.lake.model.windows import REPLICAS
from guardian.lake.rules import rates
from guardian.lake.rules.rates import Floats, Ints
from guardian.lake.rules.rollup import HOURS, roll_up, roll_up_hours

NEEDED = tuple(name for name in HOURS.names if name not in ("write_rate", "read_rate"))
_HOURS = pa.schema([HOURS.field(name) for name in NEEDED])
_LATEST = ("broker", "topic", "partition", "log_dir", "is_leader", "size_bytes", "at_ms", "replicas")
_QUANTILES = (0.5, 0.95)
_WIDTH = 3
_TREND_S = 6 * 3600


def window_rows(window: Window, samples: pa.Table | None, hours: pa.Table | None = None) -> pa.Table:
    """Return one row a replica of one broker in the window, of its samples and of hours that are rolled up.

    `samples` have the columns SAMPLED, `hours` those of NEEDED; they share no hour. A long window is the sum of its
    hours, whether they are rolled up or not.
    """
    parts = [] if hours is None else [hours]
    if samples is not None:
        parts.append(roll_up_hours(samples) if window.is_long else roll_up(samples))
    rows = [part.select(NEEDED).cast(_HOURS) for part in parts if part.num_rows]
    return replica_rows(pa.concat_tables(rows)) if rows else REPLICAS.empty_table()


def replica_rows(hours: pa.Table) -> pa.Table:
    """One row a replica of one broker. `hours` have the columns NEEDED, in whatever order they come.

    `rate_pairs` and `led_ms` count the pairs in which it led; its rates are of these, or, if it never led, `read_rate`
    is what it gave to consumers as a follower. Null where nothing tells.
    """
    order, begins, ends = _in_order(hours)
    latest = hours.select(_LATEST).take(pa.array(order[ends - 1]))
    covered = np.add.reduceat(_column(hours, "covered_ms")[order], begins)
    messages = np.add.reduceat(_column(hours, "messages")[order], begins)
    led = _column(hours, "led")[order] > 0
    ever_led = np.logical_or.reduceat(led, begins)
    # What it gave while it followed is another thing than what it gave as the leader: the latter counts.
    counts = led == np.repeat(ever_led, ends - begins)
    rated = order[counts]
    replica = np.repeat(np.arange(len(begins)), ends - begins)[counts]
    held, sizes = _pairs(hours["pairs"], rated)
    weights = rates.decode(held[:, 0])
    pairs = np.bincount(replica, sizes, len(begins)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(pairs)])
    lasted = np.bincount(np.repeat(np.arange(len(begins)), pairs), weights, len(begins))
    written, read = (rates.quantiles(held[:, column], weights, starts, _QUANTILES) for column in (1, 2))
    written[:, ~ever_led] = np.nan
    (write_rate, write_p95), (read_rate, read_p95) = written, read
    with np.errstate(divide="ignore", invalid="ignore"):
        messages_rate = np.where(covered > 0, messages * 1000 / covered, np.nan)
    return table_of(
        REPLICAS,
        {
            **{name: latest[name].combine_chunks() for name in _LATEST},
            "samples": np.add.reduceat(_column(hours, "samples")[order], begins),
            "covered_ms": covered,
            "messages_rate": _known(messages_rate),
            "growth_bytes_per_s": _known(_growth(hours, order, begins)),
            "rate_pairs": np.where(ever_led, pairs, 0),
            "led_ms": np.where(ever_led, np.rint(lasted), 0).astype(np.int64),
            "write_rate": _known(write_rate),
            "write_p95": _known(write_p95),
            "read_rate": _known(read_rate),
            "read_p95": _known(read_p95),
        },
    )


def _known(values: Floats) -> pa.Array:
    """Return the values with null for NaN."""
    return pa.array(values, from_pandas=True)


def _column(hours: pa.Table, name: str) -> Ints:
    return np.asarray(hours[name].to_numpy(), dtype=np.int64)


def _in_order(hours: pa.Table) -> tuple[Ints, Ints, Ints]:
    """Rows by topic, partition and time; where each replica's begin and end."""
    topics = hours["topic"].combine_chunks()
    coded = topics if isinstance(topics, pa.DictionaryArray) else topics.dictionary_encode()
    rank = np.unique(np.array(coded.dictionary.to_pylist(), dtype=str), return_inverse=True)[1]
    partition = _column(hours, "partition")
    replica = rank[coded.indices.to_numpy()] * (int(partition.max()) + 1) + partition
    order = np.lexsort((_column(hours, "at_ms"), replica))
    begins = np.flatnonzero(np.diff(replica[order], prepend=-1))
    return order, begins, np.append(begins[1:], len(order))


def _pairs(column: pa.ChunkedArray, rows: Ints) -> tuple[rates.Codes, Ints]:
    """[pairs, 3] what these rows hold, one after the other, and how many each has."""
    chosen = column.combine_chunks().take(pa.array(rows))
    if isinstance(chosen, pa.ChunkedArray):
        chosen = chosen.combine_chunks()
    offsets = np.frombuffer(chosen.buffers()[1], np.int32)[chosen.offset : chosen.offset + len(chosen) + 1]
    held = chosen.buffers()[2]
    codes = np.frombuffer(held, "<u2", (offsets[-1] - offsets[0]) // 2, offsets[0]) if held else np.empty(0, "<u2")
    return codes.reshape(-1, _WIDTH), np.diff(offsets).astype(np.int64) // (2 * _WIDTH)


def _growth(hours: pa.Table, order: Ints, begins: Ints) -> Floats:
    """bytes/s; 0 where too little was seen for a trend: what a new topic gains in a minute says nothing of days."""
    at_s = [_column(hours, name)[order] / 1000 for name in ("first_at_ms", "at_ms")]
    size = [_column(hours, name)[order].astype(np.float64) for name in ("first_size_bytes", "size_bytes")]
    # From the first point on: squares of times since 1970 would leave no digits for the sizes.
    sizes = np.diff(np.append(begins, len(order)))
    at_s = [times - np.repeat(at_s[0][begins], sizes) for times in at_s]
    points = 2.0 * sizes
    x, y, xy, xx = (
        np.add.reduceat(values, begins)
        for values in (
            at_s[0] + at_s[1],
            size[0] + size[1],
            at_s[0] * size[0] + at_s[1] * size[1],
            at_s[0] ** 2 + at_s[1] ** 2,
        )
    )
    spread = xx - x * x / points
    seen_s = np.maximum.reduceat(at_s[1], begins)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(seen_s >= _TREND_S, (xy - x * y / points) / spread, 0.0)
