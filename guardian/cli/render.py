"""Tables and numbers as a tired operator reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import typer
import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.cells import cell_len, set_cell_size

from guardian.cli.exits import UNKNOWN
from guardian.cli.output import Output, is_wide, is_yaml
from guardian.cli.output_more import More, human_time
from guardian.cli.printing import echo, echo_json, echo_text
from guardian.errors import Unavailable
from guardian.model.text import escaped, is_printable

__all__ = [
    "as_dict", "human_time", "print_json", "print_json_line", "print_table", "require_an_answer",
    "require_samples", "say",
]  # fmt: skip


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[str] = (),
    wide: Sequence[str] = (),
    more: More | None = None,
) -> None:
    """Prints plain aligned columns; those named in `right` are numbers. Those in `wide`, and what `more` says of the
    rows' records, are for -o wide only.

    Never wraps: a pipe gets whole lines.
    """
    if more is not None and is_wide():
        columns, right = (*columns, *more.columns), (*right, *more.right)
        rows = [(*row, *others) for row, others in zip(rows, more.cells(), strict=True)]
    shown = [i for i, name in enumerate(columns) if name not in wide or is_wide()]
    cells = [tuple(escaped(row[i]) for i in shown) for row in (columns, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    names = cells[0]
    for row in cells:
        padded = (
            set_cell_size("", width - cell_len(cell)) + cell if name in right else set_cell_size(cell, width)
            for name, cell, width in zip(names, row, widths, strict=True)
        )
        echo("  ".join(padded).rstrip())


def require_an_answer(answers: Sequence[object], endpoints: Sequence[str]) -> None:
    """Raises Unavailable when none of the members asked has answered: what was shown is worth nothing."""
    if not answers:
        raise Unavailable(
            f"no Guardian member answered at {', '.join(endpoints)}: check the endpoints, and that `guardian server` "
            "runs there"
        )


def print_json(value: object) -> None:
    """Print the value for programs: as JSON, or as YAML where that was asked for."""
    if is_yaml():
        echo_text(_yaml(value))
    else:
        echo_json(json.dumps(value, indent=2))


def say(sentence: str, value: object, output: Output) -> None:
    """Say what a change came to: a sentence for people, the value for programs."""
    if output is Output.JSON:
        print_json(value)
    else:
        echo(sentence)


def print_json_line(value: object) -> None:
    """One of many values, which are printed as they come: a line of JSON, or a document of YAML. Flushed."""
    if is_yaml():
        echo_text(_yaml(value, is_one_of_many=True))
    else:
        echo_json(json.dumps(value, ensure_ascii=False))


def _yaml(value: object, *, is_one_of_many: bool = False) -> str:
    """Return the value in YAML. Its own escapes stand for unsafe characters, and then for all that are not ASCII."""
    shown = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, explicit_start=is_one_of_many)
    if is_printable(shown, keep="\n"):
        return shown
    return yaml.safe_dump(value, sort_keys=False, explicit_start=is_one_of_many)


def as_dict(message: Message) -> dict[str, object]:
    """The JSON form of a protobuf message, with the proto's field names and without hidden defaults."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def require_samples(samples: int, what: str, from_ms: int, to_ms: int) -> None:
    """End the command with a note and exit code 4 where the lake has no sample of what was asked: that is no zero."""
    if samples:
        return
    echo(
        f"Nothing is known: no samples of {what} between {human_time(from_ms)} and {human_time(to_ms)}: is the "
        "reporter registered? see `guardian collection`",
        err=True,
    )
    raise typer.Exit(UNKNOWN)
