"""Keys sort as what they name, can be read back, and never reach into a neighbour's range."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from metastore import keys
from metastore.keys import PartitionId

# Near one another, with the bytes that the encoding uses: where a mistake would show.
TEXTS = st.text(alphabet=st.sampled_from("\x00\x01\x02a\x7f\x80\xff\u0100\U00010000\U0010ffff"), max_size=5) | st.text(
    alphabet=st.characters(codec="utf-8"), max_size=10
)
UUIDS = st.binary(min_size=16, max_size=16) | st.sampled_from([bytes(16), b"\xff" * 16, b"\x00\x01" * 8])
PARTITIONS = st.builds(PartitionId, TEXTS, UUIDS, st.integers(0, (1 << 32) - 1))
EVENT_IDS = st.integers(0, (1 << 64) - 1)
EVENTS = st.tuples(PARTITIONS, EVENT_IDS)


@given(EVENTS, EVENTS)
def test_events_sort_as_their_tuples(one: tuple[PartitionId, int], other: tuple[PartitionId, int]) -> None:
    assert (keys.segment_event(*one) < keys.segment_event(*other)) == (one < other)


@given(EVENTS)
def test_an_events_key_is_read_back(event: tuple[PartitionId, int]) -> None:
    assert keys.decode_segment_event(keys.segment_event(*event)) == event


@given(PARTITIONS, UUIDS)
def test_a_live_segments_key_is_read_back(partition: PartitionId, segment_id: bytes) -> None:
    assert keys.decode_live_segment(keys.live_segment(partition, segment_id)) == (partition, segment_id)


@given(PARTITIONS, EVENTS)
@example(PartitionId("a", b"\xff" * 16, 0), (PartitionId("a\x00", b"\xff" * 16, 0), 0))
def test_a_partitions_prefix_finds_its_events_and_no_others(
    partition: PartitionId, event: tuple[PartitionId, int]
) -> None:
    is_inside = keys.segment_event(*event).startswith(keys.segment_events(partition))
    assert is_inside == (event[0] == partition)


@given(PARTITIONS, PARTITIONS, UUIDS)
def test_a_partitions_prefix_finds_its_segments_and_no_others(
    one: PartitionId, other: PartitionId, segment_id: bytes
) -> None:
    assert keys.live_segment(other, segment_id).startswith(keys.live_segments(one)) == (one == other)


@given(TEXTS, TEXTS)
def test_names_sort_as_text(one: str, other: str) -> None:
    assert (keys.ticket(one) < keys.ticket(other)) == (one < other)
    assert keys.ticket(one).startswith(keys.ticket(other)) == (one == other)


@given(TEXTS, TEXTS, st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_chunks_of_a_plan_sort_by_number_and_stay_apart(one: str, other: str, first: int, second: int) -> None:
    assert (keys.plan_chunk(one, first) < keys.plan_chunk(other, second)) == ((one, first) < (other, second))
    assert keys.plan_chunk(one, first).startswith(keys.plan_chunks(other)) == (one == other)


@given(TEXTS, PARTITIONS, UUIDS, EVENT_IDS)
def test_no_two_tables_share_a_key(name: str, partition: PartitionId, segment_id: bytes, event_id: int) -> None:
    made = [
        keys.applied_index(),
        keys.cluster(name),
        keys.plan(name),
        keys.plan_chunk(name, 0),
        keys.ticket(name),
        keys.ticket_by_idempotency_key(name),
        keys.execution(name),
        keys.segment_event(partition, event_id),
        keys.partition_head(partition),
        keys.live_segment(partition, segment_id),
        keys.deleted_segment(partition, segment_id),
    ]
    assert [key[0] for key in made] == list(keys.Table)


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_the_end_of_a_prefix_is_after_all_that_begin_with_it(prefix: bytes, key: bytes) -> None:
    end = keys.end_of(prefix)
    assert (prefix <= key and (end is None or key < end)) == key.startswith(prefix)
