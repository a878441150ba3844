"""`guardian events`: what happened to tickets and throttles, and what happens."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, OnlyClusterOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_json_line, print_table
from guardian.errors import InvalidInput
from guardian.events.rules.notifying import as_json
from guardian.model.event import Event, EventKind
from guardian.model.units import human_duration, parse_duration_ms


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Then go on with what happens.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, max=100_000, help="The newest so many.", show_default="20; all with --since or --ticket"
        ),
    ] = None,
    since: Annotated[str, typer.Option("--since", help="Only those of so long ago and newer, such as 2h.")] = "",
    after: Annotated[int, typer.Option("--after", min=0, help="Only those behind the event of this id.")] = 0,
    cluster: OnlyClusterOption = "",
    ticket: Annotated[str, typer.Option("--ticket", help="Only of this one, by its id.")] = "",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help=f"Only {', '.join(EventKind.__members__)}. May be repeated.", show_default="all"),
    ] = None,
    sinks: Annotated[bool, typer.Option("--sinks", help="Show instead where events are sent to, and how far.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what happened to tickets and throttles, oldest first; with --follow also what happens, until Ctrl-C.

    The JSON of --follow is a line for each event. Events are kept for limits.event_days.

    Example: guardian events --follow --cluster live

    Example: guardian events --since 2h --kind THROTTLE_CHANGED -o json
    """
    if sinks:
        _show_sinks(endpoints, output)
        return
    now_ms = time.time_ns() // 1_000_000
    from_ms = max(0, now_ms - parse_duration_ms("--since", since)) if since else 0
    begin = limit or (0 if since or after or ticket else 20)
    kinds = [_kind(name) for name in kind or ()]
    with connect(endpoints) as client:
        if not follow:
            found = client.events(
                after=after, last=begin, from_ms=from_ms, cluster=cluster, ticket_id=ticket, kinds=kinds
            )
            _show(found, output)
            if output is Output.TABLE and len(found) == begin:
                echo(f"There may be older ones: --limit {2 * begin}")
            return
        following = client.follow_events(
            after=after, last=begin, from_ms=from_ms, cluster=cluster, ticket_id=ticket, kinds=kinds
        )
        _show_each(following, output)


def _kind(name: str) -> EventKind:
    if name not in EventKind.__members__:
        raise InvalidInput(f"--kind is {name!r}: use {', '.join(EventKind.__members__)}")
    return EventKind[name]


def _show(found: list[Event], output: Output) -> None:
    if output is Output.JSON:
        print_json([as_json(event) for event in found])
    elif not found:
        echo("no such event is kept")
    else:
        _show_each(found, output)


def _show_each(found: Iterable[Event], output: Output) -> None:
    """A line each, at once: who follows must not wait for a table to be full."""
    try:
        for event in found:
            if output is Output.JSON:
                print_json_line(as_json(event))
            else:
                echo(f"{human_time(event.at_ms)}  {event.summary}")
    except KeyboardInterrupt:
        return


def _show_sinks(endpoints: str, output: Output) -> None:
    with connect(endpoints) as client:
        found = client.sinks()
    if output is Output.JSON:
        print_json([as_dict(sink) for sink in found])
    elif not found:
        echo("the members' configuration names no sinks: see [[sinks]] in guardian/events/model.py")
    else:
        rows = [
            (
                sink.name,
                str(sink.delivered),
                str(sink.newest),
                human_duration(sink.behind_ms) if sink.behind_ms else "-",
                sink.error or "-",
            )
            for sink in found
        ]
        print_table(("SINK", "DELIVERED", "NEWEST", "BEHIND", "LAST ERROR"), rows, right=("DELIVERED", "NEWEST"))
