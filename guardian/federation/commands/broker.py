"""`guardian broker`: a broker as it is now, asked by a member; its operations are in broker_operations."""

from __future__ import annotations

import math
import re
from typing import Annotated

import typer

from guardian.cli.options import (
    ClusterOption,
    EndpointsOption,
    Output,
    OutputOption,
    connect,
)
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput
from guardian.tickets.commands import broker_operations

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
        echo(f"none of {len(found.names)} metrics has a name with {only!r}")
