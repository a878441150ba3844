"""The read side of tiered storage: replies as bytes, put together from what is stored without reading it.

All answers of a SegmentViews are of one moment, that of its snapshot; pages of one partition fit together however long
their reader takes. Any thread may use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from guardian.errors import InvalidInput, NotFound, OutOfRange
from metastore import keys
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.store import ReadView
from metastore.tables import event_groups, gone_offsets
from metastore.tables.claims import claim_from_bytes
from metastore.tables.partition_heads import Head, head_from_bytes, stored_head
from metastore.tables.segment_records import DELETING, GONE, STARTED, change
from metastore.varints import varint
from protos.guardian.v1 import tiering_pb2

_SLICE = 512  # live segments in one look into the store
# Field numbers of tiering.proto; the low three bits are the wire type, 2 for bytes and 0 for a number.
_PULL_GROUP, _PULL_NEXT = b"\x0a", b"\x10"
_FOLLOW_PARTITION, _FOLLOW_GROUP, _FOLLOW_NEXT = b"\x0a", b"\x12", b"\x18"
_FOLLOW_CAUGHT_UP, _FOLLOW_OUT_OF_RANGE, _FOLLOW_DELETED = b"\x20\x01", b"\x28\x01", b"\x30\x01"
_LIVE_SEGMENT, _LIVE_NEXT = b"\x0a", b"\x10"


class FollowPage(NamedTuple):
    """`is_over`: the partition is deleted or the id out of range; there will be nothing more."""

    reply: bytes
    next_event_id: int
    is_caught_up: bool = False
    is_over: bool = False


def _summary(key: bytes, value: bytes, claim: bytes | None) -> tiering_pb2.PartitionSummary:
    head, name = head_from_bytes(value), sk.decode_partition(key[len(sk.HEAD) :])
    summary = tiering_pb2.PartitionSummary(
        partition=tiering_pb2.TopicIdPartition(
            cluster_id=name.cluster_id, topic_id=name.topic_id, partition=name.partition
        ),
        first_event_id=head.first_event_id,
        next_event_id=head.next_event_id,
        live_segments=head.live_segments,
        live_bytes=head.live_bytes,
        deleted=head.is_deleted,
        swept_segments=head.swept_segments,
        swept_bytes=head.swept_bytes,
    )
    if claim is not None:
        summary.claim.CopyFrom(claim_from_bytes(claim))
        summary.claim.fencing_token = head.fencing_token
    return summary


class _Changes(NamedTuple):
    """What the events that are kept say. `segments`, by id: None when it is gone, what changed when it is the base's,
    else the segment. `deleting`: the same for those whose deletion has begun, as of just before."""

    segments: dict[bytes, bytes | None]
    deleting: dict[bytes, bytes]


class SegmentViews:
    """Every method raises StoreError when the store is closed or broken."""

    def __init__(self, snapshot: ReadView) -> None:
        self._snapshot = snapshot

    def head(self, partition: PartitionId) -> Head:
        """Return what is known of the partition; a new head when nothing is."""
        return stored_head(self._snapshot, sk.partition(partition)) or Head()

    def heads(self, partitions: Iterable[bytes]) -> list[Head]:
        """The same for many, by their encoded names."""
        values = self._snapshot.get_many([sk.HEAD + partition for partition in partitions])
        return [head_from_bytes(value) if value is not None else Head() for value in values]

    def pull(self, partition: PartitionId, from_event_id: int, max_events: int, max_bytes: int) -> bytes:
        """A serialised PullSegmentEventsReply: whole groups up to the limits, at least one if there is any.

        Raises OutOfRange, and NotFound when the partition is deleted.
        """
        head = self.head(partition)
        if head.is_deleted:
            raise NotFound(f"partition {partition.partition} of topic {partition.topic_id.hex()} is deleted")
        if not head.first_event_id <= from_event_id <= head.next_event_id:
            raise OutOfRange(
                f"from_event_id is {from_event_id}, but kept are events {head.first_event_id} to below "
                f"{head.next_event_id}: start again from the live segments"
            )
        pieces, next_id = self._groups(_PULL_GROUP, sk.partition(partition), from_event_id, max_events, max_bytes)
        return b"".join((*pieces, _PULL_NEXT, varint(next_id)))

    def follow(self, name: bytes, partition: bytes, from_event_id: int, max_events: int, max_bytes: int) -> FollowPage:
        """The next FollowSegmentEventsReply of a partition, given its serialised and its encoded name."""
        start = _FOLLOW_PARTITION + varint(len(name)) + name
        [head] = self.heads([partition])
        if head.is_deleted:
            return FollowPage(start + _FOLLOW_DELETED, from_event_id, is_over=True)
        if not head.first_event_id <= from_event_id <= head.next_event_id:
            return FollowPage(start + _FOLLOW_OUT_OF_RANGE, from_event_id, is_over=True)
        pieces, next_id = self._groups(_FOLLOW_GROUP, partition, from_event_id, max_events, max_bytes)
        end = _FOLLOW_NEXT + varint(next_id)
        is_caught_up = next_id == head.next_event_id
        if is_caught_up:
            end += _FOLLOW_CAUGHT_UP
        return FollowPage(b"".join((start, *pieces, end)), next_id, is_caught_up)

    def live_pages(self, partition: PartitionId, max_segments: int, max_bytes: int) -> Iterator[bytes]:
        """Serialised ListLiveSegmentsReply messages; at least one.

        Reads all events that are kept before the first page: some milliseconds for ten thousand. Raises NotFound when
        the partition is deleted.
        """
        head = self.head(partition)
        if head.is_deleted:
            raise NotFound(f"partition {partition.partition} of topic {partition.topic_id.hex()} is deleted")
        encoded = sk.partition(partition)
        changes = self._changes_since(encoded, head.first_event_id)
        end = _LIVE_NEXT + varint(head.next_event_id)
        pieces = [self._gone_offsets(encoded, changes)]
        size = segments = 0
        for value in self._live(encoded, changes.segments):
            if segments and (size + len(value) > max_bytes or segments == max_segments):
                yield b"".join((*pieces, end))
                pieces, size, segments = [], 0, 0
            pieces += (_LIVE_SEGMENT, varint(len(value)), value)
            size += len(value)
            segments += 1
        yield b"".join((*pieces, end))

    def partition_pages(self, cluster_id: str, topic_id: bytes, max_partitions: int) -> Iterator[bytes]:
        """Serialised ListPartitionsReply messages: all partitions, those of a cluster or of a topic; deleted ones too.

        Raises InvalidInput.
        """
        if topic_id and len(topic_id) != keys.UUID_BYTES:
            raise InvalidInput(
                f"topic_id has {len(topic_id)} bytes: use the {keys.UUID_BYTES} bytes of Kafka's topic id, or none"
            )
        prefix = self._partitions_prefix(cluster_id, topic_id)
        start = b""
        while prefix and (heads := self._snapshot.scan(prefix, start, max_partitions)):
            claimed = self._snapshot.get_many([sk.CLAIM + key[len(sk.HEAD) :] for key, _ in heads])
            summaries = [_summary(*head, claim) for head, claim in zip(heads, claimed, strict=True)]
            yield tiering_pb2.ListPartitionsReply(partitions=summaries).SerializeToString()
            start = heads[-1][0] + b"\x00"

    def _partitions_prefix(self, cluster_id: str, topic_id: bytes) -> bytes:
        """Return the prefix of the heads asked for; empty when there are none: a topic id is of one cluster."""
        if topic_id and not cluster_id:
            owner = self._snapshot.get(keys.topic_owner(topic_id))
            if owner is None:
                return b""
            cluster_id = owner.decode()
        return sk.HEAD + keys.partitions(cluster_id, topic_id) if cluster_id else sk.HEAD

    def _live(self, partition: bytes, changed: dict[bytes, bytes | None]) -> Iterator[bytes]:
        """The base's segments as they are now, by id, then those that began since, in their order."""
        prefix = sk.LIVE + partition
        start = b""
        while found := self._snapshot.scan(prefix, start, _SLICE):
            for key, value in found:
                later = changed.pop(sk.decode_segment(key), b"")
                if later is not None:
                    yield value + later
            start = found[-1][0] + b"\x00"
        yield from (segment for segment in changed.values() if segment is not None)

    def _changes_since(self, partition: bytes, first_event_id: int) -> _Changes:
        segments: dict[bytes, bytes | None] = {}
        deleting: dict[bytes, bytes] = {}
        for group in event_groups.stored(self._snapshot, partition, first_event_id):
            for raw, event in event_groups.read(group):
                segment_id, state = event.segment_id, event.state
                if state == STARTED:
                    segments[segment_id] = raw
                elif state == GONE:
                    segments[segment_id] = None
                else:
                    changed = segments.get(segment_id) or b""
                    if state == DELETING:
                        deleting[segment_id] = changed
                    segments[segment_id] = changed + change(event)
        return _Changes(segments, deleting)

    def _gone_offsets(self, partition: bytes, changes: _Changes) -> bytes:
        """A serialised ListLiveSegmentsReply with nothing else."""
        highest = gone_offsets.stored(self._snapshot, partition)
        live = sk.LIVE + partition
        bases = self._snapshot.get_many([live + segment_id for segment_id in changes.deleting])
        states = self._snapshot.get_many([sk.SEGMENT + segment_id for segment_id in changes.deleting])
        for base, later, seen in zip(bases, changes.deleting.values(), states, strict=True):
            gone_offsets.note(highest, (base or b"") + later, seen)
        reply = tiering_pb2.ListLiveSegmentsReply(gone_highest_offsets=highest)
        return reply.SerializeToString(deterministic=True)

    def _groups(
        self, field: bytes, partition: bytes, first: int, max_events: int, max_bytes: int
    ) -> tuple[list[bytes], int]:
        """Pieces of a repeated EventGroup, and the id after the last event."""
        prefix = sk.EVENT + partition
        start, end = prefix + sk.encode_id(first), prefix + sk.encode_id(min(first + max_events - 1, sk.MAX_ID))
        pieces: list[bytes] = []
        last, left = b"", max_bytes  # `last` is the key of the last group that was taken
        while last < end and (found := self._snapshot.scan(prefix, start, min(event_groups.SLICE, max_events))):
            for key, group in found:
                left -= len(group)
                if last and (last >= end or left < 0):
                    return pieces, sk.decode_id(last) + 1
                pieces += (field, varint(len(group)), group)
                last = key
            start = last + b"\x00"
        return pieces, sk.decode_id(last) + 1 if last else first
