"""`guardian findings`: what is wrong with the clusters now, as the leader's detectors see it."""

from __future__ import annotations

from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, OnlyClusterOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from protos.guardian.v1 import insight_pb2 as pb


def findings(
    cluster: OnlyClusterOption = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many, the gravest.")] = 50,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when there is one.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what is wrong now: brokers down, log dirs offline, topics at risk, slow disks, lines near their limit.

    The leader looks again and again. What lasts for two looks and a grace period is told here; a short spike is not.

    Example: guardian findings --cluster live

    Example: guardian findings --fail -o json
    """
    with connect(endpoints) as client:
        report = client.findings(cluster, 0 if output is Output.JSON else limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report)
    if fail and report.findings_in_all:
        raise typer.Exit(1)


def _show(report: pb.FindingsReport) -> None:
    if report.findings:
        print_table(
            ("CLUSTER", "KIND", "WHAT", "SINCE", "WHY", "MORE"),
            [_row(finding) for finding in report.findings],
            more=more_of(report.findings, "last_seen_ms"),
        )
    hidden = report.findings_in_all - len(report.findings)
    if hidden:
        echo(f"{hidden} more, no graver: --limit {report.findings_in_all} shows all")
    looked = [look for look in report.looks if look.looked_at_ms]
    if not report.findings and looked:
        oldest = min(look.looked_at_ms for look in looked)
        echo(f"nothing is wrong: {len(looked)} looks, the oldest of {human_time(oldest)}")
    if not report.looks:
        echo(f"nobody has looked yet: the leader began at {human_time(report.leads_since_ms)}, ask again in a minute")
    if report.in_grace:
        echo(f"{report.in_grace} more are seen, and told when they last")
    for look in report.looks:
        if look.error:
            where = f" of {look.cluster}" if look.cluster else ""
            since = f"since {human_time(look.looked_at_ms)}" if look.looked_at_ms else "so far"
            echo(f"note: detector {look.detector}{where} has seen nothing {since}: {look.error}")


def _row(finding: pb.Finding) -> tuple[str, ...]:
    kind = pb.FindingKind.Name(finding.kind).lower().replace("_", " ")
    return (finding.cluster or "-", kind, finding.subject, human_time(finding.since_ms), finding.evidence, finding.show)
