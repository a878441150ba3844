"""Records of __remote_log_metadata for tests, written as Kafka writes them (test_topic_records.py compares the two)."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import LiveSegment, SegmentChange

STARTED, FINISHED, DELETING, GONE = RemoteLogSegmentState
TOPIC_ID = b"T" * 16
FRAME = b"\1"


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(value: int, width: int) -> bytes:
    return value.to_bytes(width, "big", signed=True)


def compact(value: bytes | None) -> bytes:
    return varint(0) if value is None else varint(len(value) + 1) + value


def tags(found: Mapping[int, bytes] | None = None) -> bytes:
    fields = sorted((found or {}).items())
    return varint(len(fields)) + b"".join(varint(tag) + varint(len(value)) + value for tag, value in fields)


def partition(topic: str, topic_id: bytes, partition: int) -> bytes:
    return compact(topic.encode()) + topic_id + number(partition, 4) + tags()


def copy_started(
    segment: LiveSegment,
    *,
    topic: str = "orders",
    topic_id: bytes = TOPIC_ID,
    partition_number: int = 0,
    version: int = 0,
    more_tags: Mapping[int, bytes] | None = None,
) -> bytes:
    """The first record of a segment. As Kafka does, it leaves out the tag of a transaction index that is not empty."""
    epochs = [number(epoch, 4) + number(offset, 8) + tags() for epoch, offset in sorted(segment.leader_epochs.items())]
    flag = {0: b"\x01"} if segment.txn_index_empty else {}
    return b"".join(
        (
            FRAME,
            varint(0),
            varint(version),
            partition(topic, topic_id, partition_number),
            segment.id,
            tags(),
            number(segment.start_offset, 8),
            number(segment.end_offset, 8),
            number(segment.broker_id, 4),
            number(segment.max_timestamp_ms, 8),
            number(segment.at_ms, 8),
            varint(len(epochs) + 1),
            *epochs,
            number(segment.size_bytes, 4),
            compact(segment.custom_metadata or None),
            number(segment.state.value - 1, 1),
            tags({**flag, **(more_tags or {})}),
        )
    )


def state_changed(
    segment_id: bytes,
    change: SegmentChange,
    *,
    topic: str = "orders",
    topic_id: bytes = TOPIC_ID,
    partition_number: int = 0,
    version: int = 0,
    more_tags: Mapping[int, bytes] | None = None,
) -> bytes:
    """A later record of a segment."""
    return b"".join(
        (
            FRAME,
            varint(1),
            varint(version),
            partition(topic, topic_id, partition_number),
            segment_id,
            tags(),
            number(change.broker_id, 4),
            number(change.at_ms, 8),
            compact(change.custom_metadata or None),
            number(change.state.value - 1, 1),
            tags(more_tags),
        )
    )


def partition_deleted(
    state: int,
    *,
    topic: str = "orders",
    topic_id: bytes = TOPIC_ID,
    partition_number: int = 0,
    broker: int = 1,
    at_ms: int = 7,
) -> bytes:
    """0: marked, 1: under way, 2: done."""
    named = partition(topic, topic_id, partition_number)
    return FRAME + varint(2) + varint(0) + named + number(broker, 4) + number(at_ms, 8) + number(state, 1) + tags()


def segment(
    number: int, first: int = 0, last: int = 99, *, custom: bytes = b"", txn_index_empty: bool = False, size: int = 1000
) -> LiveSegment:
    """A copy that has just begun."""
    return LiveSegment(
        number.to_bytes(16, "big"),
        STARTED,
        1,
        5_000 + number,
        first,
        last,
        size,
        {0: first},
        4_000,
        txn_index_empty,
        custom,
    )


def change(state: RemoteLogSegmentState, at_ms: int = 9_000, custom: bytes = b"", broker: int = 2) -> SegmentChange:
    return SegmentChange(state, broker, at_ms, custom)


def life(begun: LiveSegment, *states: RemoteLogSegmentState, **where: object) -> list[bytes]:
    """The records of a segment that has come so far, the first one included."""
    named: dict[str, object] = where
    later = [state_changed(begun.id, change(state, 9_000 + at), **named) for at, state in enumerate(states)]  # type: ignore[arg-type]
    return [copy_started(begun, **named), *later]  # type: ignore[arg-type]
