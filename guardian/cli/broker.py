"""`guardian broker`: a broker as it is now, asked by a member."""

from __future__ import annotations

import math
import re
from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput

app = typer.Typer(help="What a broker says of itself now.", no_args_is_help=True)


@app.callback()
def _broker() -> None:
    """What a broker says of itself now."""


@app.command()
def metrics(
    cluster: Annotated[str, typer.Argument(help="The cluster's name.")],
    broker: Annotated[int, typer.Argument(help="The broker's id.", min=0)],
    only: Annotated[
        str, typer.Option("--filter", help="A regular expression that is in the name.", show_default="all names")
    ] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the metrics that a broker has now, by the names of Kafka's mbeans.

    A member asks the broker's reporter, once: what comes into the lake every minute.

    Example: guardian broker metrics live 1 --filter 'ReplicaManager|RequestQueueSize'
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
