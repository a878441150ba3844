"""What the throttle's bench calls an answer, a fault, and known."""

from __future__ import annotations

import pytest

from tests.bench.execute.throttle import (
    FIXED,
    MB,
    NEVER,
    RISES_AT,
    Answer,
    answer_of,
    edge_fault,
    fault_of,
    known_room,
    quiet_second,
)

FLOOR = MB


def test_only_a_fall_of_a_fifth_answers_load_that_rises() -> None:
    rates = [{0: 100, 1: 100}, {0: 90, 1: 99}, {0: 81, 1: 99}, {0: 80, 1: 99}]
    assert answer_of(rates, {0}) == Answer(3, 0)
    assert answer_of(rates, {0, 1}).ticks == NEVER


def test_falls_of_brokers_whose_load_stayed_are_counted() -> None:
    rates = [{0: 100, 1: 100, 2: 100}, {0: 50, 1: 80, 2: 100}, {0: 50, 1: 80, 2: 100}, {0: 50, 1: 80, 2: 50}]
    assert answer_of(rates, {0}) == Answer(1, 1)


def test_load_rises_at_a_second_at_which_no_rate_would_have_fallen_and_each_may() -> None:
    steady = [{0: 5 * MB, 4: 5 * MB}] * RISES_AT
    at_floor, falling = [{0: 5 * MB, 4: FLOOR}] * 3, [{0: 4 * MB, 4: 5 * MB}]
    later = [{0: 4 * MB, 4: 5 * MB}] * 3
    assert quiet_second(steady + at_floor + later, {0, 4}, FLOOR) == RISES_AT + 3
    assert quiet_second([*steady, {0: 5 * MB, 4: 5 * MB}, *falling, *later], {0, 4}, FLOOR) == RISES_AT + 1
    assert quiet_second(steady + at_floor, {0, 4}, FLOOR) is None
    assert quiet_second(steady + at_floor, {0}, FLOOR) == RISES_AT


@pytest.mark.parametrize(
    ("ticks", "fault"),
    [(2, ""), (3, "load that rises is answered in 3 ticks only"), (NEVER, "load that rises is not answered")],
)
def test_the_slowest_answer_counts(ticks: int, fault: str) -> None:
    assert fault_of([Answer(1, 0), Answer(ticks, 0)]) == fault


def test_a_best_rate_at_the_edge_of_the_grid_is_a_fault() -> None:
    assert edge_fault(FIXED[1:-1]) == ""
    assert "8 MB/s, is at the edge" in edge_fault([FIXED[3], FIXED[0]])
    assert "40 MB/s, is at the edge" in edge_fault([FIXED[-1]])


def test_what_a_line_has_left_is_known_as_late_as_the_lake_tells_it() -> None:
    def left(second: int) -> float:
        return 120.0 if second < 80 else 60.0

    assert known_room(left, 0) == 120.0
    assert known_room(left, 239) == 120.0
    assert known_room(left, 240) == pytest.approx(80.0)  # the minute from second 60 on
    assert known_room(left, 300) == 60.0
