from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.units import bytes_text, human_bytes, human_duration, parse_bytes, parse_duration_ms, parse_rate


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


@pytest.mark.parametrize(
    ("text", "size"),
    [("500GB", 5 * 10**11), ("1.5T", 15 * 10**11), ("7", 7), ("3 kB", 3000), (" 2MB ", 2_000_000), ("0", 0)],
)
def test_sizes_are_powers_of_ten(text: str, size: int) -> None:
    assert parse_bytes("max-bytes", text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1GiB", "1e9", "nan", "1,5GB", "\uff11GB", "9" * 400, "20000PB"])
def test_what_is_no_size_is_named_with_the_fix(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"max-bytes is .*: use bytes, such as 500GB or 1\.5TB"):
        parse_bytes("max-bytes", text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("50MB", 50_000_000), ("800k", 800_000), ("1.5G", 1_500_000_000), ("12345", 12345), ("10 MB/s", 10_000_000)],
)
def test_a_rate_is_bytes_per_second(text: str, rate: int) -> None:
    assert parse_rate("throttle", text) == rate


@pytest.mark.parametrize("text", ["", "fast", "-5MB", "5MiB", "5 MB per second", "0", "0.5", "9" * 30 + "G"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"throttle is .*: use bytes per second, such as 50MB"):
        parse_rate("throttle", text)


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 50_000_000, 1_500_000, 48 * 10**12, (1 << 63) - 1])
def test_a_number_of_bytes_is_read_back_from_its_text(count: int) -> None:
    assert parse_bytes("size", bytes_text(count)) == count
    assert bytes_text(50_000_000) == "50MB"
