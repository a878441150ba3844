"""Forms: what a page asks a person for, and what he typed, as values. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from guardian.errors import InvalidInput
from guardian.model.tasks import LogDir
from guardian.model.units import parse_bytes, parse_duration_ms, parse_rate

_LONGEST = 4000
_BETWEEN = re.compile(r"[,\s]+")


class Shape(StrEnum):
    """Name how what is typed into a field is read; also what a page makes of it."""

    TEXT = "text"
    WORDS = "words"  # with commas or spaces between them
    COUNT = "count"
    COUNTS = "counts"
    NUMBER = "number"
    BYTES = "bytes"
    RATE = "rate"
    DURATION = "duration"
    TICK = "tick"
    CHOICE = "choice"
    LOG_DIRS = "log_dirs"  # BROKER:/PATH
    PAIRS = "pairs"  # KEY=VALUE, one a line


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. `example` is shown where nothing is typed; `choices` are those of a CHOICE."""

    name: str
    label: str
    shape: Shape = Shape.TEXT
    help: str = ""
    example: str = ""
    default: str = ""
    is_required: bool = False
    choices: tuple[str, ...] = ()


def values_of(fields: Sequence[Field], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of each field in which something is typed, by name.

    Values: WORDS tuple of text; COUNT int; COUNTS tuple of int; NUMBER float; BYTES, and RATE a second, int; DURATION
    int of ms; TICK True; LOG_DIRS tuple of LogDir; PAIRS tuple of (key, value). Raises InvalidInput that names the
    field as the page does.
    """
    found: dict[str, Any] = {}
    for field in fields:
        text = given.get(field.name, "").strip()
        if len(text) > _LONGEST:
            raise InvalidInput(f"{field.label}: too long (got {len(text)} characters); use at most {_LONGEST}")
        if text:
            found[field.name] = _value(field, text)
        elif field.is_required:
            raise InvalidInput(f"{field.label}: nothing is given; {field.help or 'fill it in'}")
    return found


def _value(field: Field, text: str) -> Any:
    if field.shape is Shape.CHOICE and text not in field.choices:
        raise InvalidInput(f"{field.label}: unknown (got {text[:60]!r}); use one of {', '.join(field.choices)}")
    return _READ[field.shape](field.label, text)


def _words(text: str) -> list[str]:
    return [word for word in _BETWEEN.split(text) if word]


def _count(label: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise InvalidInput(f"{label}: no whole number (got {text[:60]!r}); use digits")
    return int(text)


def _number(label: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,6})?", text):
        raise InvalidInput(f"{label}: no number (got {text[:60]!r}); use one such as 0.2")
    return float(text)


def _log_dir(label: str, text: str) -> LogDir:
    broker, colon, path = text.partition(":")
    if not colon:
        raise InvalidInput(f"{label}: no log dir (got {text[:60]!r}); use BROKER:/PATH, such as 3:/data/a")
    return LogDir(_count(label, broker), path)


def _pair(label: str, line: str) -> tuple[str, str]:
    key, equals, value = line.partition("=")
    if not equals or not key.strip():
        raise InvalidInput(f"{label}: no setting (got {line[:60]!r}); use KEY=VALUE, one a line")
    return key.strip(), value.strip()


_READ: dict[Shape, Callable[[str, str], Any]] = {
    Shape.TEXT: lambda _, text: text,
    Shape.WORDS: lambda _, text: tuple(_words(text)),
    Shape.COUNT: _count,
    Shape.COUNTS: lambda label, text: tuple(_count(label, word) for word in _words(text)),
    Shape.NUMBER: _number,
    Shape.BYTES: parse_bytes,
    Shape.RATE: parse_rate,
    Shape.DURATION: parse_duration_ms,
    Shape.TICK: lambda _, text: bool(text),
    Shape.CHOICE: lambda _, text: text,
    Shape.LOG_DIRS: lambda label, text: tuple(_log_dir(label, word) for word in _words(text)),
    Shape.PAIRS: lambda label, text: tuple(_pair(label, line) for line in text.splitlines() if line.strip()),
}
