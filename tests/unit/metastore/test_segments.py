"""The segments' table: gap-free ids, Kafka's transitions, a result per partition, and repeating changes nothing."""

from __future__ import annotations

import pytest

from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.tables import segments
from metastore.views import Views
from protos.guardian.v1 import tiering_pb2 as pb

STARTED, FINISHED = pb.COPY_SEGMENT_STARTED, pb.COPY_SEGMENT_FINISHED
DELETING, DELETED = pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED
TOPIC = bytes(range(16))
P0, P1 = PartitionId("c", TOPIC, 0), PartitionId("c", TOPIC, 1)
A, B = b"A" * 16, b"B" * 16


def event(segment: bytes, state: pb.RemoteLogSegmentState, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {"segment_id": segment, "state": state, "broker_id": 1, "event_timestamp_ms": 5}
    if state == STARTED:
        known |= {"start_offset": 0, "end_offset": 9, "segment_size_bytes": 100, "segment_leader_epochs": {3: 0}}
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


def part(partition: PartitionId, *events: pb.SegmentEvent) -> pb.PartitionEvents:
    name = pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )
    return pb.PartitionEvents(partition=name, events=events)


class Store:
    def __init__(self) -> None:
        self.store = MemoryStore()

    def append(self, *parts: pb.PartitionEvents) -> list[tuple[int, str]]:
        """Per part: the next event id, and the error."""
        request = pb.AppendSegmentEventsRequest(partitions=parts)
        records, reply = segments.handle(request, self.store, 0)
        self.store.write(records, self.store.applied_index + 1)
        results = reply.segment_events.results
        assert [result.partition for result in results] == [part.partition for part in parts]
        return [(result.next_event_id, result.error) for result in results]

    def events(self, partition: PartitionId, first: int = 0, limit: int = 100) -> list[tuple[int, bytes, int]]:
        stored = Views(self.store).segment_events(partition, first, limit)
        return [(each.event_id, each.event.segment_id[:1], each.event.state) for each in stored]

    def live(self, partition: PartitionId) -> list[tuple[bytes, int]]:
        return [(each.segment_id[:1], each.state) for each in Views(self.store).live_segments(partition)]


@pytest.fixture
def store() -> Store:
    return Store()


def test_ids_are_gap_free_per_partition(store: Store) -> None:
    assert store.append(part(P0, event(A, STARTED), event(B, STARTED)), part(P1, event(A, STARTED))) == [
        (2, ""),
        (1, ""),
    ]
    assert store.append(part(P0, event(A, FINISHED))) == [(3, "")]
    assert store.events(P0) == [(0, b"A", STARTED), (1, b"B", STARTED), (2, b"A", FINISHED)]
    assert store.events(P1) == [(0, b"A", STARTED)]
    assert store.events(P0, 1, 1) == [(1, b"B", STARTED)]
    assert Views(store.store).next_event_id(P0) == 3


def test_a_segment_lives_from_its_start_to_its_deletion(store: Store) -> None:
    store.append(part(P0, event(A, STARTED), event(B, STARTED), event(B, FINISHED)))
    assert store.live(P0) == [(b"A", STARTED), (b"B", FINISHED)]
    store.append(part(P0, event(A, DELETING), event(A, DELETED), event(B, DELETING)))
    assert store.live(P0) == [(b"B", DELETING)]
    assert store.live(P1) == []
    assert len(store.events(P0)) == 6


def test_a_live_segment_has_its_start_and_its_newest_state(store: Store) -> None:
    start = event(A, STARTED, segment_leader_epochs={5: 4, 3: 0}, max_timestamp_ms=8)
    store.append(part(P0, start))
    store.append(part(P0, event(A, FINISHED, broker_id=2, event_timestamp_ms=6, custom_metadata=b"m")))
    expected = event(
        A,
        STARTED,
        segment_leader_epochs={5: 4, 3: 0},
        max_timestamp_ms=8,
        broker_id=2,
        event_timestamp_ms=6,
        custom_metadata=b"m",
    )
    expected.state = FINISHED
    assert Views(store.store).live_segments(P0) == [expected]


LIFE = (STARTED, FINISHED, DELETING, DELETED)


@pytest.mark.parametrize("length", range(5))
def test_repeating_any_events_of_a_segment_changes_nothing(store: Store, length: int) -> None:
    life = [event(A, state) for state in LIFE[:length]]
    store.append(part(P0, *life))
    before = store.store.scan(b"")
    for repeated in (life, life[:1], life[-1:], [*life, *life]):
        assert store.append(part(P0, *repeated)) == [(length, "")]
        assert store.store.scan(b"") == before


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ((), FINISHED),
        ((), DELETING),
        ((), DELETED),
        ((STARTED,), DELETED),
        ((STARTED, FINISHED), DELETED),
        ((STARTED, DELETING), FINISHED),
        ((STARTED, DELETING, DELETED), FINISHED),
    ],
)
def test_other_transitions_than_kafkas_are_refused(
    store: Store, path: tuple[pb.RemoteLogSegmentState, ...], wrong: pb.RemoteLogSegmentState
) -> None:
    store.append(part(P0, *(event(A, state) for state in path)))
    before = store.store.scan(b"")
    [(next_id, error)] = store.append(part(P0, event(B, STARTED), event(A, wrong)))
    assert (next_id, "can't go from" in error) == (len(path), True)
    assert store.store.scan(b"") == before


def test_one_partitions_mistake_does_not_hold_up_another(store: Store) -> None:
    [first, second, third] = store.append(
        part(P0, event(A, STARTED)),
        part(P1, event(A, STARTED), event(B, FINISHED)),
        part(PartitionId("d", TOPIC, 0), event(A, STARTED)),
    )
    assert (first, second[0], third) == ((1, ""), 0, (1, ""))
    assert second[1]
    assert (store.events(P1), store.live(P1)) == ([], [])


def test_a_partition_named_twice_goes_on_where_it_was(store: Store) -> None:
    assert store.append(
        part(P0, event(A, STARTED)),
        part(P0, event(A, FINISHED), event(B, FINISHED)),
        part(P0, event(A, STARTED), event(A, FINISHED), event(B, STARTED)),
    )[2] == (3, "")
    assert store.events(P0) == [(0, b"A", STARTED), (1, b"A", FINISHED), (2, b"B", STARTED)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (event(A[:15], STARTED), "segment_id has 15 bytes"),
        (event(A, pb.REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED), "is 0: use 1 to 4"),
        (event(A, STARTED, start_offset=10), "are 10 to 9"),
        (event(A, STARTED, start_offset=-1), "are -1 to 9"),
        (event(A, STARTED, segment_size_bytes=-1), "is -1: it must not be negative"),
        (event(A, STARTED, segment_leader_epochs={}), "segment_leader_epochs of segment"),
        (event(A, STARTED, custom_metadata=bytes(1 << 15)), "use at most 16384"),
    ],
)
def test_a_malformed_event_is_that_partitions_error(store: Store, wrong: pb.SegmentEvent, message: str) -> None:
    [(_, error), other] = store.append(part(P0, wrong), part(P1, event(A, STARTED)))
    assert message in error
    assert other == (1, "")


@pytest.mark.parametrize(
    "partition", [PartitionId("", TOPIC, 0), PartitionId("c" * 201, TOPIC, 0), PartitionId("c", b"", 0)]
)
def test_a_malformed_partition_is_its_own_error(store: Store, partition: PartitionId) -> None:
    [(_, error), other] = store.append(part(partition, event(A, STARTED)), part(P1, event(A, STARTED)))
    assert ": use" in error
    assert other == (1, "")
