"""Tiered-storage metadata: protobuf -> model, and the events of an import the other way. Brokers make their own."""

from __future__ import annotations

from guardian.model.wire.fields import ByHand, alias, by_hand, codec
from guardian.tiering.model import LiveSegment, PartitionSummary, SegmentChange, TopicIdPartition
from protos.guardian.v1 import tiering_pb2 as pb

partition_to_proto, partition_from_proto = codec(TopicIdPartition, pb.TopicIdPartition)
# Of an entry of ListLiveSegments; the other way it is a segment's first event.
live_segment_to_proto, live_segment_from_proto = codec(LiveSegment, pb.SegmentEvent)
summary_from_proto = codec(PartitionSummary, pb.PartitionSummary)[1]
_change_to_proto = codec(SegmentChange, pb.SegmentEvent)[0]


def change_to_proto(segment_id: bytes, change: SegmentChange) -> pb.SegmentEvent:
    """Return a later event of the segment."""
    event = _change_to_proto(change)
    event.segment_id = segment_id
    return event


by_hand(
    LiveSegment,
    id=alias("segment_id"),
    at_ms=alias("event_timestamp_ms"),
    size_bytes=alias("segment_size_bytes"),
    leader_epochs=ByHand(
        lambda message, epochs: message.segment_leader_epochs.update(epochs),
        lambda message: dict(message.segment_leader_epochs),
    ),
)
by_hand(SegmentChange, at_ms=alias("event_timestamp_ms"))
by_hand(PartitionSummary, is_deleted=alias("deleted"))
