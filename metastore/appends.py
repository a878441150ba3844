"""What the member that takes an append does before it goes into the log, and after it is applied.

    AppendSegmentEventsRequest ─check─▶ CheckedAppend ─log, segments.append on every member─▶ results ─merged─▶ reply
                                  └────── parts that are malformed: their results are known already ──────┘

Events are read here, once, and nowhere else: what goes on are their bytes as they came, and columns of what a table has
to know of them (raw.proto).
"""

from __future__ import annotations

import functools
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from guardian.errors import InvalidInput
from guardian.model.text import require_printable
from metastore import keys
from metastore import segment_keys as sk
from metastore.tables.partition_heads import partition_from_bytes
from metastore.tables.segment_records import STARTED, STATES
from protos.guardian.v1 import raw_pb2, tiering_pb2
from protos.guardian.v1.raw_pb2 import PlainSegmentEvent

MAX_APPEND_EVENTS = 10_000
MAX_APPEND_BYTES = 2 << 20  # with the columns, a command stays well below the log's 3 MiB
MAX_EVENT_BYTES = 16 << 10
MAX_SEGMENT_BYTES = (1 << 31) - 1  # Kafka's is an int
_NAMES_KEPT = 1 << 14


@dataclass(frozen=True, slots=True)
class Checked:
    """`command` is a serialised CheckedAppend, empty when no part is left; `names` has the serialised names of all
    parts, and `faults` what is wrong with some, by position."""

    command: bytes
    names: tuple[bytes, ...]
    faults: dict[int, str]

    def merged(self, reply: bytes, refused: Counter[int] | None = None) -> bytes:
        """A serialised AppendSegmentEventsReply of all parts, from that of those that went into the log.

        `refused` counts those that are not carried out, by their error kind.
        """
        merged = raw_pb2.RawAppendReply.FromString(reply)
        for position, fault in self.faults.items():
            merged.results.insert(position, raw_pb2.RawAppendResult(error=fault, error_kind=tiering_pb2.APPEND_INVALID))
        for name, result in zip(self.names, merged.results, strict=True):
            result.partition = name
            if refused is not None and result.error_kind:
                refused[result.error_kind] += 1
        return merged.SerializeToString()


def check(request: bytes) -> Checked:
    """Raises InvalidInput when the request as a whole is none, is empty, or is over the limits."""
    if len(request) > MAX_APPEND_BYTES:
        raise InvalidInput(f"the request has {len(request)} bytes: send at most {MAX_APPEND_BYTES} at a time")
    try:
        serialized = raw_pb2.RawAppendRequest.FromString(request).partitions
        parts = [raw_pb2.RawPartitionEvents.FromString(part) for part in serialized]
    except DecodeError:
        raise InvalidInput("the request is no serialised AppendSegmentEventsRequest: send one") from None
    if not parts:
        raise InvalidInput("partitions is empty: give the events of at least one partition")
    events = sum(len(part.events) for part in parts)
    if events > MAX_APPEND_EVENTS:
        raise InvalidInput(f"the request has {events} events: send at most {MAX_APPEND_EVENTS} at a time")
    command, faults = raw_pb2.CheckedAppend(), {}
    for position, part in enumerate(parts):
        try:
            _add_checked(command, part, serialized[position])
        except InvalidInput as error:
            faults[position] = str(error)
    names = tuple(
        part.partition if position not in faults else _readable_name(part.partition)
        for position, part in enumerate(parts)
    )
    return Checked(command.SerializeToString(), names, faults)


def event_fault(event: PlainSegmentEvent, size: int) -> str:
    """Say what is wrong with an event of `size` bytes, whatever is stored, in one sentence; empty when nothing is."""
    if len(event.segment_id) != keys.UUID_BYTES:
        return f"segment_id has {len(event.segment_id)} bytes: use the {keys.UUID_BYTES} bytes of the segment's uuid"
    name = event.segment_id.hex()
    if event.state not in STATES:
        return f"state of segment {name} is {event.state}: use {min(STATES)} to {max(STATES)}"
    if size > MAX_EVENT_BYTES:
        return f"event of segment {name} has {size} bytes: use at most {MAX_EVENT_BYTES}"
    return _start_fault(event, name) if event.state == STARTED else ""


def _add_checked(command: raw_pb2.CheckedAppend, part: raw_pb2.RawPartitionEvents, serialized: bytes) -> None:
    """The part is given twice: read, and as it came. Raises InvalidInput when its name or an event is malformed."""
    partition = _encoded_name(part.partition)
    if not part.events:
        raise InvalidInput("events is empty: leave the partition out")
    events = _readable(part, serialized)
    ids = [event.segment_id for event in events]
    states = [event.state for event in events]
    sizes = [event.segment_size_bytes for event in events]
    if states.count(STARTED) != len(states):
        sizes = [size if state == STARTED else 0 for size, state in zip(sizes, states, strict=True)]
    is_any_too_large = len(serialized) > MAX_EVENT_BYTES and max(map(len, part.events)) > MAX_EVENT_BYTES
    if is_any_too_large or not _are_valid(events, ids, states, sizes):
        _require_valid(part, events)
    only_events = raw_pb2.RawEvents.FromString(serialized)
    only_events.DiscardUnknownFields()
    command.parts.add(
        partition=partition,
        fencing_token=part.fencing_token,
        segment_ids=b"".join(ids),
        states=bytes(states),
        sizes=struct.pack(f">{len(sizes)}I", *sizes),
        events=only_events.SerializeToString(),
    )


@functools.lru_cache(_NAMES_KEPT)
def _encoded_name(partition: bytes) -> bytes:
    """Encode the name of a serialised TopicIdPartition as keys do: brokers send the same ones again and again. Raises
    InvalidInput.
    """
    name = partition_from_bytes(partition)
    # At the door only: what the log has already must be applied as it was.
    require_printable("cluster_id", name.cluster_id)
    return sk.partition(name)


def _are_valid(
    events: Sequence[PlainSegmentEvent],
    ids: Sequence[bytes],
    states: Sequence[int],
    sizes: Sequence[int],
) -> bool:
    """Return whether all are without fault, but for their size in bytes: the usual case, judged by column. `sizes` are
    those of segments that begin, else 0.
    """
    return (
        set(map(len, ids)) == {keys.UUID_BYTES}
        and STATES.keys() >= set(states)
        and min(sizes) >= 0
        and max(sizes) <= MAX_SEGMENT_BYTES
        and all(
            [  # noqa: C419  # a generator costs 60 % more here
                0 <= event.start_offset <= event.end_offset and event.segment_leader_epochs
                for event, state in zip(events, states, strict=True)
                if state == STARTED
            ]
        )
    )


def _require_valid(part: raw_pb2.RawPartitionEvents, events: Sequence[PlainSegmentEvent]) -> None:
    for raw, event in zip(part.events, events, strict=True):
        fault = event_fault(event, len(raw))
        if fault:
            raise InvalidInput(fault)


def _readable_name(name: bytes) -> bytes:
    """A reply that held anything else could not be read either."""
    try:
        tiering_pb2.TopicIdPartition.FromString(name)
    except DecodeError:
        return b""
    return name


def _readable(part: raw_pb2.RawPartitionEvents, serialized: bytes) -> list[PlainSegmentEvent]:
    try:
        return list(raw_pb2.PlainEvents.FromString(serialized).events)
    except DecodeError:
        number = next((number for number, raw in enumerate(part.events) if not _is_readable(raw)), 0)
        raise InvalidInput(f"event {number} of the part is no serialised SegmentEvent: send one") from None


def _is_readable(event: bytes) -> bool:
    try:
        PlainSegmentEvent.FromString(event)
    except DecodeError:
        return False
    return True


def _start_fault(event: PlainSegmentEvent, name: str) -> str:
    if not 0 <= event.start_offset <= event.end_offset:
        return (
            f"offsets of segment {name} are {event.start_offset} to {event.end_offset}: "
            f"use a start_offset of 0 or more and an end_offset not below it"
        )
    if not 0 <= event.segment_size_bytes <= MAX_SEGMENT_BYTES:
        return f"segment_size_bytes of segment {name} is {event.segment_size_bytes}: use 0 to {MAX_SEGMENT_BYTES}"
    if not event.segment_leader_epochs:
        return f"segment_leader_epochs of segment {name} is empty: give the epochs of its records"
    return ""
