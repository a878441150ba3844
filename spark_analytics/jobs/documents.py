"""Frozen dataclasses as JSON documents: what a job is asked, and what it answers.

    {"kind": "remove-brokers", "brokers": [3, 4]}          a task, by the kind that its ticket bears
    {"kind": "carry", "racks": ["r1"]}                     a question, by the name of its class

Fields are named as in the class; those that have a default may be left out.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.tasks import Task
from spark_analytics.whatif.questions import Question


def task_of(document: object) -> Task:
    """Raises InvalidInput that names the field, the value and the fix."""
    kinds = {each.kind: each for each in typing.get_args(Task)}
    return typing.cast(Task, _of_kind("task", document, kinds))


def question_of(document: object) -> Question:
    """Raises InvalidInput that names the field, the value and the fix."""
    kinds = {each.__name__.lower(): each for each in typing.get_args(Question)}
    return typing.cast(Question, _of_kind("question", document, kinds))


def directory_of(document: object) -> Directory:
    """Entries by table, without lines. Raises InvalidInput that names the field, the value and the fix."""
    if not isinstance(document, Mapping):
        raise InvalidInput(f"directory is {document!r}: use an object")
    hints = typing.get_type_hints(Directory)
    del hints["links"]
    for table in document:
        if table not in hints:
            raise InvalidInput(f"directory.{table} is not known: use {', '.join(hints)}")
    tables = {table: _made(f"directory.{table}", hints[table], entries) for table, entries in document.items()}
    return Directory(**tables)  # type: ignore[arg-type]  # made by the class's own annotations


def parsed(name: str, text: str) -> object:
    """JSON. Raises InvalidInput."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name} is no JSON at position {error.pos}: {error.msg}") from error


def document_of(value: object) -> Any:  # noqa: PLR0911  # one for each kind of value
    """Convert a value to what JSON can say: inf is null, an array is a list, an enum its value."""
    if is_dataclass(value) and not isinstance(value, type):
        return document_of(asdict(value))
    match value:
        case Mapping():
            return {str(document_of(key)): document_of(each) for key, each in value.items()}
        case Enum():
            return document_of(value.value)
        case np.ndarray() | np.generic():
            return document_of(value.tolist())
        case list() | tuple() | set() | frozenset():
            return [document_of(each) for each in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def _of_kind(name: str, document: object, kinds: Mapping[str, type]) -> object:
    known = ", ".join(sorted(kinds))
    if not isinstance(document, Mapping):
        raise InvalidInput(f'{name} is {document!r}: use an object with a "kind", one of {known}')
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidInput(f"{name}.kind is {kind!r}: use one of {known}")
    return _made(name, kinds[kind], {key: value for key, value in document.items() if key != "kind"})


def _made(name: str, wanted: Any, value: object) -> object:  # noqa: PLR0911  # likewise
    """`value`, as JSON has it, as what an annotation says."""
    if isinstance(wanted, types.UnionType):
        if value is None and types.NoneType in wanted.__args__:
            return None
        [wanted] = [each for each in wanted.__args__ if each is not types.NoneType]
    if is_dataclass(wanted):
        return _dataclass(name, typing.cast(type, wanted), value)
    if typing.get_origin(wanted) is tuple:
        return _tuple(name, typing.get_args(wanted), value)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return _enum(name, wanted, value)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted is bytes and isinstance(value, str):
        return value.encode()
    if isinstance(value, bool) is (wanted is bool) and isinstance(value, wanted):
        return value
    raise InvalidInput(f"{name} is {value!r}: use {_words(wanted)}")


def _enum(name: str, wanted: type[Enum], value: object) -> Enum:
    for each in wanted:
        if each.value == value:
            return each
    raise InvalidInput(f"{name} is {value!r}: use one of {', '.join(str(each.value) for each in wanted)}")


def _tuple(name: str, of: tuple[Any, ...], value: object) -> object:
    if not isinstance(value, list):
        raise InvalidInput(f"{name} is {value!r}: use a list")
    if len(of) == 2 and of[1] is Ellipsis:
        return tuple(_made(f"{name}[{index}]", of[0], each) for index, each in enumerate(value))
    if len(of) != len(value):
        raise InvalidInput(f"{name} is {value!r}: use a list of {len(of)}")
    return tuple(
        _made(f"{name}[{index}]", each, item) for index, (each, item) in enumerate(zip(of, value, strict=True))
    )


def _dataclass(name: str, wanted: type, value: object) -> object:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is {value!r}: use an object")
    hints = typing.get_type_hints(wanted)
    known = {field.name: field for field in fields(wanted)}
    for key in value:
        if key not in known:
            raise InvalidInput(f"{name}.{key} is not known: use {', '.join(known) or 'no fields'}")
    for key, field in known.items():
        if key not in value and field.default is MISSING and field.default_factory is MISSING:
            raise InvalidInput(f"{name}.{key} is missing: use {_words(hints[key])}")
    return wanted(**{key: _made(f"{name}.{key}", hints[key], each) for key, each in value.items()})


def _words(wanted: Any) -> str:
    if typing.get_origin(wanted) is tuple:
        return "a list"
    plain = {str: "a text", bytes: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return plain.get(wanted, "an object")
