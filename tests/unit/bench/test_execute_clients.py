from __future__ import annotations

from collections import Counter

import pytest

from tests.bench.execute.clients import by_chance, figures, geometric_mean, orders


def test_every_order_of_windows_comes_as_often() -> None:
    assert set(Counter(orders(12)).values()) == {2}


def test_chance_is_the_share_of_signs_that_give_as_much() -> None:
    assert by_chance([1.0, 1.0, 1.0]) == 1 / 8
    assert by_chance([1.0, -1.0]) == 3 / 4
    assert by_chance([-1.0, -1.0, -1.0]) == 1.0


def test_harm_as_large_as_noise_has_to_be_ruled_out() -> None:
    quiet, unthrottled = [10.0] * 8, [20.0] * 8
    small = figures([11.0] * 8, quiet, unthrottled, "")
    assert small.fault == ""
    assert "chance alone gives such a difference in 0% of cases" in small.how
    assert figures([13.5] * 8, quiet, unthrottled, "").fault.startswith("harm beyond noise can't be ruled out: 1.35 x")
    may_be_more = figures([30.0, 4.0, 9.0, 11.0, 10.0, 8.0, 12.0, 9.0], quiet, unthrottled, "")
    assert may_be_more.fault.startswith("harm beyond noise can't be ruled out: 1.00 x")


def test_where_unthrottled_moves_do_no_harm_the_windows_can_t_tell() -> None:
    quiet = [10.0] * 8
    fault = figures(quiet, quiet, [9.0, 11.0] * 4, "").fault
    assert fault.startswith("harm can't be told from noise here: unthrottled 0.99 x, by chance in ")


def test_what_is_left_over_is_a_fault_beside_the_harm() -> None:
    quiet, unthrottled = [10.0] * 8, [20.0] * 8
    assert figures(quiet, quiet, unthrottled, "a throttle is left").fault == "a throttle is left"
    assert figures([14.0] * 8, quiet, unthrottled, "a throttle is left").fault.startswith("a throttle is left; harm")


def test_of_windows_the_geometric_mean_counts() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    found = figures([20.0], [10.0], [40.0], "")
    assert [found.ours, found.peer] == pytest.approx([20.0, 10.0])
    assert "unthrottled 4.00 x" in found.how
