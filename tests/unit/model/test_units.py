from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.units import human_bytes, human_duration, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 500), ("90s", 90_000), ("5m", 300_000), ("1.5m", 90_000), ("24h", 86_400_000), ("2d", 172_800_000)],
)
def test_a_duration_is_milliseconds(text: str, expected: int) -> None:
    assert parse_duration_ms("window", text) == expected


@pytest.mark.parametrize("text", ["", "5", "soon", "0s", "-5m", "5 m", "5w", "9" * 400 + "h", "9999d"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"window is .*: use a number and ms, s, m, h or d, such as 5m"):
        parse_duration_ms("window", text)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1_234_567, "1.2 MB"), (999_999, "1.0 MB"), (-2e12, "-2.0 TB")]
)
def test_bytes_are_short(count: float, text: str) -> None:
    assert human_bytes(count) == text


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(0, "0 s"), (1499, "1 s"), (59_000, "59 s"), (60_000, "1 min"), (5_400_000, "1.5 h"), (3 * 86_400_000, "3 d")],
)
def test_a_duration_is_said_in_one_unit(duration_ms: float, text: str) -> None:
    assert human_duration(duration_ms) == text
