"""From counters to one row a replica: for an hour, when the keeper compacts it, or for a short window, in Spark.

Rates are those of pairs: consecutive samples within one life of the broker (counters begin anew with a restart). Kafka
counts bytes by topic and broker, offsets by partition. So the bytes of a topic that a broker took in between two
samples are shared out among partitions by the messages that each gained. Only those count that it led at both ends.
Bytes out are shared likewise. Where it led nothing of the topic all the while, its followers gave these bytes (fetch
from follower), and they share them.

A pair weighs as long as it lasts. With a steady interval a median is the plain one. When two members collect one
broker, moments apart, the slivers between their samples count for nothing. A pair that spans two hours is in neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from guardian.lake.model.schema import PARTITION_HOURS, TABLES, table_of
from guardian.lake.rules import rates
from guardian.lake.rules.rates import Bools, Floats, Ints

HOURS = pa.schema(list(TABLES[PARTITION_HOURS]))
SAMPLED = (
    "at_ms",
    "broker",
    "broker_started_at_ms",
    "topic",
    "partition",
    "log_dir",
    "is_leader",
    "size_bytes",
    "log_end_offset",
    "topic_bytes_in_total",
    "topic_bytes_out_total",
    "replicas",
)
"""The columns of partition_samples that are needed."""

_HOUR_MS = 3_600_000
_AT_END = ("at_ms", "broker", "topic", "partition", "log_dir", "is_leader", "size_bytes", "replicas")
_COUNTED = (
    "at_ms",
    "broker_started_at_ms",
    "is_leader",
    "size_bytes",
    "log_end_offset",
    "topic_bytes_in_total",
    "topic_bytes_out_total",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """Of one broker, in the order of replica and time, each moment once. `row` is where a sample is in the table."""

    row: Ints
    replica: Ints
    topic: Ints
    moment: Ints  # index into all moments, ascending
    columns: dict[str, Ints]

    def of(self, name: str) -> Ints:
        return self.columns[name]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """`sample` is where each pair ends; rates in bytes/s."""

    sample: Ints
    lasts_ms: Ints
    written: Floats
    read: Floats


def roll_up(rows: pa.Table) -> pa.Table:
    """One row a replica, as of PARTITION_HOURS, by broker, topic and partition. `rows` are of one cluster.

    Broker by broker, since what is known of one fits into a processor's cache: that halves the time.
    """
    if not rows.num_rows:
        return HOURS.empty_table()
    broker = _numbers(rows["broker"])
    if _changes(broker).sum() > len(np.unique(broker)):
        order = np.argsort(broker, kind="stable")
        rows, broker = rows.take(pa.array(order)), broker[order]
    cuts = np.append(np.flatnonzero(_changes(broker)), len(broker)).tolist()
    parts = sorted(pairwise(cuts), key=lambda part: broker[part[0]])
    return pa.concat_tables([_of_broker(rows.slice(begin, end - begin)) for begin, end in parts])


def roll_up_hours(rows: pa.Table) -> pa.Table:
    """One row a replica and hour."""
    hour = _numbers(rows["at_ms"]) // _HOUR_MS
    parts = [roll_up(rows.filter(pa.array(hour == each))) for each in np.unique(hour)]
    return pa.concat_tables(parts) if parts else HOURS.empty_table()


def _of_broker(rows: pa.Table) -> pa.Table:
    samples = _in_order(rows)
    begins = np.flatnonzero(_changes(samples.replica))
    ends = np.append(begins[1:], len(samples.row))
    lasts, gained, forward = _steps(samples)
    led, served = _led(samples, lasts, gained, forward), _served(samples, lasts, gained, forward)
    pairs, has_led = _one_kind(samples, led, served, begins)
    first, latest = samples.row[begins], samples.row[ends - 1]
    starts = np.searchsorted(pairs.sample, np.append(begins, len(samples.row)))
    codes = rates.encode(pairs.written), rates.encode(pairs.read)
    weights = pairs.lasts_ms.astype(np.float64)
    write_rate, read_rate = (
        pa.array(rates.quantiles(code, weights, starts, (0.5,))[0].astype(np.float32), from_pandas=True)
        for code in codes
    )
    at_end = rows.select(_AT_END).take(latest)
    at_begin = rows.select(["at_ms", "size_bytes"]).take(first)
    return table_of(
        HOURS,
        {
            **{name: at_end[name].combine_chunks() for name in _AT_END},
            "first_at_ms": at_begin["at_ms"].combine_chunks(),
            "first_size_bytes": at_begin["size_bytes"].combine_chunks(),
            "samples": (ends - begins).astype(np.int32),
            "covered_ms": np.add.reduceat(np.where(forward, lasts, 0), begins),
            "messages": np.add.reduceat(np.where(forward, gained, 0), begins),
            "write_rate": write_rate,
            "read_rate": read_rate,
            "pairs": _binary(np.stack([rates.encode(weights), *codes], axis=1), starts),
            "led": has_led,
        },
    )


def _in_order(rows: pa.Table) -> _Samples:
    columns = {name: _numbers(rows[name]) for name in _COUNTED}
    moments, moment = np.unique(columns["at_ms"], return_inverse=True)
    topic = _ranks(rows["topic"])
    partition = _numbers(rows["partition"])
    replica = topic * (int(partition.max()) + 1) + partition
    key = replica * len(moments) + moment
    order = np.argsort(key)
    if not _changes(key[order]).all():  # of two that differ the same one is kept, in whatever order they came
        order = np.lexsort((*(columns[name] for name in _COUNTED), key))
        order = order[_changes(key[order])]
    return _Samples(
        order, replica[order], topic[order], moment[order], {name: values[order] for name, values in columns.items()}
    )


def _numbers(column: pa.ChunkedArray) -> Ints:
    values: npt.NDArray[np.generic] = column.to_numpy()
    return values.astype(np.int64)


def _ranks(texts: pa.ChunkedArray) -> Ints:
    """Return for each text its place in the order of the alphabet."""
    coded = texts.combine_chunks()
    if not isinstance(coded, pa.DictionaryArray):
        coded = coded.dictionary_encode()
    rank = np.unique(np.array(coded.dictionary.to_pylist()), return_inverse=True)[1]
    return np.asarray(rank[coded.indices.to_numpy()], dtype=np.int64)


def _changes(values: Ints) -> Bools:
    """Flag where a value is not the one before; the first is not."""
    changed = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _steps(samples: _Samples) -> tuple[Ints, Ints, Bools]:
    """Return for each sample, since the one before, how long, messages gained, and whether both are of one life, going
    on.
    """
    lasts, gained = _since(samples.of("at_ms")), _since(samples.of("log_end_offset"))
    same_life = ~_changes(samples.replica) & (_since(samples.of("broker_started_at_ms")) == 0)
    # A truncated log goes backwards within one life.
    return lasts, gained, same_life & (gained >= 0)


def _since(values: Ints) -> Ints:
    return np.diff(values, prepend=values[:1])


def _led(samples: _Samples, lasts: Ints, gained: Ints, forward: Bools) -> _Pairs:
    taken, given = _since(samples.of("topic_bytes_in_total")), _since(samples.of("topic_bytes_out_total"))
    led = samples.of("is_leader") > 0
    led &= np.roll(led, 1)
    # The counters of a topic that Kafka dropped and made anew go backwards.
    at = np.flatnonzero(forward & led & (taken >= 0) & (given >= 0))
    share = _shares(_together(samples, at), gained[at])
    return _Pairs(at, lasts[at], share * taken[at] * 1000 / lasts[at], share * given[at] * 1000 / lasts[at])


def _served(samples: _Samples, lasts: Ints, gained: Ints, forward: Bools) -> _Pairs:
    """Return what followers gave to consumers, where their broker led nothing of the topic all the while."""
    given = _since(samples.of("topic_bytes_out_total"))
    leads = samples.of("is_leader") > 0
    follows_only = np.bincount(samples.topic, leads) == 0
    at = np.flatnonzero(forward & (given > 0) & follows_only[samples.topic])
    share = _shares(_together(samples, at), gained[at])
    return _Pairs(at, lasts[at], np.zeros(len(at)), share * given[at] * 1000 / lasts[at])


def _together(samples: _Samples, at: Ints) -> Ints:
    """A number for each pair: the same for those of a topic between the same two moments."""
    moments = int(samples.moment.max()) + 1
    key = (samples.topic[at] * moments + samples.moment[at - 1]) * moments + samples.moment[at]
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _shares(group: Ints, gained: Ints) -> Floats:
    """Return the share of each member in what its group gained; alike when it gained nothing."""
    total, members = np.bincount(group, gained), np.bincount(group)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = gained / total[group]
    return np.where(total[group] > 0, share, 1.0 / members[group])


def _one_kind(samples: _Samples, led: _Pairs, served: _Pairs, begins: Ints) -> tuple[_Pairs, Bools]:
    """Keep of a replica that did both only what it led. Beside the pairs, return whether each replica led in its
    own.
    """
    index = np.cumsum(_changes(samples.replica)) - 1
    has_led = np.zeros(len(begins), dtype=np.bool_)
    has_led[index[led.sample]] = True
    keep = ~has_led[index[served.sample]]
    if not keep.any():
        return led, has_led
    sample = np.concatenate([led.sample, served.sample[keep]])
    order = np.argsort(sample)
    lasts = np.concatenate([led.lasts_ms, served.lasts_ms[keep]])[order]
    written = np.concatenate([led.written, served.written[keep]])[order]
    read = np.concatenate([led.read, served.read[keep]])[order]
    return _Pairs(sample[order], lasts, written, read), has_led


def _binary(pairs: rates.Codes, starts: Ints) -> pa.Array:
    """[groups] each group's rows as bytes."""
    offsets = pa.py_buffer((starts * pairs.itemsize * pairs.shape[1]).astype(np.int32))
    held = pa.py_buffer(pairs.astype("<u2").tobytes())
    return pa.Array.from_buffers(pa.binary(), len(starts) - 1, [None, offsets, held])
