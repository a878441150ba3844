"""A trend is drawn within its frame, says in words what it shows, and leaves open what is not known."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from guardian.console.sparkline import HEIGHT, WIDTH, sparkline


def show(value: float) -> str:
    return f"{value:.0f} B/s"


def test_it_rises_with_the_values_and_says_the_least_the_most_and_the_last() -> None:
    drawn = sparkline([0.0, 5.0, 10.0], show, "3 min")
    assert drawn is not None
    assert drawn.lines == ("2,22 60,12 118,2",)
    assert drawn.words == "the last 3 min: 0 B/s to 10 B/s, lately 10 B/s"


def test_what_is_not_known_is_a_gap_and_is_told() -> None:
    drawn = sparkline([1.0, 1.0, None, None, 1.0, None, 1.0, 1.0], show, "8 min")
    assert drawn is not None
    assert [len(line.split()) for line in drawn.lines] == [2, 2]
    assert len(drawn.dots) == 1
    assert drawn.words.endswith("; 38% of the time is not known")
    assert sparkline([None, None], show, "2 min") is None
    assert sparkline([], show, "2 min") is None


@given(st.lists(st.none() | st.floats(0, 1e15), max_size=80))
def test_each_value_that_is_known_is_a_point_within_the_frame(values: list[float | None]) -> None:
    drawn = sparkline(values, show, "1 h")
    known = [value for value in values if value is not None]
    assert (drawn is None) == (not known)
    if drawn is not None:
        found = [tuple(map(float, point.split(","))) for line in drawn.lines for point in line.split()]
        found += list(drawn.dots)
        assert len(found) == len(known)
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in found)
        assert all(re.fullmatch(r"[-0-9.e,+ ]+", line) for line in drawn.lines)
