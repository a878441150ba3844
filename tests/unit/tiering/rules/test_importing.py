"""What an import appends is what the store lacks: applied, the store has what the topic has, and nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.model.segment import RemoteLogSegmentState, is_valid_transition
from guardian.tiering.model import LiveSegment, TopicIdPartition
from guardian.tiering.rules.importing import (
    Difference,
    PartitionComparison,
    SegmentAppend,
    absent,
    compare_partition,
)
from guardian.tiering.rules.topic_folding import MetadataFold, Place, TopicPartitionSegments
from tests.unit.tiering import metadata_topic as written
from tests.unit.tiering.metadata_topic import DELETING, FINISHED, GONE, STARTED, change, life, segment

P0 = TopicIdPartition("cluster-1", written.TOPIC_ID, 0)
LIVES: tuple[tuple[RemoteLogSegmentState, ...], ...] = (
    (),
    (FINISHED,),
    (FINISHED, DELETING),
    (FINISHED, DELETING, GONE),
    (DELETING,),
    (DELETING, GONE),
)


def found(*lives: tuple[LiveSegment, tuple[RemoteLogSegmentState, ...]]) -> TopicPartitionSegments:
    fold = MetadataFold(P0.cluster_id)
    records = [record for begun, states in lives for record in life(begun, *states)]
    for offset, record in enumerate(records):
        fold.add(Place(0, offset), record)
    assert not fold.unreadable
    return fold.partitions.get(P0, TopicPartitionSegments())


class Store:
    """A store in a few lines, which refuses what Guardian's refuses."""

    def __init__(self) -> None:
        self.live: dict[bytes, LiveSegment] = {}
        self.ended: set[bytes] = set()

    def apply(self, appends: Sequence[SegmentAppend]) -> None:
        for one in appends:
            if one.first is not None:
                assert one.segment_id not in self.live
                assert one.segment_id not in self.ended
                self.live[one.segment_id] = one.first
            for step in one.changes:
                held = self.live[one.segment_id]
                assert step.state is not held.state
                assert is_valid_transition(held.state, step.state)
                custom = step.custom_metadata or held.custom_metadata
                self.live[one.segment_id] = replace(
                    held, state=step.state, broker_id=step.broker_id, at_ms=step.at_ms, custom_metadata=custom
                )
                if step.state is GONE:
                    del self.live[one.segment_id]
                    self.ended.add(one.segment_id)

    def compared(self, topic: TopicPartitionSegments) -> PartitionComparison:
        return compare_partition(P0, topic, self.live, self.ended)


@given(st.lists(st.lists(st.sampled_from(LIVES), min_size=4, max_size=4), min_size=1, max_size=3))
def test_imports_while_the_topic_grows_end_with_what_it_says(
    rounds: list[list[tuple[RemoteLogSegmentState, ...]]],
) -> None:
    """Each round is the topic as it is by then: no segment goes back."""
    store = Store()
    begun = [segment(number, 100 * number, 100 * number + 99) for number in range(4)]
    reached: list[tuple[RemoteLogSegmentState, ...]] = [()] * 4
    for lives in rounds:
        reached = [
            later if later[: len(so_far)] == so_far else so_far for so_far, later in zip(reached, lives, strict=True)
        ]
        topic = found(*zip(begun, reached, strict=True))
        before = store.compared(topic)
        store.apply(before.appends)
        after = store.compared(topic)
        assert not after.appends
        assert not after.differing
        assert after.there + after.ended == before.in_topic
        expected = {
            one.id: topic.segments[one.id].newest
            for one, states in zip(begun, reached, strict=True)
            if states and states[-1] is not GONE
        }
        assert store.live == expected


def test_a_copy_under_way_is_left_and_one_that_is_being_deleted_taken() -> None:
    topic = found((segment(1), ()), (segment(2), (DELETING,)))
    compared = compare_partition(P0, topic, {})
    assert (compared.under_way, compared.in_topic) == (1, 1)
    assert [one.segment_id for one in compared.take] == [segment(2).id]
    assert absent(topic, {}) == {segment(2).id}


def test_what_the_store_has_seen_deleted_is_not_taken_again() -> None:
    topic = found((segment(1), (FINISHED,)), (segment(2), (FINISHED,)))
    compared = compare_partition(P0, topic, {}, {segment(1).id})
    assert (compared.ended, [one.segment_id for one in compared.take]) == (1, [segment(2).id])


def test_what_the_store_has_farther_is_there_and_what_only_it_has_is_its_own() -> None:
    stored = {one.id: replace(one, state=DELETING) for one in (segment(1), segment(2))}
    compared = compare_partition(P0, found((segment(1), (FINISHED,))), stored)
    assert (compared.there, compared.own, compared.appends) == (1, 1, ())


def test_a_deletion_that_only_the_topic_knows_is_appended_with_both_its_states() -> None:
    topic = found((segment(1), (FINISHED, DELETING, GONE)))
    [one] = compare_partition(P0, topic, {segment(1).id: replace(segment(1), state=FINISHED)}).advance
    assert one == SegmentAppend(segment(1).id, None, (change(DELETING, 9_002), change(GONE, 9_002)))
    [one] = compare_partition(P0, topic, {segment(1).id: replace(segment(1), state=DELETING)}).advance
    assert [each.state for each in one.changes] == [GONE]


@pytest.mark.parametrize(
    ("fact", "other"),
    [
        ("offsets", {"start_offset": 1}),
        ("offsets", {"end_offset": 98}),
        ("size", {"size_bytes": 999}),
        ("leader epochs", {"leader_epochs": {1: 0}}),
        ("greatest timestamp", {"max_timestamp_ms": 1}),
        ("transaction index", {"txn_index_empty": True}),
        ("custom metadata", {"custom_metadata": b"else"}),
    ],
)
def test_other_facts_of_a_segment_are_told_and_nothing_is_done(fact: str, other: dict[str, object]) -> None:
    held = replace(segment(1), state=FINISHED, **other)  # type: ignore[arg-type]
    compared = compare_partition(P0, found((segment(1), (FINISHED, DELETING))), {held.id: held})
    assert compared.differing == (Difference(held.id, (fact,)),)
    assert compared.appends == ()
    assert compared.in_topic == 1


def test_facts_of_a_copy_that_only_its_end_tells_are_not_missed_before() -> None:
    held = replace(segment(1), custom_metadata=b"where", state=FINISHED)
    compared = compare_partition(P0, found((segment(1), ())), {held.id: held})
    assert (compared.differing, compared.there) == ((), 1)
    assert compare_partition(P0, found((segment(1), ())), {held.id: replace(held, state=STARTED)}).there == 1
