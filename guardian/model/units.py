"""Quantities as people type and read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from guardian.errors import InvalidInput

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_MAX_MS = 3650 * _UNIT_MS["d"]
_SIZE = re.compile(r"(\d{1,20}(?:\.\d{1,6})?)\s*([kMGTP]?)B?(?:/s)?", re.ASCII)
_SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
MAX_BYTES = (1 << 63) - 1  # Kafka's numbers are int64


def parse_duration_ms(name: str, text: str) -> int:
    """ms of "90s", "5m", "1.5h" and the like; `name` is what the error calls it. Raises InvalidInput."""
    match = _DURATION.fullmatch(text.strip())
    duration_ms = round(float(match[1]) * _UNIT_MS[match[2]]) if match else 0
    if not 0 < duration_ms <= _MAX_MS:
        raise InvalidInput(f"{name} is {text!r}: use a number and ms, s, m, h or d, such as 5m, up to ten years")
    return duration_ms


def human_duration(duration_ms: float) -> str:
    """45_000 -> 45 s, 5_400_000 -> 1.5 h; one unit, since nobody needs the seconds of a day."""
    seconds = abs(duration_ms) / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size * 0.995:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"


def range_text(least_ms: float | None, most_ms: float | None) -> str:
    """(240_000, 540_000) -> 4 to 9 min; units are told twice where they differ, None is no bound, both: not known."""
    if least_ms is None and most_ms is None:
        return "not known"
    if most_ms is None:
        return f"at least {human_duration(least_ms or 0)}"
    if least_ms is None:
        return f"at most {human_duration(most_ms)}"
    least, most = human_duration(least_ms), human_duration(most_ms)
    if least == most:
        return most
    (number, unit), (_, last_unit) = least.split(" "), most.split(" ")
    return f"{number if unit == last_unit else least} to {most}"


def human_bytes(count: float) -> str:
    """1234567 -> 1.2 MB; powers of ten."""
    for unit in _BYTES:
        if abs(count) < 999.5 or unit == _BYTES[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def rate_text(bytes_per_s: float) -> str:
    """Return a rate for people: 20_000_000 is 20.0 MB/s."""
    return f"{human_bytes(bytes_per_s)}/s"


def rates_text(before: int, after: int) -> tuple[str, str]:
    """Return two bytes/s that are told beside each other, such as 50.0 MB/s; in full where they would look the same."""
    texts = rate_text(before), rate_text(after)
    return texts if before == after or texts[0] != texts[1] else (f"{before:,} B/s", f"{after:,} B/s")


def read_bytes(text: str) -> int | None:
    """Return the bytes, or bytes/s, of "500GB", "1.5 T" or "80MB/s" in powers of ten; None where it is none."""
    match = _SIZE.fullmatch(text.strip())
    found = int(Decimal(match[1]) * _SIZES[match[2]]) if match else None
    return found if found is not None and found <= MAX_BYTES else None


def parse_bytes(name: str, text: str) -> int:
    """Return the bytes of a text such as 500GB; the error calls it `name`. Raises InvalidInput."""
    found = read_bytes(text)
    if found is None:
        raise InvalidInput(f"{name} is {text!r}: use bytes, such as 500GB or 1.5TB")
    return found


def parse_rate(name: str, text: str) -> int:
    """Return the bytes/s, at least 1, of a text such as 50MB; the error calls it `name`. Raises InvalidInput."""
    found = read_bytes(text)
    if not found:
        raise InvalidInput(f"{name} is {text!r}: use bytes per second, such as 50MB or 800k")
    return found


def bytes_text(count: int) -> str:
    """Return the shortest text that is read as the same number."""
    unit = next((unit for unit, size in reversed(_SIZES.items()) if unit and count and count % size == 0), "")
    return f"{count // _SIZES[unit]}{unit}B" if unit else str(count)


def figure_text(value: float) -> str:
    """Return a count as it is, a spread to three places."""
    return f"{value:.0f}" if value == round(value) else f"{value:.3f}"


def spread(uses: Iterable[float]) -> float:
    """Return max/mean - 1: 0 when even, 1 when the busiest has twice its share; 0 when there is no load at all.

    It is the one unit in which people see how uneven something is: docs/concepts.md.
    """
    known = [float(use) for use in uses]
    total = sum(known)
    return max(known) * len(known) / total - 1 if total > 0 else 0.0


def beside_mean(above: float) -> str:
    """Return where use/mean - 1 is: "62% above the mean", "90% below the mean"."""
    return f"{abs(above):.0%} {'above' if above >= 0 else 'below'} the mean"
