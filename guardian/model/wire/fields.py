"""Dataclasses <-> protobuf by their fields: a field of the message has the name of the dataclass's.

    dataclass                                    message
    tuple of scalars, dataclasses                repeated
    tuple of pairs                               map, in the order of its keys
    Enum                                         its value: an enum's number, or a text
    dataclass, NamedTuple                        a message, or fields of its own where the message has none of its name
    None                                         absent, or unspecified
    the field's default                          absent; of an Enum that is a text, empty

What differs otherwise is declared, before the first use, with `by_hand`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from guardian.errors import InvalidInput

_Message = TypeVar("_Message", bound=Message)
_Noun = TypeVar("_Noun")
_Kind = TypeVar("_Kind", bound=Enum)
_Writer = Callable[[Any, str, Any], None]
_Reader = Callable[[Any, str], Any]


_DEFAULT: object = object()  # what was read says nothing: the dataclass's default
_REQUIRED: object = object()  # and where it has none


@dataclass(frozen=True, slots=True)
class ByHand:
    """Write one field into its message, as `write(message, value)`, and read it from there, as `read(message)`: by
    default not at all."""

    write: Callable[[Any, Any], None]
    read: Callable[[Any], Any] = lambda _message: _DEFAULT


NOT_ON_THE_WIRE = ByHand(lambda _message, _value: None)
_BY_HAND: dict[type, Mapping[str, ByHand]] = {}


def by_hand(noun: type, **declared: ByHand) -> None:
    """Declare the fields of a dataclass that are not copied to the field of their name."""
    _BY_HAND[noun] = declared


def alias(name: str) -> ByHand:
    """Return how a scalar is copied to a field of another name."""
    return ByHand(lambda message, value: setattr(message, name, value), lambda message: getattr(message, name))


def filled(message: _Message, noun: object) -> _Message:
    """Return the message after copying the fields of the dataclass, or NamedTuple, into it."""
    message.SetInParent()
    for name, write in _writers(typing.cast(Any, type(noun)), message.DESCRIPTOR):
        value = getattr(noun, name)
        if value is not None:
            write(message, name, value)
    return message


def read(noun: type[_Noun], message: Message) -> _Noun:
    """Return a dataclass, or NamedTuple, made of the fields of the message. Raises InvalidInput where one is wrong or
    missing."""
    values: dict[str, Any] = {}
    for name, has_presence, absent, convert in _readers(typing.cast(Any, noun), message.DESCRIPTOR):
        value = convert(message, name) if not has_presence or message.HasField(name) else _DEFAULT
        value = absent if value is _DEFAULT else value
        if value is _REQUIRED:
            raise InvalidInput(f"{name} of {message.DESCRIPTOR.name} is missing: give it")
        if value is not _DEFAULT:
            values[name] = value
    return noun(**values)


def codec(
    noun: type[_Noun], message: type[_Message]
) -> tuple[Callable[[_Noun], _Message], Callable[[_Message], _Noun]]:
    """Return `filled` and `read` for a dataclass and its message; the second raises InvalidInput, as `read` does."""
    return lambda value: filled(message(), value), lambda value: read(noun, value)


def known(kind: type[_Kind], name: str, value: int | str) -> _Kind:
    """Return the member of that value; the error calls it `name`. Raises InvalidInput for one of a newer version."""
    try:
        return kind(value)
    except ValueError:
        all_known = ", ".join(each.value if isinstance(each.value, str) else each.name for each in kind)
        raise InvalidInput(f"{name} is {value!r}: this version of Guardian knows {all_known}") from None


@cache
def _writers(noun: Any, of: Descriptor) -> tuple[tuple[str, _Writer], ...]:
    declared = _BY_HAND.get(noun, {})
    found: list[tuple[str, _Writer]] = []
    for name, hint, _ in _fields(noun):
        if name in declared:
            found.append((name, _written_by(declared[name])))
        else:
            found.append((name, _write_among if _is_spread(hint, of, name) else _writer(hint)))
    return tuple(found)


@cache
def _readers(noun: Any, of: Descriptor) -> tuple[tuple[str, bool, object, _Reader], ...]:
    declared = _BY_HAND.get(noun, {})
    found = []
    for name, hint, absent in _fields(noun):
        if name in declared:
            found.append((name, False, absent, _read_by(declared[name])))
        elif _is_spread(hint, of, name):
            found.append((name, False, absent, _read_among(_without_none(hint))))
        else:
            found.append((name, of.fields_by_name[name].has_presence, absent, _reader(hint)))
    return tuple(found)


def _written_by(declared: ByHand) -> _Writer:
    return lambda message, _, value: declared.write(message, value)


def _read_by(declared: ByHand) -> _Reader:
    return lambda message, _: declared.read(message)


def _fields(noun: Any) -> list[tuple[str, Any, object]]:
    """Return name and type of each field, and what stands for it where it is absent."""
    hints = typing.get_type_hints(noun)
    if _is_named_tuple(noun):
        with_default = {name: name in noun._field_defaults for name in noun._fields}
    else:
        with_default = {
            each.name: each.default is not MISSING or each.default_factory is not MISSING for each in fields(noun)
        }
    return [
        (name, hints[name], _DEFAULT if has_default else None if _is_optional(hints[name]) else _REQUIRED)
        for name, has_default in with_default.items()
    ]


def _read_among(noun: Any) -> _Reader:
    return lambda message, _: read(noun, message)


def _writer(hint: Any) -> _Writer:
    hint = _without_none(hint)
    if _is_noun(hint):
        return _write_message
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda message, name, value: setattr(message, name, value.value)
    if typing.get_origin(hint) is not tuple:
        return setattr
    of = typing.get_args(hint)[0]
    if typing.get_origin(of) is tuple:
        return lambda message, name, value: getattr(message, name).update(dict(value))
    if _is_noun(of):
        return _write_many
    return lambda message, name, value: getattr(message, name).extend(value)


def _write_among(message: Any, _name: str, value: Any) -> None:
    filled(message, value)


def _write_message(message: Any, name: str, value: Any) -> None:
    filled(getattr(message, name), value)


def _write_many(message: Any, name: str, value: Any) -> None:
    target = getattr(message, name)
    for each in value:
        filled(target.add(), each)


def _reader(hint: Any) -> _Reader:
    is_optional, hint = _is_optional(hint), _without_none(hint)
    if _is_noun(hint):
        return lambda message, name: read(hint, getattr(message, name))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum_reader(hint, is_optional=is_optional)
    if typing.get_origin(hint) is not tuple:
        return getattr
    of = typing.get_args(hint)[0]
    if typing.get_origin(of) is tuple:
        return lambda message, name: tuple(sorted(getattr(message, name).items()))
    if _is_noun(of):
        return lambda message, name: tuple(read(of, each) for each in getattr(message, name))
    return lambda message, name: tuple(getattr(message, name))


def _enum_reader(kind: type[Enum], *, is_optional: bool) -> _Reader:
    def convert(message: Any, name: str) -> Any:
        value = getattr(message, name)
        if is_optional and not value:
            return None
        if value == "":
            return _DEFAULT
        return known(kind, f"{name} of {message.DESCRIPTOR.name}", value)

    return convert


def _is_optional(hint: Any) -> bool:
    return isinstance(hint, types.UnionType)


def _without_none(hint: Any) -> Any:
    if _is_optional(hint):
        [hint] = [each for each in hint.__args__ if each is not types.NoneType]
    return hint


def _is_spread(hint: Any, of: Descriptor, name: str) -> bool:
    """Return whether the fields of a noun stand among those of the message itself."""
    return _is_noun(_without_none(hint)) and (name not in of.fields_by_name or not of.fields_by_name[name].message_type)


def _is_noun(hint: Any) -> bool:
    return is_dataclass(hint) or _is_named_tuple(hint)


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")
