"""How uneven a load is, in the one unit that people see: the spread, max/mean - 1. docs/concepts.md explains it."""

from __future__ import annotations

from collections.abc import Iterable


def spread(uses: Iterable[float]) -> float:
    """Return max/mean - 1: 0 when even, 1 when the busiest has twice its share; 0 when there is no load at all."""
    known = [float(use) for use in uses]
    total = sum(known)
    return max(known) * len(known) / total - 1 if total > 0 else 0.0


def beside_mean(above: float) -> str:
    """Return where use/mean - 1 is: "62% above the mean", "90% below the mean"."""
    return f"{abs(above):.0%} {'above' if above >= 0 else 'below'} the mean"
