"""What is known of a segment besides its events, under its id: one look-up judges any event of it.

    states seen (1 byte, a bit set) | size in bytes (4) | partition

States only go up, so the newest is the highest seen. The record outlives the segment, until its last event is trimmed:
so a repetition is known as one.

A live segment, as it is listed, is its first event followed by what later ones changed: protobuf merges what comes
twice, the later value wins.
"""

from __future__ import annotations

from guardian.model.segment import RemoteLogSegmentState, is_valid_transition
from protos.guardian.v1.raw_pb2 import PlainSegmentEvent, SegmentUpdate

STARTED = RemoteLogSegmentState.COPY_SEGMENT_STARTED.value
FINISHED = RemoteLogSegmentState.COPY_SEGMENT_FINISHED.value
DELETING = RemoteLogSegmentState.DELETE_SEGMENT_STARTED.value
GONE = RemoteLogSegmentState.DELETE_SEGMENT_FINISHED.value
STATES = {state.value: state for state in RemoteLogSegmentState}
ONLY_STARTED = bytes((1 << STARTED,))
PARTITION_AT = 5
STEPS = {
    (seen, state): bytes((seen | 1 << state,))
    for seen in range(0, 2 << max(STATES), 2)
    for state in STATES
    if not seen >> state & 1 and is_valid_transition(STATES.get(seen.bit_length() - 1), STATES[state])
}
"""By the states seen before (0: no record) and an event's state, those seen after it; not there: it changes nothing, or
must not come."""


def is_of(record: bytes, partition: bytes) -> bool:
    """Return whether the segment is of the partition with this encoded name."""
    return record[PARTITION_AT:] == partition


def has_seen(record: bytes, state: int) -> bool:
    return bool(record[0] >> state & 1)


def size(record: bytes) -> int:
    return int.from_bytes(record[1:PARTITION_AT], "big")


def newest_state(record: bytes | None) -> int:
    """0 when there is no record."""
    return record[0].bit_length() - 1 if record is not None else 0


def name_of(state: int) -> str:
    """Name the state for people."""
    return STATES[state].name if state in STATES else "nothing" if state == 0 else f"unknown state {state}"


def change(event: PlainSegmentEvent) -> bytes:
    """Encode what a later event changes in its segment, to be appended to the segment's first event."""
    update = SegmentUpdate(state=event.state, broker_id=event.broker_id, event_timestamp_ms=event.event_timestamp_ms)
    if event.custom_metadata:  # Kafka learns it from the copy, so it may come with COPY_SEGMENT_FINISHED
        update.custom_metadata = event.custom_metadata
    return update.SerializeToString()
