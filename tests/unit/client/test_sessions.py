"""A session's numbers: each once, a window of them, and what need not be kept any longer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.client.sessions import SessionNumbers


def test_what_is_answered_in_another_order_is_kept_until_those_before_it_are() -> None:
    numbers = SessionNumbers(7, 3)
    assert [numbers.take() for _ in range(3)] == [1, 2, 3]
    assert not numbers.has_room
    numbers.release(2)
    assert not numbers.has_room, "the first one is still under way"
    assert numbers.ref(1).answered_below == 1
    numbers.release(1)
    assert (numbers.has_room, numbers.ref(3).id, numbers.ref(3).answered_below) == (True, 7, 3)


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 8))
def test_nothing_below_answered_below_is_under_way_and_the_window_holds(choices: list[int], window: int) -> None:
    numbers = SessionNumbers(1, window)
    under_way: set[int] = set()
    highest = 0
    for choice in choices:
        if choice < 5 and numbers.has_room:
            sequence = numbers.take()
            assert sequence == highest + 1
            highest = sequence
            under_way.add(sequence)
        elif under_way:
            sequence = sorted(under_way)[choice % len(under_way)]
            under_way.remove(sequence)
            numbers.release(sequence)
        below = numbers.ref(1).answered_below
        assert below == min(under_way, default=highest + 1)
        assert highest < below + window
