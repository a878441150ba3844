"""What dashboards and rules ask Prometheus for, taken apart as far as tests need it. promtool judges the syntax."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
PROMETHEUS = ROOT / "deploy" / "prometheus"
DASHBOARDS = ROOT / "deploy" / "grafana" / "dashboards"
BROKER_METRICS = PROMETHEUS / "broker-metrics.txt"

TARGET_LABELS = frozenset({"cluster", "broker", "rack", "idc", "instance", "job"})  # of scrapes, not of pages
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'")
_BRACES = re.compile(r"\{([^}]*)\}")
_LABEL_LIST = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_RANGE = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left"})


@dataclass(frozen=True, slots=True)
class Use:
    """An expression, where it stands, the metrics that it names and the labels that it speaks of."""

    where: str
    expr: str
    metrics: frozenset[str]
    labels: frozenset[str]


def use_of(where: str, expr: str) -> Use:
    bare = _STRING.sub("", expr)
    matched = [re.split(r"[=!~]+", part)[0].strip() for braces in _BRACES.findall(bare) for part in braces.split(",")]
    listed = [part.strip() for labels in _LABEL_LIST.findall(bare) for part in labels.split(",")]
    rest = _RANGE.sub(" ", _LABEL_LIST.sub(" ", _BRACES.sub(" ", bare)))
    functions = set(re.findall(rf"({_NAME.pattern})\s*\(", rest))
    names = set(re.findall(rf"(?<![0-9a-zA-Z_:.]){_NAME.pattern}", rest))
    return Use(where, expr, frozenset(names - functions - _KEYWORDS), frozenset({*matched, *listed} - {""}))


def dashboards() -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(DASHBOARDS.glob("*.json"))}


def dashboard_uses() -> Iterator[Use]:
    """Queries of panels and variables, and what marks alerts."""
    for name, board in dashboards().items():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield use_of(f"{name}: {panel['title']}", target["expr"])
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                selector, label = variable["definition"].removeprefix("label_values(")[:-1].rsplit(",", 1)
                yield use_of(f"{name}: ${variable['name']}", f"count by ({label.strip()}) ({selector})")
        for annotation in board["annotations"]["list"]:
            yield use_of(f"{name}: {annotation['name']}", annotation["expr"])


def rules(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def rule_uses() -> Iterator[Use]:
    for file in ("recording.yml", "alerts.yml"):
        for rule in rules(file):
            yield use_of(f"{file}: {rule.get('record') or rule['alert']}", rule["expr"])


def recorded() -> dict[str, frozenset[str]]:
    """The metrics of recording.yml, with the labels that they keep: those that their names begin with."""
    made = {}
    for rule in rules("recording.yml"):
        name = rule["record"]
        level = name.partition(":")[0].replace("log_dir", "log-dir")
        made[name] = frozenset(part.replace("-", "_") for part in level.split("_"))
    return made


def broker_metrics(lines: Iterable[str] | None = None) -> dict[str, frozenset[str]]:
    """By name the labels, of a file such as broker-metrics.txt."""
    found = {}
    for line in lines if lines is not None else BROKER_METRICS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, labels = line.partition(" ")
            found[name] = frozenset(labels.split())
    return found
