"""JSON from a file, gzip or not, and its fields: whatever is wrong is one sentence that names field, value and fix."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guardian.errors import InvalidInput

JsonObject = Mapping[str, Any]

_MAX_NUMBER = 1e300  # the quantities of these files, in any unit, are far below


def read_json(path: Path, what: str) -> JsonObject:
    """The object in the file. Raises InvalidInput when it can't be read, or is none."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        document = json.loads(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInput(f"{what} {path} is broken gzip: write it anew") from error
    except OSError as error:
        raise InvalidInput(f"{what} {path} can't be read ({error.strerror}): give a file that exists") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} {path} is not JSON ({error}): correct or replace it") from error
    if not isinstance(document, dict):
        raise InvalidInput(f"{what} {path} is {_shown(document)}: use a JSON object")
    return document


def write_json(path: Path, document: JsonObject) -> None:
    """Compact; gzip where the name ends in .gz, the same bytes each time."""
    text = json.dumps(document, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(text, compresslevel=3, mtime=0) if path.suffix == ".gz" else text)


def objects(document: JsonObject, field: str) -> Iterator[tuple[str, JsonObject]]:
    """Each object of a list, with what to call it in a message."""
    items = document.get(field)
    if not isinstance(items, list):
        raise InvalidInput(f"{field} is {_shown(items)}: use a list of objects")
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise InvalidInput(f"{field}[{number}] is {_shown(item)}: use an object")
        yield f"{field}[{number}]", item


def text(where: str, item: JsonObject, field: str, default: str | None = None) -> str:
    value = item.get(field, default)
    if not isinstance(value, str):
        raise InvalidInput(f"{where}.{field} is {_shown(value)}: use a text")
    return value


def whole(where: str, item: JsonObject, field: str, least: int = 0) -> int:
    """A whole number; Cruise Control writes numbers as texts too."""
    value = item.get(field)
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            value = item.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 2**31 - 1:
        raise InvalidInput(f"{where}.{field} is {_shown(value)}: use a whole number from {least} to {2**31 - 1}")
    return value


def number(where: str, item: JsonObject, field: str, default: float | None = None) -> float:
    """A finite number from 0."""
    value = item.get(field, default)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = item.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_NUMBER:
        raise InvalidInput(f"{where}.{field} is {_shown(value)}: use a number from 0")
    return float(value)


def flag(where: str, item: JsonObject, field: str, default: bool | None = None) -> bool:
    value = item.get(field, default)
    if not isinstance(value, bool):
        raise InvalidInput(f"{where}.{field} is {_shown(value)}: use true or false")
    return value


def part(where: str, item: JsonObject, field: str) -> JsonObject:
    value = item.get(field)
    if not isinstance(value, dict):
        raise InvalidInput(f"{where}.{field} is {_shown(value)}: use an object")
    return value


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
