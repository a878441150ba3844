"""`guardian apply`: a file says how the federation shall be, and only what differs is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from guardian.cli.exits import NO
from guardian.cli.files import write_file
from guardian.cli.options import (
    DryRunOption,
    EndpointsOption,
    Output,
    OutputOption,
    YesOption,
    actor,
    confirm,
    connect,
)
from guardian.cli.printing import echo, echo_text
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, Unavailable
from guardian.federation.commands import declared
from guardian.federation.commands.changes import say_how_many, show
from guardian.federation.model import Declaration
from guardian.federation.rules import declaring
from guardian.federation.rules.declaring import Changes
from guardian.federation.wire import federation_schema, federation_writing, federation_yaml
from guardian.model.links import LinkSettings
from guardian.model.wire.lines import lines_from_proto


class _ApplyByDefault(TyperGroup):
    """`guardian apply -f FILE` is `guardian apply apply -f FILE`."""

    @property
    def by_default(self) -> Any:
        return self.commands["apply"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer brings a click of its own
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["apply", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Make the federation as a file says (federation.yaml); `guardian apply -f FILE` is enough.",
    no_args_is_help=True,
    cls=_ApplyByDefault,
)

FileOption = Annotated[Path, typer.Option("-f", "--file", help="A federation.yaml; - reads standard input.")]
PruneOption = Annotated[
    bool, typer.Option("--prune", help="Also drop what the sections of the file do not name; shows it, and asks.")
]


@app.command("apply")
def apply(
    file: FileOption,
    prune: PruneOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Change what differs from the file, and nothing else; again, it changes nothing.

    Entries are changed all together or not at all, each only if it is as it was looked at. Clusters come first, after
    Guardian has spoken to them. What the file does not name is left alone, unless --prune.

    Example: guardian apply apply -f federation.yaml --dry-run

    Example: guardian apply -f federation.yaml --prune
    """
    declaration = _read(file)
    with connect(endpoints) as client:
        changes = _changes(client, declaration, prune=prune)
        if dry_run:
            said = declared.check(client, changes)
            show(changes, output)
            for sentence in said:
                echo(f"Note: {sentence}", err=True)
            say_how_many(changes, output, "would be made; nothing was stored")
        else:
            if changes.drops:
                show(changes, Output.TABLE, to_stderr=output is Output.JSON)
                confirm(f"Drop {len(changes.drops)} of these, which {file} does not name?", yes)
            for name in declared.carry_out(client, changes):
                echo(name, err=output is Output.JSON)
            if output is Output.JSON:
                show(changes, output)
            say_how_many(changes, output, "made")
        _compare_links(client, declaration, file)


@app.command("diff")
def diff(
    file: FileOption,
    prune: PruneOption = False,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when something differs.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what differs from the file: + is new, ~ is another, - would be dropped (with --prune).

    Example: guardian apply diff -f federation.yaml --fail
    """
    declaration = _read(file)
    with connect(endpoints) as client:
        changes = _changes(client, declaration, prune=prune)
        show(changes, output)
        say_how_many(changes, output, "differ")
        agree = _compare_links(client, declaration, file)
    if fail and ([*changes] or not agree):
        raise typer.Exit(NO)


@app.command("schema")
def schema(
    out: Annotated[
        Path | None, typer.Option("--out", help="Write it here, for an editor.", show_default="print")
    ] = None,
) -> None:
    """Print the JSON schema of federation.yaml, by which editors complete and check it.

    Example: guardian apply schema --out federation.schema.json
    """
    text = json.dumps(federation_schema.schema(), indent=2) + "\n"
    if out is None:
        echo_text(text)
    else:
        write_file(out, text)


@app.command("links")
def links(
    file: FileOption,
    out: Annotated[Path | None, typer.Option("--out", help="Write it here.", show_default="print")] = None,
) -> None:
    """Write the lines and networks of the file as the TOML that members read: their setting `links` names it.

    Example: guardian apply links -f federation.yaml --out links.toml
    """
    found = _read(file).links
    if found is None:
        raise InvalidInput(f"{file} has no links and no networks: add them, or there is nothing to write")
    text = federation_writing.links_toml(found)
    if out is None:
        echo_text(text)
    else:
        write_file(out, text)


def _read(file: Path) -> Declaration:
    return federation_yaml.read(declared.text_of(file), "standard input" if str(file) == "-" else str(file))


def _changes(client: GuardianClient, declaration: Declaration, *, prune: bool) -> Changes:
    return declaring.changes(declaration, declared.known(client), actor(), prune=prune)


def _compare_links(client: GuardianClient, declaration: Declaration, file: Path) -> bool:
    """Lines and networks lie in a file on each member, which nobody changes from here: each is asked for its own."""
    if declaration.links is None:
        return True
    differ: dict[str, list[str]] = {}
    for endpoint in client.known_endpoints():
        try:
            found = lines_from_proto(client.lines_at(endpoint))
        except Unavailable:
            echo(f"Note: links of {endpoint} are not compared: it does not answer", err=True)
        except InvalidInput as error:
            differ.setdefault(f"its file is wrong: {error}", []).append(endpoint)
        else:
            if found != declaration.links:
                differ.setdefault(", ".join(_what_differs(found, declaration.links)), []).append(endpoint)
    for what, endpoints in differ.items():
        echo(f"Note: links differ from what {', '.join(endpoints)} reads ({what})", err=True)
    if differ:
        echo(
            f"Note: links are the one part that apply does not change: guardian apply links -f {file} --out links.toml "
            "writes the file; put it where the setting `links` of those members points. No restart is needed",
            err=True,
        )
    return not differ


def _what_differs(found: LinkSettings, wanted: LinkSettings) -> list[str]:
    names = (
        ("currency", found.currency, wanted.currency),
        ("near", found.near, wanted.near),
        ("networks", set(found.networks), set(wanted.networks)),
        ("lines", dict(found.lines), dict(wanted.lines)),
    )
    return [name for name, old, new in names if old != new] or ["order"]
