"""What every command that talks to Guardian has, given to all of them at once when the tree of commands is complete.

    options        --context, --timeout and TLS beside --endpoints; their values reach `options.connect`
    a span         where traces are asked for
    --watch        for those that show what changes by itself
    --cluster      the context's, where a command needs one and is given none
    completion     of parameters whose name says what they are, such as --cluster
    other verbs    a hidden name for what other tools call otherwise: `ticket get` for `ticket show`

So a new command needs none of this in its signature, and none can forget it.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from copy import copy
from typing import Annotated, Any

import typer
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from guardian import tracing
from guardian.cli import completing
from guardian.cli.options import PANEL, ClusterOption, Connection, EndpointsOption, cluster_of, use
from guardian.cli.shared import with_options_of
from guardian.cli.watching import watchable

# (group, the other name) -> the command: what kubectl, rpk and patronictl call it, and our own other groups.
ALIASES: dict[tuple[str, str], str] = {
    ("cluster", "drop"): "remove",
    ("cluster", "put"): "add",
    ("exclusion", "remove"): "lift",
    ("idc-policy", "remove"): "drop",
    ("machine", "add"): "put",
    ("machine", "remove"): "drop",
    ("raft", "list"): "members",
    ("raft", "switchover"): "transfer-leader",
    ("tenant", "add"): "put",
    ("tenant", "remove"): "drop",
    ("ticket", "get"): "show",
    ("ticket", "roll-back"): "rollback",
    ("ticket", "stop"): "cancel",
    ("topic", "remove"): "drop",
}

WATCHABLE = {
    ("status",),
    ("collection",),
    ("findings",),
    ("links",),
    ("broker", "metrics"),
    ("cluster", "list"),
    ("disk", "queue"),
    ("disk", "show"),
    ("exclusion", "cordons"),
    ("exclusion", "list"),
    ("healing", "status"),
    ("raft", "members"),
    ("raft", "status"),
    ("ticket", "list"),
    ("ticket", "show"),
    ("tiering", "topics"),
}


def _reach(name: str, help: str, default: str, **more: Any) -> Any:
    return typer.Option(name, help=help, show_default=default, rich_help_panel=PANEL, **more)


_CONTEXT = "Which federation of the configuration file (guardian context list)."
_TIMEOUT = "How long to wait for an answer, such as 60s, over a slow line."
_BEARER = "$GUARDIAN_TOKEN_FILE, the context's, or of guardian login"


def connection(
    context: Annotated[
        str, _reach("--context", _CONTEXT, "the current one", autocompletion=completing.context_names)
    ] = "",
    patience: Annotated[str, _reach("--timeout", _TIMEOUT, "the context's, or 15s", envvar="GUARDIAN_TIMEOUT")] = "",
    ca: Annotated[str, _reach("--ca", "PEM file of whom to trust: TLS.", "the context's, $GUARDIAN_CA")] = "",
    certificate: Annotated[
        str, _reach("--certificate", "PEM file of who you are.", "the context's, $GUARDIAN_CERTIFICATE")
    ] = "",
    tls_key: Annotated[str, _reach("--key", "PEM file of its key.", "the context's, $GUARDIAN_KEY")] = "",
    token_file: Annotated[str, _reach("--token-file", "A file with a token that says who you are.", _BEARER)] = "",
) -> None:
    """Note how to reach Guardian, for `options.connect`."""
    use(Connection(context, patience, ca, certificate, tls_key, token_file))


def _nothing_more(_: None, __: object) -> None:
    """The connection is known by then, and the command has run."""


def everywhere(app: typer.Typer) -> None:
    """Gives it to all commands of the tree. Call it once, when the tree is complete."""
    for path, group, command in _commands(app):
        if command.callback is None:
            continue
        if path in WATCHABLE:
            command.callback = watchable(command.callback)
        hints = typing.get_type_hints(command.callback, include_extras=True)
        if hints.get("cluster") == ClusterOption:
            command.callback = _with_cluster(command.callback)
        if hints.get("endpoints") == EndpointsOption:
            command.callback = with_options_of(connection, _nothing_more, command.callback)
            command.callback = _traced(command.callback, " ".join(path))
        command.callback = _completed(command.callback)
        for (of, alias), name in ALIASES.items():
            if path == (of, name):
                group.registered_commands.append(_alias(command, of, alias))


def _commands(
    app: typer.Typer, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], typer.Typer, CommandInfo]]:
    for command in list(app.registered_commands):
        name = command.name or (command.callback.__name__.replace("_", "-") if command.callback else "")
        yield (*path, name), app, command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _commands(group.typer_instance, (*path, str(group.name)))


def _with_cluster(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Fill in the context's cluster where none is given, once it is known which context that is."""

    @functools.wraps(callback)
    def run(**given: Any) -> None:
        callback(**{**given, "cluster": cluster_of(given["cluster"], given["endpoints"])})

    return run


def _traced(callback: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Run the command in a span, where the environment asks for traces (guardian.cli.main)."""

    @functools.wraps(callback)
    def run(**given: Any) -> None:
        with tracing.span(f"guardian {name}", str(given.get("ticket_id") or "")):
            callback(**given)

    return run


def _completed(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The same with completion of the parameters that have none."""
    hints = typing.get_type_hints(callback, include_extras=True)
    changed = {
        name: hint
        for name in hints.keys() & completing.OFFERS.keys()
        if (hint := _offering(hints[name], name)) is not None
    }
    if not changed:
        return callback
    signature = inspect.signature(callback)
    callback.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            each.replace(annotation=changed.get(each.name, hints.get(each.name, each.annotation)))
            for each in signature.parameters.values()
        ]
    )
    callback.__annotations__ = {**hints, **changed}
    return callback


def _offering(hint: Any, name: str) -> Any | None:
    if typing.get_origin(hint) is not Annotated:
        return None
    kind, *facts = typing.get_args(hint)
    info = next((fact for fact in facts if isinstance(fact, OptionInfo | ArgumentInfo)), None)
    if info is None or info.autocompletion is not None:
        return None
    offering = copy(info)
    offering.autocompletion = completing.offering(completing.OFFERS[name])
    return Annotated[kind, offering]


def _alias(command: CommandInfo, group: str, alias: str) -> CommandInfo:
    other = copy(command)
    other.name, other.hidden = alias, True
    text = inspect.getdoc(command.callback) or ""
    other.help = (command.help or text).replace(f"guardian {group} {command.name}", f"guardian {group} {alias}")
    return other
