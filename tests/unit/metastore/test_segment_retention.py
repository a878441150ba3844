"""Trimming folds what is forgotten into the base; deleting ends a partition for good; sweeping leaves its head only."""

from __future__ import annotations

import pytest

from guardian.errors import Conflict, InvalidInput, NotFound, OutOfRange
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.segment_views import SegmentViews
from metastore.tables import claims, event_groups, segment_retention
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import records_pb2 as records
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

STARTED, FINISHED = pb.COPY_SEGMENT_STARTED, pb.COPY_SEGMENT_FINISHED
DELETING, DELETED = pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED
P0, P1 = PartitionId("c", b"T" * 16, 0), PartitionId("c", b"T" * 16, 1)
PROPOSAL = Proposal(1, 0)


def named(partition: PartitionId) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )


def event(segment: str, state: pb.RemoteLogSegmentState, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {"segment_id": segment.encode() * 16, "state": state, "broker_id": 1}
    if state == STARTED:
        known |= {"end_offset": 9, "segment_size_bytes": 100, "segment_leader_epochs": {3: 0}}
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


class Store:
    def __init__(self) -> None:
        self.store = MemoryStore()

    def write(self, written: list[tuple[bytes, bytes | None]]) -> None:
        self.store.write(written, self.store.applied_index + 1)

    def append(self, partition: PartitionId, *events: pb.SegmentEvent) -> str:
        request = pb.AppendSegmentEventsRequest(
            partitions=[pb.PartitionEvents(partition=named(partition), events=events)]
        )
        written, reply = appending.decide(request.SerializeToString(), self.store, PROPOSAL)
        self.write(written)
        return reply.results[0].error

    def trim(self, partition: PartitionId, below: int) -> int:
        command = records.TrimSegmentEvents(partition=named(partition), below_event_id=below)
        written, reply = segment_retention.trim(command, self.store, PROPOSAL)
        self.write(written)
        return reply.swept

    def delete(self, *partitions: PartitionId) -> None:
        request = pb.DeletePartitionsRequest(partitions=map(named, partitions))
        written, _ = segment_retention.delete(request, self.store, PROPOSAL)
        self.write(written)

    def sweep(self, max_keys: int) -> int:
        written, reply = segment_retention.sweep(records.SweepPartitions(max_keys=max_keys), self.store, PROPOSAL)
        assert reply.swept == len(written)
        self.write(written)
        return reply.swept

    @property
    def views(self) -> SegmentViews:
        return SegmentViews(self.store)

    def live(self, partition: PartitionId) -> dict[bytes, pb.SegmentEvent]:
        pages = self.views.live_pages(partition, 1000, 1 << 20)
        found = [each for page in pages for each in pb.ListLiveSegmentsReply.FromString(page).segments]
        assert len({each.segment_id for each in found}) == len(found)
        return {each.segment_id[:1]: each for each in found}

    def groups(self, partition: PartitionId) -> list[tuple[int, int]]:
        return [
            (pb.EventGroup.FromString(group.content).first_event_id, group.last_event_id)
            for group in event_groups.stored(self.store, sk.partition(partition))
        ]


@pytest.fixture
def store() -> Store:
    return Store()


def lived(store: Store) -> None:
    """Ids 0-2 in one group, then one each."""
    store.append(P0, event("A", STARTED), event("B", STARTED, custom_metadata=b"b"), event("C", STARTED))
    store.append(P0, event("A", FINISHED, custom_metadata=b"m", broker_id=0))
    store.append(P0, event("B", FINISHED))
    store.append(P0, event("C", DELETING))
    store.append(P0, event("C", DELETED))
    store.append(P0, event("D", STARTED))


@pytest.mark.parametrize("below", range(10))
def test_trimming_forgets_whole_groups_and_keeps_what_lives(store: Store, below: int) -> None:
    lived(store)
    expected, kept = store.live(P0), [group for group in store.groups(P0) if group[1] >= below]
    first = kept[0][0] if kept else 8
    assert store.trim(P0, below) == first
    assert store.groups(P0) == kept
    assert store.views.head(P0).first_event_id == first
    assert store.live(P0) == expected
    assert (store.views.head(P0).live_segments, store.views.head(P0).next_event_id) == (3, 8)
    assert store.trim(P0, below) == 0


def test_trimming_in_steps_comes_to_the_same_as_trimming_at_once(store: Store) -> None:
    once = Store()
    for each in (store, once):
        lived(each)
    for below in range(9):
        store.trim(P0, below)
    once.trim(P0, 8)
    assert store.store.scan(b"") == once.store.scan(b"")


def test_segments_go_on_after_their_first_event_is_trimmed(store: Store) -> None:
    lived(store)
    store.trim(P0, 100)
    assert store.append(P0, event("A", STARTED), event("A", DELETING, broker_id=7), event("D", FINISHED)) == ""
    live = store.live(P0)
    assert [(each.state, each.broker_id, each.custom_metadata) for each in live.values()] == [
        (DELETING, 7, b"m"),
        (FINISHED, 1, b"b"),
        (FINISHED, 1, b""),
    ]
    store.append(P0, event("A", DELETED))
    assert set(store.live(P0)) == {b"B", b"D"}
    store.trim(P0, 100)
    assert set(store.live(P0)) == {b"B", b"D"}
    assert store.store.get(sk.LIVE + sk.partition(P0) + b"A" * 16) is None


def test_a_segment_is_forgotten_with_its_last_event(store: Store) -> None:
    lived(store)
    store.trim(P0, 6)
    assert store.append(P0, event("C", STARTED)) == "", "its end is kept, so this is a repetition"
    assert store.views.head(P0).next_event_id == 8
    store.trim(P0, 7)
    assert store.store.get(sk.SEGMENT + b"C" * 16) is None
    assert "from nothing" in store.append(P0, event("C", DELETED))


def test_what_is_trimmed_is_out_of_range(store: Store) -> None:
    lived(store)
    store.trim(P0, 4)
    with pytest.raises(OutOfRange, match="from_event_id is 3, but kept are events 4 to below 8"):
        store.views.pull(P0, 3, 10, 1000)
    assert pb.PullSegmentEventsReply.FromString(store.views.pull(P0, 4, 10, 10_000)).next_event_id == 8
    with pytest.raises(OutOfRange, match="from_event_id is 9"):
        store.views.pull(P0, 9, 10, 1000)


def test_a_trim_does_a_bounded_part_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_retention, "MAX_TRIMMED", 2)
    lived(store)
    assert [store.trim(P0, 100) for _ in range(5)] == [3, 2, 2, 1, 0]


def test_only_a_known_partition_is_trimmed(store: Store) -> None:
    with pytest.raises(NotFound, match="partition 1 of topic"):
        store.trim(P1, 1)
    with pytest.raises(InvalidInput):
        store.trim(PartitionId("", b"T" * 16, 0), 1)


def test_a_deleted_partition_is_swept_in_portions_and_its_head_stays(store: Store) -> None:
    lived(store)
    store.trim(P0, 4)
    request = pb.ClaimPartitionsRequest(partitions=[named(P0)], broker_id=1)
    store.write(claims.claim(records.ClaimPartitions(request=request), store.store, PROPOSAL)[0])
    other = event("x", STARTED)
    store.append(P1, other)
    beside = [row for row in store.store.scan(b"") if sk.partition(P1) in row[0] + row[1] or row[0][0] == 11]
    store.delete(P0)
    head = store.views.head(P0)
    assert (head.is_deleted, head.live_segments, head.live_bytes, head.next_event_id) == (True, 0, 0, 8)
    portions = []
    while swept := store.sweep(2):
        portions.append(swept)
    assert len(portions) > 2
    assert max(portions) <= 6
    assert store.views.head(P0) == head
    rest = [row for row in store.store.scan(b"") if row[0] != sk.HEAD + sk.partition(P0)]
    assert rest == beside


def test_deleting_again_changes_nothing(store: Store) -> None:
    lived(store)
    store.delete(P0, P0)
    while store.sweep(100):
        pass
    before = store.store.scan(b"")
    store.delete(P0)
    assert store.store.scan(b"") == before
    assert (store.sweep(100), store.trim(P0, 5)) == (0, 0)


def test_a_partition_that_was_never_seen_can_be_deleted(store: Store) -> None:
    store.delete(P1)
    assert "is deleted" in store.append(P1, event("A", STARTED))
    with pytest.raises(NotFound, match="is deleted"):
        store.views.pull(P1, 0, 1, 1)
    with pytest.raises(NotFound, match="is deleted"):
        next(store.views.live_pages(P1, 1, 1))


def test_a_set_is_deleted_whole_or_not_at_all(store: Store) -> None:
    store.append(P0, event("A", STARTED))
    before = store.store.scan(b"")
    with pytest.raises(Conflict, match="is cluster c's, not thief's"):
        store.delete(P0, PartitionId("thief", b"T" * 16, 7))
    with pytest.raises(InvalidInput, match="topic_id has 3 bytes"):
        store.delete(P0, PartitionId("c", b"abc", 7))
    with pytest.raises(InvalidInput, match="10001 partitions"):
        store.delete(*[P0] * 10_001)
    assert store.store.scan(b"") == before


def test_sweeping_nothing_is_a_mistake(store: Store) -> None:
    with pytest.raises(InvalidInput, match="max_keys is 0"):
        store.sweep(0)


def test_stored_bytes_that_are_unreadable_are_said_to_be(store: Store) -> None:
    store.append(P0, event("A", STARTED))
    key, value = event_groups.record(sk.partition(P0), 0, 1, b"\x12\x01\xff")
    store.write([(key, value)])
    with pytest.raises(InvalidInput, match="the events up to 0 of the partition are unreadable"):
        store.trim(P0, 5)
