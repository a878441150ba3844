"""Tiered-storage metadata: protobuf -> model. The other way is the brokers' business."""

from __future__ import annotations

from guardian.model.wire.fields import ByHand, alias, by_hand, codec
from guardian.tiering.model import LiveSegment, PartitionSummary, TopicIdPartition
from protos.guardian.v1 import tiering_pb2 as pb

partition_to_proto, partition_from_proto = codec(TopicIdPartition, pb.TopicIdPartition)
# Of an entry of ListLiveSegments.
live_segment_from_proto = codec(LiveSegment, pb.SegmentEvent)[1]
summary_from_proto = codec(PartitionSummary, pb.PartitionSummary)[1]


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
