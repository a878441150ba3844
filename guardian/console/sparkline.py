"""A trend as a small drawing that the server makes: the points of an SVG's lines, and the same in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 120, 24
_EDGE = 2  # of the drawing, so that no line is cut


@dataclass(frozen=True, slots=True)
class Sparkline:
    """`lines` are the points of each stretch that is known, as SVG has them; `dots` those that stand alone."""

    words: str
    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]


def sparkline(values: Sequence[float | None], show: Callable[[float], str], span: str) -> Sparkline | None:
    """Draw the values from 0 up to the highest, with a gap where one is not known (None); None when none is known.

    `show` writes a value, `span` says how long the time is that they are of.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    top = max(*known, 0.0) or 1.0
    stretches = [[_point(at, value, len(values), top) for at, value in part] for part in _stretches(values)]
    return Sparkline(
        _words(known, len(values), show, span),
        tuple(" ".join(f"{x:g},{y:g}" for x, y in stretch) for stretch in stretches if len(stretch) > 1),
        tuple(stretch[0] for stretch in stretches if len(stretch) == 1),
    )


def _words(known: Sequence[float], steps: int, show: Callable[[float], str], span: str) -> str:
    told = f"the last {span}: {show(min(known))} to {show(max(known))}, lately {show(known[-1])}"
    missing = steps - len(known)
    return f"{told}; {missing / steps:.0%} of the time is not known" if missing > 1 else told


def _stretches(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Return the values that are known and follow each other, each with its place."""
    found: list[list[tuple[int, float]]] = [[]]
    for at, value in enumerate(values):
        if value is not None:
            found[-1].append((at, value))
        elif found[-1]:
            found.append([])
    return [part for part in found if part]


def _point(at: int, value: float, count: int, top: float) -> tuple[float, float]:
    x = _EDGE + (WIDTH - 2 * _EDGE) * at / max(1, count - 1)
    y = HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * max(0.0, value) / top
    return round(x, 1), round(y, 1)
