"""Whether the reporter says what JMX says: name by name, with JMX read before and after. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_CLOSE = 1e-9
_COUNTERS = (":Count", "-total", "LogEndOffset", "LogStartOffset")
_NUMBERS = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of the names that both have: how many, and those whose values are not the same, with JMX's two and ours.

    `moving` are those about which JMX contradicts itself: rates over a window, shares, the heap. `wrong` are all
    others.
    """

    compared: int
    moving: Mapping[str, _NUMBERS]
    wrong: Mapping[str, _NUMBERS]


def compared(before: Mapping[str, float], ours: Mapping[str, float], after: Mapping[str, float]) -> Comparison:
    """A value is the same when it equals one of JMX's, or lies between the two: it may have changed meanwhile.

    One that goes up and down may be anything while it moves; a counter may not.
    """
    both = [name for name in ours if name in before and name in after]
    different = {
        name: (before[name], ours[name], after[name])
        for name in both
        if not _is_between(before[name], ours[name], after[name])
    }
    moving = {name: three for name, three in different.items() if three[0] != three[2] and not _is_counter(name)}
    return Comparison(len(both), moving, {name: three for name, three in different.items() if name not in moving})


def _is_counter(name: str) -> bool:
    return any(mark in name for mark in _COUNTERS)


def _is_between(one: float, ours: float, two: float) -> bool:
    if math.isnan(ours):
        return math.isnan(one) or math.isnan(two)
    if math.isnan(one) or math.isnan(two):
        return False
    slack = _CLOSE * max(abs(one), abs(two), 1.0)
    return min(one, two) - slack <= ours <= max(one, two) + slack
