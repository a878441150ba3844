from __future__ import annotations

import pytest

from guardian.tiering.rules.sweeping import CLOCK_MARGIN_MS, orphans
from tests.unit.tiering.tiered import DELETING, FINISHED, NOW, P0, STARTED, claimed, segment

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("begun_ms", "claimed_ms", "expected"),
    [
        (NOW - 60_000, NOW - 30_000, [True]),  # begun before the claim: nobody can finish it
        (NOW - 60_000, NOW - 90_000, []),  # the claimant's own, and young
        (NOW - 2 * HOUR, NOW - 3 * HOUR, [False]),  # the claimant's own, but it takes hours
        (NOW - 2 * HOUR, None, [False]),  # nobody ever claimed
        (NOW - 60_000, None, []),
        (NOW - 60_000, NOW - 60_000 + CLOCK_MARGIN_MS, []),  # two clocks: not certain
        (NOW - 60_001, NOW - 60_000 + CLOCK_MARGIN_MS, [True]),
    ],
)
def test_a_copy_is_an_orphan(begun_ms: int, claimed_ms: int | None, expected: list[bool]) -> None:
    copy = segment(1, state=STARTED, at_ms=begun_ms)
    claim = claimed(claimed_ms) if claimed_ms is not None else None
    assert [one.is_certain for one in orphans(P0, [copy], claim, NOW, HOUR)] == expected


def test_a_copy_of_the_claimants_own_is_never_certain() -> None:
    """A leader claims again when the in-sync replicas change, and finishes its copies under the new token."""
    copy = segment(1, state=STARTED, at_ms=NOW - 60_000)
    own = claimed(NOW - 30_000, broker_id=copy.broker_id)
    assert orphans(P0, [copy], own, NOW, HOUR) == ()
    [late] = orphans(P0, [copy], own, NOW + HOUR, HOUR)
    assert not late.is_certain


def test_what_is_finished_or_being_deleted_is_no_orphan_however_old() -> None:
    old = [segment(1, state=FINISHED, at_ms=0), segment(2, state=DELETING, at_ms=0)]
    assert orphans(P0, old, claimed(NOW), NOW, HOUR) == ()


def test_the_oldest_comes_first() -> None:
    copies = [segment(number, state=STARTED, at_ms=number) for number in (3, 1, 2)]
    assert [one.segment.at_ms for one in orphans(P0, copies, None, NOW, HOUR)] == [1, 2, 3]
