"""What Guardian's store has of the segments that a topic tells of."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.client import GuardianClient
from guardian.errors import NotFound, OutOfRange
from guardian.tiering.commands.tiering_catalogue import live_segments
from guardian.tiering.model import LiveSegment, PartitionSummary, TopicIdPartition
from guardian.tiering.rules.importing import PartitionComparison, absent, compare_partition
from guardian.tiering.rules.topic_folding import MetadataFold
from guardian.tiering.wire import partition_to_proto, summary_from_proto
from protos.guardian.v1 import tiering_pb2

_ATTEMPTS = 5  # old events are forgotten while they are read


class StoredSegments:
    """The store's partitions of one cluster, read anew for each comparison."""

    def __init__(self, client: GuardianClient, cluster_id: str) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self._summaries: Mapping[TopicIdPartition, PartitionSummary] = {}

    def compared(self, fold: MetadataFold) -> tuple[PartitionComparison, ...]:
        """Return all partitions that the topic tells of beside the store, in their order."""
        self._summaries = self._read_summaries()
        partitions = sorted(fold.partitions)
        known = [self._summaries[one] for one in partitions if one in self._summaries]
        stored = {
            summary.partition: {segment.id: segment for segment in segments}
            for summary, segments in live_segments(self._client, known)
        }
        return tuple(self._compared(one, fold, stored.get(one, {})) for one in partitions)

    def tokens(self) -> dict[TopicIdPartition, int]:
        """Return the fencing tokens of the last claims, as of the last comparison, where there was one."""
        claims = ((partition, summary.claim) for partition, summary in self._summaries.items())
        return {partition: claim.fencing_token for partition, claim in claims if claim is not None}

    def _compared(
        self, partition: TopicIdPartition, fold: MetadataFold, stored: Mapping[bytes, LiveSegment]
    ) -> PartitionComparison:
        found = fold.partitions[partition]
        ended = self._ended(partition) if absent(found, stored) else frozenset[bytes]()
        return compare_partition(partition, found, stored, ended)

    def _ended(self, partition: TopicIdPartition) -> frozenset[bytes]:
        """The segments whose end is among the events that are kept; what is known of earlier ones is forgotten."""
        summary = self._summaries.get(partition)
        for _ in range(_ATTEMPTS):
            if summary is None or summary.is_deleted:
                return frozenset()
            try:
                return self._ended_since(summary)
            except NotFound:
                return frozenset()
            except OutOfRange:
                summary = self._read_summaries(partition.topic_id).get(partition)
        return frozenset()

    def _ended_since(self, summary: PartitionSummary) -> frozenset[bytes]:
        ended, at = set(), summary.first_event_id
        name = partition_to_proto(summary.partition)
        while at < summary.next_event_id:
            page = self._client.pull_segment_events(name, at)
            ended |= {
                event.segment_id
                for group in page.groups
                for event in group.events
                if event.state == tiering_pb2.DELETE_SEGMENT_FINISHED
            }
            at = page.next_event_id
        return frozenset(ended)

    def _read_summaries(self, topic_id: bytes = b"") -> dict[TopicIdPartition, PartitionSummary]:
        summaries = map(summary_from_proto, self._client.list_partitions(self._cluster_id, topic_id))
        return {summary.partition: summary for summary in summaries}
