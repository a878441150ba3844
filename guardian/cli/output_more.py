"""The columns of -o wide that a table takes straight from the records its rows are made of.

A field's name says how it is headed and written, in the words that our messages and dataclasses have:

    name                      heading           written
    since_ms, started_at_ms   SINCE, STARTED    as a time (a moment is a whole number)
    await_ms, behind_s        AWAIT, BEHIND     as a duration
    size_bytes                SIZE              in KB, MB, …
    bytes_per_s               BYTES/S           the same, with /s
    is_adopted                ADOPTED           yes, or -
    policy.mode               MODE              of the record inside

So a command names the fields that an operator may want, and writes none of them itself.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from google.protobuf.message import Message

from guardian.model.units import human_bytes, human_duration

_MOMENT = re.compile(r"(?:^|_)(?:at|since|until|seen|before|after|first|last|timestamp)_ms$")
_UNIT = re.compile(r"(?:_at_ms|_ms|_bytes|(?<!_per)_s)$")
_NONE = "-"


@dataclass(frozen=True, slots=True)
class More:
    """`names` of each of `records`, which stand in the order of the table's rows."""

    records: Sequence[object]
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(_heading, self.names))

    @property
    def right(self) -> tuple[str, ...]:
        """Columns of numbers: those whose every value is one."""
        found = ((name, [_value(record, name) for record in self.records]) for name in self.names)
        return tuple(
            _heading(name)
            for name, values in found
            if not _MOMENT.search(name)
            and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        )

    def cells(self) -> list[tuple[str, ...]]:
        return [tuple(_text(record, name) for name in self.names) for record in self.records]


def more_of(records: Iterable[object], *names: str) -> More:
    """`names` are of fields, with dots between those of a record inside another. None as a record has none of them."""
    return More(list(records), names)


def human_time(at_ms: int) -> str:
    """Local time to the second; '-' for none."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at_ms else _NONE


def _heading(name: str) -> str:
    last = _UNIT.sub("", name.rpartition(".")[2]) or name
    return last.removeprefix("is_").replace("_per_s", "/s").replace("_", " ").upper()


def _value(record: object, name: str) -> Any:
    """Return the record's value of this name; of a protobuf enumeration its name."""
    for part in name.split("."):
        if isinstance(record, Message):
            field = record.DESCRIPTOR.fields_by_name[part]
            is_absent = field.has_presence and not record.HasField(part)
            value = None if is_absent else getattr(record, part)
            kinds = field.enum_type
            record = kinds.values_by_number[value].name if kinds is not None and isinstance(value, int) else value
        elif record is not None:
            record = getattr(record, part)
    return record


def _text(record: object, name: str) -> str:
    match _value(record, name):
        case True:
            text = "yes"
        case None | False:
            text = ""
        case str() as said:
            text = said
        case bytes() as id_of_kafka:
            text = base64.urlsafe_b64encode(id_of_kafka).decode().rstrip("=")
        case Enum(name=kind):
            text = kind.lower().replace("_", " ")
        case int() | float() as number:
            text = _number(number, name)
        case several:
            text = ", ".join(map(str, several))
    return text or _NONE


def _number(value: float, name: str) -> str:
    writes: tuple[tuple[bool, Callable[[], str]], ...] = (
        (_MOMENT.search(name) is not None and isinstance(value, int), lambda: human_time(int(value))),
        (name.endswith("bytes_per_s"), lambda: f"{human_bytes(value)}/s"),
        (name.endswith("bytes"), lambda: human_bytes(value)),
        (name.endswith("_ms") and isinstance(value, float), lambda: f"{value:.1f} ms"),
        (name.endswith("_ms"), lambda: human_duration(value)),
        (name.endswith("_s") and not name.endswith("_per_s"), lambda: human_duration(1000 * value)),
        (isinstance(value, float), lambda: f"{value:.4g}"),
    )
    return next((write() for fits, write in writes if fits), str(value))
