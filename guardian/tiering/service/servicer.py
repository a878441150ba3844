"""Tiered-storage segment metadata for brokers: checks requests, asks the replicated store, answers.

Asynchronous throughout: no call holds a thread while it waits. Requests and replies with events are bytes that are not
parsed here (`add_tiering` registers them so), apart from the one check of each event before it goes into the log.
What is malformed as a whole is refused with InvalidInput and changes nothing; what does not fit one partition is that
partition's own result. Repeating an append changes nothing, so it is safe to retry.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Self, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import Message

from guardian.errors import InvalidInput, Overloaded
from guardian.model.wire import metadata
from guardian.model.wire.actors import sign
from guardian.tiering.service.appending import AppendStream, command_of, reply_of
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.following import Follower
from guardian.tiering.service.ports import Callers, Feed, Group, LeaderEpochs, TieringLimits
from metastore import appends
from metastore.segment_views import SegmentViews
from metastore.tables import claims, ids
from metastore.tables.partition_heads import partition_from_proto
from metastore.views import Views
from protos.guardian.v1 import records_pb2, tiering_pb2

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_INLINE_PULL_EVENTS = 1_000  # a larger pull takes milliseconds, which others would wait for
_RETRY_STREAM_MS = 1_000
_VERIFYING_SHARE = 2 / 3  # of the time that a claim has; the rest is for the log
_UNVERIFIABLE = (
    "mode is VERIFIED, but this Guardian can't ask the cluster's brokers who leads: "
    "use CLAIM_ORDER (in the broker: guardian.fence=claim-order)"
)


class TieringServicer:
    """Made and used on the server's event loop. Raises errors of guardian.errors from every method."""

    def __init__(
        self,
        group: Group,
        feed: Feed,
        callers: Callers,
        now_ms: Callable[[], int],
        limits: TieringLimits | None = None,
        leader_epochs: LeaderEpochs | None = None,
        counters: TieringCounters | None = None,
    ) -> None:
        self._group = group
        self._feed = feed
        self._callers = callers
        self._now_ms = now_ms
        self._limits = limits or TieringLimits()
        self._leader_epochs = leader_epochs
        self._counters = counters or TieringCounters()
        self._streams = 0

    async def append_segment_events(self, request: bytes, context: _Context) -> bytes:
        session = metadata.session_in(context.invocation_metadata())
        user = self._callers.user_of(context)
        checked = appends.check(request)
        if not checked.command:
            return checked.merged(b"", self._counters.refused_appends)
        command = command_of(checked, request, session, user, self._now_ms())
        result = await self._group.propose(command, self._timeout_s(context))
        return reply_of(checked, result, self._counters)

    async def stream_segment_events(self, requests: AsyncIterator[bytes], context: _Context) -> None:
        stream = AppendStream(self._group, self._callers.user_of(context), self._now_ms, self._limits, self._counters)
        await self._send(stream.answers(requests), context)

    async def claim_partitions(
        self, request: tiering_pb2.ClaimPartitionsRequest, context: _Context
    ) -> tiering_pb2.ClaimPartitionsReply:
        claim = records_pb2.ClaimPartitions(request=request)
        claims.require_claimable(request)
        if request.mode == tiering_pb2.VERIFIED:
            claim.leader_epochs.extend(await self._verified(request, context))
        reply = (await self._propose(records_pb2.Command(claim_partitions=claim), request, context)).claims
        self._counters.count_claims(reply.claims)
        return reply

    async def pull_segment_events(self, request: tiering_pb2.PullSegmentEventsRequest, context: _Context) -> bytes:
        partition = partition_from_proto(request.partition)
        limits = self._limits
        events = min(request.max_events or limits.default_pull_events, limits.pull_events)
        segments = SegmentViews((await self._look(context)).snapshot)
        if events <= _INLINE_PULL_EVENTS:
            return segments.pull(partition, request.from_event_id, events, limits.pull_bytes)
        return await asyncio.to_thread(segments.pull, partition, request.from_event_id, events, limits.pull_bytes)

    async def follow_segment_events(
        self, requests: AsyncIterator[tiering_pb2.FollowSegmentEventsRequest], context: _Context
    ) -> None:
        follower = Follower(self._group, self._feed, self._limits, self._counters)
        await self._send(follower.pages(requests), context)

    async def list_live_segments(self, request: tiering_pb2.ListLiveSegmentsRequest, context: _Context) -> None:
        partition = partition_from_proto(request.partition)
        limits, segments = self._limits, SegmentViews((await self._look(context)).snapshot)
        pages = segments.live_pages(partition, limits.page_segments, limits.page_bytes)
        await self._send(_beside_the_loop(pages), context)

    async def list_partitions(self, request: tiering_pb2.ListPartitionsRequest, context: _Context) -> None:
        segments = SegmentViews((await self._look(context)).snapshot)
        pages = segments.partition_pages(request.cluster_id, request.topic_id, self._limits.page_partitions)
        await self._send(_beside_the_loop(pages), context)

    async def delete_partitions(
        self, request: tiering_pb2.DeletePartitionsRequest, context: _Context
    ) -> tiering_pb2.DeletePartitionsReply:
        for partition in request.partitions:
            partition_from_proto(partition)
        await self._propose(records_pb2.Command(delete_partitions=request), request, context)
        return tiering_pb2.DeletePartitionsReply()

    async def allocate_ids(
        self, request: tiering_pb2.AllocateIdsRequest, context: _Context
    ) -> tiering_pb2.AllocateIdsReply:
        reply = await self._propose(records_pb2.Command(allocate_ids=request), request, context)
        return ids.expand(request, reply.ids)

    async def get_ids(self, request: tiering_pb2.GetIdsRequest, context: _Context) -> tiering_pb2.GetIdsReply:
        views = await self._look(context)
        return tiering_pb2.GetIdsReply(highest=views.highest_id(request.cluster_id, request.kind))

    async def _propose(
        self, command: records_pb2.Command, request: Message, context: _Context
    ) -> records_pb2.CommandReply:
        session = self._callers.session_of(context, request)
        command.proposed_at_ms = self._now_ms()
        sign(command, self._callers.actor_of(context))
        if session is not None:
            command.session.CopyFrom(session.to_message())
        result = await self._group.propose(command.SerializeToString(), self._timeout_s(context))
        return records_pb2.CommandReply.FromString(result)

    async def _look(self, context: _Context) -> Views:
        """Read what is stored, as new as the client asks for; it is told how old."""
        max_staleness_s = metadata.max_staleness_s_in(context.invocation_metadata())
        look = await self._group.look(self._timeout_s(context), max_staleness_s)
        context.set_trailing_metadata(((metadata.STALENESS_MS, str(math.ceil(look.staleness_s * 1000))),))
        return look.views

    async def _verified(self, request: tiering_pb2.ClaimPartitionsRequest, context: _Context) -> list[int]:
        """Return for each partition the claimant's leader epoch. One claim is of one cluster. Raises InvalidInput."""
        if self._leader_epochs is None:
            raise InvalidInput(_UNVERIFIABLE)
        names = [partition_from_proto(partition) for partition in request.partitions]
        clusters = {name.cluster_id for name in names}
        if len(clusters) != 1:
            raise InvalidInput(f"partitions are of {len(clusters)} clusters: claim those of one cluster at a time")
        partitions = [(name.topic_id, name.partition) for name in names]
        timeout_s = min(self._limits.verify_s, _VERIFYING_SHARE * self._timeout_s(context))
        return await self._leader_epochs.verified(clusters.pop(), request.broker_id, partitions, timeout_s)

    async def _send(self, replies: AsyncGenerator[bytes, None], context: _Context) -> None:
        """Writing returns when the client has taken enough of what was written before: it is held to a time.

        Then nothing is kept for the client but one message and a status, which it finds when it reads on.
        """
        try:
            with self._stream():
                async with aclosing(replies):
                    await self._write_all(replies, context)
        except _Stalled:
            await context.abort(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"the client has read nothing for {self._limits.stall_s} s: read, or ask again",
            )

    async def _write_all(self, replies: AsyncIterator[bytes], context: _Context) -> None:
        try:
            async with asyncio.timeout(None) as patience:
                with _Watch(patience, self._limits.stall_s) as watch:
                    async for reply in replies:
                        watch.begin()
                        await context.write(reply)
                        watch.end()
        except TimeoutError:
            if not patience.expired():
                raise
            raise _Stalled from None

    def _timeout_s(self, context: _Context) -> float:
        remaining_s = context.time_remaining()
        return self._limits.timeout_s if remaining_s is None else max(0.0, min(remaining_s, self._limits.timeout_s))

    @contextmanager
    def _stream(self) -> Iterator[None]:
        if self._streams >= self._limits.streams:
            raise Overloaded(
                f"{self._streams} streams are open at this member: close some, or ask another one", _RETRY_STREAM_MS
            )
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1


async def _beside_the_loop(pages: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Each page is made in a thread: it takes milliseconds, which others would wait for."""
    while (page := await asyncio.to_thread(next, pages, None)) is not None:
        yield page


class _Stalled(Exception):
    """A client does not read."""


class _Watch:
    """Lets `patience` end when one write takes `limit_s`. It looks once in that time, so that no timer is set and taken
    back for each write."""

    def __init__(self, patience: asyncio.Timeout, limit_s: float) -> None:
        self._patience = patience
        self._limit_s = limit_s
        self._loop = asyncio.get_running_loop()
        self._began_at: float | None = None

    def __enter__(self) -> Self:
        self._timer = self._loop.call_later(self._limit_s, self._look)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def begin(self) -> None:
        self._began_at = self._loop.time()

    def end(self) -> None:
        self._began_at = None
        if self._patience.when() is not None:
            self._patience.reschedule(None)

    def _look(self) -> None:
        if self._began_at is not None and not self._patience.expired():
            self._patience.reschedule(self._began_at + self._limit_s)
        self._timer = self._loop.call_later(self._limit_s, self._look)


def add_tiering(servicer: TieringServicer, server: grpc.aio.Server) -> None:
    """Registers the service. Where no reader or writer is given, gRPC hands over and takes bytes."""
    service = tiering_pb2.DESCRIPTOR.services_by_name["Tiering"].full_name
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "AppendSegmentEvents": grpc.unary_unary_rpc_method_handler(servicer.append_segment_events),
        "StreamSegmentEvents": grpc.stream_stream_rpc_method_handler(servicer.stream_segment_events),
        "ClaimPartitions": grpc.unary_unary_rpc_method_handler(
            servicer.claim_partitions, tiering_pb2.ClaimPartitionsRequest.FromString, _to_bytes
        ),
        "PullSegmentEvents": grpc.unary_unary_rpc_method_handler(
            servicer.pull_segment_events, tiering_pb2.PullSegmentEventsRequest.FromString
        ),
        "FollowSegmentEvents": grpc.stream_stream_rpc_method_handler(
            servicer.follow_segment_events, tiering_pb2.FollowSegmentEventsRequest.FromString
        ),
        "ListLiveSegments": grpc.unary_stream_rpc_method_handler(
            servicer.list_live_segments, tiering_pb2.ListLiveSegmentsRequest.FromString
        ),
        "ListPartitions": grpc.unary_stream_rpc_method_handler(
            servicer.list_partitions, tiering_pb2.ListPartitionsRequest.FromString
        ),
        "DeletePartitions": grpc.unary_unary_rpc_method_handler(
            servicer.delete_partitions, tiering_pb2.DeletePartitionsRequest.FromString, _to_bytes
        ),
        "AllocateIds": grpc.unary_unary_rpc_method_handler(
            servicer.allocate_ids, tiering_pb2.AllocateIdsRequest.FromString, _to_bytes
        ),
        "GetIds": grpc.unary_unary_rpc_method_handler(
            servicer.get_ids, tiering_pb2.GetIdsRequest.FromString, _to_bytes
        ),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))


def _to_bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString())
