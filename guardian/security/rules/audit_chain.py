"""The audit as a file to which lines are added and nothing else. Each line holds the hash of the one before it, so that
whoever changes, removes or inserts one has to make all later ones anew. The last hash, kept elsewhere, tells that.

{"at_ms":…,"index":…,"actor":…,"action":…,"subject":…,"detail":…,"error":…,"previous":"<sha256 of the line before>"}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.text import json_escaped

START = "0" * 64


@dataclass(frozen=True, slots=True)
class Checked:
    """`last` is the hash of the last line, and `previous` of the first one what it claims to follow."""

    lines: int
    first_previous: str
    last: str


def line_of(record: Mapping[str, object], previous: str) -> str:
    """The record's line, without its end."""
    return json_escaped(json.dumps({**record, "previous": previous}, ensure_ascii=False, separators=(",", ":")))


def hash_of(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def check_lines(lines: Iterable[str]) -> Checked:
    """Raises InvalidInput that names the first line that does not follow the one before it."""
    count, previous, first = 0, "", START
    for line in lines:
        text = line.rstrip("\n")
        try:
            told = json.loads(text)["previous"]
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(f"line {count + 1} is no line of an audit file: it was changed, or cut off") from None
        if count == 0:
            first = str(told)
        elif told != previous:
            raise InvalidInput(
                f"line {count + 1} does not follow line {count}: one of them was changed, or lines between are gone"
            )
        previous = hash_of(text)
        count += 1
    return Checked(count, first, previous or START)
