"""Dataclasses <-> protobuf by their fields: a field of the message has the name of the dataclass's.

tuple of scalars or dataclasses    repeated             tuple of pairs    map, in the order of its keys
None                               absent               absent            the dataclass's default
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message

from guardian.errors import InvalidInput

_Message = TypeVar("_Message", bound=Message)
_Noun = TypeVar("_Noun")


def filled(message: _Message, noun: object) -> _Message:
    """Return the message after copying the fields of the dataclass into it."""
    message.SetInParent()
    for field in fields(noun):  # type: ignore[arg-type]  # a dataclass's instance, whichever
        value = getattr(noun, field.name)
        if isinstance(value, tuple):
            _fill_many(getattr(message, field.name), value)
        elif is_dataclass(value):
            filled(getattr(message, field.name), value)
        elif value is not None:
            setattr(message, field.name, value)
    return message


def _fill_many(target: Any, values: tuple[Any, ...]) -> None:
    if hasattr(target, "update"):
        target.update(dict(values))
    elif values and is_dataclass(values[0]):
        for each in values:
            filled(target.add(), each)
    else:
        target.extend(values)


def read(noun: type[_Noun], message: Message) -> _Noun:
    """Return a dataclass made of the fields of the message. Raises InvalidInput where one is wrong or missing."""
    present = message.DESCRIPTOR.fields_by_name
    values: dict[str, Any] = {}
    for name, is_required, convert in _readers(typing.cast(Any, noun)):
        if not present[name].has_presence or message.HasField(name):
            values[name] = convert(getattr(message, name))
        elif is_required:
            raise InvalidInput(f"{name} of {message.DESCRIPTOR.name} is missing: give it")
    return noun(**values)


@cache
def _readers(noun: Any) -> tuple[tuple[str, bool, Callable[[Any], Any]], ...]:
    hints = typing.get_type_hints(noun)
    return tuple(
        (each.name, each.default is MISSING and each.default_factory is MISSING, _reader(hints[each.name]))
        for each in fields(noun)
    )


def _reader(hint: Any) -> Callable[[Any], Any]:
    if isinstance(hint, types.UnionType):
        [hint] = [each for each in hint.__args__ if each is not types.NoneType]
    if is_dataclass(hint):
        return lambda message: read(typing.cast(type, hint), message)
    if typing.get_origin(hint) is not tuple:
        return lambda value: value
    of = typing.get_args(hint)[0]
    if typing.get_origin(of) is tuple:
        return lambda pairs: tuple(sorted(pairs.items()))
    each = _reader(of)
    return lambda values: tuple(map(each, values))
