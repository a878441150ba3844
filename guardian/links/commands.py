"""`guardian links`: what crosses the lines between IDCs, by whom, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from guardian.activity.commands import FromOption, SinceOption, ToOption, parse_span
from guardian.cli.options import EndpointsOption, OnlyClustersOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table, require_samples
from guardian.cli.waiting import told_if_slow
from guardian.model.units import human_bytes
from protos.guardian.v1 import insight_pb2 as pb

_LINE_NUMBERS = ("BYTES", "PRODUCED", "CONSUMED", "REPLICATED", "PEAK", "OF LIMIT", "COST")
_CROSSINGS = {pb.PRODUCE: "produce", pb.CONSUME: "consume", pb.REPLICATE: "replicate"}


def links(
    since: SinceOption = "",
    start: FromOption = "",
    end: ToOption = "",
    cluster: OnlyClustersOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Show so many who cross, of each line.")] = 5,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a line is near its limit.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what crosses the lines between IDCs: producers, consumers and replication, each way, and what it costs.

    The file that the members' setting `links` names says where clients are,

    and what lines carry and cost.

    The JSON has the bytes of each minute, for each line.

    Example: guardian links --since 1h --limit 3

    Example: guardian links --from 03:00 --to 03:01 -o json
    """
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow("Reading what crossed lines out of the lake"):
        report = client.link_use(from_ms, to_ms, cluster or (), limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report, from_ms)
    require_samples(report.samples, "any partition", from_ms, report.to_ms)
    if fail and report.findings:
        raise typer.Exit(1)


def _show(report: pb.LinkUseReport, from_ms: int) -> None:
    if not report.samples:
        echo("what crosses lines between IDCs is not known")
    elif not report.links:
        echo(f"nothing crossed a line between IDCs between {human_time(from_ms)} and {human_time(report.to_ms)}")
    else:
        for found in report.findings:
            echo(f"NEAR ITS LIMIT: {found}")
        print_table(
            ("FROM", "TO", *_LINE_NUMBERS, "BUSIEST MINUTE"),
            [_line_row(link, report.currency) for link in report.links],
            right=_LINE_NUMBERS,
            more=more_of(report.links, "estimated_bytes", "capacity_bits_per_s"),
        )
        for link in report.links:
            _show_crossers(link)
    for remark in report.remarks:
        echo(f"note: {remark}", err=True)
    if any(link.estimated_bytes for link in report.links):
        echo("~ brokers did not count these clients' bytes: shared out by requests", err=True)


def _line_row(link: pb.LinkUse, currency: str) -> tuple[str, ...]:
    capacity = link.capacity_bits_per_s
    return (
        link.from_idc,
        link.to_idc,
        ("~" if link.estimated_bytes else "") + human_bytes(link.bytes),
        human_bytes(link.produced_bytes),
        human_bytes(link.consumed_bytes),
        human_bytes(link.replicated_bytes),
        f"{link.peak_bits_per_s / 1e6:.1f} Mbit/s",
        f"{link.peak_bits_per_s / capacity:.0%}" if capacity else "-",
        f"{link.cost:.2f} {currency}".rstrip() if link.priced else "-",
        human_time(link.peak_at_ms),
    )


def _show_crossers(link: pb.LinkUse) -> None:
    shown: Sequence[pb.LinkCrosser] = link.peak_crossers or link.crossers
    if not shown:
        return
    span = "in its busiest minute" if link.peak_crossers else "in all"
    echo()
    echo(f"{link.from_idc} to {link.to_idc}, the largest {span}")
    print_table(
        ("WHAT", "CLUSTER", "TOPIC", "PRINCIPAL", "CLIENT", "ADDRESS", "BYTES"),
        [
            (
                _CROSSINGS.get(crosser.crossing, "?"),
                crosser.cluster,
                crosser.topic,
                crosser.principal or "-",
                crosser.client_id or "-",
                crosser.address or "-",
                ("~" if crosser.estimated else "") + human_bytes(crosser.bytes),
            )
            for crosser in shown
        ],
        right=("BYTES",),
        more=more_of(shown, "estimated"),
    )
