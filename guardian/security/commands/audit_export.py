"""`guardian audit export|verify`: the audit as a chain of lines (guardian/security/rules/audit_chain.py)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from guardian.activity.commands import audit
from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.errors import InvalidInput
from guardian.model.units import parse_duration_ms
from guardian.security.rules.audit_chain import START, check_lines, hash_of, line_of

__all__ = ["audit"]

_FIELDS = ("at_ms", "index", "actor", "action", "subject", "detail", "error")


@audit.command("export")
def export(
    out: Annotated[Path, typer.Argument(help="The file, which must not be there yet.")],
    since: Annotated[str, typer.Option(help="How far back, such as 24h; else all that is kept.")] = "",
    endpoints: EndpointsOption = "",
) -> None:
    """Write who changed what, and what was refused, oldest first, into a file that shows when it is changed later.

    Example: guardian audit export audit.jsonl --since 30d
    """
    from_ms = now_ms() - parse_duration_ms("since", since) if since else 0
    with connect(endpoints) as client:
        records = list(client.audit(from_ms=from_ms))
    previous = START
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w") as file:
            for record in reversed(records):
                line = line_of({name: getattr(record, name) for name in _FIELDS}, previous)
                previous = hash_of(line)
                file.write(f"{line}\n")
    except OSError as error:
        raise InvalidInput(f"{out} can't be written: {error.strerror}") from None
    echo(f"{len(records)} records are in {out}; keep this hash elsewhere: {previous}")


@audit.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="Of `guardian audit export`, or a member's security.audit_file.")],
    last: Annotated[str, typer.Option(help="The hash that the file is to end with.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check that no line of an audit file was changed, removed or inserted.

    Example: guardian audit verify audit.jsonl
    """
    try:
        with file.open() as lines:
            checked = check_lines(lines)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} can't be read: {error}") from None
    if last and checked.last != last:
        raise InvalidInput(f"{file} ends with {checked.last}, not with {last}: lines were changed, or are gone")
    if output is Output.JSON:
        print_json({"lines": checked.lines, "last": checked.last})
        return
    echo(f"{checked.lines} lines follow each other; the last hash is {checked.last}")
