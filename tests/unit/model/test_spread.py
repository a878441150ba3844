"""The one unit of unevenness, held against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.model.units import beside_mean, spread


@given(st.lists(st.floats(0, 1e15), min_size=1, max_size=50))
def test_a_spread_is_what_the_highest_has_above_the_mean(loads: list[float]) -> None:
    values = np.array(loads)
    expected = values.max() / values.mean() - 1 if values.mean() > 1e-300 else spread(loads)
    assert spread(loads) == pytest.approx(expected, abs=1e-9)
    assert spread(values) == spread(loads)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=9), st.floats(0.1, 1e3))
def test_a_spread_knows_no_unit(loads: list[float], factor: float) -> None:
    assert spread([load * factor for load in loads]) == pytest.approx(spread(loads), abs=1e-9)


def test_what_is_even_or_nothing_has_no_spread() -> None:
    assert (spread([]), spread([0.0, 0.0]), spread([7.0, 7.0])) == (0.0, 0.0, 0.0)
    assert spread([1.0, 3.0]) == 0.5


@pytest.mark.parametrize(
    ("above", "words"), [(0.62, "62% above the mean"), (-0.9, "90% below the mean"), (0.0, "0% above the mean")]
)
def test_a_place_is_told_beside_the_mean(above: float, words: str) -> None:
    assert beside_mean(above) == words
