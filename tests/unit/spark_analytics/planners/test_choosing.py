"""Some of many at the least cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spark_analytics.planners.choosing import cheapest, least_sum


def _any(_: Sequence[int]) -> bool:
    return True


def test_the_cheapest_that_fit_are_chosen() -> None:
    costs = [(5.0,), (1.0,), (3.0,), (2.0,)]

    assert cheapest(costs, 2, _any, range(4)) == (1, 3)
    assert cheapest(costs, 2, lambda chosen: 0 in chosen, range(4)) == (0, 1)
    assert cheapest(costs, 0, _any, range(4)) == ()


def test_nothing_is_chosen_where_nothing_fits_or_there_are_too_few() -> None:
    assert cheapest([(1.0,), (2.0,)], 1, lambda _: False, (0, 1)) is None
    assert cheapest([(1.0,)], 2, _any, (0,)) is None


def test_among_many_one_that_fits_is_found_and_made_cheaper() -> None:
    costs = [(float(item),) for item in range(60)]
    size = [item % 7 + 1 for item in range(60)]

    largest = sorted(range(60), key=lambda item: -size[item])

    chosen = cheapest(costs, 10, lambda items: sum(size[item] for item in items) >= 60, largest)

    assert chosen is not None
    assert sum(size[item] for item in chosen) >= 60
    assert sum(chosen) < sum(largest[:10])


def test_one_item_alone_is_taken_when_it_is_the_least() -> None:
    assert least_sum(np.array([9.0, 4.0, 6.0, 3.0]), 5.5).tolist() == [2]


def test_several_are_taken_when_they_come_closer() -> None:
    assert least_sum(np.array([9.0, 4.0, 7.5, 3.0]), 6.9).tolist() == [1, 3]


def test_what_is_needed_may_take_all_or_nothing() -> None:
    assert least_sum(np.array([1.0, 0.0, 2.0]), 10.0).tolist() == [0, 2]
    assert least_sum(np.array([1.0, 2.0]), 0.0).tolist() == []
    assert least_sum(np.array([]), 1.0).tolist() == []
