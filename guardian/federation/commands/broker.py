"""`guardian broker`: a broker as it is now, asked by a member; its operations are in broker_operations."""

from __future__ import annotations

import math
import re
from typing import Annotated

import typer

from guardian.cli.options import (
    ClusterOption,
    EndpointsOption,
    OnlyClustersOption,
    Output,
    OutputOption,
    connect,
)
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table
from guardian.errors import InvalidInput
from guardian.federation.commands.registered import registered
from guardian.federation.commands.serving import Serving
from guardian.health.commands.past import show_broker
from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.tickets.commands import broker_operations

app = typer.Typer(
    help="List brokers, look at one, hold copies back there; remove brokers, take them offline and back, restart them.",
    no_args_is_help=True,
)
for _operation in (
    broker_operations.remove,
    broker_operations.offline,
    broker_operations.online,
    broker_operations.restart,
):
    app.command()(_operation)
app.command("show")(show_broker)


@app.command("list")
def list_(
    clusters: OnlyClustersOption = None, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE
) -> None:
    """List the brokers of clusters, and whether each serves now.

    Example: guardian broker list --cluster live
    """
    with connect(endpoints) as client:
        known, serving = client.list_clusters(), Serving.seen(client)
    shown = [registered(known, name) for name in clusters or ()] or list(known)
    brokers = [(cluster, broker) for cluster in shown for broker in cluster.brokers]
    if output is Output.JSON:
        print_json([each for cluster in shown for each in _as_dicts(cluster, serving.ids(cluster.name))])
        return
    rows = [
        (
            cluster.name,
            str(broker.id),
            serving.of_broker(cluster.name, broker.id),
            broker.state.name,
            broker.label or "-",
            broker.rack or "-",
            broker.idc or "-",
            broker.reporter_endpoint or "-",
        )
        for cluster, broker in brokers
    ]
    print_table(
        ("CLUSTER", "BROKER", "SERVES", "STATE", "LABEL", "RACK", "IDC", "REPORTER"),
        rows,
        right=("BROKER",),
        more=more_of([broker for _, broker in brokers], "registered_reporter", "metrics_url"),
    )


def _as_dicts(cluster: Cluster, serving: list[int] | None) -> list[dict[str, object]]:
    """Return the brokers of a cluster for programs; `serves` is null where that is not known."""
    return [
        {"cluster": cluster.name, **as_dict(broker), "serves": None if serving is None else broker.id in serving}
        for broker in cluster_to_proto(cluster).brokers
    ]


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
