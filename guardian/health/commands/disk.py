"""`guardian disk`: slow disks, what they suffer from, and what is held back for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

import typer

from guardian.activity.commands import FromOption, ToOption, parse_span
from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table, require_samples
from guardian.cli.waiting import told_if_slow
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.units import human_bytes
from guardian.protection.commands import queue, release, show_protection
from protos.guardian.v1 import insight_pb2 as pb

_NAMES: Mapping[int, str] = {
    pb.DISK_SLOW: "SLOW",
    pb.DISK_SUSPECT: "SUSPECT",
    pb.DISK_BUSY: "BUSY",
    pb.DISK_SOUND: "sound",
    pb.DISK_IDLE: "idle",
    pb.DISK_UNKNOWN: "unknown",
}
_DISK_NUMBERS = ("AWAIT", "PEERS", "BUSY", "IO/S", "PEERS' IO/S", "BYTES/S", "ODD")
_DOINGS = 10


app = typer.Typer(
    help="Find slow and overloaded disks, and see what is held back for them.",
    no_args_is_help=True,
)


@app.command("show")
def disks(
    cluster: ClusterOption = "",
    since: Annotated[str, typer.Option("--since", help="How far back, such as 30m.", show_default="1h")] = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many disks, the worst.")] = 20,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a disk is slow.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Find disks that are slower than their peers: the same kind of disk in the same cluster, minute by minute.

    SLOW: takes longer than its peers, and has no more to do.

    SUSPECT: was so for a good part of the time.

    BUSY: takes longer, and has more to do.

    idle: has too little to do to be judged.

    What is held back for disks over their limits is shown as well: `guardian disk queue` says more.

    With -o json it is in `protection`, as `guardian disk queue -o json` has it.

    Example: guardian disk show --cluster live --since 30m

    Example: guardian disk show --cluster live --limit 5 --fail
    """
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow("Reading what disks did out of the lake"):
        report = client.disk_health(cluster, from_ms, to_ms, 0 if output is Output.JSON else limit)
        if output is Output.JSON:
            print_json(as_dict(report) | {"protection": _protection_as_dict(client, cluster)})
        else:
            _show_disks(report)
            _show_protection(client, cluster)
    require_samples(report.samples, f"the disks of cluster {report.cluster}", report.from_ms, report.to_ms)
    if fail and report.disks_by_verdict[pb.DISK_SLOW]:
        raise typer.Exit(1)


app.command()(queue)
app.command()(release)


def _show_disks(report: pb.DiskHealthReport) -> None:
    if not report.samples:
        echo(f"cluster {report.cluster}: its disks are not known")
        return
    counts = Counter(dict(report.disks_by_verdict))
    summary = ", ".join(f"{counts[verdict]} {_NAMES.get(verdict, '?')}" for verdict in sorted(counts))
    echo(f"cluster {report.cluster}: {sum(counts.values())} disks: {summary}")
    echo()
    print_table(
        ("BROKER", "DISK", "VERDICT", *_DISK_NUMBERS, "SINCE", "WHY"),
        [_disk_row(disk) for disk in report.disks],
        right=("BROKER", *_DISK_NUMBERS),
        more=more_of(report.disks, "log_dirs", "siblings_await_ms", "peers_busy", "peers_bytes_per_s", "peers"),
    )
    hidden = sum(counts.values()) - len(report.disks)
    if hidden:
        echo(f"{hidden} more disks, no worse: --limit {sum(counts.values())} shows all")
    for remark in report.remarks:
        echo(f"note: {remark}")


def _show_protection(client: GuardianClient, cluster: str) -> None:
    """A group without a leader protects nothing, and its disks are shown all the same."""
    try:
        report = client.protection(cluster, _DOINGS)
    except GuardianError as error:
        echo(f"note: what is held back is not known: {error}")
        return
    echo()
    show_protection(report)


def _protection_as_dict(client: GuardianClient, cluster: str) -> dict[str, object]:
    """Return the protection as `guardian disk queue -o json` shows it; where that is not known, `unknown` says why."""
    try:
        return as_dict(client.protection(cluster))
    except GuardianError as error:
        return {"unknown": str(error)}


def _disk_row(disk: pb.DiskHealth) -> tuple[str, ...]:
    return (
        str(disk.broker),
        disk.disk,
        _NAMES.get(disk.verdict, "?"),
        f"{disk.await_ms:.1f} ms",
        f"{disk.peers_await_ms:.1f} ms" if disk.judged_intervals else "-",
        f"{disk.busy:.0%}",
        f"{disk.ios_per_s:.0f}",
        f"{disk.peers_ios_per_s:.0f}" if disk.judged_intervals else "-",
        human_bytes(disk.bytes_per_s),
        f"{disk.odd_intervals}/{disk.judged_intervals}" if disk.judged_intervals else "-",
        human_time(disk.since_ms),
        disk.why or "-",
    )
