"""Segment events per partition, under gap-free ids, and the segments that are live after them.

One append carries the events of many partitions. Each partition's part is carried out whole or not at all, and the
reply has one result per part. Repeating an event, an earlier one of the segment too, is a success that changes
nothing: a whole batch can be sent again. So a segment's record holds which states it has been in, as a bit set, also
(without anything else) after the segment is deleted.

    head             next event id
    event            the event as it was appended
    live segment     states seen (1 byte) + the event that started it, with its newest state, broker and time
    deleted segment  states seen (1 byte)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from guardian.model.segment import RemoteLogSegmentState, is_valid_transition
from metastore import keys
from metastore.keys import PartitionId
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from protos.guardian.v1 import records_pb2, tiering_pb2

MAX_CLUSTER_ID_CHARS = 200
MAX_EVENT_BYTES = 16 << 10
_HEAD = struct.Struct(">Q")
_STARTED = RemoteLogSegmentState.COPY_SEGMENT_STARTED
_GONE = RemoteLogSegmentState.DELETE_SEGMENT_FINISHED


def handle(
    command: tiering_pb2.AppendSegmentEventsRequest, view: ReadView, _proposed_at_ms: int
) -> tuple[list[Record], records_pb2.CommandReply]:
    """Appends each partition's events, or says why not."""
    work = _Changes(view)
    results = [_append(part, work) for part in command.partitions]
    reply = records_pb2.CommandReply(segment_events=tiering_pb2.AppendSegmentEventsReply(results=results))
    return work.records(), reply


def partition_fault(partition: tiering_pb2.TopicIdPartition) -> str:
    """What is wrong with a partition's name, in one sentence; empty when nothing is."""
    if not 1 <= len(partition.cluster_id) <= MAX_CLUSTER_ID_CHARS:
        return (
            f"cluster_id has {len(partition.cluster_id)} characters: "
            f"use Kafka's cluster.id, 1 to {MAX_CLUSTER_ID_CHARS} characters"
        )
    if len(partition.topic_id) != keys.UUID_BYTES:
        return f"topic_id has {len(partition.topic_id)} bytes: use the {keys.UUID_BYTES} bytes of Kafka's topic id"
    return ""


def event_fault(event: tiering_pb2.SegmentEvent) -> str:
    """What is wrong with an event, whatever is stored, in one sentence; empty when nothing is."""
    if len(event.segment_id) != keys.UUID_BYTES:
        return f"segment_id has {len(event.segment_id)} bytes: use the {keys.UUID_BYTES} bytes of the segment's uuid"
    name = event.segment_id.hex()
    if event.state not in _KNOWN_STATES:
        return f"state of segment {name} is {event.state}: use {min(_KNOWN_STATES)} to {max(_KNOWN_STATES)}"
    if event.ByteSize() > MAX_EVENT_BYTES:
        return f"event of segment {name} has {event.ByteSize()} bytes: use at most {MAX_EVENT_BYTES}"
    return _start_fault(event, name) if event.state == _STARTED.value else ""


def partition_id(partition: tiering_pb2.TopicIdPartition) -> PartitionId:
    return PartitionId(partition.cluster_id, partition.topic_id, partition.partition)


def next_event_id(view: Lookup, partition: PartitionId) -> int:
    """The id that the partition's next event gets; ids start at 0."""
    value = view.get(keys.partition_head(partition))
    return int(_HEAD.unpack(value)[0]) if value is not None else 0


def stored_events(
    view: ReadView, partition: PartitionId, from_event_id: int, limit: int
) -> list[tiering_pb2.StoredSegmentEvent]:
    """At most `limit` events of the partition, from that id on, in order."""
    found = view.scan(keys.segment_events(partition), keys.segment_event(partition, from_event_id), limit)
    return [
        tiering_pb2.StoredSegmentEvent(
            event_id=keys.decode_segment_event(key)[1], event=tiering_pb2.SegmentEvent.FromString(value)
        )
        for key, value in found
    ]


def live_segments(view: ReadView, partition: PartitionId) -> list[tiering_pb2.SegmentEvent]:
    """The partition's segments that are not yet deleted, each with its newest state, by segment id."""
    return [tiering_pb2.SegmentEvent.FromString(value[1:]) for _, value in view.scan(keys.live_segments(partition))]


_KNOWN_STATES = frozenset(state.value for state in RemoteLogSegmentState)


def _start_fault(event: tiering_pb2.SegmentEvent, name: str) -> str:
    if not 0 <= event.start_offset <= event.end_offset:
        return (
            f"offsets of segment {name} are {event.start_offset} to {event.end_offset}: "
            f"use a start_offset of 0 or more and an end_offset not below it"
        )
    if event.segment_size_bytes < 0:
        return f"segment_size_bytes of segment {name} is {event.segment_size_bytes}: it must not be negative"
    if not event.segment_leader_epochs:
        return f"segment_leader_epochs of segment {name} is empty: give the epochs of its records"
    return ""


class _Changes:
    """The view with the changes of this command on top, since its parts may name one partition twice."""

    def __init__(self, view: Lookup) -> None:
        self._view = view
        self._changed: dict[bytes, Record] = {}

    def get(self, key: bytes) -> bytes | None:
        record = self._changed.get(key)
        if record is None:
            return self._view.get(key)
        return record.value if isinstance(record, Put) else None

    def add(self, records: Sequence[Record]) -> None:
        self._changed.update((record.key, record) for record in records)

    def records(self) -> list[Record]:
        return list(self._changed.values())


def _append(part: tiering_pb2.PartitionEvents, work: _Changes) -> tiering_pb2.PartitionAppendResult:
    result = tiering_pb2.PartitionAppendResult(partition=part.partition)
    result.error = partition_fault(part.partition)
    if result.error:
        return result
    partition = partition_id(part.partition)
    changes = _Changes(work)
    next_id = next_event_id(work, partition)
    for event in part.events:
        records, fault = _one(partition, event, next_id, changes)
        if fault:
            result.error, result.next_event_id = fault, next_event_id(work, partition)
            return result
        if records:
            changes.add(records)
            next_id += 1
    if next_id != next_event_id(work, partition):
        changes.add([Put(keys.partition_head(partition), _HEAD.pack(next_id))])
    work.add(changes.records())
    result.next_event_id = next_id
    return result


def _one(
    partition: PartitionId, event: tiering_pb2.SegmentEvent, event_id: int, view: Lookup
) -> tuple[list[Record], str]:
    """One event's records; none when it is a repetition. Or what is wrong with it."""
    fault = event_fault(event)
    if fault:
        return [], fault
    live_key = keys.live_segment(partition, event.segment_id)
    deleted_key = keys.deleted_segment(partition, event.segment_id)
    live, deleted = view.get(live_key), view.get(deleted_key)
    seen = (live or deleted or b"\x00")[0]
    target = RemoteLogSegmentState(event.state)
    if seen & _bit(target):
        return [], ""
    newest = tiering_pb2.SegmentEvent.FromString(live[1:]) if live is not None else None
    current = RemoteLogSegmentState(newest.state) if newest is not None else (_GONE if deleted is not None else None)
    if not is_valid_transition(current, target):
        origin = current.name if current else "nothing"
        return [], (
            f"segment {event.segment_id.hex()} can't go from {origin} to {target.name}: send its events in order"
        )
    appended = Put(keys.segment_event(partition, event_id), event.SerializeToString(deterministic=True))
    seen_now = bytes((seen | _bit(target),))
    if target is _GONE:
        return [appended, Delete(live_key), Put(deleted_key, seen_now)], ""
    updated = _updated(newest, event).SerializeToString(deterministic=True)
    return [appended, Put(live_key, seen_now + updated)], ""


def _bit(state: RemoteLogSegmentState) -> int:
    return 1 << state.value


def _updated(newest: tiering_pb2.SegmentEvent | None, event: tiering_pb2.SegmentEvent) -> tiering_pb2.SegmentEvent:
    if newest is None:
        return event
    newest.state, newest.broker_id, newest.event_timestamp_ms = event.state, event.broker_id, event.event_timestamp_ms
    if event.custom_metadata:  # Kafka learns it from the copy, so it may come with COPY_SEGMENT_FINISHED
        newest.custom_metadata = event.custom_metadata
    return newest
