"""Which offsets of a partition can be read from its finished segments, and where there are holes.

A segment says at which offset each of its leader epochs begins. A record is named by its epoch and offset, so where two
segments disagree, one of them is of a leader whose log was cut off. Epochs never go down as offsets go up, and a newer
epoch's start ends every older one. The lineage is put together from the newest epoch backwards; what does not fit to it
is history. An offset counts as covered when a finished segment holds it in the epoch that the lineage has there, which
is how a broker looks it up.

    segment A  epoch 3: 0 ............ 99          covered   0 ... 59   epoch 3, from A
    segment B  epoch 5:      60 .. 89              covered  60 ... 89   epoch 5, from B
    segment C  epoch 5:               95 ... 120   covered  95 ... 120;  90 ... 94 is a hole
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from guardian.tiering.model import LiveSegment


class OffsetRange(NamedTuple):
    """Both ends included."""

    first: int
    last: int

    @property
    def offsets(self) -> int:
        """Return how many offsets there are."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """`covered` and `holes` are in the order of offsets; `aside` are finished segments that nothing is read from."""

    covered: tuple[OffsetRange, ...] = ()
    holes: tuple[OffsetRange, ...] = ()
    aside: tuple[LiveSegment, ...] = ()

    @property
    def whole(self) -> OffsetRange | None:
        """Return the range from the first to the last covered offset; None when nothing is covered."""
        return OffsetRange(self.covered[0].first, self.covered[-1].last) if self.covered else None


class _Piece(NamedTuple):
    """What a segment holds of one epoch."""

    epoch: int
    first: int
    last: int


def coverage(segments: Iterable[LiveSegment]) -> Coverage:
    """Compute the coverage of the finished ones among the segments of one partition."""
    finished = [segment for segment in segments if segment.is_finished and segment.leader_epochs]
    newest_first = sorted(finished, key=lambda one: (max(one.leader_epochs), one.end_offset), reverse=True)
    lineage: dict[int, OffsetRange] = {}
    read: list[OffsetRange] = []
    aside: list[LiveSegment] = []
    for segment in newest_first:
        taken = [fitting for piece in reversed(_pieces(segment)) if (fitting := _take(piece, lineage))]
        adds_nothing = all(any(one.first >= old.first and one.last <= old.last for old in read) for one in taken)
        if adds_nothing:
            aside.append(segment)
        else:
            read = _merged([*read, *taken])
    holes = tuple(OffsetRange(before.last + 1, after.first - 1) for before, after in itertools.pairwise(read))
    return Coverage(tuple(read), holes, tuple(sorted(aside, key=lambda one: one.start_offset)))


def _pieces(segment: LiveSegment) -> list[_Piece]:
    """Cut the segment into pieces by epoch, that is by offset."""
    epochs = sorted(segment.leader_epochs)
    starts = [max(segment.leader_epochs[epoch], segment.start_offset) for epoch in epochs]
    ends = [*(start - 1 for start in starts[1:]), segment.end_offset]
    pieces = zip(epochs, starts, ends, strict=True)
    return [_Piece(epoch, first, last) for epoch, first, last in pieces if first <= last]


def _take(piece: _Piece, lineage: dict[int, OffsetRange]) -> OffsetRange | None:
    """The part of the piece that the lineage agrees with, which then extends the lineage; None when there is none."""
    later_starts = [known.first for epoch, known in lineage.items() if epoch > piece.epoch]
    last = min([piece.last, *(start - 1 for start in later_starts)])
    contradicts = any(known.last >= piece.first for epoch, known in lineage.items() if epoch < piece.epoch)
    if last < piece.first or contradicts:
        return None
    taken = OffsetRange(piece.first, last)
    known = lineage.get(piece.epoch, taken)
    lineage[piece.epoch] = OffsetRange(min(known.first, taken.first), max(known.last, taken.last))
    return taken


def _merged(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Sorted, those that touch or overlap made one."""
    merged: list[OffsetRange] = []
    for one in sorted(ranges):
        if merged and one.first <= merged[-1].last + 1:
            merged[-1] = OffsetRange(merged[-1].first, max(merged[-1].last, one.last))
        else:
            merged.append(one)
    return merged
