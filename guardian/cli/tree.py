"""The commands of `guardian`, each imported when it is called for: most of a short one's time went into the others.

`tree_for` is what `guardian.cli.main` runs; `tree()` has all of them, for `--help`, completion and the documentation.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from importlib import import_module

import typer

from guardian import __version__
from guardian.cli.everywhere import everywhere

# In the order of `guardian --help`: where below guardian.cli each command or group is.
_PARTS: dict[str, str] = {
    "server": "server:server",
    "status": "status:status",
    "collection": "collection:collection",
    "findings": "findings:findings",
    "durability": "durability:durability",
    "links": "links:links",
    "events": "events:events",
    "analyze": "analyze:analyze",
    "forecast": "forecast:forecast",
    "login": "login:login",
    "logout": "login:logout",
    "support-bundle": "support_bundle:support_bundle",
    "version": "tree:version",
    "disk": "disk:app",
    "group": "group:app",
    "cluster": "cluster:app",
    "broker": "broker:app",
    "machine": "federation:machines",
    "tenant": "federation:tenants",
    "topic": "federation:topics",
    "idc-policy": "federation:idc_policies",
    "exclusion": "cordons:exclusions",
    "audit": "audit_export:audit",
    "token": "token:app",
    "raft": "raft:app",
    "tiering": "tiering:app",
    "plan": "plan.commands:app",
    "what-if": "whatif:app",
    "ticket": "ticket:app",
    "acl": "acl:app",
    "healing": "healing:app",
    "certs": "certs:app",
    "apply": "apply:app",
    "import": "interchange:imports",
    "export": "interchange:exports",
    "local": "local:app",
    "context": "context:app",
    "config": "config:app",
    "docs": "docs:app",
}
_WITH_REQUESTS = ("acl", "broker", "topic")  # nouns under which tickets of requests are asked for


def version() -> None:
    """Print the version."""
    print(__version__)


def tree_for(arguments: Sequence[str]) -> typer.Typer:
    """What these arguments need: the command that they begin with, or all, to say what there is."""
    is_completion = "_GUARDIAN_COMPLETE" in os.environ
    return tree(arguments[:1]) if arguments and arguments[0] in _PARTS and not is_completion else tree()


def tree(names: Iterable[str] = tuple(_PARTS)) -> typer.Typer:
    """The commands and groups of these names, with what every command has."""
    app = typer.Typer(
        help="One control service for a federation of Apache Kafka clusters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for part in map(_part, names):
        app.registered_commands += part.registered_commands
        app.registered_groups += part.registered_groups
    return app


def _root() -> None:
    """Typer makes a tree of one command that command itself, unless its root has something of its own."""


@functools.cache
def _part(name: str) -> typer.Typer:
    module, attribute = _PARTS[name].split(":")
    found = getattr(import_module(f"guardian.cli.{module}"), attribute)
    part = typer.Typer()
    if isinstance(found, typer.Typer):
        if name in _WITH_REQUESTS:
            for verb, command in import_module("guardian.cli.requests").request_commands(name):
                found.command(verb)(command)
        part.add_typer(found, name=name)
    else:
        part.command(name)(found)
    everywhere(part)
    return part
