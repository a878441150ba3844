"""Tiered-storage metadata: protobuf -> model. The other way is the brokers' business."""

from __future__ import annotations

from guardian.model.tiering import LiveSegment, PartitionSummary, TopicIdPartition
from guardian.wire.fields import ByHand, alias, by_hand, filled, read
from protos.guardian.v1 import tiering_pb2 as pb


def partition_to_proto(partition: TopicIdPartition) -> pb.TopicIdPartition:
    return filled(pb.TopicIdPartition(), partition)


def partition_from_proto(message: pb.TopicIdPartition) -> TopicIdPartition:
    return read(TopicIdPartition, message)


def live_segment_from_proto(message: pb.SegmentEvent) -> LiveSegment:
    """Of an entry of ListLiveSegments. Raises InvalidInput for a state that this version does not know."""
    return read(LiveSegment, message)


def summary_from_proto(message: pb.PartitionSummary) -> PartitionSummary:
    return read(PartitionSummary, message)


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
by_hand(PartitionSummary, is_deleted=alias("deleted"))
