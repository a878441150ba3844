"""Keys whose byte order is the order of what they name, so that a range scan is a prefix read.

    key = table (1 byte) + components

- text: UTF-8 with 00 written as 00 FF, then 00 01. The end sorts before anything that could follow, so "a" comes
  before "ab", and no text is the beginning of another one's encoding.
- numbers: unsigned, big-endian, of fixed width. Uuids: their 16 bytes.

UTF-8 sorts as its code points do, as Python compares strings; so encoded order is the order of the tuples.
Table bytes are stored: never renumber, never reuse.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from guardian.errors import InvalidInput

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_END = b"\x00\x01"
_ESCAPED_ZERO = b"\x00\xff"
UUID_BYTES = 16


class Table(IntEnum):
    META = 0
    CLUSTER = 1
    PLAN = 2  # content hash -> number of chunks, once all are there
    PLAN_CHUNK = 3
    TICKET = 4
    TICKET_BY_IDEMPOTENCY_KEY = 5
    EXECUTION = 6
    SEGMENT_EVENT = 7
    PARTITION_HEAD = 8
    LIVE_SEGMENT = 9
    DELETED_SEGMENT = 10

    @property
    def prefix(self) -> bytes:
        """What every key of the table begins with."""
        return bytes((self,))


class PartitionId(NamedTuple):
    """A partition of any cluster of the federation. `topic_id` has 16 bytes."""

    cluster_id: str
    topic_id: bytes
    partition: int


def applied_index() -> bytes:
    return Table.META.prefix + _text("applied_index")


def cluster(name: str) -> bytes:
    return Table.CLUSTER.prefix + _text(name)


def plan(plan_hash: str) -> bytes:
    return Table.PLAN.prefix + _text(plan_hash)


def plan_chunks(plan_hash: str) -> bytes:
    """The prefix of a plan's chunks, in their order."""
    return Table.PLAN_CHUNK.prefix + _text(plan_hash)


def plan_chunk(plan_hash: str, chunk: int) -> bytes:
    return plan_chunks(plan_hash) + _number(_U32, "chunk", chunk)


def ticket(ticket_id: str) -> bytes:
    return Table.TICKET.prefix + _text(ticket_id)


def ticket_by_idempotency_key(idempotency_key: str) -> bytes:
    return Table.TICKET_BY_IDEMPOTENCY_KEY.prefix + _text(idempotency_key)


def execution(ticket_id: str) -> bytes:
    return Table.EXECUTION.prefix + _text(ticket_id)


def segment_events(partition: PartitionId) -> bytes:
    """The prefix of a partition's events, in the order of their ids."""
    return Table.SEGMENT_EVENT.prefix + _partition(partition)


def segment_event(partition: PartitionId, event_id: int) -> bytes:
    return segment_events(partition) + _number(_U64, "event id", event_id)


def decode_segment_event(key: bytes) -> tuple[PartitionId, int]:
    """The inverse of `segment_event`."""
    partition, rest = _decode_partition(Table.SEGMENT_EVENT, key)
    return partition, _U64.unpack(rest)[0]


def partition_head(partition: PartitionId) -> bytes:
    return Table.PARTITION_HEAD.prefix + _partition(partition)


def live_segments(partition: PartitionId) -> bytes:
    """The prefix of a partition's segments that are not yet deleted, in the order of their ids."""
    return Table.LIVE_SEGMENT.prefix + _partition(partition)


def live_segment(partition: PartitionId, segment_id: bytes) -> bytes:
    return live_segments(partition) + _uuid("segment id", segment_id)


def decode_live_segment(key: bytes) -> tuple[PartitionId, bytes]:
    """The inverse of `live_segment`."""
    return _decode_partition(Table.LIVE_SEGMENT, key)


def deleted_segment(partition: PartitionId, segment_id: bytes) -> bytes:
    return Table.DELETED_SEGMENT.prefix + _partition(partition) + _uuid("segment id", segment_id)


def end_of(prefix: bytes) -> bytes | None:
    """The first key after all that begin with `prefix`; None when there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None


def _text(value: str) -> bytes:
    return value.encode().replace(b"\x00", _ESCAPED_ZERO) + _END


def _number(width: struct.Struct, name: str, value: int) -> bytes:
    try:
        return width.pack(value)
    except struct.error:
        raise InvalidInput(f"{name} is {value}: use 0 to {(1 << 8 * width.size) - 1}") from None


def _uuid(name: str, value: bytes) -> bytes:
    if len(value) != UUID_BYTES:
        raise InvalidInput(f"{name} has {len(value)} bytes: use the {UUID_BYTES} bytes of a uuid")
    return value


def _partition(partition: PartitionId) -> bytes:
    cluster_id, topic_id, number = partition
    return _text(cluster_id) + _uuid("topic id", topic_id) + _number(_U32, "partition", number)


def _decode_partition(table: Table, key: bytes) -> tuple[PartitionId, bytes]:
    if key[:1] != table.prefix:
        raise ValueError(f"key {key.hex()} is not of table {table.name}")
    end = key.index(_END, 1)
    topic, number = end + len(_END), end + len(_END) + UUID_BYTES
    partition = PartitionId(
        cluster_id=key[1:end].replace(_ESCAPED_ZERO, b"\x00").decode(),
        topic_id=key[topic:number],
        partition=_U32.unpack_from(key, number)[0],
    )
    return partition, key[number + _U32.size :]
