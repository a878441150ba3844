"""`guardian healing`: what is done by itself about broken brokers and disks, and why not."""

from __future__ import annotations

from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, OnlyClusterOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.model.units import human_bytes, human_duration
from protos.guardian.v1 import insight_pb2 as pb

app = typer.Typer(help="What is done by itself about broken brokers and disks, and why not.", no_args_is_help=True)


@app.command()
def status(
    cluster: OnlyClusterOption = "",
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a person is called.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show each trouble, what healing does about it, and its ticket.

    PHASE: observed (the policy does no more), grace (it may end by itself), acts, waits (for approval, or a rest),

    done (nothing is left to move), braked (too much at once, or too many tickets), person (a person is called).

    Example: guardian healing status --cluster live

    Example: guardian healing status --fail -o json
    """
    with connect(endpoints) as client:
        report = client.healing(cluster)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report)
    called = any(each.storm or any(trouble.phase == "person" for trouble in each.troubles) for each in report.clusters)
    if fail and called:
        raise typer.Exit(1)


@app.command()
def policy(
    cluster: OnlyClusterOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what healing may do in each cluster, as the leader's configuration has it.

    Example: guardian healing policy

    Example: guardian healing policy --cluster live -o json
    """
    with connect(endpoints) as client:
        report = client.healing(cluster)
    if output is Output.JSON:
        print_json({each.cluster: as_dict(each.policy) for each in report.clusters})
        return
    print_table(
        ("CLUSTER", "MODE", "BROKER", "LOG DIR", "SLOW DISK", "BALANCE", "AT ONCE", "TICKETS/H", "THROTTLE", "REST"),
        [_policy_row(each) for each in report.clusters],
        right=("TICKETS/H",),
        more=more_of(report.clusters, "brokers", "troubled_brokers", "tickets_last_hour", "looked_at_ms"),
    )


def _policy_row(cluster: pb.HealingCluster) -> tuple[str, ...]:
    policy = cluster.policy
    spans = (policy.broker_grace_s, policy.log_dir_grace_s, policy.slow_disk_grace_s, policy.balance_grace_s)
    return (
        cluster.cluster,
        policy.mode,
        *(human_duration(1000 * span) for span in spans),
        f"up to {policy.storm_share:.0%}",
        str(policy.tickets_per_hour),
        f"{human_bytes(policy.throttle)}/s",
        human_duration(1000 * policy.rest_s),
    )


def _show(report: pb.HealingReport) -> None:
    found = [(cluster, trouble) for cluster in report.clusters for trouble in cluster.troubles]
    rows = [_row(cluster, trouble) for cluster, trouble in found]
    for cluster in report.clusters:
        if cluster.storm:
            echo(f"STORM in {cluster.cluster}: {cluster.storm}")
    if rows:
        more = more_of(
            [cluster for cluster, _ in found], "policy.mode", "brokers", "troubled_brokers", "tickets_last_hour"
        )
        print_table(("CLUSTER", "TROUBLE", "SINCE", "PHASE", "TICKET", "WHAT IS DONE", "WHY"), rows, more=more)
    for cluster in report.clusters:
        if not cluster.looked_at_ms:
            echo(f"{cluster.cluster}: nobody has looked yet, ask again in a minute")
        elif not cluster.troubles:
            echo(
                f"{cluster.cluster}: nothing to heal among {cluster.brokers} brokers, as of "
                f"{human_time(cluster.looked_at_ms)} (mode {cluster.policy.mode})"
            )


def _row(cluster: pb.HealingCluster, trouble: pb.HealingTrouble) -> tuple[str, ...]:
    kind = pb.FindingKind.Name(trouble.kind).lower().replace("_", " ")
    return (
        cluster.cluster,
        f"{kind}: {trouble.subject}",
        human_time(trouble.since_ms),
        trouble.phase,
        trouble.ticket_id or "-",
        trouble.sentence,
        trouble.evidence,
    )
