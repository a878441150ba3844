"""Segment events per partition, under gap-free ids.

One append carries the events of many partitions. Each partition's part is carried out whole or not at all, and the
reply has one result per part. Repeating an event, an earlier one of the segment too, is a success that changes
nothing: a whole batch can be sent again. A topic id is of the cluster, and a segment id of the partition, that named it
first. Who may append is decided by fencing tokens (metastore.tables.claims); what is forgotten, and when, by
metastore.tables.segment_retention.

This is what Guardian does most, so an event costs as little as it can. It was checked before it went into the log
(metastore.appends) and is not read here. A part's events are stored together (event_groups); besides, one record is
read and written for each event, its segment's (segment_records). There is no record for a live segment: what is live
follows from the events that are kept and the base that trimming leaves (metastore.segment_views). What a command
needs is read in one call, and records with random keys are written sorted, at the end: a batch takes them in half the
time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from google.protobuf.message import DecodeError

from guardian.errors import InvalidInput
from metastore import keys
from metastore import segment_keys as sk
from metastore.records import Record
from metastore.store import ReadView
from metastore.tables import event_groups
from metastore.tables.partition_heads import Head, head_from_bytes, partition_from_key, topic_fault
from metastore.tables.proposal import Proposal
from metastore.tables.segment_records import (
    FINISHED,
    GONE,
    ONLY_STARTED,
    PARTITION_AT,
    STARTED,
    STEPS,
    has_seen,
    is_of,
    name_of,
    newest_state,
    size,
)
from protos.guardian.v1 import raw_pb2, tiering_pb2

_SIZE_BYTES = 4
_Outcome = tuple[list[Record], bytes]


def append(command: bytes, view: ReadView, _proposal: Proposal) -> _Outcome:
    """Appends each partition's events, or says why not. `command` is a serialised CheckedAppend; returns a serialised
    CommandReply whose results have no partition names. Heads of partitions that changed come first among the records.

    Raises InvalidInput, as `check` never lets through.
    """
    try:
        parts = raw_pb2.CheckedAppend.FromString(command).parts
    except DecodeError:
        raise InvalidInput("the command is no serialised CheckedAppend: propose what appends.check makes") from None
    ids = [_segment_keys(part.segment_ids) for part in parts]
    batch = _Batch(view, [sk.HEAD + part.partition for part in parts], ids)
    reply = raw_pb2.RawAppendReply()
    for part, part_ids in zip(parts, ids, strict=True):
        _append(part, part_ids, batch, reply.results.add())
    return batch.records(), raw_pb2.RawCommandReply(segment_events=reply.SerializeToString()).SerializeToString()


class _Refused(Exception):
    """A part is not carried out."""

    def __init__(self, kind: tiering_pb2.AppendErrorKind, sentence: str, fencing_token: int = 0) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.fencing_token = fencing_token


class _Batch:
    """What is stored of all that the command names, and what the command has changed so far, since its parts may name
    one partition or segment twice. `known` has the segments as they are by now."""

    def __init__(self, view: ReadView, heads: list[bytes], segments: list[list[bytes]]) -> None:
        self.view = view
        wanted = heads + [key for keys_of_part in segments for key in keys_of_part]
        self.known = dict(zip(wanted, view.get_many(wanted), strict=True))
        self.heads: dict[bytes, Head] = {}
        self.topics: dict[bytes, bytes] = {}
        self.groups: list[Record] = []
        self.segments: dict[bytes, bytes] = {}

    def head(self, partition: bytes) -> Head | None:
        changed = self.heads.get(partition)
        if changed is not None:
            return changed
        value = self.known[sk.HEAD + partition]
        return head_from_bytes(value) if value is not None else None

    def records(self) -> list[Record]:
        records: list[Record] = []
        records += [(sk.HEAD + partition, head.to_bytes()) for partition, head in self.heads.items()]
        records += self.topics.items()
        records += self.groups
        records += [(key, self.segments[key]) for key in sorted(self.segments)]
        return records


def _append(part: raw_pb2.CheckedPart, ids: list[bytes], batch: _Batch, result: raw_pb2.RawAppendResult) -> None:
    partition = part.partition
    head = batch.head(partition)
    topic: dict[bytes, bytes] = {}
    try:
        if head is None:
            topic = _registered_topic(partition, batch)
            head = Head()
        _require_writer(part.fencing_token, head)
        work = _Part(partition, part, ids, head, batch)
        work.carry_out()
    except _Refused as refused:
        result.next_event_id = head.next_event_id if head is not None else 0
        result.error = str(refused)
        result.error_kind = int(refused.kind)
        result.fencing_token = refused.fencing_token
        return
    batch.topics.update(topic)
    result.next_event_id = work.finish()


def _registered_topic(partition: bytes, batch: _Batch) -> dict[bytes, bytes]:
    """Return the record that registers the topic of a new partition. Raises _Refused when it is another cluster's."""
    name = partition_from_key(partition)
    key = keys.topic_owner(name.topic_id)
    fault = topic_fault(batch.topics.get(key) or batch.view.get(key), name)
    if fault:
        raise _Refused(tiering_pb2.BELONGS_ELSEWHERE, fault)
    return {key: name.cluster_id.encode()}


def _require_writer(token: int, head: Head) -> None:
    """Raises _Refused unless events of a writer with this token are taken."""
    if head.is_deleted:
        raise _Refused(tiering_pb2.PARTITION_DELETED, "the partition is deleted: it takes no more events")
    highest = head.fencing_token
    if token < highest:
        raise _Refused(
            tiering_pb2.FENCED_LEADER_EPOCH,
            f"fencing_token is {token}, but another writer has claimed the partition and got {highest}: "
            f"claim it again if this broker leads it",
            highest,
        )
    if token > highest:
        raise _Refused(
            tiering_pb2.APPEND_INVALID,
            f"fencing_token is {token}, but the highest that was given out is {highest}: use the one of the claim",
        )


class _Part:
    """One part's work, which becomes the batch's when all of it fits."""

    def __init__(
        self, partition: bytes, part: raw_pb2.CheckedPart, ids: list[bytes], head: Head, batch: _Batch
    ) -> None:
        self._partition = partition
        self._head = head
        self._batch = batch
        self._events = part.events
        self._states = part.states
        self._sizes = part.sizes
        self._ids = ids
        self._count = len(self._states)
        _require_equal(self._count, len(part.segment_ids), len(self._sizes), self._events)
        self._segments: dict[bytes, bytes] = {}
        self._live_segments = head.live_segments
        self._live_bytes = head.live_bytes
        self._swept = 0
        self._swept_bytes = 0

    def carry_out(self) -> None:
        """Raises _Refused."""
        known = self._batch.known
        records = [known[key] for key in self._ids]
        if not self._begin_all(records):
            self._judge_each(records)

    def finish(self) -> int:
        """Hands the changes over and returns the partition's next event id."""
        first_event_id = self._head.next_event_id
        if not self._count:
            return first_event_id
        self._batch.groups.append(event_groups.record(self._partition, first_event_id, self._count, self._events))
        self._batch.segments.update(self._segments)
        self._batch.known.update(self._segments)
        head = self._head
        self._batch.heads[self._partition] = Head(  # `_replace` takes three times as long
            first_event_id + self._count,
            head.fencing_token,
            head.first_event_id,
            self._live_segments,
            self._live_bytes,
            head.is_deleted,
            head.swept_segments + self._swept,
            head.swept_bytes + self._swept_bytes,
        )
        return first_event_id + self._count

    def _begin_all(self, records: Sequence[bytes | None]) -> bool:
        """All are first events of segments that are new: judged at once. Changes nothing when it is another case."""
        ids, count = self._ids, self._count
        if self._states.count(STARTED) != count or records.count(None) != count:
            return False
        partition, sizes = self._partition, self._sizes
        segments = {
            key: ONLY_STARTED + sizes[at : at + _SIZE_BYTES] + partition
            for key, at in zip(ids, range(0, count * _SIZE_BYTES, _SIZE_BYTES), strict=True)
        }
        if len(segments) != count:
            return False
        self._segments = segments
        self._live_segments += count
        self._live_bytes += _sum(sizes)
        return True

    def _judge_each(self, records: Sequence[bytes | None]) -> None:
        """Notes what each event changes and drops repetitions. Raises _Refused."""
        partition, sizes, segments = self._partition, self._sizes, self._segments
        begun, repeated = [], set()
        positions = range(self._count)
        for position, key, state, before in zip(positions, self._ids, self._states, records, strict=True):
            record = segments.get(key, before)
            seen = STEPS.get((0 if record is None else record[0], state))
            if seen is None or (record is not None and record[PARTITION_AT:] != partition):
                _require_repetition(key, state, record, partition)
                repeated.add(position)
            elif record is None:
                size_bytes = sizes[position * _SIZE_BYTES : (position + 1) * _SIZE_BYTES]
                segments[key] = seen + size_bytes + partition
                begun.append(size_bytes)
            else:
                segments[key] = seen + record[1:]
                if state == GONE:
                    self._note_gone(record)
        self._live_segments += len(begun)
        self._live_bytes += _sum(b"".join(begun))
        if repeated:
            self._drop(repeated)

    def _note_gone(self, record: bytes) -> None:
        self._live_segments -= 1
        self._live_bytes -= size(record)
        if not has_seen(record, FINISHED):
            self._swept += 1
            self._swept_bytes += size(record)

    def _drop(self, repeated: set[int]) -> None:
        events = raw_pb2.RawEvents.FromString(self._events).events
        kept = [events[position] for position in range(self._count) if position not in repeated]
        self._events = raw_pb2.RawEvents(events=kept).SerializeToString()
        self._count = len(kept)


def _require_repetition(key: bytes, state: int, record: bytes | None, partition: bytes) -> None:
    """Raises _Refused unless the event is one that the segment has seen."""
    if record is not None and not is_of(record, partition):
        raise _Refused(
            tiering_pb2.BELONGS_ELSEWHERE,
            f"segment {key[1:].hex()} is another partition's: send the id that the copy was made under",
        )
    if record is None or not has_seen(record, state):
        raise _Refused(
            tiering_pb2.INVALID_TRANSITION,
            f"segment {key[1:].hex()} can't go from {name_of(newest_state(record))} to {name_of(state)}: "
            f"send its events in order",
        )


def _require_equal(count: int, id_bytes: int, size_bytes: int, events: bytes) -> None:
    """Raises InvalidInput unless all columns tell of as many events as there are."""
    try:
        stored = len(raw_pb2.RawEvents.FromString(events).events)
    except DecodeError:
        stored = -1
    if not id_bytes == count * keys.UUID_BYTES or not size_bytes == count * _SIZE_BYTES or stored != count:
        raise InvalidInput("the columns of a CheckedPart do not fit its events: propose what appends.check makes")


def _sum(sizes: bytes) -> int:
    return sum(struct.unpack(f">{len(sizes) // _SIZE_BYTES}I", sizes))


def _segment_keys(ids: bytes) -> list[bytes]:
    table, width = sk.SEGMENT, keys.UUID_BYTES
    return [table + ids[at : at + width] for at in range(0, len(ids), width)]
