"""One stream that follows many partitions: what is stored, then what comes, no faster than its reader reads.

    client's messages ─▶ add, drop ─┐
                                    ├─▶ partitions to look at ─▶ pages of one snapshot ─write─▶ client
    Feed: what changed ─────────────┘

A partition that is followed costs its name and a number; of events, one round of pages is held and no snapshot while it
is written. A reader that is slow finds the events in later rounds: they are in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.ports import Feed, Group, TieringLimits
from metastore import segment_keys as sk
from metastore.changes import Changed
from metastore.segment_views import SegmentViews
from metastore.tables.partition_heads import partition_from_proto
from metastore.views import Views
from protos.guardian.v1 import tiering_pb2


@dataclass(slots=True)
class _Followed:
    """`is_new`: the client has not heard of it yet."""

    name: bytes
    next_event_id: int
    is_new: bool = True


class Follower:
    """One stream."""

    def __init__(self, group: Group, feed: Feed, limits: TieringLimits, counters: TieringCounters) -> None:
        self._group = group
        self._counters = counters
        self._feed = feed
        self._limits = limits
        self._followed: dict[bytes, _Followed] = {}
        self._due: dict[bytes, None] = {}  # in the order in which they became so
        self._has_work = asyncio.Event()
        self._added: set[bytes] = set()  # not read yet since they were
        self._ends_when_caught_up = False
        self._has_begun = False

    async def pages(
        self, requests: AsyncIterator[tiering_pb2.FollowSegmentEventsRequest]
    ) -> AsyncGenerator[bytes, None]:
        """Serialised FollowSegmentEventsReply messages. Raises InvalidInput, and what `Group.look` does."""
        self._feed.subscribe(self._note)
        self._counters.followers.add(self)
        reader = asyncio.create_task(self._read(requests))
        try:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                if reader.done() and not reader.cancelled() and (error := reader.exception()) is not None:
                    raise error
                for page in await self._round():
                    yield page
                if not self._due and (self._ends_when_caught_up or (reader.done() and not self._followed)):
                    return
        finally:
            self._feed.unsubscribe(self._note)
            self._counters.followers.discard(self)
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    @property
    def followed(self) -> int:
        return len(self._followed)

    @property
    def waiting(self) -> int:
        """Partitions that have something that was not sent yet, or was not looked at."""
        return len(self._due)

    async def _read(self, requests: AsyncIterator[tiering_pb2.FollowSegmentEventsRequest]) -> None:
        try:
            async for request in requests:
                self._change(request)
                self._has_begun = True
                self._has_work.set()
        finally:
            self._has_work.set()

    def _change(self, request: tiering_pb2.FollowSegmentEventsRequest) -> None:
        if not self._has_begun:
            self._ends_when_caught_up = request.until_caught_up
        for name in request.drop:
            partition = sk.partition(partition_from_proto(name))
            self._followed.pop(partition, None)
            self._due.pop(partition, None)
            self._added.discard(partition)
        for added in request.add:
            partition = sk.partition(partition_from_proto(added.partition))
            self._followed[partition] = _Followed(added.partition.SerializeToString(), added.from_event_id)
            self._due[partition] = None
            self._added.add(partition)
        if len(self._followed) > self._limits.followed_partitions:
            raise InvalidInput(
                f"the stream follows {len(self._followed)} partitions: "
                f"follow at most {self._limits.followed_partitions} on one stream"
            )

    def _note(self, changed: Changed) -> None:
        """Note the followed partitions that changed, to be looked at; the smaller of the two sets decides what that
        costs.
        """
        followed, partitions = self._followed, changed.partitions
        if changed.is_all:
            self._due.update(dict.fromkeys(followed))
        elif len(partitions) < len(followed):
            self._due.update((partition, None) for partition in partitions if partition in followed)
        else:
            self._due.update((partition, None) for partition in followed if partition in partitions)
        if self._due:
            self._has_work.set()

    async def _round(self) -> list[bytes]:
        """Some pages of one moment. What was added is read as it was acknowledged anywhere before; what is added while
        that is found out waits for the next round."""
        if self._added:
            self._added = set()
            look = await self._group.look(self._limits.timeout_s)
            views = look.views
        else:
            views = self._group.read_local()
        pages = self._pages(views)
        if self._due:
            self._has_work.set()
        return pages

    def _pages(self, views: Views) -> list[bytes]:
        segments, limits = SegmentViews(views.snapshot), self._limits
        pages: list[bytes] = []
        size = 0
        for partition in [partition for partition in self._due if partition not in self._added]:
            del self._due[partition]
            followed = self._followed[partition]
            page = segments.follow(
                followed.name, partition, followed.next_event_id, limits.follow_events, limits.follow_bytes
            )
            if page.next_event_id == followed.next_event_id and not followed.is_new and not page.is_over:
                continue
            pages.append(page.reply)
            size += len(page.reply)
            followed.next_event_id, followed.is_new = page.next_event_id, False
            if page.is_over:
                del self._followed[partition]
            elif not page.is_caught_up:
                self._due[partition] = None  # after the others
            if size >= limits.follow_bytes:
                break
        return pages
