"""Keys of what is kept for tiered storage. Tables, and what a value holds:

    partition head      partition                  counters and flags (tables.partition_heads)
    segment event       partition, last event id   the events of one append, as they came (tables.event_groups)
    segment             segment id                 where it belongs and what became of it (tables.segment_records)
    live segment        partition, segment id      the base: segments that were live before the first event that is kept
    partition claim     partition                  who claimed it last (tables.claims)
    deleted partition   partition                  nothing: the sweeper's list
    gone offsets        partition                  how far copies went that can't be read any more (tables.gone_offsets)

Groups go by their last event, so that seeking an id forwards finds the group that holds it.
"""

from __future__ import annotations

import struct

from metastore import keys
from metastore.keys import PartitionId, Table

_ID = struct.Struct(">Q")
EVENT = Table.SEGMENT_EVENT.prefix
HEAD = Table.PARTITION_HEAD.prefix
LIVE = Table.LIVE_SEGMENT.prefix
SEGMENT = Table.SEGMENT.prefix
CLAIM = Table.PARTITION_CLAIM.prefix
DELETED = Table.DELETED_PARTITION.prefix
GONE_OFFSETS = Table.GONE_OFFSETS.prefix

MAX_ID = (1 << 64) - 1

encode_id = _ID.pack


def partition(name: PartitionId) -> bytes:
    """Encode what the keys of a partition have in common, after the table's byte: none is the beginning of another
    one's.

    Raises InvalidInput.
    """
    return keys.partition(name)


def decode_partition(encoded: bytes) -> PartitionId:
    """The inverse of `partition`. Raises ValueError when it is cut off."""
    cluster_id, topic = keys.read_text(encoded, 0)
    number = topic + keys.UUID_BYTES
    return PartitionId(cluster_id, encoded[topic:number], int.from_bytes(encoded[number:], "big"))


def decode_id(key: bytes) -> int:
    """The last event's id, from a group's key."""
    return int(_ID.unpack_from(key, len(key) - _ID.size)[0])


def decode_segment(key: bytes) -> bytes:
    """The segment id, from a live segment's key."""
    return key[-keys.UUID_BYTES :]
