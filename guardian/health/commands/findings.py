"""`guardian findings`: what is wrong with the clusters now, as the leader's detectors see it."""

from __future__ import annotations

from typing import Annotated

import typer

from guardian.cli.exits import NO, UNKNOWN
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
    A new leader goes on with what is known. With --fail the exit code is 4 when nothing is found and somewhere nobody
    could look: that is not known, and no health.

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
        raise typer.Exit(NO)
    if fail and any(map(_is_unknown, report.looks)):
        raise typer.Exit(UNKNOWN)


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
    unknown = [look for look in report.looks if _is_unknown(look)]
    looked = [look for look in report.looks if not _is_unknown(look)]
    if not report.findings and looked:
        oldest = min(look.looked_at_ms for look in looked)
        where = "nothing is found where somebody looked" if unknown else "nothing is wrong"
        echo(f"{where}: {len(looked)} looks, the oldest of {human_time(oldest)}")
    if waiting := sum(not look.looked_at_ms and not look.error for look in unknown):
        began = human_time(report.leads_since_ms)
        echo(f"not known: {waiting} of {len(report.looks)} looks are still to come; the leader began at {began}")
    if report.in_grace:
        echo(f"{report.in_grace} more are seen, and told when they last")
    for look in report.looks:
        if look.error:
            where = f" of {look.cluster}" if look.cluster else ""
            since = f"since {human_time(look.looked_at_ms)}" if look.looked_at_ms else "so far"
            echo(f"note: detector {look.detector}{where} has seen nothing {since}: {look.error}")


def _is_unknown(look: pb.DetectorLook) -> bool:
    return bool(look.error) or not look.looked_at_ms


def _row(finding: pb.Finding) -> tuple[str, ...]:
    kind = pb.FindingKind.Name(finding.kind).lower().replace("_", " ")
    return (finding.cluster or "-", kind, finding.subject, human_time(finding.since_ms), finding.evidence, finding.show)
