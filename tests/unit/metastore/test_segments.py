"""The segments' table: gap-free ids, Kafka's transitions, a result per partition, and repeating changes nothing."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from metastore import appends, keys
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.segment_views import SegmentViews
from metastore.tables import claims, segment_retention, segments
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import raw_pb2
from protos.guardian.v1 import records_pb2 as records
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

STARTED, FINISHED = pb.COPY_SEGMENT_STARTED, pb.COPY_SEGMENT_FINISHED
DELETING, DELETED = pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED
TOPIC = bytes(range(16))
P0, P1 = PartitionId("c", TOPIC, 0), PartitionId("c", TOPIC, 1)
OTHER = PartitionId("d", b"U" * 16, 0)
A, B, C = b"A" * 16, b"B" * 16, b"C" * 16
PROPOSAL = Proposal(1, 0)


def event(segment: bytes, state: pb.RemoteLogSegmentState, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {"segment_id": segment, "state": state, "broker_id": 1, "event_timestamp_ms": 5}
    if state == STARTED:
        known |= {"start_offset": 0, "end_offset": 9, "segment_size_bytes": 100, "segment_leader_epochs": {3: 0}}
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


def named(partition: PartitionId) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )


def part(partition: PartitionId, *events: pb.SegmentEvent, token: int = 0) -> pb.PartitionEvents:
    return pb.PartitionEvents(partition=named(partition), events=events, fencing_token=token)


class Store:
    def __init__(self) -> None:
        self.store = MemoryStore()

    def write(self, written: list[tuple[bytes, bytes | None]]) -> None:
        self.store.write(written, self.store.applied_index + 1)

    def results(self, *parts: pb.PartitionEvents) -> list[pb.PartitionAppendResult]:
        return self.send(pb.AppendSegmentEventsRequest(partitions=parts).SerializeToString())

    def send(self, request: bytes) -> list[pb.PartitionAppendResult]:
        written, reply = appending.decide(request, self.store, PROPOSAL)
        self.write(written)
        return list(reply.results)

    def append(self, *parts: pb.PartitionEvents) -> list[tuple[int, str]]:
        """Per part: the next event id, and the error."""
        results = self.results(*parts)
        assert [result.partition for result in results] == [part.partition for part in parts]
        return [(result.next_event_id, result.error) for result in results]

    def claim(self, partition: PartitionId) -> int:
        request = pb.ClaimPartitionsRequest(partitions=[named(partition)], broker_id=1)
        written, reply = claims.claim(records.ClaimPartitions(request=request), self.store, PROPOSAL)
        self.write(written)
        return reply.claims.claims[0].fencing_token

    def delete(self, partition: PartitionId) -> None:
        written, _ = segment_retention.delete(
            pb.DeletePartitionsRequest(partitions=[named(partition)]), self.store, PROPOSAL
        )
        self.write(written)

    @property
    def views(self) -> SegmentViews:
        return SegmentViews(self.store)

    def events(self, partition: PartitionId, first: int = 0, limit: int = 100) -> list[tuple[int, bytes, int]]:
        reply = pb.PullSegmentEventsReply.FromString(self.views.pull(partition, first, limit, 1 << 20))
        return [
            (event_id, each.segment_id[:1], each.state)
            for group in reply.groups
            for event_id, each in enumerate(group.events, group.first_event_id)
        ]

    def live_segments(self, partition: PartitionId) -> list[pb.SegmentEvent]:
        pages = self.views.live_pages(partition, 1000, 1 << 20)
        return [each for page in pages for each in pb.ListLiveSegmentsReply.FromString(page).segments]

    def live(self, partition: PartitionId) -> list[tuple[bytes, int]]:
        return [(each.segment_id[:1], each.state) for each in self.live_segments(partition)]

    def content(self) -> list[tuple[bytes, bytes]]:
        return self.store.scan(b"")


@pytest.fixture
def store() -> Store:
    return Store()


def test_ids_are_gap_free_per_partition(store: Store) -> None:
    assert store.append(part(P0, event(A, STARTED), event(B, STARTED)), part(P1, event(C, STARTED))) == [
        (2, ""),
        (1, ""),
    ]
    assert store.append(part(P0, event(A, FINISHED))) == [(3, "")]
    assert store.events(P0) == [(0, b"A", STARTED), (1, b"B", STARTED), (2, b"A", FINISHED)]
    assert store.events(P1) == [(0, b"C", STARTED)]
    assert store.views.head(P0).next_event_id == 3


def test_what_was_appended_is_stored_as_it_came(store: Store) -> None:
    """Also in another order of fields, with unknown ones, and not as small as could be."""
    odd = b"\x10\x81\x00" + b"\x0a\x10" + A + b"\x30\x09\x4a\x02\x08\x03" + b"\x98\x06\x01"
    assert pb.SegmentEvent.FromString(odd).state == STARTED
    name = named(P0).SerializeToString()
    request = b"\x12" + bytes((len(odd),)) + odd + b"\x0a" + bytes((len(name),)) + name
    [result] = store.send(b"\x0a" + bytes((len(request),)) + request)
    assert (result.error, result.next_event_id) == ("", 1)
    assert odd in store.views.pull(P0, 0, 10, 1000)


def test_a_segment_lives_from_its_start_to_its_deletion(store: Store) -> None:
    store.append(part(P0, event(A, STARTED), event(B, STARTED), event(B, FINISHED)))
    assert store.live(P0) == [(b"A", STARTED), (b"B", FINISHED)]
    store.append(part(P0, event(A, DELETING), event(A, DELETED), event(B, DELETING)))
    assert store.live(P0) == [(b"B", DELETING)]
    assert store.live(P1) == []
    assert len(store.events(P0)) == 6


def test_a_head_counts_live_segments_and_their_bytes(store: Store) -> None:
    def counts() -> tuple[int, int]:
        head = store.views.head(P0)
        return head.live_segments, head.live_bytes

    store.append(part(P0, event(A, STARTED, segment_size_bytes=10), event(B, STARTED, segment_size_bytes=2**31 - 1)))
    assert counts() == (2, 10 + 2**31 - 1)
    store.append(part(P0, event(A, FINISHED), event(A, STARTED), event(C, STARTED, segment_size_bytes=7)))
    assert counts() == (3, 17 + 2**31 - 1)
    store.append(part(P0, event(B, DELETING), event(B, DELETED)))
    assert counts() == (2, 17)
    store.append(part(P0, event(B, DELETED), event(A, DELETING), event(A, DELETED), event(C, FINISHED)))
    assert counts() == (1, 7)


def test_a_live_segment_has_its_start_and_its_newest_state(store: Store) -> None:
    start = event(A, STARTED, segment_leader_epochs={5: 4, 3: 0}, max_timestamp_ms=8, broker_id=3)
    store.append(part(P0, start))
    store.append(
        part(
            P0,
            event(A, FINISHED, broker_id=0, event_timestamp_ms=0, custom_metadata=b"m", start_offset=7, end_offset=8),
        )
    )
    expected = event(
        A,
        STARTED,
        segment_leader_epochs={5: 4, 3: 0},
        max_timestamp_ms=8,
        broker_id=0,
        event_timestamp_ms=0,
        custom_metadata=b"m",
    )
    expected.state = FINISHED
    assert store.live_segments(P0) == [expected]


LIFE = (STARTED, FINISHED, DELETING, DELETED)


@pytest.mark.parametrize("length", range(1, 5))
def test_repeating_any_events_of_a_segment_changes_nothing(store: Store, length: int) -> None:
    life = [event(A, state) for state in LIFE[:length]]
    store.append(part(P0, *life))
    before = store.content()
    for repeated in (life, life[:1], life[-1:], [*life, *life]):
        assert store.append(part(P0, *repeated)) == [(length, "")]
        assert store.content() == before


def test_a_batch_that_is_repeated_with_more_appends_only_what_is_new(store: Store) -> None:
    store.append(part(P0, event(A, STARTED), event(B, STARTED)))
    assert store.append(part(P0, event(A, STARTED), event(C, STARTED), event(B, STARTED), event(B, FINISHED))) == [
        (4, "")
    ]
    assert store.events(P0)[2:] == [(2, b"C", STARTED), (3, b"B", FINISHED)]
    assert store.append(part(P1, event(b"x" * 16, STARTED), event(b"x" * 16, STARTED))) == [(1, "")]
    assert store.events(P1) == [(0, b"x", STARTED)]


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
    if path:
        store.append(part(P0, *(event(A, state) for state in path)))
    before = store.content()
    [result] = store.results(part(P0, event(B, STARTED), event(A, wrong)))
    origin = pb.RemoteLogSegmentState.Name(path[-1]) if path else "nothing"
    assert (result.next_event_id, result.error_kind) == (len(path), pb.INVALID_TRANSITION)
    assert f"can't go from {origin} to {pb.RemoteLogSegmentState.Name(wrong)}" in result.error
    assert store.content() == before


def test_one_partitions_mistake_does_not_hold_up_another(store: Store) -> None:
    [first, second, third] = store.append(
        part(P0, event(A, STARTED)),
        part(P1, event(B, STARTED), event(C, FINISHED)),
        part(OTHER, event(b"x" * 16, STARTED)),
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


def test_a_segment_id_is_the_partitions_that_named_it_first(store: Store) -> None:
    store.append(part(P0, event(A, STARTED)))
    for other in (P1, OTHER):
        for state in (STARTED, FINISHED):
            [result] = store.results(part(other, event(A, state)))
            assert (result.error_kind, result.next_event_id) == (pb.BELONGS_ELSEWHERE, 0)
            assert f"segment {A.hex()} is another partition's" in result.error
    first, second = store.results(part(P1, event(B, STARTED)), part(OTHER, event(B, STARTED)))
    assert (first.error, second.error_kind) == ("", pb.BELONGS_ELSEWHERE)


def test_a_topic_id_is_the_clusters_that_named_it_first(store: Store) -> None:
    thief = PartitionId("thief", TOPIC, 5)
    first, second = store.results(part(P0, event(A, STARTED)), part(thief, event(B, STARTED)))
    assert (first.error, second.error_kind) == ("", pb.BELONGS_ELSEWHERE)
    assert f"topic id {TOPIC.hex()} is cluster c's, not thief's" in second.error
    [result] = store.results(part(thief, event(B, STARTED)))
    assert result.error_kind == pb.BELONGS_ELSEWHERE
    assert store.store.get(keys.topic_owner(TOPIC)) == b"c"


def test_a_part_that_is_refused_registers_nothing(store: Store) -> None:
    [result] = store.results(part(P0, event(A, FINISHED)))
    assert (result.error_kind, store.content()) == (pb.INVALID_TRANSITION, [])


def test_only_the_writer_with_the_highest_token_appends(store: Store) -> None:
    first = store.claim(P0)
    assert store.append(part(P0, event(A, STARTED), token=first)) == [(1, "")]
    second = store.claim(P0)
    before = store.content()
    for token in (0, first):
        [result] = store.results(part(P0, event(A, STARTED), event(A, FINISHED), token=token))
        assert (result.error_kind, result.fencing_token, result.next_event_id) == (pb.FENCED_LEADER_EPOCH, second, 1)
        assert f"fencing_token is {token}" in result.error
    assert store.content() == before
    assert store.append(part(P0, event(A, FINISHED), token=second)) == [(2, "")]


def test_without_a_claim_no_token_is_needed_and_none_is_good(store: Store) -> None:
    assert store.append(part(P0, event(A, STARTED))) == [(1, "")]
    [result] = store.results(part(P0, event(B, STARTED), token=1))
    assert (result.error_kind, result.fencing_token) == (pb.APPEND_INVALID, 0)
    assert "the highest that was given out is 0" in result.error


def test_a_deleted_partition_takes_no_events_from_anybody(store: Store) -> None:
    token = store.claim(P0)
    store.append(part(P0, event(A, STARTED), token=token))
    store.delete(P0)
    before = store.content()
    for one in (token, 0):
        [result] = store.results(part(P0, event(A, FINISHED), token=one))
        assert result.error_kind == pb.PARTITION_DELETED
    assert store.content() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (event(A[:15], STARTED), "segment_id has 15 bytes"),
        (event(A + b"x", FINISHED), "segment_id has 17 bytes"),
        (event(A, pb.REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED), "is 0: use 1 to 4"),
        (event(A, 9), "is 9: use 1 to 4"),  # type: ignore[arg-type]
        (event(A, -1), "is -1: use 1 to 4"),  # type: ignore[arg-type]
        (event(A, STARTED, start_offset=10), "are 10 to 9"),
        (event(A, STARTED, start_offset=-1), "are -1 to 9"),
        (event(A, STARTED, segment_size_bytes=-1), "is -1: use 0 to 2147483647"),
        (event(A, STARTED, segment_size_bytes=2**31), "is 2147483648: use 0 to 2147483647"),
        (event(A, STARTED, segment_leader_epochs={}), "segment_leader_epochs of segment"),
        (event(A, STARTED, custom_metadata=bytes(1 << 15)), "use at most 16384"),
        (event(A, FINISHED, custom_metadata=bytes(1 << 15)), "use at most 16384"),
    ],
)
def test_a_malformed_event_is_that_partitions_error(store: Store, wrong: pb.SegmentEvent, message: str) -> None:
    bad, good = store.results(part(P0, event(C, STARTED), wrong), part(P1, event(B, STARTED)))
    assert (bad.error_kind, bad.next_event_id, bad.partition) == (pb.APPEND_INVALID, 0, named(P0))
    assert message in bad.error
    assert (good.next_event_id, good.error, good.partition) == (1, "", named(P1))
    assert store.events(P0) == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff",
        b"\x0a\x05abc",  # a field that ends after the event
        b"\x0a\x10" + A + b"\x10\x01" + b"\x4a\x02\x08",  # an epoch that is cut off within the map's entry
        b"\x0a\x10" + A + b"\x10" + b"\xff" * 11,  # a number without end
    ],
)
def test_bytes_that_are_no_event_are_that_partitions_error(store: Store, garbage: bytes) -> None:
    def framed(field: int, content: bytes) -> bytes:
        return bytes((field << 3 | 2, len(content))) + content

    name = named(P0).SerializeToString()
    good = part(P1, event(B, STARTED)).SerializeToString()
    start = event(A, STARTED).SerializeToString()
    bad = framed(1, name) + framed(2, start) + framed(2, garbage)
    first, second = store.send(framed(1, bad) + framed(1, good))
    assert (first.error_kind, first.partition) == (pb.APPEND_INVALID, named(P0))
    assert "event 1 of the part is no serialised SegmentEvent" in first.error
    assert (second.next_event_id, second.error) == (1, "")
    assert store.events(P0) == []


@pytest.mark.parametrize(
    "partition", [PartitionId("", TOPIC, 0), PartitionId("c" * 201, TOPIC, 0), PartitionId("c", b"", 0)]
)
def test_a_malformed_partition_is_its_own_error(store: Store, partition: PartitionId) -> None:
    first, second = store.results(part(partition, event(A, STARTED)), part(P1, event(A, STARTED)))
    assert first.error_kind == pb.APPEND_INVALID
    assert ": use" in first.error
    assert (second.next_event_id, second.error) == (1, "")


@pytest.mark.parametrize("name", [b"\xff", b"\x0a\x01\xff\x12\x10" + TOPIC])
def test_bytes_that_name_no_partition_are_their_own_error_and_not_repeated(store: Store, name: bytes) -> None:
    bad = bytes((0x0A, len(name))) + name + b"\x12\x00"
    good = part(P1, event(A, STARTED)).SerializeToString()
    first, second = store.send(bytes((0x0A, len(bad))) + bad + bytes((0x0A, len(good))) + good)
    assert (first.error_kind, first.partition) == (pb.APPEND_INVALID, pb.TopicIdPartition())
    assert (second.next_event_id, second.error) == (1, "")


def test_a_part_without_events_is_refused(store: Store) -> None:
    [result] = store.results(part(P0))
    assert (result.error_kind, "events is empty" in result.error) == (pb.APPEND_INVALID, True)


def test_a_request_without_valid_parts_writes_nothing(store: Store) -> None:
    checked = appends.check(pb.AppendSegmentEventsRequest(partitions=[part(P0)]).SerializeToString())
    assert checked.command == b""
    assert pb.AppendSegmentEventsReply.FromString(checked.merged(b"")).results[0].error_kind == pb.APPEND_INVALID
    assert store.append(part(P0)) == [(0, "events is empty: leave the partition out")]
    assert store.content() == []


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"", "partitions is empty"),
        (b"\xff\xff", "is no serialised AppendSegmentEventsRequest"),
        (b"\x0a\x02\xff\xff", "is no serialised AppendSegmentEventsRequest"),
        (b"\x0a\x00" + b"\x12\x00" * (1 << 20), "send at most 2097152 at a time"),
        (pb.AppendSegmentEventsRequest(partitions=[part(P0, *[event(A, STARTED)] * 10_001)]), "10001 events"),
    ],
)
def test_a_request_that_is_malformed_as_a_whole_is_refused(
    request_: bytes | pb.AppendSegmentEventsRequest, message: str
) -> None:
    raw = request_ if isinstance(request_, bytes) else request_.SerializeToString()
    with pytest.raises(InvalidInput, match=message):
        appends.check(raw)


def checked_part(**changed: object) -> raw_pb2.CheckedPart:
    good = appends.check(pb.AppendSegmentEventsRequest(partitions=[part(P0, event(A, STARTED))]).SerializeToString())
    [known] = raw_pb2.CheckedAppend.FromString(good.command).parts
    for field, value in changed.items():
        setattr(known, field, value)
    return known


@pytest.mark.parametrize(
    "wrong",
    [
        {"partition": b""},
        {"partition": b"no end"},
        {"partition": sk.partition(P0) + b"x"},
        {"partition": b"\xff\x00\x01" + bytes(20)},
        {"segment_ids": A[:15]},
        {"segment_ids": A + B},
        {"states": b""},
        {"states": b"\x01\x01"},
        {"sizes": b""},
        {"events": b""},
        {"events": b"\xff"},
        {"events": b"\x12\x00\x12\x00"},
    ],
)
def test_a_command_that_no_member_would_propose_is_refused_whole(store: Store, wrong: dict[str, object]) -> None:
    """Bytes of the log never bring a member down, whoever wrote them."""
    command = raw_pb2.CheckedAppend(parts=[checked_part(), checked_part(**wrong)])
    with pytest.raises(InvalidInput):
        segments.append(command.SerializeToString(), store.store, PROPOSAL)
    with pytest.raises(InvalidInput):
        segments.append(b"\xff" + command.SerializeToString(), store.store, PROPOSAL)


def test_a_state_that_no_member_would_propose_is_refused(store: Store) -> None:
    command = raw_pb2.CheckedAppend(parts=[checked_part(states=b"\xc8")])
    written, reply = segments.append(command.SerializeToString(), store.store, PROPOSAL)
    [result] = records.CommandReply.FromString(reply).segment_events.results
    assert (written, result.error_kind) == ([], pb.INVALID_TRANSITION)


def test_heads_come_first_among_the_records_and_random_keys_last_in_order(store: Store) -> None:
    """Followers learn from the heads what changed; a write batch takes sorted keys in half the time."""
    ids = [bytes((n,)) * 16 for n in (9, 3, 7, 1)]
    checked = appends.check(
        pb.AppendSegmentEventsRequest(
            partitions=[
                part(P0, event(ids[0], STARTED), event(ids[1], STARTED)),
                part(P1, event(ids[2], STARTED), event(ids[3], STARTED)),
            ]
        ).SerializeToString()
    )
    written, _ = segments.append(checked.command, store.store, PROPOSAL)
    found = [key[:1] for key, _ in written]
    assert found[:2] == [sk.HEAD, sk.HEAD]
    assert [key for key, _ in written[-4:]] == [sk.SEGMENT + one for one in sorted(ids)]
