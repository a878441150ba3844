"""Which offsets can be read from remote, over segments that fit together and segments that don't."""

from __future__ import annotations

import pytest

from guardian.tiering.model import LiveSegment
from guardian.tiering.rules.covering import OffsetRange, coverage
from tests.unit.tiering.tiered import DELETING, STARTED, segment


def ranges(*segments: LiveSegment) -> list[tuple[int, int]]:
    return [(one.first, one.last) for one in coverage(segments).covered]


def test_segments_that_follow_each_other_are_one_range() -> None:
    found = coverage([segment(2, 100, 199), segment(1, 0, 99), segment(3, 200, 299)])
    assert (found.whole, found.holes, found.aside) == (OffsetRange(0, 299), (), ())


def test_a_lost_segment_is_a_hole_with_its_offsets() -> None:
    found = coverage([segment(1, 0, 99), segment(3, 150, 299)])
    assert (found.holes, found.holes[0].offsets) == ((OffsetRange(100, 149),), 50)


def test_nothing_is_covered_without_finished_segments() -> None:
    assert coverage([]).whole is None
    assert coverage([segment(1, state=STARTED), segment(2, state=DELETING)]).whole is None


def test_the_picture_of_the_docstring() -> None:
    found = coverage([segment(1, 0, 99, {3: 0}), segment(2, 60, 89, {5: 60}), segment(3, 95, 120, {5: 95})])
    assert (found.covered, found.holes) == ((OffsetRange(0, 89), OffsetRange(95, 120)), (OffsetRange(90, 94),))


def test_what_a_replaced_leader_wrote_after_the_new_epoch_began_is_not_covered() -> None:
    """Its epoch ends where the newer one begins: nobody can look up its later offsets."""
    assert ranges(segment(1, 0, 500, {0: 0}), segment(2, 100, 199, {1: 100})) == [(0, 199)]


def test_an_epoch_that_the_newest_log_does_not_have_is_aside() -> None:
    """After an unclean election: epoch 4's leader died with records that epoch 5's leader never had."""
    lost = segment(9, 50, 80, {4: 50})
    found = coverage([segment(1, 0, 89, {3: 0}), lost, segment(2, 90, 120, {3: 90, 5: 100})])
    assert (found.covered, found.aside) == ((OffsetRange(0, 120),), (lost,))


def test_a_copy_that_another_one_covers_whole_is_aside() -> None:
    old, new = segment(1, 0, 50, {0: 0}), segment(2, 0, 99, {0: 0})
    assert coverage([old, new]).aside == (old,)


@pytest.mark.parametrize("epochs", [{0: 0, 2: 40, 5: 70}, {0: -5, 2: 40, 5: 70}])
def test_a_segment_of_several_epochs_is_covered_whole(epochs: dict[int, int]) -> None:
    assert ranges(segment(1, 0, 99, epochs)) == [(0, 99)]


def test_a_segment_without_epochs_is_never_looked_up() -> None:
    assert ranges(segment(1, 0, 99, {})) == []
