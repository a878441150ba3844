"""Events that were appended together are stored together, as they came: one record, and nothing to do to send it on.

key    partition, id of the last event        value    a serialised EventGroup
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from metastore import segment_keys as sk
from metastore.records import Record
from metastore.store import ReadView
from metastore.varints import varint
from protos.guardian.v1.raw_pb2 import PlainEvents, PlainSegmentEvent, RawEvents

SLICE = 512  # groups in one look into the store
_FIRST_EVENT_ID = b"\x08"  # field 1 of EventGroup, a number


class Group(NamedTuple):
    """`content` is a serialised EventGroup."""

    key: bytes
    last_event_id: int
    content: bytes


def record(partition: bytes, first_event_id: int, count: int, events: bytes) -> Record:
    """`events` is a serialised RawEvents, which an EventGroup has under the same field number."""
    key = sk.EVENT + partition + sk.encode_id(first_event_id + count - 1)
    return key, _FIRST_EVENT_ID + varint(first_event_id) + events


def stored(view: ReadView, partition: bytes, from_event_id: int = 0) -> Iterator[Group]:
    """The partition's groups in order, the first one being that which holds the id."""
    prefix = sk.EVENT + partition
    start = prefix + sk.encode_id(from_event_id)
    while found := view.scan(prefix, start, SLICE):
        yield from (Group(key, sk.decode_id(key), value) for key, value in found)
        start = found[-1][0] + b"\x00"


def read(group: Group) -> Iterable[tuple[bytes, PlainSegmentEvent]]:
    """Each event as it came, and read. Raises DecodeError."""
    return zip(RawEvents.FromString(group.content).events, PlainEvents.FromString(group.content).events, strict=True)
