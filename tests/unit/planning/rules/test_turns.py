"""Whose plan is made next, and whose is refused."""

from __future__ import annotations

import pytest

from guardian.errors import Overloaded
from guardian.planning.model import LaneLimits
from guardian.planning.rules.turns import Line, Turn, before, joined, left

LIMITS = LaneLimits(at_once=2, at_once_each=1, waiting_each=2, waiting=3)


def turn(person: str, number: int = 0) -> Turn:
    return Turn(f"{person}{number}", person, f"rebalance {number}")


def lined(*turns: Turn, limits: LaneLimits = LIMITS) -> Line:
    line = Line()
    for each in turns:
        line, _ = joined(line, each, limits)
    return line


def ids(turns: tuple[Turn, ...]) -> list[str]:
    return [each.id for each in turns]


def test_one_of_each_person_is_under_way_and_free_slots_stay_free_for_others() -> None:
    line = lined(turn("ann", 1), turn("ann", 2))
    assert (ids(line.running), ids(line.waiting)) == (["ann1"], ["ann2"])
    line, begun = joined(line, turn("ben"), LIMITS)
    assert ids(begun) == ["ben0"]


def test_the_next_one_is_another_person_whatever_came_first() -> None:
    line = lined(turn("ann", 1), turn("ben", 1), turn("ann", 2), turn("ann", 3), turn("cat", 1))
    line, begun = left(line, "ann1", LIMITS)
    assert ids(begun) == ["ann2"], "ann was there before cat"
    line, begun = left(line, "ann2", LIMITS)
    assert ids(begun) == ["cat1"], "ann had her turn"
    line, begun = left(line, "cat1", LIMITS)
    assert ids(begun) == ["ann3"]


def test_who_asks_too_much_is_told_what_of_his_is_under_way_and_waits() -> None:
    line = lined(turn("ann", 1), turn("ann", 2), turn("ann", 3))
    with pytest.raises(Overloaded) as refused:
        joined(line, turn("ann", 4), LIMITS)
    assert str(refused.value) == (
        "requests of ann: rebalance 1 under way, 2 wait (got one more, at most 2 may wait); ask again when one is done"
    )
    assert refused.value.retry_after_ms == 30_000


def test_all_together_have_a_bound_and_others_requests_are_not_named() -> None:
    line = lined(turn("ann", 1), turn("ben", 1), turn("ann", 2), turn("ann", 3), turn("ben", 2))
    with pytest.raises(Overloaded) as refused:
        joined(line, turn("cat", 1), LIMITS)
    assert str(refused.value) == (
        "requests of all: 2 under way, 3 wait (got one more, at most 3 may wait); ask again when some are done"
    )


def test_nothing_may_wait_and_yet_what_can_begin_does() -> None:
    none = LaneLimits(1, 1, 0, 0)
    line, begun = joined(Line(), turn("ann"), none)
    assert ids(begun) == ["ann0"]
    with pytest.raises(Overloaded):
        joined(line, turn("ben"), none)


def test_what_is_given_up_leaves_its_place() -> None:
    line = lined(turn("ann", 1), turn("ann", 2), turn("ann", 3))
    assert before(line, "ann3") == (1, 0)
    line, begun = left(line, "ann2", LIMITS)
    assert (ids(begun), ids(line.waiting), before(line, "ann3")) == ([], ["ann3"], (0, 0))
    line, begun = left(line, "ann1", LIMITS)
    assert (ids(begun), line.ring) == (["ann3"], ())
    assert before(line, "ann3") == (0, 0)
