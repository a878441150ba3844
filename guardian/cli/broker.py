"""`guardian broker`: a broker as it is now, asked by a member; its operations are in broker_operations."""

from __future__ import annotations

import math
import re
import time
from typing import Annotated

import typer

from guardian.cli import broker_operations
from guardian.cli.options import (
    ClusterOption,
    DryRunOption,
    EndpointsOption,
    KeyOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    connect,
)
from guardian.cli.render import as_dict, print_json, print_table
from guardian.cli.ticket_telling import say
from guardian.core import overriding
from guardian.errors import InvalidInput
from guardian.model.tasks import ThrottleOverride
from guardian.model.units import parse_duration_ms, parse_rate
from guardian.wire.plans import plan_to_proto
from guardian.wire.tickets import ticket_to_proto

app = typer.Typer(
    help="Look at a broker, hold copies back there; remove brokers, take them offline and back, restart them.",
    no_args_is_help=True,
)
for _operation in (
    broker_operations.remove,
    broker_operations.offline,
    broker_operations.online,
    broker_operations.restart,
):
    app.command()(_operation)


@app.command("throttle")
def throttle(
    broker: Annotated[int, typer.Argument(help="The broker's id.", min=0)],
    rate: Annotated[str, typer.Argument(help="Bytes/s for copies there of tickets with a throttle, such as 20MB.")],
    lasting: Annotated[str, typer.Option("--for", help="How long it holds from now on, such as 8h.")],
    cluster: ClusterOption = "",
    key: KeyOption = "",
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for a standing rate: what Guardian's copies may take of a broker, of all tickets that have a throttle.

    The ticket is its owner, its reason and its end; cancelled, the rate holds no longer.

    Example: guardian broker throttle 7 20MB --cluster live --for 8h --reason "its controller is slow"
    """
    until_ms = time.time_ns() // 1_000_000 + parse_duration_ms("--for", lasting)
    plan = overriding.plan_of(cluster, ThrottleOverride(broker, parse_rate("RATE", rate), until_ms))
    with connect(endpoints) as client:
        ticket, resolved = client.create_ticket(
            plan, author=actor(), submit=True, reason=reason, idempotency_key=key, dry_run=dry_run
        )
    if not dry_run:
        say(ticket, output)
    elif output is Output.JSON:
        print_json({"ticket": as_dict(ticket_to_proto(ticket)), "plan": as_dict(plan_to_proto(resolved))})
    else:
        print(f"A ticket of kind {ticket.kind} can run on cluster {cluster}; nothing was stored.")
        for note in resolved.notes:
            print(f"- {note}")


@app.command()
def metrics(
    broker: Annotated[int, typer.Argument(help="The broker's id.", min=0)],
    cluster: ClusterOption = "",
    only: Annotated[
        str, typer.Option("--filter", help="A regular expression that is in the name.", show_default="all names")
    ] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the metrics that a broker has now, by the names of Kafka's mbeans.

    A member asks the broker's reporter, once: what comes into the lake every minute.

    Example: guardian broker metrics 1 --cluster live --filter 'ReplicaManager|RequestQueueSize'
    """
    try:
        wanted = re.compile(only)
    except re.error as error:
        raise InvalidInput(f"filter is {only!r}, which is no regular expression: {error}") from None
    with connect(endpoints) as client:
        found = client.broker_metrics(cluster, broker)
    values = {
        name: value for name, value in zip(found.names, found.values, strict=True) if wanted.search(name) is not None
    }
    if output is Output.JSON:
        numbers = {name: value if math.isfinite(value) else None for name, value in values.items()}
        print_json({"collected_at_ms": found.collected_at_ms, "values": numbers})
    elif values:
        print_table(("METRIC", "VALUE"), [(name, f"{value:.15g}") for name, value in values.items()], right=("VALUE",))
    else:
        print(f"none of {len(found.names)} metrics has a name with {only!r}")
