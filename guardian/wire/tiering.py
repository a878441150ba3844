"""Tiered-storage metadata: protobuf -> model. The other way is the brokers' business."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.segment import RemoteLogSegmentState
from guardian.model.tiering import LiveSegment, PartitionClaim, PartitionSummary, TopicIdPartition
from protos.guardian.v1 import tiering_pb2 as pb


def partition_to_proto(partition: TopicIdPartition) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )


def partition_from_proto(message: pb.TopicIdPartition) -> TopicIdPartition:
    return TopicIdPartition(message.cluster_id, message.topic_id, message.partition)


def live_segment_from_proto(message: pb.SegmentEvent) -> LiveSegment:
    """Of an entry of ListLiveSegments. Raises InvalidInput for a state that this version does not know."""
    try:
        state = RemoteLogSegmentState(message.state)
    except ValueError:
        raise InvalidInput(
            f"segment {message.segment_id.hex()} has state {message.state}: use a newer `guardian`"
        ) from None
    return LiveSegment(
        id=message.segment_id,
        state=state,
        broker_id=message.broker_id,
        at_ms=message.event_timestamp_ms,
        start_offset=message.start_offset,
        end_offset=message.end_offset,
        size_bytes=message.segment_size_bytes,
        leader_epochs=dict(message.segment_leader_epochs),
        max_timestamp_ms=message.max_timestamp_ms,
        txn_index_empty=message.txn_index_empty,
    )


def summary_from_proto(message: pb.PartitionSummary) -> PartitionSummary:
    return PartitionSummary(
        partition=partition_from_proto(message.partition),
        first_event_id=message.first_event_id,
        next_event_id=message.next_event_id,
        live_segments=message.live_segments,
        live_bytes=message.live_bytes,
        is_deleted=message.deleted,
        swept_segments=message.swept_segments,
        swept_bytes=message.swept_bytes,
        claim=_claim_from_proto(message.claim) if message.HasField("claim") else None,
    )


def _claim_from_proto(message: pb.PartitionClaim) -> PartitionClaim:
    return PartitionClaim(
        fencing_token=message.fencing_token,
        broker_id=message.broker_id,
        writer=message.writer,
        leader_epoch=message.leader_epoch if message.HasField("leader_epoch") else None,
        claimed_at_ms=message.claimed_at_ms,
        topic=message.topic,
    )
