"""The models that a peer planned too, its stored plans, and the scorer that both are held against.

They lie in a folder beside the project, `shared/bench/planner`, and are no part of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.rules import compiled
from spark_analytics.readers import cluster_model_v1, placement_v1
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Targets
from spark_analytics.search.search import find
from tests.bench.report import BenchFailed

RESOURCES = ("cpu", "nw_in", "nw_out", "disk", "replicas", "leaders")
_RULES = ("rack_violations", "replicas_on_dead", "bad_partitions")

Score = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One model: what the scorer says of it before, of the peer's plan and of ours; CPU seconds."""

    name: str
    before: Score
    peer: Score
    peer_cpu_s: float
    ours: Score
    cpu_s: float

    @property
    def faults(self) -> list[str]:
        """Where ours is worse than the peer's, or breaks a rule."""
        faults = [
            f"{self.name}: {resource} {what} {self.ours[resource][what]} > {self.peer[resource][what]}"
            for resource in RESOURCES
            for what in ("cv", "max_over_mean")
            if self.ours[resource][what] > self.peer[resource][what]
        ]
        faults += [f"{self.name}: {self.ours[rule]} {rule}" for rule in _RULES if self.ours[rule]]
        if over := sum(self.ours["brokers_over_limit"].values()):
            faults.append(f"{self.name}: {over} brokers over their limit")
        if self.ours["topic_excess"] > self.before["topic_excess"]:
            faults.append(f"{self.name}: topic spread {self.before['topic_excess']} -> {self.ours['topic_excess']}")
        return faults


def located(given: Path | None, project: Path) -> Path | None:
    """The folder, or None where there is none."""
    places = [given] if given else [parent / "shared" / "bench" / "planner" for parent in project.resolve().parents]
    return next((place for place in places if (place / "score.py").is_file()), None)


def compared(folder: Path, home: Path) -> Iterator[Compared]:
    """Each model at the peer's own spread: what moves less data for the same, moves less."""
    for path in sorted((folder / "models").glob("*.model.json.gz")):
        name = path.name.removesuffix(".model.json.gz")
        stored = folder / "cruise_control" / f"{name}.cc.placement.json.gz"
        told = json.loads((folder / "cruise_control" / f"{name}.cc.result.json").read_text())
        model = cluster_model_v1.read(path)
        peer = score(folder, path, stored)
        found, cpu_s = planned(model, at_spread_of(peer))
        out = home / f"{name}.placement.json.gz"
        placement_v1.write(out, model, found.slot_log_dir, found.leader_slot, wall_s=cpu_s)
        before = score(folder, path, None)
        yield Compared(name, before, peer, float(told["planner_thread_cpu_s"]), score(folder, path, out), cpu_s)


def frontier(folder: Path, name: str, cvs: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """(disk cv asked for, TB moved, disk max/mean) on one model: what more balance costs."""
    model = cluster_model_v1.read(folder / "models" / f"{name}.model.json.gz")
    points = []
    for cv in cvs:
        loose = Targets(np.full(6, 2 * cv), np.full(6, 1 + 4 * cv))
        loose.cv[3], loose.max_over_mean[3] = cv, 1 + 2.5 * cv
        found, _ = planned(model, loose)
        points.append((cv, moved_bytes(model, found) / 1e12, float(found.max_over_mean[3])))
    return points


def planned(model: ClusterModel, targets: Targets) -> tuple[Found, float]:
    """The plan, and the CPU seconds that it took from the model in memory."""
    began = time.process_time()
    rules, _ = compiled(model, PlannerSettings())
    found = find(model, rules, targets)
    return found, time.process_time() - began


def moved_bytes(model: ClusterModel, found: Found) -> float:
    """Between brokers."""
    moved = model.log_dir_broker[found.slot_log_dir] != model.slot_broker
    return float(model.slot_load[moved, 3].sum())


def at_spread_of(peer: Score) -> Targets:
    return Targets(
        np.array([peer[resource]["cv"] for resource in RESOURCES]),
        np.array([peer[resource]["max_over_mean"] for resource in RESOURCES]),
    )


def score(folder: Path, model: Path, placement: Path | None) -> Score:
    command = [sys.executable, str(folder / "score.py"), str(model), *([str(placement)] if placement else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchFailed(f"{folder / 'score.py'} ended with {done.returncode}; it says last:\n{done.stderr[-2000:]}")
    found: Score = json.loads(done.stdout)
    return found
