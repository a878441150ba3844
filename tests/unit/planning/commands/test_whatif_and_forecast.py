"""`guardian what-if` and `forecast`: whose limits count, and what is shown; Spark and the member are played."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from typer.testing import CliRunner, Result

from guardian.errors import GuardianError, InvalidInput
from guardian.lake.model.window import Window
from guardian.model.directory import Directory
from guardian.model.forecast import Forecast, Outlook
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import Cluster
from guardian.planning.commands import forecast as forecast_command
from guardian.planning.commands import whatif as whatif_command
from guardian.planning.wire import planner_to_proto
from spark_analytics.jobs import forecast as forecast_job
from spark_analytics.jobs import whatif as whatif_job
from spark_analytics.whatif.answering import Answer
from tests.command_line import app

CLUSTERS = (Cluster("live", "h:9092"), Cluster("bulk", "h:9092"))
REFUSED = InvalidInput("rack is 'r9', which cluster bulk has not")


@dataclass
class World:
    """The member, the lake and Spark."""

    lake_url: str = "/lake"
    planner: Struct = field(default_factory=lambda: planner_to_proto({"disk_limit": 0.6, "cpu_limit": 0.5}))
    answers: dict[str, Answer | GuardianError] = field(default_factory=dict)
    forecasts: dict[str, tuple[Forecast, ...]] = field(default_factory=dict)
    settings: PlannerSettings | None = None

    def member(self) -> World:
        return self

    def list_clusters(self) -> tuple[Cluster, ...]:
        return CLUSTERS

    def answered(self, *asked: Any) -> dict[str, Answer | GuardianError]:
        self.settings = asked[4]
        return {cluster: self.answers[cluster] for cluster in asked[2]}

    def forecast(self, *asked: Any) -> dict[str, tuple[Forecast, ...]]:
        self.settings = asked[4]
        return {cluster: self.forecasts.get(cluster, ()) for cluster in asked[2]}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    for command in (whatif_command, forecast_command):
        monkeypatch.setattr(command, "connect", lambda _: contextlib.nullcontext(made))
        monkeypatch.setattr(command, "analysing", lambda *_: contextlib.nullcontext((None, Window(0, 1))))
    monkeypatch.setattr(whatif_command, "read_directory", lambda _: Directory(clusters=CLUSTERS))
    monkeypatch.setattr(whatif_job, "answers", made.answered)
    monkeypatch.setattr(forecast_job, "forecasts", made.forecast)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def answer(cluster: str) -> Answer:
    return Answer(cluster, "rack r9 lost", True, ("nothing is lost",))


def disk(days: float, outlook: Outlook, span_days: float = 30.0) -> Forecast:
    return Forecast(1, "/d", "disk", outlook, 5e9, 8e9, days=days, days_soonest=days / 2, span_days=span_days)


def test_the_members_limits_count_and_a_files_win(world: World, tmp_path: Path) -> None:
    world.answers = {"live": answer("live")}
    file = tmp_path / "planner.toml"
    file.write_text("[planner]\ncpu_limit = 0.4\n")
    for command in (["what-if", "carry", "--rack", "r9"], ["forecast"]):
        run(*command, "--cluster", "live")
        assert world.settings == PlannerSettings(disk_limit=0.6, cpu_limit=0.5)
        run(*command, "--cluster", "live", f"--settings={file}")
        assert world.settings == PlannerSettings(disk_limit=0.6, cpu_limit=0.4)
        file.write_text("[planner]\ncpu_limit = 40\n")
        with pytest.raises(InvalidInput, match=r"planner\.cpu_limit is 40"):
            run(*command, "--cluster", "live", f"--settings={file}")
        file.write_text("[planner]\ncpu_limit = 0.4\n")


def test_a_cluster_of_which_it_can_not_be_asked_hides_no_other(world: World) -> None:
    world.answers = {"live": answer("live"), "bulk": REFUSED}

    result = run("what-if", "carry", "--rack", "r9")

    assert result.exit_code == 0
    assert "cluster live, rack r9 lost: SAFE" in result.stdout
    assert f"cluster bulk: {REFUSED}" in result.stdout
    assert run("what-if", "carry", "--rack", "r9", "--fail").exit_code == 1
    assert json.loads(run("what-if", "carry", "--rack", "r9", "-o", "json").stdout)["bulk"] == {"error": str(REFUSED)}
    with pytest.raises(InvalidInput, match="rack is 'r9'"):
        run("what-if", "carry", "--rack", "r9", "--cluster", "bulk")


def test_a_forecast_says_on_how_little_it_rests(world: World) -> None:
    world.forecasts = {
        "live": (
            disk(4.0, Outlook.GROWING, span_days=3.0),
            disk(9.0, Outlook.GROWING),
            disk(math.inf, Outlook.UNKNOWN),
        ),
        "bulk": (disk(math.inf, Outlook.UNKNOWN),),
    }

    out = run("forecast").stdout

    assert "cluster live, 2 of 3 disks and broker loads; 1 have too few samples to tell: take a longer --window:" in out
    assert "1 of these rest on less than two weeks: a weekly wave may look like a trend there" in out
    assert "cluster bulk: 1 disks and broker loads have too few samples to tell: take a longer --window" in out
    assert run("forecast", "--fail").exit_code == 1
    unknown = run("forecast", "--fail", "--all", "--cluster", "bulk", "-o", "json")
    assert unknown.exit_code == 4, "nothing is known of it, which is no good news"
    [told] = json.loads(unknown.stdout)["bulk"]
    assert (told["outlook"], told["per_day"], told["days"]) == ("too few samples", None, None)
