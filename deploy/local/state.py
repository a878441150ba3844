"""Dataclasses as JSON, and back: what one command writes down, and the next one takes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def to_state(value: Any) -> Any:
    """Return the value as JSON has it."""
    if is_dataclass(value):
        return {each.name: to_state(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_state(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_state(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def from_state(kind: type[_T], state: Any) -> _T:
    """Return the value of which `to_state` made this. What the state does not have is as in a new one.

    Raises ValueError, KeyError or TypeError for what is no such state.
    """
    return cast(_T, _value(kind, state))


def _value(kind: Any, state: Any) -> object:
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        (some,) = (each for each in inner if each is not NoneType)
        return None if state is None else _value(some, state)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return cast(type, kind)(**{name: _value(hints[name], each) for name, each in dict(state).items()})
    if get_origin(kind) is tuple:
        return tuple(_value(inner[0], each) for each in state)
    if get_origin(kind) is Mapping:
        return {inner[0](key): _value(inner[1], each) for key, each in state.items()}
    if issubclass(kind, tuple):
        return kind(*state)
    return kind(state) if issubclass(kind, Path | Enum) else state
