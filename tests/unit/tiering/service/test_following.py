"""A follower whose partitions change while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.following import Follower
from guardian.tiering.service.ports import TieringLimits
from metastore.changes import Changed
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Look, Views
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

FIRST = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=1)
SECOND = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=2)


class Group:
    """A member that is behind: the first look is of the time before it was asked for, and ends when it is let."""

    def __init__(self, machine: MetastoreStateMachine) -> None:
        self._machine = machine
        self._early = machine.read()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def look(self, _timeout_s: float, _max_staleness_s: float | None = None) -> Look:
        if self.asked.is_set():
            return Look(self._machine.read(), 0.0)
        self.asked.set()
        await self.may_answer.wait()
        return Look(self._early, 0.0)

    def read_local(self) -> Views:
        return self._machine.read()

    def submit(self, *_: object) -> None:
        raise NotImplementedError

    async def propose(self, *_: object) -> bytes:
        raise NotImplementedError


class Feed:
    def subscribe(self, subscriber: Callable[[Changed], None]) -> None: ...

    def unsubscribe(self, subscriber: Callable[[Changed], None]) -> None: ...


def append(machine: MetastoreStateMachine, partition: pb.TopicIdPartition) -> None:
    event = pb.SegmentEvent(
        segment_id=b"s" * 16, state=pb.COPY_SEGMENT_STARTED, end_offset=5, segment_leader_epochs={1: 0}
    )
    request = pb.AppendSegmentEventsRequest(partitions=[pb.PartitionEvents(partition=partition, events=[event])])
    appending.apply(machine, request)


def test_what_is_added_while_the_others_are_looked_up_is_not_read_as_of_before() -> None:
    async def follow() -> list[pb.FollowSegmentEventsReply]:
        machine = MetastoreStateMachine(MemoryStore())
        group = Group(machine)
        has_second = asyncio.Event()

        async def requests() -> AsyncIterator[pb.FollowSegmentEventsRequest]:
            yield pb.FollowSegmentEventsRequest(add=[pb.FollowPartition(partition=FIRST)], until_caught_up=True)
            await group.asked.wait()
            append(machine, SECOND)
            yield pb.FollowSegmentEventsRequest(add=[pb.FollowPartition(partition=SECOND)])
            has_second.set()

        async def let_answer() -> None:
            await has_second.wait()
            group.may_answer.set()

        letting = asyncio.create_task(let_answer())
        pages = Follower(group, Feed(), TieringLimits(), TieringCounters()).pages(requests())
        found = [pb.FollowSegmentEventsReply.FromString(page) async for page in pages]
        await letting
        return found

    first, second = asyncio.run(asyncio.wait_for(follow(), 30))
    assert (first.partition, first.next_event_id, first.caught_up) == (FIRST, 0, True)
    assert (second.partition, second.next_event_id, second.caught_up) == (SECOND, 1, True)
