"""Options that a family of commands shares, written once.

typer reads signatures: these functions make one of two.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

_Own = TypeVar("_Own")
_Shared = TypeVar("_Shared")
_Made = TypeVar("_Made")


def with_options_of(
    shared: Callable[..., _Shared], carry_out: Callable[[_Shared, _Own], None], command: Callable[..., _Own]
) -> Callable[..., None]:
    """A command with its own options and, below them, those of `shared`: what both make of theirs is carried out."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        asked = shared(**_of(shared, given))
        carry_out(asked, command(**_of(command, given)))

    return signed(run, [*options_of(command), *options_of(shared)])


def made_of(options: Callable[..., _Shared], function: Callable[..., _Made]) -> Callable[..., _Made]:
    """`function` with `options`' options, below the others, in place of its first parameter: it gets what they make."""
    first, *others = options_of(function)

    @functools.wraps(function)
    def run(**given: Any) -> _Made:
        own = {parameter.name: given[parameter.name] for parameter in others}
        return function(**{first.name: options(**_of(options, given))}, **own)

    return signed(run, [*others, *options_of(options)])


def options_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(function, include_extras=True)
    return [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(function).parameters.items()
    ]


def _of(function: Callable[..., object], given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in inspect.signature(function).parameters}


def signed(run: Callable[..., _Made], parameters: list[inspect.Parameter]) -> Callable[..., _Made]:
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
