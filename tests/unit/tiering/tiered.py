"""Segments and files for tests of tiered storage, told in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import (
    FileKind,
    LiveSegment,
    PartitionClaim,
    SegmentName,
    StoredFile,
    TopicIdPartition,
)

STARTED = RemoteLogSegmentState.COPY_SEGMENT_STARTED
FINISHED = RemoteLogSegmentState.COPY_SEGMENT_FINISHED
DELETING = RemoteLogSegmentState.DELETE_SEGMENT_STARTED
TOPIC = b"T" * 16
P0 = TopicIdPartition("cluster-1", TOPIC, 0)
NOW = 10_000_000_000


def segment(
    number: int,
    first: int = 0,
    last: int = 99,
    epochs: Mapping[int, int] | None = None,
    state: RemoteLogSegmentState = FINISHED,
    at_ms: int = NOW - 60_000,
    size: int = 1000,
) -> LiveSegment:
    return LiveSegment(
        id=number.to_bytes(16, "big"),
        state=state,
        broker_id=1,
        at_ms=at_ms,
        start_offset=first,
        end_offset=last,
        size_bytes=size,
        leader_epochs=epochs if epochs is not None else {0: first},
    )


def stored(
    number: int, kind: FileKind = FileKind.LOG, size: int = 1000, topic_id: bytes = TOPIC, partition: int = 0
) -> StoredFile:
    name = SegmentName(topic_id, partition, number.to_bytes(16, "big"))
    return StoredFile(f"/store/{topic_id.hex()}-{partition}/{number}.{kind.value}", size, NOW, name, kind)


def claimed(at_ms: int, broker_id: int = 2) -> PartitionClaim:
    return PartitionClaim(8, broker_id, "writer", 7, at_ms)
