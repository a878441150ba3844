"""Dataclasses <-> protobuf by their fields: a field of the message has the name of the dataclass's.

    dataclass                                    message
    tuple of scalars, dataclasses                repeated
    tuple of pairs                               map, in the order of its keys
    Enum                                         its value: an enum's number, or a text
    NamedTuple                                   a message, or fields of its own where the one of its name is a scalar
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

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from guardian.errors import InvalidInput

_Message = TypeVar("_Message", bound=Message)
_Noun = TypeVar("_Noun")
_Kind = TypeVar("_Kind", bound=Enum)
_Writer = Callable[[Any, str, Any], None]
_Reader = Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True)
class ByHand:
    """Write one field into its message, as `write(message, value)`, and read it from there, as `read(message)`."""

    write: Callable[[Any, Any], None]
    read: Callable[[Any], Any]


_DEFAULT = object()  # what was read says nothing: the dataclass's default
NOT_ON_THE_WIRE = ByHand(lambda _message, _value: None, lambda _message: _DEFAULT)
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
    for name, has_presence, is_required, convert in _readers(typing.cast(Any, noun), message.DESCRIPTOR):
        value = convert(message, name) if not has_presence or message.HasField(name) else _DEFAULT
        if value is not _DEFAULT:
            values[name] = value
        elif is_required:
            raise InvalidInput(f"{name} of {message.DESCRIPTOR.name} is missing: give it")
    return noun(**values)


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
    return tuple(
        (name, _written_by(declared[name]) if name in declared else _writer(hint, of.fields_by_name[name]))
        for name, hint, _ in _fields(noun)
    )


@cache
def _readers(noun: Any, of: Descriptor) -> tuple[tuple[str, bool, bool, _Reader], ...]:
    declared = _BY_HAND.get(noun, {})
    found = []
    for name, hint, is_required in _fields(noun):
        if name in declared:
            found.append((name, False, is_required, _read_by(declared[name])))
        else:
            field = of.fields_by_name[name]
            found.append((name, field.has_presence, is_required, _reader(hint, field)))
    return tuple(found)


def _written_by(declared: ByHand) -> _Writer:
    return lambda message, _, value: declared.write(message, value)


def _read_by(declared: ByHand) -> _Reader:
    return lambda message, _: declared.read(message)


def _fields(noun: Any) -> list[tuple[str, Any, bool]]:
    """Return name, type and whether it has no default, of each field."""
    hints = typing.get_type_hints(noun)
    if _is_named_tuple(noun):
        return [(name, hints[name], name not in noun._field_defaults) for name in noun._fields]
    return [
        (each.name, hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(noun)
    ]


def _writer(hint: Any, field: FieldDescriptor) -> _Writer:
    hint = _without_none(hint)
    if _is_noun(hint):
        return _write_message if field.message_type else _spread
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


def _write_message(message: Any, name: str, value: Any) -> None:
    filled(getattr(message, name), value)


def _spread(message: Any, _name: str, value: Any) -> None:
    filled(message, value)


def _write_many(message: Any, name: str, value: Any) -> None:
    target = getattr(message, name)
    for each in value:
        filled(target.add(), each)


def _reader(hint: Any, field: FieldDescriptor) -> _Reader:
    is_optional, hint = hint is not _without_none(hint), _without_none(hint)
    if _is_noun(hint):
        is_spread = field.message_type is None
        return lambda message, name: read(hint, message if is_spread else getattr(message, name))
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


def _without_none(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        [hint] = [each for each in hint.__args__ if each is not types.NoneType]
    return hint


def _is_noun(hint: Any) -> bool:
    return is_dataclass(hint) or _is_named_tuple(hint)


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")
