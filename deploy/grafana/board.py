"""A dashboard in few words, and the JSON that Grafana makes of it.

Panels flow from left to right over Grafana's 24 columns. Whatever identifies something to Grafana (uid, ids of panels,
letters of queries) follows from names and order, so that a change of one panel is a change of few lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

COLUMNS = 24
_SCHEMA_VERSION = 39  # Grafana 10.4; newer ones migrate it
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_LETTERS = "ABCDEFGH"


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and how its series are called: Grafana fills in {{label}}."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """`kind` is graph (over time), stat (numbers of now) or table (series of now, a row each). `thresholds` are where
    the colour turns yellow and red; the second below the first: small values are bad."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    description: str = ""
    kind: str = "graph"
    width: int = 8
    height: int = 8
    stacked: bool = False
    thresholds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """Values of `label` in the series of `metric`. `many`: several may be chosen, at first all."""

    name: str
    metric: str
    label: str
    many: bool = True


@dataclass(frozen=True, slots=True)
class Board:
    """`uid` is part of links that people keep: never change it."""

    uid: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    tags: tuple[str, ...] = field(default=("guardian", "kafka"))

    def to_json(self) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": list(self.tags),
            "schemaVersion": _SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-3h", "to": "now"},
            "timezone": "browser",
            "annotations": {"list": [_alerts()]},
            "templating": {"list": [_source(), *map(_variable, self.variables)]},
            "links": [_links()],
            "panels": _panels(self.rows),
        }


def _panels(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    placed: list[dict[str, Any]] = []
    y = 0
    for row in rows:
        placed.append(_row(len(placed) + 1, row.title, y))
        y += 1
        x = line = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, line = 0, y + line, 0
            grid = {"x": x, "y": y, "w": panel.width, "h": panel.height}
            placed.append({"id": len(placed) + 1, "gridPos": grid, **_panel(panel)})
            x, line = x + panel.width, max(line, panel.height)
        y += line
    return placed


def _row(number: int, title: str, y: int) -> dict[str, Any]:
    grid = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": grid, "panels": []}


def _panel(panel: Panel) -> dict[str, Any]:
    kind, options, custom = {
        "graph": ("timeseries", _GRAPH, _lines(panel.stacked)),
        "stat": ("stat", _STAT, {}),
        "table": ("table", {"showHeader": True}, {}),
    }[panel.kind]
    made = {
        "type": kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, **_colours(panel), "custom": custom}, "overrides": []},
        "options": options,
        "targets": [_target(letter, each, panel.kind) for letter, each in zip(_LETTERS, panel.queries, strict=False)],
    }
    return {**made, "transformations": _AS_ROWS} if panel.kind == "table" else made


def _target(letter: str, query: Query, kind: str) -> dict[str, Any]:
    target = {"refId": letter, "datasource": _SOURCE, "expr": query.expr, "legendFormat": query.legend or "__auto"}
    return (
        target
        if kind == "graph"
        else {**target, "instant": True, "format": "table" if kind == "table" else "time_series"}
    )


_GRAPH = {
    "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
    "tooltip": {"mode": "multi", "sort": "desc"},
}
_STAT = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "textMode": "value_and_name"}
_AS_ROWS = [{"id": "organize", "options": {"excludeByName": {"Time": True, "__name__": True, "job": True}}}]


def _lines(stacked: bool) -> dict[str, Any]:
    stacking = {"mode": "normal" if stacked else "none", "group": "A"}
    return {"fillOpacity": 30 if stacked else 5, "lineWidth": 1, "showPoints": "never", "stacking": stacking}


def _colours(panel: Panel) -> dict[str, Any]:
    if panel.thresholds is None:
        return {"color": {"mode": "palette-classic"}}
    warns, fails = panel.thresholds
    steps = [("green", None), ("yellow", warns), ("red", fails)]
    if fails < warns:
        steps = [("red", None), ("yellow", fails), ("green", warns)]
    shown = [{"color": colour, "value": value} for colour, value in steps]
    mode = "palette-classic" if panel.kind == "graph" else "thresholds"
    return {"color": {"mode": mode}, "thresholds": {"mode": "absolute", "steps": shown}}


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.metric}, {variable.label})"
    return {
        "name": variable.name,
        "label": variable.name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": variable.name},
        "definition": query,
        "refresh": 2,
        "sort": 3,
        "multi": variable.many,
        "includeAll": variable.many,
        "current": {"text": ["All"], "value": ["$__all"]} if variable.many else {},
    }


def _alerts() -> dict[str, Any]:
    """Build the annotation that marks in all graphs where an alert fires."""
    return {
        "name": "Alerts",
        "datasource": _SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": 'ALERTS{alertname=~"Kafka.*|Guardian.*", alertstate="firing"}',
        "titleFormat": "{{alertname}}",
        "textFormat": "{{cluster}} {{broker}} {{instance}}",
        "step": "60s",
    }


def _links() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Guardian",
        "tags": ["guardian"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }
