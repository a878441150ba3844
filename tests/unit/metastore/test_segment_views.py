"""Replies put together from stored bytes are what a message of the same content would be."""

from __future__ import annotations

import struct

import pytest

from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.segment_views import SegmentViews
from metastore.tables import segment_retention
from metastore.tables.partition_heads import Head, head_from_bytes
from metastore.tables.proposal import Proposal
from metastore.varints import varint
from protos.guardian.v1 import raw_pb2
from protos.guardian.v1 import records_pb2 as records
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

P0 = PartitionId("c", b"T" * 16, 3)
NAME = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=3)
PROPOSAL = Proposal(1, 0)


def started(number: int, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {
        "segment_id": number.to_bytes(16, "big"),
        "state": pb.COPY_SEGMENT_STARTED,
        "end_offset": 5,
        "segment_leader_epochs": {1: 0},
    }
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


def append(store: MemoryStore, *events: pb.SegmentEvent) -> None:
    request = pb.AppendSegmentEventsRequest(partitions=[pb.PartitionEvents(partition=NAME, events=events)])
    written, reply = appending.decide(request.SerializeToString(), store, PROPOSAL)
    assert not reply.results[0].error
    store.write(written, store.applied_index + 1)


@pytest.fixture
def store() -> MemoryStore:
    """Groups of events 0-2, 3, 4-5."""
    store = MemoryStore()
    append(store, started(0), started(1), started(2))
    append(store, started(3))
    append(store, started(4), started(5))
    return store


def pull(store: MemoryStore, first: int, events: int = 100, size: int = 1 << 20) -> pb.PullSegmentEventsReply:
    return pb.PullSegmentEventsReply.FromString(SegmentViews(store).pull(P0, first, events, size))


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 16383, 16384, 2**21, 2**28 - 1, 2**35, 2**64 - 1])
def test_varints_are_protobufs(number: int) -> None:
    assert varint(number) == pb.EventGroup(first_event_id=number).SerializeToString()[1:] or number == 0
    assert pb.EventGroup.FromString(b"\x08" + varint(number)).first_event_id == number


def test_a_pull_gives_groups_in_order(store: MemoryStore) -> None:
    assert pull(store, 0) == pb.PullSegmentEventsReply(
        groups=[
            pb.EventGroup(first_event_id=0, events=[started(0), started(1), started(2)]),
            pb.EventGroup(first_event_id=3, events=[started(3)]),
            pb.EventGroup(first_event_id=4, events=[started(4), started(5)]),
        ],
        next_event_id=6,
    )


@pytest.mark.parametrize(("first", "groups"), [(0, [0, 3, 4]), (1, [0, 3, 4]), (2, [0, 3, 4]), (3, [3, 4]), (5, [4])])
def test_a_pull_from_within_a_group_begins_with_the_whole_of_it(
    store: MemoryStore, first: int, groups: list[int]
) -> None:
    assert [group.first_event_id for group in pull(store, first).groups] == groups


def test_a_pull_from_the_end_is_empty(store: MemoryStore) -> None:
    assert pull(store, 6) == pb.PullSegmentEventsReply(next_event_id=6)
    other = PartitionId("c", b"T" * 16, 4)
    reply = SegmentViews(store).pull(other, 0, 10, 10)
    assert pb.PullSegmentEventsReply.FromString(reply) == pb.PullSegmentEventsReply()


@pytest.mark.parametrize(("limit", "next_ids"), [(1, [3, 4, 6]), (3, [3, 6]), (4, [4, 6]), (6, [6]), (100, [6])])
def test_limits_are_rounded_up_to_whole_groups(store: MemoryStore, limit: int, next_ids: list[int]) -> None:
    seen, first = [], 0
    while first < 6:
        first = pull(store, first, limit).next_event_id
        seen.append(first)
    assert seen == next_ids


def test_a_limit_on_size_leaves_at_least_one_group(store: MemoryStore) -> None:
    assert pull(store, 0, size=1).next_event_id == 3
    groups = [pb.EventGroup(first_event_id=1, events=map(started, ids)) for ids in ((0, 1, 2), (3,))]
    size = sum(group.ByteSize() for group in groups)
    assert [pull(store, 0, size=limit).next_event_id for limit in (size - 1, size)] == [3, 4]


def test_many_groups_are_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    for number in range(600):
        append(store, started(number))
    assert pull(store, 7, 10_000).next_event_id == 600
    reply = pull(store, 0, 10_000)
    assert [group.first_event_id for group in reply.groups] == list(range(600))


def follow(store: MemoryStore, first: int, events: int = 100, size: int = 1 << 20) -> pb.FollowSegmentEventsReply:
    page = SegmentViews(store).follow(NAME.SerializeToString(), sk.partition(P0), first, events, size)
    reply = pb.FollowSegmentEventsReply.FromString(page.reply)
    assert (page.is_caught_up, page.is_over) == (reply.caught_up, reply.out_of_range or reply.deleted)
    assert reply.partition == NAME
    assert page.is_over or page.next_event_id == reply.next_event_id
    return reply


def test_a_follow_page_says_whether_there_is_more(store: MemoryStore) -> None:
    assert follow(store, 3) == pb.FollowSegmentEventsReply(
        partition=NAME,
        groups=[
            pb.EventGroup(first_event_id=3, events=[started(3)]),
            pb.EventGroup(first_event_id=4, events=[started(4), started(5)]),
        ],
        next_event_id=6,
        caught_up=True,
    )
    assert (follow(store, 0, 1).next_event_id, follow(store, 0, 1).caught_up) == (3, False)
    assert (follow(store, 6).next_event_id, follow(store, 6).caught_up) == (6, True)


def test_a_follow_page_says_why_there_will_be_nothing_more(store: MemoryStore) -> None:
    assert follow(store, 7).out_of_range
    trim = records.TrimSegmentEvents(partition=NAME, below_event_id=4)
    store.write(segment_retention.trim(trim, store, PROPOSAL)[0], 10)
    assert follow(store, 3).out_of_range
    assert not follow(store, 4).out_of_range
    delete = pb.DeletePartitionsRequest(partitions=[NAME])
    store.write(segment_retention.delete(delete, store, PROPOSAL)[0], 11)
    assert (follow(store, 3).deleted, follow(store, 3).out_of_range) == (True, False)


def pages(store: MemoryStore, segments: int, size: int = 1 << 20) -> list[pb.ListLiveSegmentsReply]:
    return [pb.ListLiveSegmentsReply.FromString(page) for page in SegmentViews(store).live_pages(P0, segments, size)]


@pytest.mark.parametrize("trimmed_below", [0, 3, 4, 6])
@pytest.mark.parametrize(("segments_", "count"), [(1, 6), (2, 3), (4, 2), (6, 1), (100, 1)])
def test_live_segments_come_in_pages_that_fit_together(
    store: MemoryStore, segments_: int, count: int, trimmed_below: int
) -> None:
    trim = records.TrimSegmentEvents(partition=NAME, below_event_id=trimmed_below)
    store.write(segment_retention.trim(trim, store, PROPOSAL)[0], 10)
    found = pages(store, segments_)
    assert len(found) == count
    assert {page.next_event_id for page in found} == {6}
    assert [each for page in found for each in page.segments] == [started(n) for n in range(6)]


def test_pages_of_live_segments_are_limited_in_size_but_never_empty(store: MemoryStore) -> None:
    assert [len(page.segments) for page in pages(store, 100, 1)] == [1] * 6


def test_a_partition_without_segments_has_one_empty_page() -> None:
    assert pages(MemoryStore(), 10) == [pb.ListLiveSegmentsReply()]


def test_all_pages_are_of_one_moment(store: MemoryStore) -> None:
    later = SegmentViews(store.snapshot()).live_pages(P0, 2, 1 << 20)
    first = pb.ListLiveSegmentsReply.FromString(next(later))
    append(store, started(9), pb.SegmentEvent(segment_id=bytes(16), state=pb.COPY_SEGMENT_FINISHED))
    rest = [pb.ListLiveSegmentsReply.FromString(page) for page in later]
    found = [each for page in (first, *rest) for each in page.segments]
    assert (found, {page.next_event_id for page in rest}) == ([started(n) for n in range(6)], {6})


def fields(message: object) -> dict[str, int]:
    return {field.name: field.number for field in message.DESCRIPTOR.fields}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("twin", "original"),
    [
        (raw_pb2.RawCommandReply, records.CommandReply),
        (raw_pb2.RawAppendRequest, pb.AppendSegmentEventsRequest),
        (raw_pb2.RawPartitionEvents, pb.PartitionEvents),
        (raw_pb2.RawAppendReply, pb.AppendSegmentEventsReply),
        (raw_pb2.RawAppendResult, pb.PartitionAppendResult),
        (raw_pb2.RawStreamRequest, pb.StreamSegmentEventsRequest),
        (raw_pb2.RawStreamReply, pb.StreamSegmentEventsReply),
        (raw_pb2.RawEvents, pb.PartitionEvents),
        (raw_pb2.RawEvents, pb.EventGroup),
        (raw_pb2.PlainEvents, pb.PartitionEvents),
        (raw_pb2.PlainSegmentEvent, pb.SegmentEvent),
        (raw_pb2.SegmentUpdate, pb.SegmentEvent),
    ],
)
def test_a_twin_has_the_field_numbers_of_its_original(twin: object, original: object) -> None:
    theirs = fields(original)
    assert {name: theirs[name] for name in fields(twin)} == fields(twin)
    if twin in (raw_pb2.PlainSegmentEvent, raw_pb2.RawPartitionEvents, raw_pb2.RawAppendResult):
        assert fields(twin) == theirs, "a new field must be read here too"


def gone(store: MemoryStore) -> dict[int, int]:
    first, *rest = pages(store, 2)
    assert not any(page.gone_highest_offsets for page in rest)
    return dict(first.gone_highest_offsets)


def later(number: int, *states: pb.RemoteLogSegmentState) -> list[pb.SegmentEvent]:
    return [pb.SegmentEvent(segment_id=number.to_bytes(16, "big"), state=state) for state in states]


FINISHED, DELETING, DELETED = pb.COPY_SEGMENT_FINISHED, pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED
WIDE = {"start_offset": 10, "end_offset": 99, "segment_leader_epochs": {2: 10, 5: 40, 7: 90}}


@pytest.mark.parametrize("trimmed_below", [0, 6, 7, 8, 9, 10])
def test_offsets_of_finished_copies_that_are_being_deleted_are_told_by_epoch(
    store: MemoryStore, trimmed_below: int
) -> None:
    """Also when what they follow from is trimmed."""
    append(store, started(9, **WIDE))
    for event in later(9, FINISHED, DELETING, DELETED):
        assert gone(store) == {} or event.state == DELETED
        append(store, event)
    trim = records.TrimSegmentEvents(partition=NAME, below_event_id=trimmed_below)
    store.write(segment_retention.trim(trim, store, PROPOSAL)[0], 20)
    assert gone(store) == {2: 39, 5: 89, 7: 99}
    append(store, started(8, end_offset=60, segment_leader_epochs={5: 0}), *later(8, FINISHED, DELETING))
    assert gone(store) == {2: 39, 5: 89, 7: 99}
    append(store, started(7, end_offset=95, segment_leader_epochs={5: 0}), *later(7, FINISHED, DELETING))
    assert gone(store) == {2: 39, 5: 95, 7: 99}


def test_a_copy_that_was_never_finished_leaves_no_offset(store: MemoryStore) -> None:
    append(store, started(9, **WIDE), *later(9, DELETING, DELETED))
    assert gone(store) == {}
    trim = records.TrimSegmentEvents(partition=NAME, below_event_id=100)
    store.write(segment_retention.trim(trim, store, PROPOSAL)[0], 20)
    assert gone(store) == {}
    head = SegmentViews(store).head(P0)
    assert (head.swept_segments, head.swept_bytes) == (1, 0)


def test_offsets_of_a_deleted_partition_are_swept(store: MemoryStore) -> None:
    append(store, started(9, **WIDE), *later(9, FINISHED, DELETING, DELETED))
    trim = records.TrimSegmentEvents(partition=NAME, below_event_id=100)
    store.write(segment_retention.trim(trim, store, PROPOSAL)[0], 20)
    assert store.get(sk.GONE_OFFSETS + sk.partition(P0))
    delete = pb.DeletePartitionsRequest(partitions=[NAME])
    store.write(segment_retention.delete(delete, store, PROPOSAL)[0], 21)
    store.write(segment_retention.sweep(records.SweepPartitions(max_keys=1000), store, PROPOSAL)[0], 22)
    assert store.get(sk.GONE_OFFSETS + sk.partition(P0)) is None


def test_a_head_of_an_earlier_version_has_swept_nothing() -> None:
    earlier = struct.pack(">QQQQQ?", 7, 6, 5, 4, 3, True)
    assert head_from_bytes(earlier) == Head(7, 6, 5, 4, 3, is_deleted=True)
    head = Head(7, 6, 5, 4, 3, True, 2, 1)
    assert head_from_bytes(head.to_bytes()) == head
