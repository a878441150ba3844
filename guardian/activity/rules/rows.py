"""From the slices of a broker's batch to rows of the table: its uses, its marker, and what was moved without a topic.

Slices are made rows together, in one record batch of which each is a part (guardian.activity.rules.slices says why).
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from guardian.activity.rules.sharing import TOPIC, Shares, share
from guardian.activity.rules.slices import Ints, SliceName, Slices, read
from protos.guardian.v1 import reporter_pb2

__all__ = ["SCHEMA", "TOPIC", "SliceName", "SliceRows", "joined", "refused_slice", "rows_of_slices", "slice_rows"]

SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("life", pa.int64()),
        ("slice", pa.uint64()),
        ("from_time", pa.timestamp("ms", "UTC")),
        ("duration_ms", pa.uint32()),
        ("resource_type", pa.string()),
        ("resource", pa.string()),
        ("operation", pa.string()),
        ("principal", pa.string()),
        ("client_id", pa.string()),
        ("address", pa.string()),
        ("allowed", pa.uint64()),
        ("denied", pa.uint64()),
        ("bytes_produced", pa.uint64()),
        ("bytes_fetched", pa.uint64()),
        ("bytes_shared", pa.bool_()),
        ("dropped", pa.uint64()),
        ("lost", pa.uint64()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class SliceRows:
    """A slice as it is inserted, its marker and its rows: `count` rows of `batch`, from `start` on."""

    name: SliceName
    from_ms: int
    batch: pa.RecordBatch
    start: int
    count: int

    @property
    def rows(self) -> pa.RecordBatch:
        return self.batch.slice(self.start, self.count)


def slice_rows(name: SliceName, found: reporter_pb2.ActivitySlice, correction_ms: int = 0) -> SliceRows:
    """`correction_ms` is what the broker's clock lacks. Raises InvalidInput when the slice contradicts itself."""
    return rows_of_slices([name], [found], correction_ms)[0]


def rows_of_slices(
    names: Sequence[SliceName], found: Sequence[reporter_pb2.ActivitySlice], correction_ms: int = 0
) -> list[SliceRows]:
    """Those of slices of one broker, `names[i]` being that of `found[i]`.

    Raises InvalidInput when one of them contradicts itself.
    """
    if not names:
        return []
    slices = read(names, found, correction_ms)
    shares = share(slices)
    rows_slices = np.concatenate(
        [slices.uses.slices, np.arange(len(names)), [each.slice for each in shares.without_topic]]
    ).astype(np.int64)
    # A slice's uses, its marker, and the rest, in this order.
    order = np.argsort(rows_slices, kind="stable")
    batch = _batch(slices, shares, rows_slices[order], order)
    counts = np.bincount(rows_slices, minlength=len(names))
    starts = np.cumsum(counts) - counts
    return [
        SliceRows(name, int(from_ms), batch, int(start), int(count))
        for name, from_ms, start, count in zip(names, slices.from_ms, starts, counts, strict=True)
    ]


def refused_slice(name: SliceName, at_ms: int) -> SliceRows:
    """The marker alone, of a slice that is of no use: it says that something was lost, and is not asked for again."""
    hollow = reporter_pb2.ActivitySlice(number=name.number, from_ms=at_ms, to_ms=at_ms, lost_slices=1)
    return slice_rows(name, hollow)


def joined(slices: Sequence[SliceRows]) -> pa.Table:
    """The rows of all; what lies side by side in one batch stays in one piece."""
    pieces: list[tuple[pa.RecordBatch, int, int]] = []
    for each in slices:
        if pieces and pieces[-1][0] is each.batch and sum(pieces[-1][1:]) == each.start:
            pieces[-1] = (each.batch, pieces[-1][1], pieces[-1][2] + each.count)
        else:
            pieces.append((each.batch, each.start, each.count))
    return pa.Table.from_batches([batch.slice(start, count) for batch, start, count in pieces], SCHEMA)


def _batch(slices: Slices, shares: Shares, of_slice: Ints, order: Ints) -> pa.RecordBatch:
    """Rows are uses, then a marker for each slice, then what has no topic; then they are put in their order."""
    uses, more, markers = slices.uses, shares.without_topic, len(slices.names)
    texts = pa.array(list(slices.texts), pa.string())
    topic = slices.texts[TOPIC] if more else 0
    name = slices.names[0]

    def coded(of_uses: Ints, of_more: Sequence[int]) -> pa.Array:
        return texts.take(
            pa.array(np.concatenate([of_uses, np.zeros(markers, np.int64), of_more]).astype(np.int64)[order])
        )

    def counted(of_uses: Any, of_markers: Any = None, of_more: Sequence[int] = ()) -> pa.Array:
        marked = np.zeros(markers, np.uint64) if of_markers is None else of_markers
        rest = np.array(of_more or [0] * len(more), np.uint64)
        return pa.array(np.concatenate([of_uses, marked, rest])[order])

    none = np.zeros(len(uses.slices), np.uint64)
    nothing = [0] * len(more)
    columns = {
        "cluster": pa.repeat(pa.scalar(name.cluster, pa.string()), len(order)),
        "broker": pa.repeat(pa.scalar(name.broker, pa.int32()), len(order)),
        "life": pa.repeat(pa.scalar(name.life_ms, pa.int64()), len(order)),
        "slice": pa.array(np.array([each.number for each in slices.names], np.uint64)[of_slice]),
        "from_time": pa.array(slices.from_ms[of_slice]).cast(pa.timestamp("ms", "UTC")),
        "duration_ms": pa.array(slices.duration_ms[of_slice].astype(np.uint32)),
        "resource_type": coded(uses.resource_types, [topic] * len(more)),
        "resource": coded(uses.resources, nothing),
        "operation": coded(uses.operations, [each.operation for each in more]),
        "principal": coded(uses.principals, [each.principal for each in more]),
        "client_id": coded(uses.client_ids, [each.client_id for each in more]),
        "address": coded(uses.addresses, nothing),
        "allowed": counted(uses.allowed),
        "denied": counted(uses.denied),
        "bytes_produced": counted(shares.produced, of_more=[each.produced for each in more]),
        "bytes_fetched": counted(shares.fetched, of_more=[each.fetched for each in more]),
        "bytes_shared": pa.array(_flags(shares.is_shared, markers + len(more))[order]),
        "dropped": counted(none, slices.dropped),
        "lost": counted(none, slices.lost),
    }
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def _flags(of_uses: npt.NDArray[np.bool_], others: int) -> npt.NDArray[np.bool_]:
    return np.concatenate([of_uses, np.zeros(others, np.bool_)])
