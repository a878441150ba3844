"""What the README and the pages that go on from it tell people to type and to look at exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.core import TyperGroup

from tests.command_line import COMMAND

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TOLD = [README, *((ROOT / "docs" / page).read_text() for page in ("tour.md", "members.md"))]
COMMANDS = sorted(
    {line.partition("#")[0].strip() for page in TOLD for line in page.splitlines() if line.startswith("guardian ")}
)
PATHS = sorted(set(re.findall(r"`((?:guardian|raft|metastore|spark_analytics|deploy|protos|tests)/[\w./-]*)`", README)))


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_can_be_typed(line: str) -> None:
    command = COMMAND
    words = shlex.split(line)[1:]
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_readme_shows_commands_and_paths() -> None:
    assert len(COMMANDS) >= 40
    assert len(PATHS) >= 10


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_the_readme_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_a_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_readme_is_read_in_minutes() -> None:
    assert len(README.splitlines()) <= 150


def test_every_make_target_of_the_readme_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", "".join(TOLD))) <= targets
