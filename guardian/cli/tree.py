"""The commands of `guardian`, each imported when it is called for: most of a short one's time went into the others.

`tree_for` is what `guardian.cli.main` runs; `tree()` has all of them, for the documentation. `guardian.cli.outline`
lists them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from guardian import __version__
from guardian.cli.outline import ABOUT, OUTLINE, PLACES
from guardian.cli.printing import echo

_WITH_REQUESTS = ("acl", "broker", "topic")  # nouns under which tickets of requests are asked for


def version() -> None:
    """Print the version."""
    echo(__version__)


class _Outline(TyperGroup):
    """The root where nothing is imported but the command that is called, or completed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that these arguments begin with, in place of its line in the outline."""
        name, command, others = super().resolve_command(ctx, args)
        return name, command and _command(str(command.name)), others


def tree_for(arguments: Sequence[str]) -> typer.Typer:
    """Return what these arguments need: the command that they begin with, or the outline, to say what there is."""
    is_completion = "_GUARDIAN_COMPLETE" in os.environ
    return tree(arguments[:1]) if arguments and arguments[0] in PLACES and not is_completion else _outline()


def tree(names: Iterable[str] = tuple(PLACES)) -> typer.Typer:
    """Return the commands and groups of these names, with what every command has."""
    app = _app()
    for part in map(_part, names):
        app.registered_commands += part.registered_commands
        app.registered_groups += part.registered_groups
    return app


def _outline() -> typer.Typer:
    app = _app(cls=_Outline)
    for group in OUTLINE:
        for entry in group.entries:
            app.command(entry.name, help=entry.help, rich_help_panel=group.heading)(_root)
    return app


def _app(**more: Any) -> typer.Typer:
    app = typer.Typer(
        help=ABOUT,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **more,
    )
    app.callback()(_root)
    return app


def _command(name: str) -> Any:
    from typer.main import get_group

    return get_group(tree([name])).commands[name]


def _root() -> None:
    """Typer makes a tree of one command that command itself, unless its root has something of its own."""


@functools.cache
def _part(name: str) -> typer.Typer:
    from guardian.cli.everywhere import everywhere

    module, attribute = PLACES[name].split(":")
    found = getattr(import_module(f"guardian.{module}"), attribute)
    part = typer.Typer()
    if isinstance(found, typer.Typer):
        if name in _WITH_REQUESTS:
            for verb, command in import_module("guardian.tickets.commands.requests").request_commands(name):
                found.command(verb)(command)
        part.add_typer(found, name=name)
    else:
        part.command(name)(found)
    everywhere(part)
    return part
