"""Lines between IDCs and who uses them: model <-> protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_network

from guardian.model.links import ClientPlace, Line, LinkSettings, by_prefix
from protos.guardian.v1 import insight_pb2 as pb


def lines_to_proto(settings: LinkSettings, clients: Iterable[ClientPlace], remarks: Sequence[str]) -> pb.LinesReport:
    return pb.LinesReport(
        currency=settings.currency,
        lines=[
            pb.Line(one=line.between[0], other=line.between[1], bits_per_s=line.bits_per_s, price_gb=line.price_gb)
            for _, line in sorted(settings.lines.items())
        ],
        clients=[
            pb.ClientPlace(
                topic=each.topic, idc=each.idc, produced_bytes_per_s=each.produced, fetched_bytes_per_s=each.fetched
            )
            for each in clients
        ],
        remarks=remarks,
        near=settings.near,
        networks={str(network): idc for network, idc in settings.networks},
    )


def lines_from_proto(report: pb.LinesReport) -> LinkSettings:
    """As the members' file has them."""
    lines = [
        Line((line.one, line.other), line.bits_per_s, line.price_gb if line.HasField("price_gb") else None)
        for line in report.lines
    ]
    networks = [(ip_network(prefix), idc) for prefix, idc in report.networks.items()]
    return LinkSettings(
        networks=by_prefix(networks),
        lines={line.between: line for line in lines},
        currency=report.currency,
        near=report.near or LinkSettings().near,
    )
