"""`guardian context`: which federation commands talk to, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from guardian.cli import completing, contexts
from guardian.cli.contexts import Chosen, Context
from guardian.cli.options import Output, OutputOption, YesOption, chosen, confirm
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput

app = typer.Typer(
    help="Name the federations that you work with, and say which one commands talk to.", no_args_is_help=True
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The context's name.", autocompletion=completing.context_names)
]


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the contexts; a star marks the current one.

    Example: guardian context list -o wide
    """
    found = contexts.load()
    here = contexts.local()
    known = [*found.contexts.values(), *([here] if here else [])]
    if output is Output.JSON:
        print_json([{"name": each.name, "current": each.name == found.current} | _shown(each) for each in known])
        return
    if not known:
        echo(f"{contexts.config_file()} names no context. Next: guardian context add NAME --endpoints g1:9750,g2:9750")
        return
    print_table(
        ("", "NAME", "ENDPOINTS", "TLS", "WHO", "HTTP", "TIMEOUT", "CLUSTER"),
        [
            (
                "*" if each.name == found.current else "",
                each.name,
                ", ".join(each.endpoints),
                "yes" if each.ca or each.certificate else "no",
                each.certificate or each.token_file or "-",
                each.http or "-",
                each.timeout or "-",
                each.cluster or "-",
            )
            for each in known
        ],
        wide=("WHO", "HTTP", "TIMEOUT", "CLUSTER"),
    )


@app.command("use")
def use(name: NameArgument) -> None:
    """Make a context the current one: commands talk to it unless they are told otherwise.

    Example: guardian context use prod
    """
    changed = contexts.load().using(name)
    contexts.save(changed)
    echo(f"Commands talk to {name}: {', '.join(changed.get(name).endpoints)}.")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of your own.")],
    endpoints: Annotated[
        str, typer.Option("--endpoints", help="host:port of one or more members, separated by commas.")
    ] = "",
    ca: Annotated[str | None, typer.Option("--ca", help="PEM file of whom to trust: TLS.")] = None,
    certificate: Annotated[str | None, typer.Option("--certificate", help="PEM file of who you are.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="PEM file of its key.")] = None,
    token_file: Annotated[str | None, typer.Option("--token-file", help="File that holds your token.")] = None,
    http: Annotated[
        str | None, typer.Option("--http", help="A member's http://host:port, for support bundles.")
    ] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", help="How long to wait for answers, such as 60s.")] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="The cluster of commands that are given none.")
    ] = None,
    current: Annotated[bool, typer.Option("--use", help="Make it the current one too.")] = False,
) -> None:
    """Add a context, or change what is given of one that is there. The first one is the current one at once.

    Example: guardian context add prod --endpoints g1.example.net:9750,g2.example.net:9750 --ca ~/guardian-ca.pem
    """
    found = contexts.load()
    before = found.contexts.get(name)
    members = tuple(each.strip() for each in endpoints.split(",") if each.strip())
    if before is None and not members:
        raise InvalidInput(f"--endpoints is missing: context {name!r} is new, give host:port of one or more members")
    given = {
        "ca": ca,
        "certificate": certificate,
        "key": key,
        "token_file": token_file,
        "http": http,
        "timeout": timeout,
        "cluster": cluster,
    }
    told = {field: value for field, value in given.items() if value is not None}
    known = before or Context(name, members)
    context = replace(known, endpoints=members or known.endpoints, **told)
    changed = found.with_one(context)
    contexts.save(changed.using(name) if current else changed)
    is_current = current or changed.current == name
    echo(f"Context {name} is {'changed' if before else 'added'}{', and is the current one' if is_current else ''}.")
    if not is_current:
        echo(f"Next: guardian context use {name}")


@app.command("remove")
def remove(name: NameArgument, yes: YesOption = False) -> None:
    """Forget a context. Nothing changes in the federation itself.

    Example: guardian context remove staging --yes
    """
    found = contexts.load()
    changed = found.without(name)
    confirm(f"Forget context {name} ({', '.join(found.contexts[name].endpoints)})?", yes)
    contexts.save(changed)
    echo(f"Context {name} is forgotten{'; none is current now' if found.current == name else ''}.")


@app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(metavar="[NAME]", help="Empty: whom commands talk to.", autocompletion=completing.context_names),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a context, or, without a name, whom commands talk to here, and why.

    Example: guardian context show
    """
    found = _of(name) if name else chosen()
    context = found.context
    if output is Output.JSON:
        shown = _shown(context) if context else {"endpoints": list(found.endpoints)}
        print_json({"name": context.name if context else "", "because": found.why} | shown)
        return
    called = f"context {context.name}" if context else "no context"
    echo(f"{', '.join(found.endpoints)} ({called}, by {found.why})")
    for field, value in _shown(context).items() if context else ():
        if field != "endpoints":
            echo(f"{field}: {value}")


def _of(name: str) -> Chosen:
    context = contexts.load().get(name)
    return Chosen(context.endpoints, "its name", context)


def _shown(context: Context) -> dict[str, object]:
    return contexts.as_dict(context)
