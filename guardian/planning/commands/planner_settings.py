"""What plans are asked for: the members' section [planner], a file's on top of it, and then what a command says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from guardian import config
from guardian.client import GuardianClient
from guardian.model.planner_settings import PlannerSettings
from guardian.model.settings import load
from guardian.planning.wire import planner_from_proto

SettingsOption = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        help="A TOML file with a section \\[planner]: each of its settings wins over the members' own.",
        show_default="none",
    ),
]


def planner_settings(client: GuardianClient, file: Path | None = None) -> PlannerSettings:
    """Return the settings of the member that answers, with those of the file on top, one by one. Raises InvalidInput,
    Unavailable.
    """
    own = section_of(file)  # a mistake in it is told before anybody is asked
    return config.planner_settings({**planner_from_proto(client.member().planner), **own})


def section_of(file: Path | None) -> Mapping[str, object]:
    """[planner] of a file, checked; empty without one. Raises InvalidInput that names the file, and what is wrong."""
    if file is None:
        return {}
    return load(file, "settings file", lambda table: config.planner_section("planner", table.get("planner", {})))
