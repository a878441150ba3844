"""Ids that nobody else gets: one counter for each kind, over the whole federation.

A number becomes 16 bytes in the form of a UUID of version 8 (RFC 9562, section 5.8):

    67 72 64 6e | kind: 2 | 80 00 | 10 and the number: 62 bits

So ids of one kind sort as their numbers do. No random (version 4) id, such as stock brokers make, is ever equal to one
of them. And each is one that Kafka accepts (org.apache.kafka.common.Uuid): none of the reserved ones, and, since the
first byte is 'g', its base64url form does not begin with '-'.
"""

from __future__ import annotations

import struct

from guardian.errors import InvalidInput
from metastore import keys
from metastore.records import Put, Record
from metastore.store import Lookup
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2, tiering_pb2

MAX_COUNT = 10_000
MAX_CLUSTER_ID_CHARS = 200
_KINDS = frozenset({tiering_pb2.TOPIC_ID, tiering_pb2.SEGMENT_ID})
_COUNTER = struct.Struct(">Q")
_ID = struct.Struct(">4sHHQ")
_MARK = b"grdn"
_VERSION = 8 << 12
_VARIANT = 2 << 62
_MAX_NUMBER = (1 << 62) - 1


def handle(command: tiering_pb2.AllocateIdsRequest, view: Lookup, _proposal: Proposal) -> Decision:
    """Allocates the next `count` numbers. The reply holds the first only: `expand` makes ids of it."""
    require_kind(command.kind)
    require_cluster_id(command.cluster_id)
    if not 1 <= command.count <= MAX_COUNT:
        raise InvalidInput(f"count is {command.count}: use 1 to {MAX_COUNT}")
    counter = keys.id_counter(command.kind)
    first = _number(view, counter) + 1
    last = first + command.count - 1
    if last > _MAX_NUMBER:
        raise InvalidInput(f"count is {command.count}: only {_MAX_NUMBER - first + 1} ids are left")
    value = _COUNTER.pack(last)
    records: list[Record] = [Put(counter, value), Put(keys.highest_id(command.cluster_id, command.kind), value)]
    return records, records_pb2.CommandReply(ids=tiering_pb2.AllocateIdsReply(first=first))


def expand(
    request: tiering_pb2.AllocateIdsRequest, reply: tiering_pb2.AllocateIdsReply
) -> tiering_pb2.AllocateIdsReply:
    """The reply with its numbers as ids, too."""
    numbers = range(reply.first, reply.first + request.count)
    return tiering_pb2.AllocateIdsReply(first=reply.first, ids=[to_bytes(request.kind, number) for number in numbers])


def to_bytes(kind: int, number: int) -> bytes:
    """The 16 bytes of a number, from 1."""
    return _ID.pack(_MARK, kind, _VERSION, _VARIANT | number)


def highest(view: Lookup, cluster_id: str, kind: int) -> int:
    """The highest number that was allocated to the cluster; 0: none. Raises InvalidInput."""
    require_kind(kind)
    require_cluster_id(cluster_id)
    return _number(view, keys.highest_id(cluster_id, kind))


def require_kind(kind: int) -> None:
    if kind not in _KINDS:
        raise InvalidInput(f"kind is {kind}: use {' or '.join(map(tiering_pb2.IdKind.Name, sorted(_KINDS)))}")


def require_cluster_id(cluster_id: str) -> None:
    if not 1 <= len(cluster_id) <= MAX_CLUSTER_ID_CHARS:
        raise InvalidInput(
            f"cluster_id has {len(cluster_id)} characters: use Kafka's cluster.id, of 1 to {MAX_CLUSTER_ID_CHARS}"
        )


def _number(view: Lookup, key: bytes) -> int:
    value = view.get(key)
    return int(_COUNTER.unpack(value)[0]) if value is not None else 0
