"""Segment events and ids, as a broker's plugin uses them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import grpc

from guardian.client.append_stream import DEFAULT_WINDOW, SegmentEventStream
from guardian.client.calls import QUICK, SLOW, Attempts, Calls
from guardian.client.errors import from_rpc, is_worth_another_member
from guardian.errors import GuardianError, Unavailable
from protos.guardian.v1 import tiering_pb2

FOLLOW_S = 60.0  # one stream; a member that hangs is noticed at its end


class LiveSegments(NamedTuple):
    """The segments of one partition at one moment; events go on at `next_event_id`. By leader epoch,
    `gone_highest_offsets` has the highest offset of copies that were finished and whose deletion has begun."""

    segments: list[tiering_pb2.SegmentEvent]
    next_event_id: int
    gone_highest_offsets: dict[int, int]


class TieringCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def segment_event_stream(self, window: int = DEFAULT_WINDOW) -> SegmentEventStream:
        """A pipeline of appends: `with client.segment_event_stream() as stream: stream.append(request)`."""
        return SegmentEventStream(self._calls, window)

    def append_segment_events(
        self, partitions: Sequence[tiering_pb2.PartitionEvents]
    ) -> tuple[tiering_pb2.PartitionAppendResult, ...]:
        """Appends the events of many partitions; each one's result says whether its own were appended."""
        request = tiering_pb2.AppendSegmentEventsRequest(partitions=partitions)
        return tuple(self._calls.change(lambda stubs: stubs.tiering.AppendSegmentEvents, request).results)

    def claim_partitions(
        self,
        partitions: Sequence[tiering_pb2.TopicIdPartition],
        broker_id: int,
        writer: str = "",
        mode: tiering_pb2.FenceMode = tiering_pb2.CLAIM_ORDER,
        topics: Sequence[str] = (),
    ) -> tuple[tiering_pb2.Claim, ...]:
        """Fencing tokens for the partitions that a writer leads, in their order; each claim says if it failed. `topics`
        are the names of their topics, for people, or none.

        Verified, it raises NotFound when the cluster is not registered, InvalidInput when it has too few brokers, and
        ClusterUnavailable when they can't be asked.
        """
        request = tiering_pb2.ClaimPartitionsRequest(
            partitions=partitions, broker_id=broker_id, writer=writer, mode=mode, topics=topics
        )
        patience = SLOW if mode == tiering_pb2.VERIFIED else QUICK
        return tuple(self._calls.change_once(lambda stubs: stubs.tiering.ClaimPartitions, request, patience).claims)

    def pull_segment_events(
        self, partition: tiering_pb2.TopicIdPartition, from_event_id: int = 0, max_events: int = 0
    ) -> tiering_pb2.PullSegmentEventsReply:
        """A partition's events from an id on, in order; `max_events` 0: the server's limit.

        Raises OutOfRange when the id is not kept any longer, or not given yet: take the live segments.
        """
        request = tiering_pb2.PullSegmentEventsRequest(
            partition=partition, from_event_id=from_event_id, max_events=max_events
        )
        return self._calls.read(lambda stubs: stubs.tiering.PullSegmentEvents, request)

    def list_live_segments(self, partition: tiering_pb2.TopicIdPartition) -> LiveSegments:
        """The partition's segments that are not deleted; none of one that nobody wrote.

        Raises NotFound when the partition is deleted.
        """
        request = tiering_pb2.ListLiveSegmentsRequest(partition=partition)
        pages = self._calls.read_stream(lambda stubs: stubs.tiering.ListLiveSegments, request)
        return LiveSegments(
            [segment for page in pages for segment in page.segments],
            pages[0].next_event_id,
            dict(pages[0].gone_highest_offsets),
        )

    def list_partitions(self, cluster_id: str = "", topic_id: bytes = b"") -> tuple[tiering_pb2.PartitionSummary, ...]:
        """List what is stored of each partition, deleted ones too: of all, of a cluster (Kafka's cluster.id) or of a
        topic.

        By cluster, topic id and partition; none where nothing was ever stored.
        """
        request = tiering_pb2.ListPartitionsRequest(cluster_id=cluster_id, topic_id=topic_id)
        pages = self._calls.read_stream(lambda stubs: stubs.tiering.ListPartitions, request)
        return tuple(summary for page in pages for summary in page.partitions)

    def follow_segment_events(
        self, positions: Sequence[tuple[tiering_pb2.TopicIdPartition, int]], until_caught_up: bool = False
    ) -> Iterator[tiering_pb2.FollowSegmentEventsReply]:
        """The events of many partitions, each from an id on: what is stored, then what comes; goes on at another member
        when one dies or hangs. A partition that is out of range or deleted is said to be, and no longer followed.

        With `until_caught_up` it ends when all that was stored has been given. Raises Unavailable.
        """
        followed = {_key(partition): (partition, event_id) for partition, event_id in positions}
        attempts = self._calls.attempts(is_change=False)
        while followed:
            endpoint = self._calls.any_member()
            with _Requests(followed.values(), until_caught_up) as requests:
                stream = self._calls.at(endpoint).tiering.FollowSegmentEvents(requests, timeout=FOLLOW_S)
                try:
                    for reply in stream:
                        attempts = self._calls.attempts(is_change=False)
                        if reply.out_of_range or reply.deleted:
                            followed.pop(_key(reply.partition), None)
                        else:
                            followed[_key(reply.partition)] = (reply.partition, reply.next_event_id)
                        yield reply
                        if not followed:
                            return
                except grpc.RpcError as error:
                    if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                        self._pause_unless_final(endpoint, attempts, from_rpc(error))
                else:
                    if until_caught_up:
                        return
                    self._pause_unless_final(endpoint, attempts, Unavailable("the stream ended"))
                finally:
                    stream.cancel()

    def _pause_unless_final(self, endpoint: str, attempts: Attempts, failure: GuardianError) -> None:
        if not is_worth_another_member(failure):
            raise failure
        self._calls.failed(endpoint)
        self._calls.pause(attempts, failure)

    def delete_partitions(self, partitions: Sequence[tiering_pb2.TopicIdPartition]) -> None:
        """No more events for these; what is stored of them is swept away."""
        request = tiering_pb2.DeletePartitionsRequest(partitions=partitions)
        self._calls.change(lambda stubs: stubs.tiering.DeletePartitions, request)

    def allocate_ids(self, cluster_id: str, kind: tiering_pb2.IdKind, count: int = 1) -> tiering_pb2.AllocateIdsReply:
        """Ids that nobody else gets, exactly once: `first` to `first + count - 1`."""
        request = tiering_pb2.AllocateIdsRequest(cluster_id=cluster_id, kind=kind, count=count)
        return self._calls.change_once(lambda stubs: stubs.tiering.AllocateIds, request)

    def highest_id(self, cluster_id: str, kind: tiering_pb2.IdKind) -> int:
        """The highest id that was allocated to the cluster; 0: none."""
        request = tiering_pb2.GetIdsRequest(cluster_id=cluster_id, kind=kind)
        return self._calls.read(lambda stubs: stubs.tiering.GetIds, request).highest


class _Requests(Iterator[tiering_pb2.FollowSegmentEventsRequest]):
    """One request; the stream of requests then stays open until the context ends."""

    def __init__(self, positions: Iterable[tuple[tiering_pb2.TopicIdPartition, int]], until_caught_up: bool) -> None:
        add = [tiering_pb2.FollowPartition(partition=p, from_event_id=event_id) for p, event_id in positions]
        self._first = [tiering_pb2.FollowSegmentEventsRequest(add=add, until_caught_up=until_caught_up)]
        self._ended = threading.Event()

    def __enter__(self) -> _Requests:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def __next__(self) -> tiering_pb2.FollowSegmentEventsRequest:
        if self._first:
            return self._first.pop()
        self._ended.wait()
        raise StopIteration


def _key(partition: tiering_pb2.TopicIdPartition) -> tuple[str, bytes, int]:
    return partition.cluster_id, partition.topic_id, partition.partition
