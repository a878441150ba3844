"""What a benchmark must show, and how it is told: one row a measure, its bar beside it. Pure.

A bar is either on the ratio ours / peer, or on our own figure. What is better is said by the measure, so that a ratio
of 3 is good for a rate and bad for a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

BUILD = Path(__file__).parents[2] / "build" / "bench"


class BenchFailed(Exception):
    """The benchmark can't go on: one sentence, and what the process concerned said last."""


class Better(Enum):
    LOWER = "lower"
    HIGHER = "higher"


class BarOn(Enum):
    RATIO = "ratio"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its bar, as its issue gives them. `inclusive`: the bar itself is good enough."""

    id: str
    what: str
    unit: str
    better: Better
    bar: float
    bar_on: BarOn
    inclusive: bool = True

    def is_met(self, ours: float, ratio: float | None) -> bool:
        value = ours if self.bar_on is BarOn.OURS else ratio
        if value is None:
            return False
        if value == self.bar:
            return self.inclusive
        return value > self.bar if self.better is Better.HIGHER else value < self.bar

    @property
    def bar_text(self) -> str:
        sign = ("≥" if self.inclusive else ">") if self.better is Better.HIGHER else ("≤" if self.inclusive else "<")
        return f"{sign} {self.bar:g} {'x' if self.bar_on is BarOn.RATIO else self.unit}"


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured for one measure. `fault` says why it does not count, whatever the figures are. `worst` is told
    beside ours where that stands for several of its kind, and is not judged."""

    ours: float
    peer: float | None
    how: str = ""  # streams, batches in flight, whom the clients talked to
    fault: str = ""
    worst: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    measure: Measure
    figures: Figures

    @property
    def ratio(self) -> float | None:
        """Ours / peer."""
        return self.figures.ours / self.figures.peer if self.figures.peer else None

    @property
    def ok(self) -> bool:
        return not self.figures.fault and self.measure.is_met(self.figures.ours, self.ratio)

    def to_json(self) -> dict[str, Any]:
        return {
            "measure": self.measure.id,
            "ours": round(self.figures.ours, 4),
            "peer": None if self.figures.peer is None else round(self.figures.peer, 4),
            "ratio": None if self.ratio is None else round(self.ratio, 4),
            "better": self.measure.better.value,
            "bar": self.measure.bar,
            "ok": self.ok,
            "bar_on": self.measure.bar_on.value,
            "unit": self.measure.unit,
            "how": self.figures.how,
            "fault": self.figures.fault,
            **({} if self.figures.worst is None else {"worst": round(self.figures.worst, 4)}),
        }


def rows(measures: Sequence[Measure], figures: Mapping[str, Figures]) -> list[Row]:
    """A row for every measure that was taken, in the order of `measures`."""
    return [Row(measure, figures[measure.id]) for measure in measures if measure.id in figures]


def table(rows: Sequence[Row]) -> str:
    """For people: aligned columns, then the faults, one a line."""
    header = ("measure", "ours", "peer", "ours/peer", "bar", "", "what")
    cells = [header, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    lines += [f"{row.measure.id}: {row.figures.fault}" for row in rows if row.figures.fault]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    figures, measure = row.figures, row.measure
    return (
        measure.id,
        number(figures.ours, measure.unit)
        + ("" if figures.worst is None else f", worst {number(figures.worst, measure.unit)}"),
        "-" if figures.peer is None else number(figures.peer, measure.unit),
        "-" if row.ratio is None else f"{row.ratio:.2f} x",
        measure.bar_text,
        "ok" if row.ok else "MISSED",
        measure.what + (f" ({figures.how})" if figures.how else ""),
    )


def number(value: float, unit: str) -> str:
    """Three significant digits at least, thousands apart: 119,650 /s, 4.21 ms."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
