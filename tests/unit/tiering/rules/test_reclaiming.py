"""What of a store and its metadata may be swept: never what lives, is young, or might be somebody else's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import ClusterUnavailable
from guardian.model.cluster_state import BrokerView, Leadership
from guardian.tiering.model import (
    FileKind,
    LiveSegment,
    PartitionClaim,
    PartitionSummary,
    SegmentName,
    StoredFile,
    TopicIdPartition,
)
from guardian.tiering.rules.comparing import Metadata, Scope, StrayReason
from guardian.tiering.rules.reclaiming import Leftovers, gone_topics, leftovers
from tests.unit.tiering.tiered import DELETING, FINISHED, NOW, P0, STARTED, TOPIC, claimed, segment, stored

HOUR = 3_600_000
LONG_AGO = NOW - 2 * HOUR
LIVING = b"L" * 16
P1 = TopicIdPartition("cluster-1", TOPIC, 1)
ALIVE = TopicIdPartition("cluster-1", LIVING, 0)
BROKERS = (1, 2, 3)


def says(*topics: bytes, alive: Collection[int] = BROKERS) -> BrokerView:
    return BrokerView(frozenset(alive), {(topic, 0): Leadership(1, 0) for topic in topics})


# Which topics are gone


def test_a_topic_is_gone_when_no_broker_knows_it() -> None:
    seen = {1: says(LIVING), 2: says(LIVING), 3: says(LIVING)}
    assert gone_topics([TOPIC, LIVING], seen, BROKERS, "live") == {TOPIC}


@pytest.mark.parametrize("one", BROKERS)
def test_a_single_broker_that_knows_the_topic_keeps_it(one: int) -> None:
    """It may be behind the deletion; the others may be behind the creation. Waiting costs nothing."""
    seen = {broker: says(TOPIC) if broker == one else says() for broker in BROKERS}
    assert gone_topics([TOPIC], seen, BROKERS, "live") == frozenset()


def test_a_topic_without_a_leader_exists() -> None:
    seen = {broker: BrokerView(frozenset(BROKERS), {(TOPIC, 3): Leadership(-1, 7)}) for broker in BROKERS}
    assert gone_topics([TOPIC], seen, BROKERS, "live") == frozenset()


@pytest.mark.parametrize(
    ("seen", "known", "sentence"),
    [
        ({}, BROKERS, "0 of 3 brokers of cluster live said which topics exist, and brokers 1, 2, 3 did not: ask again"),
        ({1: says()}, BROKERS, "1 of 3 .* brokers 2, 3 did not"),
        ({1: says(), 2: says()}, BROKERS, "brokers 3 did not"),  # 3 lives, and might know better
        ({1: says(alive=(1, 2)), 2: says(alive=(1, 2, 3))}, BROKERS, "brokers 3 did not"),
        ({1: says(alive=(1,))}, (1, 2), "brokers 2 did not"),  # half is not more than half
        ({1: says(alive=(1,)), 2: says(alive=(2,))}, range(1, 6), "brokers 3, 4, 5 did not"),
        ({1: says(alive=(1, 9))}, (1,), "brokers 9 did not"),  # one that was never registered
    ],
)
def test_too_few_answers_say_nothing(seen: dict[int, BrokerView], known: Sequence[int], sentence: str) -> None:
    with pytest.raises(ClusterUnavailable, match=sentence):
        gone_topics([TOPIC], seen, known, "live")


def test_a_broker_that_all_others_know_to_be_dead_need_not_answer() -> None:
    seen = {1: says(alive=(1, 2)), 2: says(alive=(1, 2))}
    assert gone_topics([TOPIC], seen, BROKERS, "live") == {TOPIC}


# What is left over


def summary(
    partition: TopicIdPartition, claim: PartitionClaim | None = None, is_deleted: bool = False
) -> PartitionSummary:
    return PartitionSummary(partition, 0, 10, 0, 0, is_deleted=is_deleted, claim=claim)


SUMMARIES = (summary(P0, claimed(LONG_AGO)), summary(P1), summary(ALIVE, claimed(LONG_AGO)))


def file(number: int, topic: bytes = TOPIC, at_ms: int = LONG_AGO, kind: FileKind = FileKind.LOG) -> StoredFile:
    made = stored(number, kind, topic_id=topic)
    return StoredFile(made.path, made.size_bytes, at_ms, made.segment, made.kind)


def old(number: int, state: object = FINISHED, at_ms: int = LONG_AGO) -> LiveSegment:
    return segment(number, state=state, at_ms=at_ms)  # type: ignore[arg-type]


def found(
    files: Sequence[StoredFile],
    metadata: Metadata | None = None,
    *,
    before: Metadata | None = None,
    gone: Collection[bytes] = (TOPIC,),
    summaries: Sequence[PartitionSummary] = SUMMARIES,
    elsewhere: Collection[bytes] = (),
) -> Leftovers:
    after = metadata or {}
    scope = Scope(
        "cluster-1",
        frozenset({FileKind.LOG}),
        partitions=frozenset(one.partition for one in summaries if not one.is_deleted),
        deleted=frozenset(one.partition for one in summaries if one.is_deleted),
        elsewhere=frozenset(elsewhere),
        young_since_ms=NOW,
    )
    return leftovers((after if before is None else before, after), files, scope, summaries, gone, NOW, HOUR)


def test_all_of_a_gone_topic_is_left_over_whatever_state_it_was_left_in() -> None:
    segments = [old(1), old(2, STARTED), old(3, DELETING)]
    left = found([file(1), file(2), file(9)], {P0: segments})
    [first, second] = left.partitions
    assert (first.partition, [one.id for one in first.segments]) == (P0, [one.id for one in segments])
    assert (first.fencing_token, first.has_head, len(first.files), first.file_bytes) == (8, True, 3, 3000)
    assert (second.partition, second.segments, second.fencing_token, second.has_head) == (P1, (), 0, True)
    assert (left.segments, len(left.files), left.strays, left.young) == (3, 3, (), ())


def test_a_topic_that_exists_keeps_its_segments_and_heads_however_old() -> None:
    left = found([file(1, LIVING), file(2)], {ALIVE: [old(1)], P0: [old(2)]}, gone=())
    assert left.is_empty


@pytest.mark.parametrize(
    ("files", "segments", "claim_ms"),
    [
        ([file(1)], [old(1)], NOW - HOUR),  # claimed lately: it was made lately
        ([file(1)], [old(1, at_ms=NOW - HOUR), old(2)], LONG_AGO),  # something happened lately
        ([file(1), file(2, at_ms=NOW - HOUR)], [old(1)], LONG_AGO),  # somebody wrote lately
    ],
)
def test_one_young_sign_of_life_keeps_the_whole_partition(
    files: list[StoredFile], segments: list[LiveSegment], claim_ms: int
) -> None:
    left = found(files, {P0: segments}, summaries=[summary(P0, claimed(claim_ms))])
    assert left.is_empty
    assert [one.partition for one in left.young] == [P0]


def test_files_of_a_gone_topic_whose_metadata_is_deleted_are_left_over_without_a_head() -> None:
    left = found([file(1)], summaries=[summary(P0, is_deleted=True), summary(P1, is_deleted=True)])
    [one] = left.partitions
    assert (one.partition, one.has_head, len(one.files)) == (P0, False, 1)


def test_a_file_that_no_live_segment_knows_is_a_stray_once_it_is_old() -> None:
    files = [file(1, LIVING), file(2, LIVING), file(3, LIVING, at_ms=NOW - HOUR)]
    left = found(files, {ALIVE: [old(1)]}, gone=())
    [strays] = left.strays
    assert (strays.reason, [one.segment for one in strays.files]) == (
        StrayReason.UNKNOWN_SEGMENT,
        [SegmentName(LIVING, 0, old(2).id)],
    )
    assert (left.young_files, left.young_bytes) == (1, 1000)


def test_a_copy_under_way_is_no_stray_however_old_its_files_are() -> None:
    """What the metadata knew before or after the listing is known: a copy is stored before its first file."""
    copying = {ALIVE: [old(2, STARTED, at_ms=NOW)]}
    assert found([file(2, LIVING)], copying, before={}, gone=()).is_empty
    assert found([file(2, LIVING)], {}, before=copying, gone=()).is_empty


def test_a_passing_file_beside_a_finished_copy_is_swept_and_one_of_a_copy_under_way_is_not() -> None:
    files = [file(1, LIVING, kind=FileKind.PARTIAL), file(2, LIVING, kind=FileKind.PARTIAL)]
    left = found(files, {ALIVE: [old(1), old(2, STARTED)]}, gone=())
    assert [(one.reason, one.files) for one in left.strays] == [(StrayReason.LEFT_BEHIND, (files[0],))]


def test_what_might_be_somebody_elses_is_kept() -> None:
    foreign = StoredFile("/store/readme.txt", 5, LONG_AGO)
    never_heard_of, theirs = file(5, b"U" * 16), file(6, b"E" * 16)
    deleted = file(7, LIVING)
    summaries = [summary(ALIVE, is_deleted=True)]  # the metadata is deleted, but the cluster has the topic
    left = found([foreign, never_heard_of, theirs, deleted], gone=(), summaries=summaries, elsewhere=[b"E" * 16])
    assert left.is_empty
    assert {one.reason: one.files for one in left.kept} == {
        StrayReason.NOT_OURS: (foreign,),
        StrayReason.UNKNOWN_TOPIC: (never_heard_of,),
        StrayReason.DELETED_PARTITION: (deleted,),
    }


@pytest.mark.parametrize(
    ("strays", "known", "many"), [(10, 0, False), (11, 0, True), (11, 119, False), (20, 200, False), (21, 200, True)]
)
def test_more_strays_than_broken_copies_leave_are_many(strays: int, known: int, many: bool) -> None:
    files = [file(number, LIVING, kind=kind) for number in range(strays) for kind in (FileKind.LOG, FileKind.INDEXES)]
    left = found(files, {ALIVE: [old(1000 + number) for number in range(known)]}, gone=())
    assert (left.stray_segments, left.finished, left.has_many_strays) == (strays, known, many)


def test_what_a_deleted_topic_left_is_never_too_many() -> None:
    left = found([file(number) for number in range(50)], {P0: [old(1)]})
    assert (len(left.files), left.has_many_strays) == (50, False)


@given(
    numbers=st.lists(st.integers(1, 6), max_size=6, unique=True),
    known_before=st.sets(st.integers(1, 6)),
    known_after=st.sets(st.integers(1, 6)),
    ages=st.lists(st.integers(0, 2 * HOUR), min_size=6, max_size=6),
    is_gone=st.booleans(),
)
def test_nothing_that_lives_or_is_young_is_ever_deleted(
    numbers: list[int], known_before: set[int], known_after: set[int], ages: list[int], is_gone: bool
) -> None:
    files = [file(number, LIVING, at_ms=NOW - ages[number - 1]) for number in numbers]
    before, after = ({ALIVE: [old(number) for number in known]} for known in (known_before, known_after))
    gone = (LIVING,) if is_gone else ()
    left = found(files, after, before=before, gone=gone, summaries=[summary(ALIVE, claimed(LONG_AGO))])
    for one in left.files:
        assert one.segment is not None
        assert one.modified_ms < NOW - HOUR
        assert is_gone or int.from_bytes(one.segment.segment_id, "big") not in known_before | known_after
    assert is_gone or not left.partitions
