"""The planner's guide names every goal, alias and command that there is, and no other."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import get_args

import typer.main

from guardian.config import planner_settings
from guardian.model import tasks
from guardian.planning.commands.plan.commands import app as plan
from guardian.planning.commands.whatif import app as what_if
from spark_analytics.goals.registry import GOALS

GUIDE = (Path(__file__).parents[2] / "spark_analytics" / "README.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    section = GUIDE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    below = itertools.dropwhile(lambda line: not line.startswith("|"), section.splitlines())
    lines = [*itertools.takewhile(lambda line: line.startswith("|"), below)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_goal_is_there_with_its_names() -> None:
    told = [(cells[0], cells[1], re.findall(r"`(\w+)`", cells[2])) for cells in rows("Goals")]
    assert told == [(f"`{goal.name}`", "hard" if goal.is_hard else "soft", list(goal.aliases)) for goal in GOALS]


def test_every_kind_of_plan_is_there_with_its_task() -> None:
    told = {cells[0].strip("`"): cells[1].split(", ") for cells in rows("What can be planned")}
    commands = set(typer.main.get_command(plan).commands)  # type: ignore[attr-defined]
    assert set(told) == commands - {"model", "score", "check"}
    kinds = {each.kind for each in get_args(tasks.Task)}
    assert {kind for some in told.values() for kind in some} == kinds


def test_the_example_of_settings_is_taken() -> None:
    section = tomllib.loads(GUIDE.split("## Settings\n", 1)[1].split("```toml\n", 1)[1].split("```", 1)[0])["planner"]
    settings = planner_settings(section)
    assert (settings.target_spread, settings.excluded_topics, settings.weights) == (
        0.2,
        ("logs-*",),
        (("cpu-spread", 2.0),),
    )


def test_every_question_is_there() -> None:
    assert f"guardian what-if {'|'.join(typer.main.get_command(what_if).commands)}`" in GUIDE  # type: ignore[attr-defined]
