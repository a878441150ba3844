"""What is known of a partition without reading its events, and what makes a partition's name valid.

A head outlives its partition: its mark says that no more events are taken.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Protocol

from google.protobuf.message import DecodeError

from guardian.errors import InvalidInput
from metastore import keys
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from protos.guardian.v1 import tiering_pb2

MAX_CLUSTER_ID_CHARS = 200
_NO_NAME = "a partition of a CheckedAppend is no encoded name: propose what appends.check makes"
_HEAD = struct.Struct(">QQQQQ?QQ")
_EARLIER_BYTES = struct.calcsize(">QQQQQ?")  # of a version that did not count what was swept
_NOTHING_SWEPT = bytes(_HEAD.size - _EARLIER_BYTES)


class Getter(Protocol):
    """What is stored, key by key."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None when the key is not there."""


class Head(NamedTuple):
    """Event ids start at 0. Kept are the events from `first_event_id` to below `next_event_id`; `fencing_token` is the
    highest that was given out, 0 when none was; `live_bytes` sums up the live segments' sizes. What was swept are the
    segments that were deleted without their copy ever having been finished, and their sizes."""

    next_event_id: int = 0
    fencing_token: int = 0
    first_event_id: int = 0
    live_segments: int = 0
    live_bytes: int = 0
    is_deleted: bool = False
    swept_segments: int = 0
    swept_bytes: int = 0

    def to_bytes(self) -> bytes:
        return _HEAD.pack(*self)


def head_from_bytes(value: bytes) -> Head:
    if len(value) == _EARLIER_BYTES:
        value += _NOTHING_SWEPT
    return Head(*_HEAD.unpack(value))


def stored_head(view: Getter, partition: bytes) -> Head | None:
    """The head of the partition with this encoded name; None when it was never heard of."""
    value = view.get(sk.HEAD + partition)
    return head_from_bytes(value) if value is not None else None


def partition_from_bytes(value: bytes) -> PartitionId:
    """The partition that a serialised TopicIdPartition names. Raises InvalidInput."""
    try:
        return partition_from_proto(tiering_pb2.TopicIdPartition.FromString(value))
    except DecodeError:
        raise InvalidInput(
            "partition is no serialised TopicIdPartition: give cluster_id, topic_id, partition"
        ) from None


def partition_from_proto(partition: tiering_pb2.TopicIdPartition) -> PartitionId:
    """Raises InvalidInput when the name is malformed."""
    cluster_id, topic_id = partition.cluster_id, partition.topic_id
    if not 1 <= len(cluster_id) <= MAX_CLUSTER_ID_CHARS:
        raise InvalidInput(
            f"cluster_id has {len(cluster_id)} characters: "
            f"use Kafka's cluster.id, 1 to {MAX_CLUSTER_ID_CHARS} characters"
        )
    if len(topic_id) != keys.UUID_BYTES:
        raise InvalidInput(f"topic_id has {len(topic_id)} bytes: use the {keys.UUID_BYTES} bytes of Kafka's topic id")
    return PartitionId(cluster_id, topic_id, partition.partition)


def partition_from_key(partition: bytes) -> PartitionId:
    """The inverse of segment_keys.partition. Raises InvalidInput."""
    try:
        name = sk.decode_partition(partition)
    except ValueError:
        raise InvalidInput(_NO_NAME) from None
    if not 1 <= len(name.cluster_id) <= MAX_CLUSTER_ID_CHARS or sk.partition(name) != partition:
        raise InvalidInput(_NO_NAME)
    return name


def topic_fault(owner: bytes | None, partition: PartitionId) -> str:
    """Say what speaks against taking the topic id for this cluster's, in one sentence; empty when nothing does.

    `owner` is what is stored under keys.topic_owner(partition.topic_id).
    """
    if owner is None or owner == partition.cluster_id.encode():
        return ""
    return (
        f"topic id {partition.topic_id.hex()} is cluster {owner.decode()}'s, not {partition.cluster_id}'s: "
        f"send the topic id that the cluster itself made"
    )
