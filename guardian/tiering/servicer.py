"""Tiered-storage segment metadata for brokers: checks the request, asks the replicated store, answers.

What is malformed is refused with InvalidInput and changes nothing. What does not fit a partition's stored state is that
partition's own result. Unavailable means retry: repeating an append changes nothing. The server makes status codes of
these errors, as for every service; OUT_OF_RANGE alone is this one's own.
"""

from __future__ import annotations

from typing import Protocol

import grpc

from guardian.errors import InvalidInput
from metastore.keys import PartitionId
from metastore.tables.segments import event_fault, partition_fault, partition_id
from metastore.views import Views
from protos.guardian.v1 import records_pb2, tiering_pb2, tiering_pb2_grpc

MAX_APPEND_EVENTS = 10_000
MAX_APPEND_BYTES = 2 << 20
MAX_PULL_EVENTS = 10_000
DEFAULT_PULL_EVENTS = 1_000
MAX_PULL_BYTES = 3 << 20  # below gRPC's default limit of 4 MiB a message


class ReplicatedStore(Protocol):
    """The group, as seen by a servicer."""

    def propose(self, command: records_pb2.Command, timeout_s: float = 10) -> records_pb2.CommandReply:
        """Carries a command out on the group. Raises its refusal, and Unavailable when it is not confirmed in time."""

    def read(self) -> Views:
        """The state that holds at least all that was acknowledged before the call. Raises Unavailable."""


class TieringServicer(tiering_pb2_grpc.TieringServicer):
    """Raises errors of guardian.errors from every method."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store

    def AppendSegmentEvents(
        self, request: tiering_pb2.AppendSegmentEventsRequest, context: grpc.ServicerContext
    ) -> tiering_pb2.AppendSegmentEventsReply:
        require_valid_append(request)
        return self._store.propose(records_pb2.Command(append_segment_events=request)).segment_events

    def PullSegmentEvents(
        self, request: tiering_pb2.PullSegmentEventsRequest, context: grpc.ServicerContext
    ) -> tiering_pb2.PullSegmentEventsReply:
        partition = require_partition(request.partition)
        views = self._store.read()
        head = views.next_event_id(partition)
        if request.from_event_id > head:
            context.abort(
                grpc.StatusCode.OUT_OF_RANGE,
                f"from_event_id is {request.from_event_id}, but the partition's next event gets id {head}: "
                f"start again from its live segments",
            )
        limit = min(request.max_events or DEFAULT_PULL_EVENTS, MAX_PULL_EVENTS)
        return pulled(views, partition, request.from_event_id, limit)

    def ListLiveSegments(
        self, request: tiering_pb2.ListLiveSegmentsRequest, context: grpc.ServicerContext
    ) -> tiering_pb2.ListLiveSegmentsReply:
        partition = require_partition(request.partition)
        views = self._store.read()
        return tiering_pb2.ListLiveSegmentsReply(
            segments=views.live_segments(partition), next_event_id=views.next_event_id(partition)
        )


def require_valid_append(request: tiering_pb2.AppendSegmentEventsRequest) -> None:
    """Raises InvalidInput when the request is malformed or too large."""
    if not request.partitions:
        raise InvalidInput("partitions is empty: give the events of at least one partition")
    events = sum(len(part.events) for part in request.partitions)
    if events > MAX_APPEND_EVENTS or request.ByteSize() > MAX_APPEND_BYTES:
        raise InvalidInput(
            f"the request has {events} events in {request.ByteSize()} bytes: "
            f"send at most {MAX_APPEND_EVENTS} events and {MAX_APPEND_BYTES} bytes at a time"
        )
    for part in request.partitions:
        require_partition(part.partition)
        if not part.events:
            raise InvalidInput(f"events of partition {part.partition.partition} is empty: leave the partition out")
        for event in part.events:
            fault = event_fault(event)
            if fault:
                raise InvalidInput(fault)


def require_partition(partition: tiering_pb2.TopicIdPartition) -> PartitionId:
    """Raises InvalidInput when the partition's name is malformed."""
    fault = partition_fault(partition)
    if fault:
        raise InvalidInput(fault)
    return partition_id(partition)


def pulled(views: Views, partition: PartitionId, from_event_id: int, limit: int) -> tiering_pb2.PullSegmentEventsReply:
    """Events up to the limits on number and size, at least one if there is any; `next_event_id` is where to go on."""
    reply = tiering_pb2.PullSegmentEventsReply(next_event_id=from_event_id)
    size = 0
    for stored in views.segment_events(partition, from_event_id, limit):
        size += stored.ByteSize()
        if reply.events and size > MAX_PULL_BYTES:
            break
        reply.events.append(stored)
        reply.next_event_id = stored.event_id + 1
    return reply
