"""`guardian disk` and `guardian disk readers`: slow disks, what they suffer from, and who makes them read.

`guardian disk CLUSTER` is `guardian disk show CLUSTER`.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from guardian.cli.audit import FromOption, ToOption, parse_span
from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.protection import queue, release, show_protection
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.units import human_bytes, human_duration
from protos.guardian.v1 import insight_pb2 as pb

ClusterArgument = Annotated[str, typer.Argument(help="The cluster's name.")]
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
_READER_NUMBERS = ("COMMITTED", "BEHIND", "BYTES/S ~")


class _ShowByDefault(TyperGroup):
    """A group whose first word may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ShowByDefault,
    help="Find slow and overloaded disks, and see what is held back for them; `guardian disk CLUSTER` shows them.",
    no_args_is_help=True,
)


@app.command("show")
def disks(
    cluster: ClusterArgument,
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

    Example: guardian disk show live --since 30m

    Example: guardian disk live --limit 5 --fail
    """
    from_ms, to_ms = parse_span(since, start, end, _now_ms())
    with connect(endpoints) as client:
        report = client.disk_health(cluster, from_ms, to_ms, 0 if output is Output.JSON else limit)
        if output is Output.JSON:
            print_json(as_dict(report) | {"protection": _protection_as_dict(client, cluster)})
        else:
            _show_disks(report)
            _show_protection(client, cluster)
    if fail and report.disks_by_verdict[pb.DISK_SLOW]:
        raise typer.Exit(1)


app.command()(queue)
app.command()(release)


@app.command()
def readers(
    cluster: ClusterArgument,
    since: Annotated[str, typer.Option("--since", help="The time that rates are taken over.", show_default="10m")] = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many readers, those that read most.")] = 20,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which consumer groups read what is no more in the page cache, from which disks: an estimate.

    A page cache holds what the disks moved in the last T seconds.

    T = MemAvailable / bytes per second, read and written.

    A group whose committed offset is older than T reads from disk.

    Example: guardian disk readers live
    """
    from_ms, to_ms = parse_span(since or ("" if start else "10m"), start, end, _now_ms())
    with connect(endpoints) as client:
        report = client.disk_readers(cluster, from_ms, to_ms, 0 if output is Output.JSON else limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show_readers(report)


def no_samples(what: str, from_ms: int, to_ms: int) -> str:
    """What is said where the lake has nothing."""
    return (
        f"no samples of {what} between {human_time(from_ms)} and {human_time(to_ms)}: is the reporter registered? see "
        "`guardian collection`"
    )


def _show_disks(report: pb.DiskHealthReport) -> None:
    if not report.disks:
        print(no_samples(f"the disks of cluster {report.cluster}", report.from_ms, report.to_ms))
        return
    counts = Counter(dict(report.disks_by_verdict))
    summary = ", ".join(f"{counts[verdict]} {_NAMES.get(verdict, '?')}" for verdict in sorted(counts))
    print(f"cluster {report.cluster}: {sum(counts.values())} disks: {summary}\n")
    print_table(
        ("BROKER", "DISK", "VERDICT", *_DISK_NUMBERS, "SINCE", "WHY"),
        [_disk_row(disk) for disk in report.disks],
        right=("BROKER", *_DISK_NUMBERS),
        more=more_of(report.disks, "log_dirs", "siblings_await_ms", "peers_busy", "peers_bytes_per_s", "peers"),
    )
    hidden = sum(counts.values()) - len(report.disks)
    if hidden:
        print(f"{hidden} more disks, no worse: --limit {sum(counts.values())} shows all")
    for remark in report.remarks:
        print(f"note: {remark}")


def _show_protection(client: GuardianClient, cluster: str) -> None:
    """A group without a leader protects nothing, and its disks are shown all the same."""
    try:
        report = client.protection(cluster, _DOINGS)
    except GuardianError as error:
        print(f"note: what is held back is not known: {error}")
        return
    print()
    show_protection(report)


def _protection_as_dict(client: GuardianClient, cluster: str) -> dict[str, object]:
    """As `guardian disk queue -o json`; where that is not known, `unknown` says why."""
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


def _show_readers(report: pb.DiskReadersReport) -> None:
    if not report.samples:
        print(no_samples(f"the hosts of cluster {report.cluster}", report.from_ms, report.to_ms))
        return
    if not report.groups:
        print(f"no consumer group of cluster {report.cluster} has members now: nobody reads from disk")
        return
    if not report.readers:
        held = [cache.seconds for cache in report.caches if cache.seconds]
        least = f", which hold {human_duration(1000 * min(held))} or more of what is written" if held else ""
        print(f"none of {report.groups} consumer groups reads from disk: all are within the page caches{least}")
        return
    print_table(
        ("GROUP", "PARTITION", "BROKER", "DISK", "PAGE CACHE", *_READER_NUMBERS),
        [_reader_row(reader, report) for reader in report.readers],
        right=("BROKER", "PAGE CACHE", *_READER_NUMBERS),
        more=more_of(report.readers, "log_end_offset"),
    )
    hidden = report.readers_in_all - len(report.readers)
    if hidden:
        print(f"{hidden} more that read no more: --limit {report.readers_in_all} shows all")
    print("~ estimated from what the topics send, and from committed offsets", file=sys.stderr)


def _reader_row(reader: pb.DiskReader, report: pb.DiskReadersReport) -> tuple[str, ...]:
    held_s = next((cache.seconds for cache in report.caches if cache.broker == reader.broker), 0.0)
    return (
        reader.group,
        f"{reader.topic}-{reader.partition}",
        str(reader.broker),
        f"{reader.disk} ({reader.log_dir})",
        human_duration(1000 * held_s),
        str(reader.committed_offset),
        human_duration(1000 * reader.behind_s),
        human_bytes(reader.bytes_per_s),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
