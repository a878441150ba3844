"""Metadata against files: what is a difference, and what is only under way."""

from __future__ import annotations

import pytest

from guardian.tiering.model import FileKind, LiveSegment, StoredFile, TopicIdPartition
from guardian.tiering.rules.comparing import Comparison, Metadata, Scope, StrayReason, compare
from tests.unit.tiering.tiered import DELETING, FINISHED, NOW, P0, STARTED, TOPIC, segment, stored

HOUR = 3_600_000
PARTS = frozenset({FileKind.LOG, FileKind.INDEXES})
P1 = TopicIdPartition("cluster-1", TOPIC, 1)
SCOPE = Scope("cluster-1", PARTS, partitions=frozenset({P0, P1}))


def whole(number: int, size: int = 1000) -> list[StoredFile]:
    return [stored(number, FileKind.LOG, size), stored(number, FileKind.INDEXES, 10)]


def compared(
    segments: list[LiveSegment],
    files: list[StoredFile],
    after: Metadata | None = None,
    scope: Scope = SCOPE,
) -> Comparison:
    before = {P0: segments}
    return compare(before, files, before if after is None else after, scope, NOW, HOUR)


def reasons(found: Comparison) -> list[tuple[StrayReason, int]]:
    return [(one.reason, len(one.files)) for one in found.strays]


def test_nothing_differs_when_every_finished_segment_is_there_in_its_size() -> None:
    found = compared([segment(1), segment(2)], [*whole(1), *whole(2)])
    assert not found.differs
    assert (found.finished, found.finished_bytes, found.files, found.file_bytes) == (2, 2000, 4, 2020)


@pytest.mark.parametrize(
    ("files", "missing", "found_bytes"),
    [
        ([], (FileKind.INDEXES, FileKind.LOG), None),
        ([stored(1)], (FileKind.INDEXES,), None),
        ([stored(1, FileKind.INDEXES)], (FileKind.LOG,), None),
        (whole(1, size=999), (), 999),
        ([stored(1, FileKind.PARTIAL), stored(1, FileKind.INDEXES)], (FileKind.LOG,), None),
    ],
)
def test_a_finished_segment_that_can_not_be_read_is_a_fault(
    files: list[StoredFile], missing: tuple[FileKind, ...], found_bytes: int | None
) -> None:
    [fault] = compared([segment(1)], files).faults
    assert (fault.partition, fault.segment.id, fault.missing) == (P0, segment(1).id, missing)
    assert fault.found_bytes == found_bytes


@pytest.mark.parametrize("state", [STARTED, DELETING])
@pytest.mark.parametrize("files", [[], [stored(1)], whole(1), [stored(1, FileKind.PARTIAL)]])
def test_what_is_under_way_may_have_any_files_until_it_is_old(state: object, files: list[StoredFile]) -> None:
    young = compared([segment(1, state=state, at_ms=NOW - HOUR)], files)  # type: ignore[arg-type]
    assert not young.differs
    assert len(young.copies) + len(young.deletions) == 1
    assert compared([segment(1, state=state, at_ms=NOW - HOUR - 1)], files).differs  # type: ignore[arg-type]


def test_strays_are_grouped_by_place_with_what_makes_them_strays() -> None:
    foreign = StoredFile("/store/readme.txt", 5, NOW)
    scope = Scope("cluster-1", PARTS, partitions=frozenset({P0}), deleted=frozenset({P1}))
    found = compared(
        [segment(1)],
        [
            *whole(1),
            *whole(2),
            stored(3),
            stored(4, partition=1),
            stored(5, topic_id=b"U" * 16),
            stored(1, FileKind.PARTIAL, 7),
            foreign,
        ],
        scope=scope,
    )
    assert sorted(reasons(found), key=lambda item: item[0].name) == [
        (StrayReason.DELETED_PARTITION, 1),
        (StrayReason.LEFT_BEHIND, 1),
        (StrayReason.NOT_OURS, 1),
        (StrayReason.UNKNOWN_SEGMENT, 3),
        (StrayReason.UNKNOWN_TOPIC, 1),
    ]
    assert sum(one.size_bytes for one in found.strays) == 1010 + 1000 + 1000 + 1000 + 7 + 5
    assert found.differs


def test_an_empty_partition_is_known_all_the_same() -> None:
    assert reasons(compared([], [stored(9, partition=1)])) == [(StrayReason.UNKNOWN_SEGMENT, 1)]


def test_files_of_other_clusters_in_the_same_store_are_left_out() -> None:
    scope = Scope("cluster-1", PARTS, elsewhere=frozenset({b"U" * 16}))
    found = compared([segment(1)], [*whole(1), stored(5, size=50, topic_id=b"U" * 16)], scope=scope)
    assert (found.differs, found.files, found.elsewhere_files, found.elsewhere_bytes) == (False, 2, 1, 50)


@pytest.mark.parametrize(
    ("before", "files", "after"),
    [
        ([segment(1)], [], []),  # deleted meanwhile, before it was listed
        ([segment(1)], whole(1), []),  # and after
        ([segment(1)], [], [segment(1, state=DELETING)]),
        ([], whole(1), [segment(1)]),  # copied meanwhile
        ([], [stored(1, FileKind.PARTIAL)], [segment(1, state=STARTED)]),
        ([segment(1, state=STARTED)], [], [segment(1)]),
    ],
)
def test_what_brokers_do_while_the_store_is_listed_is_no_difference(
    before: list[LiveSegment], files: list[StoredFile], after: list[LiveSegment]
) -> None:
    assert not compared(before, files, {P0: after}).differs
    assert not compared(before, files, {P0: after, P1: []}).differs


def test_a_partition_that_vanishes_meanwhile_is_no_difference() -> None:
    assert not compared([segment(1)], [], {}).differs


def test_files_that_are_too_young_may_be_of_a_segment_that_came_and_went_meanwhile() -> None:
    young = Scope("cluster-1", PARTS, young_since_ms=NOW)
    found = compared([segment(1)], [*whole(1), *whole(2), StoredFile("/store/x", 5, NOW)], scope=young)
    assert (found.differs, found.young_files, found.young_bytes) == (False, 3, 1015)
    old = Scope("cluster-1", PARTS, young_since_ms=NOW + 1)
    assert compared([segment(1)], [*whole(1), *whole(2)], scope=old).differs
    assert compared([segment(1)], [stored(1)], scope=young).faults, (
        "what is missing is missing however young the rest is"
    )


def test_faults_are_in_the_order_of_offsets() -> None:
    segments = [segment(2, 100, 199, state=FINISHED), segment(3, 0, 99), segment(1, 200, 299)]
    assert [fault.segment.start_offset for fault in compared(segments, []).faults] == [0, 100, 200]
