"""A package on a process's path is obeyed wherever plans are made: at a prompt, and by a member's own planner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.kafka.fake import FakeKafka
from guardian.model.directory import Directory
from guardian.model.federation import Machine
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal
from guardian.planning.model import PlansConfig
from guardian.planning.service.planning import LivePlanner
from tests.patience import PATIENCE_S
from tests.unit.spark_analytics.extensions.acme import NAME

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
CAPACITY = {"cpu": 400.0, "nw_in": 3000.0, "nw_out": 4000.0, "disk": 5000.0}
LOAD = {"cpu": 3.0, "nw_in": 10.0, "nw_out": 25.0, "disk": 40.0}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Brokers 1 and 2 are on secured hosts, 3 and 4 on plain ones; topics of cards are on 1, those of orders on 2."""
    hosts = {1: "secure-1", 2: "secure-2", 3: "plain-3", 4: "plain-4"}
    path = tmp_path / "model.json"
    document = {
        "format": "cluster-model-v1",
        "brokers": [
            {"id": broker, "rack": f"r{broker}", "host": host, "capacity": CAPACITY} for broker, host in hosts.items()
        ],
        "replicas": [
            {"topic": topic, "partition": number, "broker": broker, "isLeader": True, "load": LOAD}
            for topic, broker in (("pci-cards", 1), ("orders", 2))
            for number in range(8)
        ],
    }
    path.write_text(json.dumps(document))
    return path


def with_path(*folders: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *folders)))}


def guardian(*arguments: object, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "guardian.cli.main", *map(str, arguments)]
    environment = with_path(path) if path else with_path()
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def brokers_of_cards(placement: Path) -> set[int]:
    """Where those go that move."""
    partitions = json.loads(placement.read_text())["partitions"]
    return {broker for each in partitions if each["topic"] == "pci-cards" for broker, _ in each["replicas"]}


def test_a_plan_for_a_model_in_a_file_keeps_it_where_the_package_is_installed(
    model: Path, site: Path, tmp_path: Path
) -> None:
    free, kept = tmp_path / "free.json", tmp_path / "kept.json"
    assert guardian("plan", "model", model, "--out", free).returncode == 0
    done = guardian("plan", "model", model, "--out", kept, path=site)
    assert done.returncode == 0, done.stderr
    assert brokers_of_cards(free) & {3, 4}
    assert brokers_of_cards(kept) == {2}
    judged = guardian("plan", "score", model, free, path=site)
    assert judged.returncode == 1
    assert "Broken: a goal of another package would be broken: pci-cards-" in judged.stdout
    assert f"goal {NAME} of acme-goals 1.2: host plain-" in judged.stdout
    assert guardian("plan", "score", model, kept, path=site).returncode == 0


BROKEN = """
Metadata-Version: 2.4
Name: broken-goals
Version: 0.1
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a package whose goal raises as it is loaded."""
    site = tmp_path / "broken"
    info = site / "broken_goals-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(BROKEN.lstrip())
    (info / "entry_points.txt").write_text("[guardian.goals]\nbroken/goal = broken_goals:GOAL\n")
    (site / "broken_goals.py").write_text("raise RuntimeError('no licence')\n")
    return site


def test_a_package_that_is_wrong_is_one_sentence_at_a_prompt(model: Path, broken: Path, tmp_path: Path) -> None:
    done = guardian("plan", "model", model, "--out", tmp_path / "out.json", path=broken)
    assert done.returncode == 2
    assert (
        "goal broken/goal of broken-goals 0.1: loading broken_goals:GOAL raised RuntimeError: no licence" in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.json").exists()


@pytest.fixture
def planner() -> Iterator[LivePlanner]:
    fake = FakeKafka({broker: f"rack{broker}" for broker in (1, 2, 3)}, dict.fromkeys((1, 2, 3), ("/a",)))
    fake.create_topic("pci-cards", {number: [1, 3] for number in range(4)}, 1_000_000)
    hosts = {1: "secure-1", 2: "secure-2", 3: "plain-3"}
    machines = tuple(Machine(host, cluster="live", broker_id=broker) for broker, host in hosts.items())
    settings = PlannerSettings()
    live = LivePlanner(
        lambda _: fake,
        lambda: Directory(machines=machines),
        "",
        settings,
        lambda: 1_000_000,
        PlansConfig(deadline_s=PATIENCE_S),
    )
    with closing(live):
        yield live


def healed(planner: LivePlanner) -> Plan:
    return planner.plan_for("ann", lambda: True, "live", Heal())


def test_a_members_planner_obeys_it(planner: LivePlanner, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert healed(planner).moves == ()
    monkeypatch.setenv("PYTHONPATH", with_path(site)["PYTHONPATH"])
    plan = healed(planner)
    assert [sorted(move.target_brokers) for move in plan.moves] == [[1, 2]] * 4
    assert {move.goal for move in plan.moves} == {NAME}
    assert any(note.startswith(f"goal {NAME} of acme-goals 1.2 is kept") for note in plan.notes)


def test_a_package_that_is_wrong_refuses_a_members_plan_and_the_member_lives_on(
    planner: LivePlanner, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", with_path(broken)["PYTHONPATH"])
    with pytest.raises(InvalidInput, match=r"goal broken/goal of broken-goals 0\.1: loading .* no licence; no plan"):
        healed(planner)
    monkeypatch.undo()
    assert healed(planner).moves == ()
