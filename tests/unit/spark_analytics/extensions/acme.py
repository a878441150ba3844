"""The package in tests/goal_package, installed where a test wants it, and goals that are made up on the spot."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardian.model import goals
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.extensions import installed
from spark_analytics.extensions.goal import Narrowed, Placement
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel

NAME = "acme/pci-on-secure-hosts"
SENTENCE = "topics named pci-* live on hosts named secure-*"
_SOURCE = Path(__file__).parents[3] / "goal_package"


def installed_into(folder: Path) -> Path:
    """Build the package's wheel and unpack it, as pip does: a folder for PYTHONPATH."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "wheels")]
    subprocess.run(command, cwd=_SOURCE, check=True, capture_output=True, timeout=120)
    [wheel] = (folder / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@dataclass(frozen=True)
class Package:
    """What importlib.metadata has of a distribution."""

    name: str
    version: str = "1.0"


@dataclass(frozen=True)
class Point:
    """An entry point of which no file tells."""

    name: str
    load: Callable[[], object]
    dist: Package | None = Package("acme-goals")
    value: str = "acme_goals:GOAL"


@dataclass
class Goal:
    """A goal as a test needs it."""

    name: str
    narrows: Callable[[ClusterModel], Any]
    judges: Callable[[Placement], Any] = lambda _: ""
    sentence: Any = "what a test says"

    def narrow(self, model: ClusterModel, _: PlannerSettings) -> Narrowed:
        found: Narrowed = self.narrows(model)
        return found

    def judge(self, placement: Placement) -> str:
        found: str = self.judges(placement)
        return found


@dataclass(frozen=True)
class Limit:
    """Hold topics whose names begin so on some brokers only, and lead them on some of these."""

    topics: str
    holding: frozenset[int]
    leading: frozenset[int]

    def goal(self) -> Goal:
        return Goal("test/limit", self._narrow, self._judge, sentence=f"{self.topics}* live on {sorted(self.holding)}")

    def _narrow(self, model: ClusterModel) -> Narrowed:
        rows = [0 if topic.startswith(self.topics) else -1 for topic in model.topics]
        hold, lead = (np.isin(model.broker_ids, sorted(brokers))[None, :] for brokers in (self.holding, self.leading))
        return Narrowed(np.array(rows, dtype=np.int64), hold, lead)

    def _judge(self, placement: Placement) -> str:
        broker = placement.broker.id
        if not placement.topic.name.startswith(self.topics):
            return ""
        if broker not in self.holding:
            return f"broker {broker} may not hold it"
        return "" if not placement.leads or broker in self.leading else f"broker {broker} may not lead it"


def with_points(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    """Let these be all that is installed, until the test ends."""
    for module in (installed, goals):
        monkeypatch.setattr(module, "entry_points", lambda group: points if group == "guardian.goals" else ())
    installed.installed.cache_clear()


def with_goals(monkeypatch: pytest.MonkeyPatch, *goals: Goal) -> None:
    """Let these be all that is installed, each of the package acme-goals 1.0."""

    def loading(goal: Goal) -> Callable[[], object]:
        return lambda: goal

    with_points(monkeypatch, *(Point(goal.name, loading(goal)) for goal in goals))


def hosts(secure: int, plain: int, **other: Any) -> list[BrokerFacts]:
    """Brokers 1, 2, ... on secure hosts, then those on plain ones, each in a rack of its own."""
    names = [f"secure-{number}" for number in range(1, secure + 1)] + [f"plain-{number}" for number in range(plain)]
    return [BrokerFacts(number, f"r{number}", host=host, **other) for number, host in enumerate(names, start=1)]
