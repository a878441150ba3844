"""`guardian docs`: pages of the documentation that are made from the code.

docs/cli.md, docs/rights.md, docs/configuration.md, and a part of docs/rest.md; tests compare those that are checked in.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from guardian.cli.everywhere import ALIASES, WATCHABLE, connection
from guardian.cli.exits import MEANINGS
from guardian.cli.options import PANEL
from guardian.cli.printing import echo_text
from guardian.cli.tree import tree
from guardian.errors import InvalidInput
from guardian.member.commands import config_pages, rights_page

app = typer.Typer(help="Pages of the documentation that are made from the code.", no_args_is_help=True)

OutOption = Annotated[Path | None, typer.Option("--out", help="The file to write.", show_default="standard output")]

_HEAD = """\
# The command line

<!-- Made by `guardian docs cli --out docs/cli.md`: change the commands, not this page. -->

`guardian` is a thin gRPC client of the members: `pip install kafka-guardian` is enough for all of it but `guardian
server`, `guardian local` and the commands that run Spark.

## Where commands go

```
guardian context add prod --endpoints g1.example.net:9750,g2.example.net:9750 --ca ~/guardian-ca.pem
guardian context use prod
guardian context show              # whom commands talk to here, and why
guardian ticket list --context staging
```

Contexts are kept in `$GUARDIAN_CONFIG`, else in `guardian/config.yaml` below `$XDG_CONFIG_HOME` or `~/.config`, which
only you can read. The first of these that is there counts:

1. `--endpoints`, or `--context`, on the command line
2. `$GUARDIAN_ENDPOINTS`, then `$GUARDIAN_CONTEXT`
3. the current context (`guardian context use`)
4. the federation that `guardian local up` started in this folder; as a context it is called `local`
5. the member that `guardian server` runs without a configuration, at `127.0.0.1:9750`

One endpoint is enough: the client learns the other members, goes to the leader with changes, and goes on elsewhere
when a member dies. Over a slow line give `--timeout 60s`, or `timeout: 60s` in the context: each command waits as
long for its answer, retries included.

## What options mean

| option | in every command |
|---|---|
| `--cluster NAME` | the cluster; by default the context's (`guardian context add CONTEXT --cluster NAME`) |
| `--reason TEXT` | why, for the history |
| SIZE, RATE | bytes, and bytes a second, in powers of ten: `500GB`, `1.5T`, `800k`, `20MB` or `20MB/s` |
| `--since`, `--for`, `--expires`, `--wait`, ... | a number and ms, s, m, h or d: `90s`, `1.5h`, `30d` |
| `--limit N` | so many rows; the last line says how many more there are, and how to see them |

## What they print

| `-o` | what |
|---|---|
| `table` | aligned columns; the default |
| `wide` | more columns, of what the table leaves out |
| `json` | for programs: times in ms, sizes in bytes, the field names of the API |
| `yaml` | the same as YAML |

Results go to standard output, all else to standard error. Numbers are never coloured; a command's help is, unless
`NO_COLOR` is set or its output is no terminal.

`--dry-run` says what would be done and does nothing: all commands that change Guardian or a cluster have it. It asks a
member, or decides by what it says as a member would, and refuses what would be refused; that you may not do it to a
ticket it says with exit code 1. Commands that can't be taken back ask first, unless `--yes` is given; where nobody can
answer they stop. `--watch` shows a result again and again, every two seconds or as `--every` says; into a pipe or a
file only when it has changed; with commands that change a ticket it follows that ticket until it is over.
"""

_COMPLETION = """\
## Completion

`guardian --install-completion` installs it for bash, zsh, fish and PowerShell; `guardian --show-completion` prints
it. It knows commands and options, and asks Guardian for names of clusters, tickets, members and contexts; a member
that does not answer within a second offers nothing.

## Traces

Set `OTEL_EXPORTER_OTLP_ENDPOINT` (such as `http://127.0.0.1:4317`), and each command sends a span to that OTLP
collector; the members do with `[traces] endpoint` in their configuration. All that happens to a ticket, by whomever
and on whichever leader, has the trace id that begins the SHA-256 of `guardian ticket ` and its id.
"""


@app.command("cli")
def cli(out: OutOption = None) -> None:
    """Write the page of all commands: docs/cli.md.

    Example: guardian docs cli --out docs/cli.md
    """
    write(page(), out)


@app.command("rights")
def rights(out: OutOption = None) -> None:
    """Write the page of who may call which RPC and use which HTTP route: docs/rights.md.

    Example: guardian docs rights --out docs/rights.md
    """
    from guardian.member.web_routes import route_table

    write(rights_page.page(route_table()), out)


@app.command("configuration")
def configuration(out: OutOption = None) -> None:
    """Write the page of all settings: docs/configuration.md.

    Example: guardian docs configuration --out docs/configuration.md
    """
    write(config_pages.page(), out)


@app.command("rest")
def rest(
    out: Annotated[
        Path | None, typer.Option("--out", help="The page to put it into.", show_default="standard output")
    ] = None,
) -> None:
    """Write which RPCs only commands call, and no route of the REST API: a part of docs/rest.md.

    Example: guardian docs rest --out docs/rest.md
    """
    from guardian.member.commands import rest_page

    write(rest_page.with_block(_text_of(out)) if out is not None else rest_page.block(), out)


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"--out is {str(path)!r}, which can't be read: {error.strerror}") from None


def write(text: str, out: Path | None) -> None:
    """Write a page to a file, else to standard output. Raises InvalidInput."""
    if out is None:
        echo_text(text)
        return
    try:
        out.write_text(text)
    except OSError as error:
        raise InvalidInput(f"--out is {str(out)!r}, which can't be written: {error.strerror}") from None


def page() -> str:
    """Markdown of the whole tree of commands."""
    from typer.main import get_command

    sections = [_HEAD, _exit_codes(), _COMPLETION, _everywhere(), _aliases(), "## Commands\n"]
    for name, command in _commands(get_command(tree())):
        sections.append(_section(name, command))
    return "\n".join(sections).rstrip() + "\n"


def _exit_codes() -> str:
    rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())
    return f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n"


def _everywhere() -> str:
    from typer.main import get_command

    one = typer.Typer(add_completion=False)
    one.command()(connection)
    rows = [_row(parameter) for parameter in get_command(one).params if parameter.name != "help"]
    watched = ", ".join(f"`{' '.join(path)}`" for path in sorted(WATCHABLE))
    return "\n".join(
        [
            "## Options of every command that talks to Guardian",
            "",
            "| option | meaning |",
            "|---|---|",
            "| `--endpoints` TEXT | host:port of members, separated by commas. Also `$GUARDIAN_ENDPOINTS`. |",
            *rows,
            "",
            f"`--watch` and `--every` are options of {watched}.",
            "",
        ]
    )


def _aliases() -> str:
    rows = "\n".join(f"| `{group} {alias}` | `{group} {name}` |" for (group, alias), name in sorted(ALIASES.items()))
    return f"## Other names\n\nThey do the same and are not shown by help.\n\n| is | the same as |\n|---|---|\n{rows}\n"


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if command.hidden:
        return
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))
    else:
        yield " ".join(path), command


def _section(name: str, command: Any) -> str:
    text, _, examples = inspect.cleandoc(command.help or "").partition("\n\nExample:")
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    options = [
        each
        for each in command.params
        if isinstance(each, TyperOption) and not each.hidden and each.rich_help_panel != PANEL and each.name != "help"
        if each.name not in ("watch", "every") or "two seconds" not in (each.help or "")
    ]
    usage = " ".join(["guardian", name, *(_metavar(each) for each in arguments)])
    rows = [_row(each) for each in (*arguments, *options)]
    table = ["| argument or option | meaning |", "|---|---|", *rows, ""] if rows else []
    lines = [line.strip().removeprefix("Example:").strip() for line in examples.splitlines()]
    shown = ["```", *filter(None, lines), "```", ""] if examples else []
    return "\n".join([f"### guardian {name}", "", text, "", f"`{usage}`", "", *table, *shown])


def _row(parameter: Any) -> str:
    facts = [str(parameter.help or "").replace("|", "\\|").strip()]
    default = getattr(parameter, "show_default", None)
    if isinstance(default, str):
        facts.append(f"Default: {default}.")
    elif parameter.default not in (None, "", False, ()) and not callable(parameter.default) and not parameter.required:
        facts.append(f"Default: {getattr(parameter.default, 'value', parameter.default)}.")
    if parameter.required:
        facts.append("Required.")
    if getattr(parameter, "envvar", None):
        facts.append(f"Also `${parameter.envvar}`.")
    if isinstance(parameter, TyperArgument):
        return f"| {_metavar(parameter)} | {' '.join(facts)} |"
    names = ", ".join(
        f"`{each}`" for each in (*sorted(parameter.opts, key=len, reverse=True), *parameter.secondary_opts)
    )
    kind = "" if parameter.is_flag else f" {_kind(parameter)}"
    return f"| {names}{kind} | {' '.join(facts)} |"


def _kind(parameter: Any) -> str:
    described = parameter.type_descriptor
    if described.is_choice and described.choices is not None:
        return "\\|".join(str(getattr(each, "value", each)) for each in described.choices)
    kinds = {"int": "NUMBER", "float": "NUMBER", "Path": "PATH"}
    kind = kinds.get(getattr(described.annotation, "__name__", ""), "TEXT")
    return str(parameter.metavar or kind).replace("|", "\\|")


def _metavar(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper().rstrip("_"))
    many = "..." if parameter.nargs == -1 else ""
    return name + many if parameter.required or name.startswith("[") else f"[{name}]{many}"
