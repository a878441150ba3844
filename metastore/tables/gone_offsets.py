"""How far copies went that can't be read any more: by leader epoch, the highest offset of copies that were finished and
whose deletion has begun.

A broker asks for the highest offset that ever was copied in an epoch, also when all of it is deleted. For segments that
can be read it is in their events. For the others it follows from the events that are kept, and from what trimming
writes down here before it forgets them. Nothing is done for it when events are appended.

key    partition    value    leader epoch (4 bytes), highest offset (8), again and again, by epoch
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from metastore import segment_keys as sk
from metastore.records import Record
from metastore.tables.partition_heads import Getter
from metastore.tables.segment_records import FINISHED, has_seen
from protos.guardian.v1.raw_pb2 import PlainSegmentEvent

_ENTRY = struct.Struct(">iq")


def stored(view: Getter, partition: bytes) -> dict[int, int]:
    """Return what trimming wrote down: by leader epoch, the highest offset of copies that are gone."""
    return dict(_ENTRY.iter_unpack(view.get(sk.GONE_OFFSETS + partition) or b""))


def record(partition: bytes, highest: Mapping[int, int]) -> Record:
    return sk.GONE_OFFSETS + partition, b"".join(_ENTRY.pack(*entry) for entry in sorted(highest.items()))


def note(highest: dict[int, int], segment: bytes | None, states: bytes | None) -> None:
    """Adds a segment whose deletion has begun. `segment` is its first event, with what later ones changed or without;
    `states` its record (segment_records)."""
    if not segment or states is None or not has_seen(states, FINISHED):
        return
    for epoch, offset in _ends(PlainSegmentEvent.FromString(segment)):
        if offset > highest.get(epoch, offset - 1):
            highest[epoch] = offset


def _ends(segment: PlainSegmentEvent) -> list[tuple[int, int]]:
    """The segment's last offset in each of its leader epochs: one ends where the next one starts."""
    epochs = sorted({epoch.leader_epoch: epoch.start_offset for epoch in segment.segment_leader_epochs}.items())
    ends = [start - 1 for _, start in epochs[1:]] + [segment.end_offset]
    return [(epoch, end) for (epoch, _), end in zip(epochs, ends, strict=True)]
