"""What the operator's guide to tiered storage tells people to type and to look at exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from tests.command_line import app

GUIDE = Path(__file__).parents[2] / "guardian" / "tiering" / "README.md"
TEXT = GUIDE.read_text()
COMMANDS = sorted({line.partition("#")[0].strip() for line in TEXT.splitlines() if line.startswith("guardian ")})


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guide_can_be_typed(line: str) -> None:
    command = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_guide_shows_every_command_of_the_group() -> None:
    group = typer.main.get_command(app).commands["tiering"]  # type: ignore[attr-defined]
    assert {line.split()[2] for line in COMMANDS} == set(group.commands)


def test_options_that_are_named_in_the_text_exist() -> None:
    group = typer.main.get_command(app).commands["tiering"]  # type: ignore[attr-defined]
    known = {option for command in group.commands.values() for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) <= known


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)", TEXT))
def test_a_link_of_the_guide_leads_somewhere(link: str) -> None:
    assert (GUIDE.parent / link).resolve().exists()
