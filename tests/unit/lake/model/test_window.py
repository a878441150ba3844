from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.lake.model.window import Window, recent_window

H = 3_600_000


@pytest.mark.parametrize(("from_ms", "to_ms"), [(5, 5), (6, 5), (-1, 5)])
def test_a_window_ends_after_it_begins(from_ms: int, to_ms: int) -> None:
    with pytest.raises(InvalidInput, match=f"window is from {from_ms} to {to_ms} ms"):
        Window(from_ms, to_ms)


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "hours", "rolled_up"),
    [
        (H, 2 * H, [1], []),  # a whole hour of a short window is read from samples
        (H + 1, 2 * H + 1, [1, 2], []),
        (H, 4 * H, [1, 2, 3], [1, 2, 3]),
        (H, 4 * H - 1, [1, 2, 3], []),
        (H + 1, 4 * H + 1, [1, 2, 3, 4], [2, 3]),
        (H - 1, 4 * H + 1, [0, 1, 2, 3, 4], [1, 2, 3]),
    ],
)
def test_a_long_window_takes_whole_hours_from_their_roll_ups(
    from_ms: int, to_ms: int, hours: list[int], rolled_up: list[int]
) -> None:
    window = Window(from_ms, to_ms)
    assert [at_ms // H for at_ms in window.hours] == hours
    assert [at_ms // H for at_ms in window.rolled_up_hours] == rolled_up
    assert all(at_ms % H == 0 for at_ms in (*window.hours, *window.rolled_up_hours))


def test_the_newest_time_ends_with_now_and_begins_with_the_epoch_at_the_earliest() -> None:
    assert recent_window(9 * H) == Window(9 * H - 900_000, 9 * H + 1)
    assert recent_window(9 * H, 2 * H) == Window(7 * H, 9 * H + 1)
    assert recent_window(5) == Window(0, 6)
