"""Disks, who reads from them, and lines between IDCs: model -> protobuf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields

from guardian.health.model.disk_reads import DiskReads
from guardian.health.model.disks import DiskHealth, DiskReport, Load
from guardian.model.links import Crosser, Crossing, LinkUse
from guardian.model.quota import GroupOffsets
from guardian.model.topology import broker_names
from guardian.model.wire.fields import NOT_ON_THE_WIRE, ByHand, alias, by_hand, filled
from protos.guardian.v1 import insight_pb2 as pb


def disks_to_proto(cluster: str, span: tuple[int, int], found: DiskReport, most: int) -> pb.DiskHealthReport:
    """`most` of the worst disks; the counts are of all."""
    return pb.DiskHealthReport(
        cluster=cluster,
        from_ms=span[0],
        to_ms=span[1],
        disks=(filled(pb.DiskHealth(), disk) for disk in found.disks[:most]),
        remarks=found.remarks,
        disks_by_verdict=Counter(int(disk.verdict) for disk in found.disks),
        samples=len(found.disks),
    )


def disk_reads_to_proto(
    cluster: str, span: tuple[int, int], found: DiskReads, offsets: GroupOffsets, most: int
) -> pb.DiskReadersReport:
    """`most` of the readers, those that read most."""
    silent = sorted(offsets.silent)
    return pb.DiskReadersReport(
        cluster=cluster,
        from_ms=span[0],
        to_ms=span[1],
        readers=(filled(pb.DiskReader(), reader) for reader in found.readers[:most]),
        caches=(filled(pb.PageCache(), cache) for cache in found.caches),
        readers_in_all=len(found.readers),
        groups=len(offsets.by_group),
        samples=len(found.caches),
        silent_brokers=silent,
        remarks=[f"{broker_names(silent)} did not tell all groups: who else reads from disk is not known"]
        if silent
        else [],
    )


def link_to_proto(use: LinkUse, crossers: Iterable[Crosser], of_peak: Sequence[Crosser]) -> pb.LinkUse:
    by_crossing = use.bytes_by_crossing
    message = pb.LinkUse(
        bytes=use.bytes,
        produced_bytes=by_crossing.get(Crossing.PRODUCE, 0),
        consumed_bytes=by_crossing.get(Crossing.CONSUME, 0),
        replicated_bytes=by_crossing.get(Crossing.REPLICATE, 0),
        capacity_bits_per_s=use.line.bits_per_s,
        cost=use.cost or 0.0,
        priced=use.cost is not None,
        crossers=(filled(pb.LinkCrosser(), crosser) for crosser in crossers),
        peak_crossers=(filled(pb.LinkCrosser(), crosser) for crosser in of_peak),
    )
    return filled(message, use)


def _write_peers(message: pb.DiskHealth, peers: Load) -> None:
    for each in fields(peers):
        setattr(message, f"peers_{each.name}", getattr(peers, each.name))


by_hand(DiskHealth, of_peers=ByHand(_write_peers))
by_hand(LinkUse, bytes_by_crossing=NOT_ON_THE_WIRE, line=NOT_ON_THE_WIRE)
by_hand(Crosser, direction=NOT_ON_THE_WIRE, is_estimated=alias("estimated"))
