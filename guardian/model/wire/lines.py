"""Lines between IDCs and who uses them: model <-> protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_network

from guardian.model.links import ClientPlace, Line, LinkSettings, by_prefix
from guardian.model.wire.fields import ByHand, alias, by_hand, filled, read
from protos.guardian.v1 import insight_pb2 as pb


def lines_to_proto(settings: LinkSettings, clients: Iterable[ClientPlace], remarks: Sequence[str]) -> pb.LinesReport:
    return pb.LinesReport(
        currency=settings.currency,
        lines=[filled(pb.Line(), line) for _, line in sorted(settings.lines.items())],
        clients=[filled(pb.ClientPlace(), each) for each in clients],
        remarks=remarks,
        near=settings.near,
        networks={str(network): idc for network, idc in settings.networks},
    )


def lines_from_proto(report: pb.LinesReport) -> LinkSettings:
    """Read the lines as the members' file has them."""
    lines = [read(Line, line) for line in report.lines]
    networks = [(ip_network(prefix), idc) for prefix, idc in report.networks.items()]
    return LinkSettings(
        networks=by_prefix(networks),
        lines={line.between: line for line in lines},
        currency=report.currency,
        near=report.near or LinkSettings().near,
    )


def _write_between(message: pb.Line, between: tuple[str, str]) -> None:
    message.one, message.other = between


by_hand(Line, between=ByHand(_write_between, lambda message: (message.one, message.other)))
by_hand(ClientPlace, produced=alias("produced_bytes_per_s"), fetched=alias("fetched_bytes_per_s"))
