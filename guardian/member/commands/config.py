"""`guardian config`: what can be set, and a file to begin with. No member is asked."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Annotated

import typer

from guardian.cli.options import Output, OutputOption
from guardian.cli.printing import echo_text
from guardian.cli.render import print_json
from guardian.errors import NotFound
from guardian.member.commands import config_pages
from guardian.member.commands.docs import OutOption, write

app = typer.Typer(help="Settings of members, and of the files that they name.", no_args_is_help=True)


def keys(incomplete: str) -> list[tuple[str, str]]:
    """Return what completion offers: settings that begin so, with what they are for."""
    found = config_pages.settings_of().items()
    return [(name, each.help) for name, each in found if name.startswith(incomplete)]


@app.command("explain")
def explain(
    key: Annotated[str, typer.Argument(help="A setting, or a section for all of its settings.", autocompletion=keys)],
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what a setting is for, its range and its default.

    Example: guardian config explain collect.interval_s
    """
    known = config_pages.settings_of()
    found = {name: each for name, each in known.items() if name == key or name.startswith(f"{key}.")}
    if not found:
        near = get_close_matches(key, known, n=3, cutoff=0.5)
        fix = f"did you mean {', '.join(near)}?" if near else "see `guardian config example`"
        raise NotFound(f"setting {key!r} is not known: {fix}")
    if output is Output.JSON:
        print_json([config_pages.facts(name, each) for name, each in found.items()])
        return
    for name, each in found.items():
        echo_text(f"{config_pages.explanation(name, each)}\n")


@app.command("example")
def example(out: OutOption = None) -> None:
    """Write a member's configuration with all settings, those with a default as comments.

    Example: guardian config example --out member.toml
    """
    write(config_pages.example(), out)


@app.command("schema")
def schema(out: OutOption = None) -> None:
    """Write the JSON schema of a member's configuration, by which editors complete and check it.

    Example: guardian config schema --out member.schema.json
    """
    write(json.dumps(config_pages.schema(), indent=2) + "\n", out)
