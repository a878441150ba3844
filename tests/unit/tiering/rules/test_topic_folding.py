"""What records add up to is what Kafka's cache makes of them, in whatever order they come."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from guardian.model.segment import RemoteLogSegmentState, is_valid_transition
from guardian.tiering.model import LiveSegment, SegmentChange, TopicIdPartition
from guardian.tiering.rules.topic_folding import MetadataFold, Place, TopicSegment
from tests.unit.tiering import metadata_topic as written
from tests.unit.tiering.metadata_topic import DELETING, FINISHED, GONE, STARTED, change, life, segment

P0 = TopicIdPartition("cluster-1", written.TOPIC_ID, 0)

# As RemoteLogMetadataCache.checkStateTransition has it: a state that is not there is none.
KAFKA_ALLOWS = {
    STARTED: {STARTED, FINISHED, DELETING},
    FINISHED: {FINISHED, DELETING},
    DELETING: {DELETING, GONE},
}


def folded(*records: bytes | None) -> MetadataFold:
    fold = MetadataFold("cluster-1")
    for offset, record in enumerate(records):
        fold.add(Place(0, offset), record)
    return fold


def newest(fold: MetadataFold) -> dict[tuple[int, bytes], LiveSegment]:
    return {
        (partition.partition, segment_id): one.newest
        for partition, found in fold.partitions.items()
        for segment_id, one in found.segments.items()
    }


def kafkas_cache(steps: list[tuple[int, int, SegmentChange]]) -> dict[tuple[int, bytes], LiveSegment]:
    """The naive twin: only the newest of each segment is kept, as brokers do."""
    cache: dict[tuple[int, bytes], LiveSegment] = {}
    for partition, number, step in steps:
        key = (partition, number.to_bytes(16, "big"))
        held = cache.get(key)
        if step.state is STARTED:
            if held is None or held.state is STARTED:
                cache[key] = begun_by(number, step)
        elif held is not None and step.state in KAFKA_ALLOWS[held.state]:
            cache[key] = replace(
                held,
                state=step.state,
                broker_id=step.broker_id,
                at_ms=step.at_ms,
                custom_metadata=step.custom_metadata or held.custom_metadata,
            )
            if step.state is GONE:
                del cache[key]
    return cache


def begun_by(number: int, step: SegmentChange) -> LiveSegment:
    begun = segment(number, custom=step.custom_metadata)
    return replace(begun, at_ms=step.at_ms, broker_id=step.broker_id)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 2),
        st.builds(
            SegmentChange,
            st.sampled_from(RemoteLogSegmentState),
            st.integers(0, 2),
            st.integers(0, 10_000),
            st.sampled_from([b"", b"one", b"two"]),
        ),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_end_is_that_of_kafkas_cache(steps: list[tuple[int, int, SegmentChange]]) -> None:
    records = [
        written.copy_started(begun_by(number, step), partition_number=partition)
        if step.state is STARTED
        else written.state_changed(number.to_bytes(16, "big"), step, partition_number=partition)
        for partition, number, step in steps
    ]
    fold = folded(*records)
    expected = kafkas_cache(steps)
    found = newest(fold)
    assert found == expected
    for found_in in fold.partitions.values():
        assert not found_in.segments.keys() & found_in.gone.keys()
        for one in found_in.segments.values():
            states = [one.first.state, *(each.state for each in one.changes)]
            assert states[0] is STARTED
            assert all(is_valid_transition(*pair) and pair[0] is not pair[1] for pair in pairwise(states))


def test_custom_metadata_of_the_copy_stays_when_a_later_state_names_none() -> None:
    begun = segment(1)
    records = (
        written.copy_started(begun),
        written.state_changed(begun.id, change(FINISHED, custom=b"where")),
        written.state_changed(begun.id, change(DELETING)),
    )
    [one] = newest(folded(*records)).values()
    assert (one.state, one.custom_metadata) == (DELETING, b"where")


def test_what_is_repeated_or_out_of_order_is_passed_over_and_counted() -> None:
    begun = segment(1)
    started, finished, deleting = life(begun, FINISHED, DELETING)
    fold = folded(started, started, finished, finished, started, deleting, finished)
    assert fold.partitions[P0].segments == {
        begun.id: TopicSegment(begun, (change(FINISHED, 9_000), change(DELETING, 9_001)))
    }
    assert (fold.records, fold.passed_over, fold.unreadable) == (7, 2, ())
    assert fold.topics == {written.TOPIC_ID: "orders"}


def test_what_is_deleted_is_remembered_as_such() -> None:
    begun = segment(1)
    fold = folded(*life(begun, FINISHED, DELETING, GONE), written.state_changed(begun.id, change(FINISHED)))
    assert fold.partitions[P0].segments == {}
    assert fold.partitions[P0].gone == {begun.id: change(GONE, 9_002)}
    assert fold.unreadable == ()


def test_a_finished_copy_without_its_first_record_is_told_unless_it_is_being_deleted() -> None:
    lost, deleted = segment(1), segment(2)
    fold = folded(*life(lost, FINISHED)[1:], *life(deleted, FINISHED, DELETING)[1:])
    [unreadable] = fold.unreadable
    assert unreadable.place == Place(0, 0)
    assert "AAAAAAAAAAAAAAAAAAAAAQ was copied, but its first record is not there" in unreadable.reason


def test_a_record_that_can_t_be_read_is_told_with_its_place_and_harms_no_other() -> None:
    begun = segment(1)
    started, finished = life(begun, FINISHED)
    fold = folded(started, b"\1\0\0noise", None, finished)
    assert [one.place.offset for one in fold.unreadable] == [1, 2]
    assert fold.partitions[P0].segments[begun.id].state is FINISHED


def test_a_deleted_partition_has_no_segments_and_others_keep_theirs() -> None:
    kept, dropped, lost = segment(1), segment(2), segment(3)
    fold = folded(
        *life(kept, FINISHED),
        *life(dropped, FINISHED, partition_number=1),
        *life(lost, FINISHED, partition_number=1)[1:],
        written.partition_deleted(1),
        written.partition_deleted(2, partition_number=1),
    )
    assert set(fold.partitions) == {P0}
    assert fold.unreadable == ()
