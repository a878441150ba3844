"""What the benchmark must show, and how it is told: one row a measure, its bar beside it. Pure.

A bar is either on the ratio ours / peer, or on our own figure. What is better is said by the measure, so that a ratio
of 3 is good for a rate and bad for a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Better(Enum):
    LOWER = "lower"
    HIGHER = "higher"


class BarOn(Enum):
    RATIO = "ratio"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its bar, as issue 4 gives them. `inclusive`: the bar itself is good enough."""

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


_LOWER, _HIGHER, _RATIO, _OURS = Better.LOWER, Better.HIGHER, BarOn.RATIO, BarOn.OURS

MEASURES = (
    Measure("events_100", "batches of 100 over streams; etcd: transactions of 100", "/s", _HIGHER, 1.5, _RATIO),
    Measure("events_100_p99", "the same: p99 of a batch", "ms", _LOWER, 1.0, _RATIO, inclusive=False),
    Measure("events_1000", "batches of 1000; etcd: its best batch size", "/s", _HIGHER, 2.0, _RATIO),
    Measure("write_1_p50", "single writes, one at a time: p50", "ms", _LOWER, 1.5, _RATIO),
    Measure("write_16", "single writes, 16 clients", "/s", _HIGHER, 1.0, _RATIO),
    Measure("pull_1000", "a pull of 1,000 of a partition's events: p50", "ms", _LOWER, 5.0, _OURS, inclusive=False),
    Measure("pull_10000", "a pull of 10,000: p50", "ms", _LOWER, 40.0, _OURS, inclusive=False),
    Measure("failover_p50", "kill -9 of the leader to the next write", "s", _LOWER, 1.5, _OURS, inclusive=False),
    Measure("failover_worst", "the worst of them", "s", _LOWER, 3.0, _OURS, inclusive=False),
)
SOAK_MEASURES = (
    Measure("restart_s", "kill -9 of a member, start to serving", "s", _LOWER, 10.0, _OURS, inclusive=False),
    Measure("rss_mb", "resident memory of the largest member", "MB", _LOWER, 1000.0, _OURS, inclusive=False),
    Measure("snapshot_p99", "p99 of writes during snapshots; peer: usual", "ms", _LOWER, 3.0, _RATIO, inclusive=False),
    Measure("pull_1000", "a pull of 1,000 of a partition's events: p50", "ms", _LOWER, 5.0, _OURS, inclusive=False),
    Measure("pull_10000", "a pull of 10,000: p50", "ms", _LOWER, 40.0, _OURS, inclusive=False),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured for one measure. `fault` says why it does not count, whatever the figures are."""

    ours: float
    peer: float | None
    how: str = ""  # streams, batches in flight, whom the clients talked to
    fault: str = ""


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
        number(figures.ours, measure.unit),
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
