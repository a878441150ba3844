"""Tables and numbers as a tired operator reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.cells import cell_len, set_cell_size

from guardian.errors import Unavailable


def human_time(at_ms: int) -> str:
    """Local time to the second; '-' for none."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at_ms else "-"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Prints plain aligned columns; those named in `right` are numbers. Never wraps: a pipe gets whole lines."""
    cells = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            set_cell_size("", width - cell_len(cell)) + cell if name in right else set_cell_size(cell, width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(padded).rstrip())


def require_an_answer(answers: Sequence[object], endpoints: Sequence[str]) -> None:
    """Raises Unavailable when none of the members asked has answered: what was shown is worth nothing."""
    if not answers:
        raise Unavailable(
            f"no Guardian member answered at {', '.join(endpoints)}: check the endpoints, and that `guardian server` "
            "runs there"
        )


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def as_dict(message: Message) -> dict[str, object]:
    """The JSON form of a protobuf message, with the proto's field names and without hidden defaults."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
