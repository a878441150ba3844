"""`guardian topic show` and `guardian quota list`: what Kafka is set to do for a topic, and what clients may use."""

from __future__ import annotations

from typing import Annotated

import typer

from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table
from guardian.errors import NotFound
from guardian.model.cluster_state import ORIGIN_WORDS
from guardian.model.quota import quota_text
from protos.guardian.v1 import insight_pb2 as pb

quotas = typer.Typer(help="What Kafka lets clients use, by user and client id.", no_args_is_help=True)

_HIDDEN = "hidden by Kafka"


def show_topic(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    cluster: ClusterOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a topic as Kafka has it: partitions, replicas, and what of its configuration is no default of Kafka.

    SET ON says where a value is set; what is set on brokers is told as the broker that answered has it. OTHERWISE is
    what would be in force without it.

    Example: guardian topic show orders --cluster live
    """
    with connect(endpoints) as client:
        reply = client.described_topics(cluster, [topic], with_settings=True)
    found = next((each for each in reply.topics if each.topic == topic), None)
    if found is None:
        raise NotFound(f"topic is {topic!r}, which cluster {cluster} does not have: see `guardian topic list`")
    if output is Output.JSON:
        print_json(as_dict(found))
        return
    factors = sorted({len(partition.brokers) for partition in found.partitions})
    each = " or ".join(map(str, factors))
    echo(f"topic {topic} of {cluster}: {len(found.partitions)} partitions of {each} replicas")
    if not found.settings:
        echo("all of its configuration is Kafka's default")
        return
    echo()
    print_table(("KEY", "VALUE", "SET ON", "OTHERWISE"), [_row(setting) for setting in found.settings])


@quotas.command("list")
def list_quotas(
    cluster: Annotated[str, typer.Argument(help="The cluster's name.")],
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the client quotas of a cluster: what each broker grants a user, a client id, or all that have none.

    Those of addresses (connections a second) are not among them.

    Example: guardian quota list live
    """
    with connect(endpoints) as client:
        report = client.client_quotas(cluster)
    if output is Output.JSON:
        print_json(as_dict(report))
        return
    if not report.quotas:
        echo(f"cluster {cluster} has no quotas of users and client ids")
        return
    rows = [
        (
            quota.user if quota.HasField("user") else "any",
            quota.client_id if quota.HasField("client_id") else "any",
            key,
            quota_text(key, value),
        )
        for quota in report.quotas
        for key, value in sorted(quota.values.items())
    ]
    print_table(("USER", "CLIENT ID", "QUOTA", "ON EACH BROKER"), rows, right=("ON EACH BROKER",))


def _row(setting: pb.SettingInForce) -> tuple[str, ...]:
    otherwise = f"{setting.otherwise} ({ORIGIN_WORDS.get(setting.otherwise_origin, '?')})" if setting.otherwise else "-"
    value = setting.value if setting.HasField("value") else _HIDDEN
    return setting.key, value, ORIGIN_WORDS.get(setting.origin, "?"), otherwise
