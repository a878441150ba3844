"""What charts.js draws of a cluster: a heat map of brokers or disks by time, and the traffic of all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guardian.console.health import sums
from guardian.console.urls import url
from guardian.web.observed import ClusterSeen, Series

HEAT_ROWS = 100


@dataclass(frozen=True, slots=True)
class Measure:
    """What a heat map is of. `show` is how a value is written; `highest` that of the darkest cell, None: the highest
    that was seen."""

    title: str
    show: str
    highest: float | None = None


MEASURES = {
    "disk_busy": Measure("Busiest disk", "share", 1.0),
    "disks": Measure("Disks", "share", 1.0),
    "cpu": Measure("CPU", "share", 1.0),
    "bytes_in": Measure("Bytes in", "rate"),
    "bytes_out": Measure("Bytes out", "rate"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    broker: int
    disk: str
    series: Series
    peak: float


def heat_of(cluster: str, seen: ClusterSeen, of: str) -> tuple[dict[str, object], int]:
    """The rows with the highest peaks, in the order of their names; and how many are left out."""
    measure = MEASURES[of]
    rows = sorted(_rows(seen, of), key=lambda row: row.peak, reverse=True)
    peak = rows[0].peak if rows else 0.0
    shown = sorted(rows[:HEAT_ROWS], key=lambda row: (row.broker, row.disk))
    digits = 3 if measure.show == "share" else 0
    return {
        "times": seen.steps_ms,
        "show": measure.show,
        "highest": measure.highest if measure.highest is not None else peak,
        "rows": [_drawn(cluster, row, digits) for row in shown],
    }, len(rows) - len(shown)


def _drawn(cluster: str, row: _Row, digits: int) -> dict[str, object]:
    disk = ("disks", row.disk) if row.disk else ()
    return {
        "name": f"{row.broker}:{row.disk}" if row.disk else str(row.broker),
        "href": url("clusters", cluster, "brokers", row.broker, *disk),
        "values": [None if value is None else round(value, digits) for value in row.series],
    }


def _rows(seen: ClusterSeen, of: str) -> Iterable[_Row]:
    for id_, broker in seen.brokers.items():
        if of == "disks":
            for disk in broker.disks:
                yield _Row(id_, disk.disk, disk.busy, _peak(disk.busy))
        elif series := getattr(broker, of):
            yield _Row(id_, "", series, _peak(series))


def _peak(series: Series) -> float:
    return max((value for value in series if value is not None), default=-1.0)


def traffic_of(seen: ClusterSeen) -> dict[str, object]:
    """Return the traffic of all brokers together."""
    return traffic(seen.steps_ms, _rounded(sums(seen, "bytes_in")), _rounded(sums(seen, "bytes_out")))


def traffic(
    steps_ms: tuple[int, ...], bytes_in: Iterable[float | None], bytes_out: Iterable[float | None]
) -> dict[str, object]:
    """Lines of what clients write and read."""
    return lines(steps_ms, "rate", {"Bytes in": bytes_in, "Bytes out": bytes_out})


def lines(
    steps_ms: tuple[int, ...], show: str, series: dict[str, Iterable[float | None]], highest: float = 0.0
) -> dict[str, object]:
    """Some lines on one axis of time, which goes up to `highest` at least."""
    drawn = [{"name": name, "values": list(values)} for name, values in series.items()]
    return {"times": steps_ms, "show": show, "highest": highest, "series": drawn}


def _rounded(values: Iterable[float | None]) -> list[int | None]:
    return [None if value is None else round(value) for value in values]
