"""`guardian group`: consumer groups of the clusters. The members' own Raft group is `guardian raft`."""

from __future__ import annotations

from typing import Annotated

import typer

from guardian.activity.commands import FromOption, ToOption, parse_span
from guardian.cli.exits import UNKNOWN
from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table, require_samples
from guardian.cli.waiting import told_if_slow
from guardian.model.units import human_bytes, human_duration
from protos.guardian.v1 import insight_pb2 as pb

_NUMBERS = ("COMMITTED", "BEHIND", "BYTES/S ~")

app = typer.Typer(help="See what consumer groups do to the brokers.", no_args_is_help=True)


@app.command("disk-reads")
def disk_reads(
    cluster: ClusterOption = "",
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

    Example: guardian group disk-reads --cluster live
    """
    from_ms, to_ms = parse_span(since or ("" if start else "10m"), start, end, now_ms())
    with connect(endpoints) as client, told_if_slow("Asking brokers for consumer groups, and the lake for caches"):
        report = client.disk_readers(cluster, from_ms, to_ms, 0 if output is Output.JSON else limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report)
    require_samples(report.samples, f"the hosts of cluster {report.cluster}", report.from_ms, report.to_ms)
    if report.silent_brokers and not report.groups:
        raise typer.Exit(UNKNOWN)


def _show(report: pb.DiskReadersReport) -> None:
    if not report.samples:
        echo(f"cluster {report.cluster}: who reads from disk is not known")
        return
    for remark in report.remarks:
        echo(f"note: {remark}", err=True)
    if not report.groups and report.silent_brokers:
        echo(f"no group of cluster {report.cluster} was told: who reads from disk is not known")
        return
    if not report.groups:
        echo(f"no consumer group of cluster {report.cluster} has members now: nobody reads from disk")
        return
    if not report.readers:
        held = [cache.seconds for cache in report.caches if cache.seconds]
        least = f", which hold {human_duration(1000 * min(held))} or more of what is written" if held else ""
        echo(f"none of {report.groups} consumer groups reads from disk: all are within the page caches{least}")
        return
    print_table(
        ("GROUP", "PARTITION", "BROKER", "DISK", "PAGE CACHE", *_NUMBERS),
        [_row(reader, report) for reader in report.readers],
        right=("BROKER", "PAGE CACHE", *_NUMBERS),
        more=more_of(report.readers, "log_end_offset"),
    )
    hidden = report.readers_in_all - len(report.readers)
    if hidden:
        echo(f"{hidden} more that read no more: --limit {report.readers_in_all} shows all")
    echo("~ estimated from what the topics send, and from committed offsets", err=True)


def _row(reader: pb.DiskReader, report: pb.DiskReadersReport) -> tuple[str, ...]:
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
