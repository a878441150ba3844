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
from guardian.cli.printing import echo

# In the order of `guardian --help`: where below guardian each command or group is.
_PARTS: dict[str, str] = {
    "server": "member.commands.server:server",
    "status": "cli.status:status",
    "collection": "collection.commands:collection",
    "findings": "health.commands.findings:findings",
    "durability": "health.commands.durability:durability",
    "links": "links.commands:links",
    "events": "events.commands:events",
    "analyze": "planning.commands.analyze:analyze",
    "forecast": "planning.commands.forecast:forecast",
    "login": "security.commands.login:login",
    "logout": "security.commands.login:logout",
    "whoami": "security.commands.whoami:whoami",
    "roles": "security.commands.roles:roles",
    "support-bundle": "member.commands.support_bundle:support_bundle",
    "version": "cli.tree:version",
    "disk": "health.commands.disk:app",
    "group": "health.commands.group:app",
    "cluster": "federation.commands.cluster:app",
    "broker": "federation.commands.broker:app",
    "machine": "federation.commands.federation:machines",
    "tenant": "federation.commands.federation:tenants",
    "topic": "federation.commands.federation:topics",
    "idc-policy": "federation.commands.federation:idc_policies",
    "exclusion": "cordons.commands:exclusions",
    "audit": "security.commands.audit_export:audit",
    "token": "security.commands.token:app",
    "raft": "replication.commands.raft:app",
    "tiering": "tiering.commands.tiering:app",
    "plan": "planning.commands.plan.commands:app",
    "what-if": "planning.commands.whatif:app",
    "ticket": "tickets.commands.ticket:app",
    "acl": "tickets.commands.acl:app",
    "healing": "healing.commands:app",
    "certs": "security.commands.certs:app",
    "apply": "federation.commands.apply:app",
    "import": "federation.commands.interchange:imports",
    "export": "federation.commands.interchange:exports",
    "local": "cli.local:app",
    "context": "cli.context:app",
    "config": "member.commands.config:app",
    "docs": "member.commands.docs:app",
}
_WITH_REQUESTS = ("acl", "broker", "topic")  # nouns under which tickets of requests are asked for


def version() -> None:
    """Print the version."""
    echo(__version__)


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
