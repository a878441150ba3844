"""docs/cli.md is what `guardian docs cli` makes of the commands as they are."""

from __future__ import annotations

from pathlib import Path

import typer.main

from guardian.member.commands import docs
from tests.command_line import app

PAGE = Path("docs/cli.md")


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == docs.page(), "make it anew: guardian docs cli --out docs/cli.md"


def test_the_page_has_every_command_with_its_example() -> None:
    text = docs.page()
    names = [name for name, _ in docs._commands(typer.main.get_command(app))]
    assert len(names) > 100
    for name in names:
        _, _, section = text.partition(f"\n### guardian {name}\n")
        assert section, name
        if name != "version":
            assert f"\nguardian {name}" in section.partition("\n### ")[0], name
