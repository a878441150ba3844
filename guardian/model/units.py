"""Quantities as people type and read them."""

from __future__ import annotations

import re

from guardian.errors import InvalidInput

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_MAX_MS = 3650 * _UNIT_MS["d"]


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


def human_bytes(count: float) -> str:
    """1234567 -> 1.2 MB; powers of ten."""
    for unit in _BYTES:
        if abs(count) < 999.5 or unit == _BYTES[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kMG]?)B?(?:/s)?")
_RATE_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def parse_rate(name: str, text: str) -> int:
    """bytes/s of "50MB", "800k" or "1.5G/s", in powers of ten as networks count; `name` is what the error calls it.
    Raises InvalidInput."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) * _RATE_UNITS[match[2]] if match else 0.0
    if rate < 1:
        raise InvalidInput(f"{name} is {text!r}: use bytes per second, such as 50MB or 800k")
    return int(rate)
