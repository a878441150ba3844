"""Commands of the kinds of tickets that send requests, made of what each kind says of its options.

guardian acl repair, guardian broker throttle, guardian topic config, guardian topic delete, ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from guardian.cli.options import (
    ClusterOption,
    DryRunOption,
    EndpointsOption,
    KeyOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    connect,
    now_ms,
)
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.errors import InvalidInput
from guardian.tickets.commands.ticket_telling import made_as_dict, say
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.kinds.requested import Option, OptionType, RequestKind

_COMMON: tuple[tuple[str, Any, Any], ...] = (
    ("key", KeyOption, ""),
    ("reason", ReasonOption, ""),
    ("dry_run", DryRunOption, False),
    ("endpoints", EndpointsOption, ""),
    ("output", OutputOption, Output.TABLE),
)


def request_commands(noun: str) -> Iterator[tuple[str, Callable[..., None]]]:
    """Yield the verb and the command of each kind that stands under the noun."""
    for kind in KINDS.values():
        if isinstance(kind, RequestKind) and kind.command[0] == noun:
            yield kind.command[1], _command(kind)


def _command(kind: RequestKind[Any]) -> Callable[..., None]:
    def command(**given: Any) -> None:
        texts = {each.name: _texts(each, given[_parameter(each)]) for each in kind.options}
        plan = kind.plan(given["cluster"], kind.read(texts, now_ms()))
        _create(kind, plan, given)

    parameters = [_described(each) for each in kind.options if each.is_argument]
    parameters.append(("cluster", ClusterOption, ""))
    parameters += [_described(each) for each in kind.options if not each.is_argument]
    parameters += _COMMON
    command.__doc__ = kind.help
    command.__name__ = kind.name.replace("-", "_")
    command.__annotations__ = {name: annotation for name, annotation, _ in parameters}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as typer reads it
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, annotation, default in parameters
        ]
    )
    return command


def _create(kind: RequestKind[Any], plan: Any, given: Mapping[str, Any]) -> None:
    dry_run, output = given["dry_run"], given["output"]
    with connect(given["endpoints"]) as client:
        ticket, resolved = client.create_ticket(
            plan, author=actor(), submit=True, reason=given["reason"], idempotency_key=given["key"], dry_run=dry_run
        )
    if output is Output.JSON:
        print_json(made_as_dict(None if dry_run else ticket, resolved))
        return
    if dry_run:
        echo(f"A ticket of kind {kind.name} can run on cluster {plan.cluster}; nothing was stored.")
    else:
        say(ticket)
    for note in resolved.notes:
        echo(f"- {note}")


def _described(option: Option) -> tuple[str, Any, Any]:
    """Return the parameter of the option: its name, its annotation and its default."""
    value: Any = list[str] if option.is_many else Path if option.type is OptionType.FILE else str
    if option.is_argument:
        return _parameter(option), Annotated[value, typer.Argument(help=option.help, metavar=option.name.upper())], ...
    declared = typer.Option(f"--{option.name}", help=option.help.replace("[", "\\["))
    if option.default is None:
        return _parameter(option), Annotated[value, declared], inspect.Parameter.empty
    return _parameter(option), Annotated[value, declared], [] if option.is_many else option.default


def _parameter(option: Option) -> str:
    return f"{option.name}_value"  # an option may be called as a word of Python is


def _texts(option: Option, given: Any) -> Sequence[str]:
    if option.type is OptionType.FILE:
        return [_text(option.name, given)]
    return given if option.is_many else [given]


def _text(name: str, path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"{name} {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} {path} is not text: give a JSON file") from None
