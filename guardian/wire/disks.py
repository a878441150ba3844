"""Disks, who reads from them, and lines between IDCs: model -> protobuf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from guardian.model.disk_reads import DiskReader, DiskReads, PageCache
from guardian.model.disks import DiskHealth, DiskReport
from guardian.model.links import Crosser, Crossing, LinkUse
from protos.guardian.v1 import insight_pb2 as pb


def disks_to_proto(cluster: str, span: tuple[int, int], found: DiskReport, most: int) -> pb.DiskHealthReport:
    """`most` of the worst disks; the counts are of all."""
    return pb.DiskHealthReport(
        cluster=cluster,
        from_ms=span[0],
        to_ms=span[1],
        disks=map(_disk_to_proto, found.disks[:most]),
        remarks=found.remarks,
        disks_by_verdict=Counter(int(disk.verdict) for disk in found.disks),
        samples=len(found.disks),
    )


def _disk_to_proto(disk: DiskHealth) -> pb.DiskHealth:
    own, of_peers = disk.own, disk.of_peers
    return pb.DiskHealth(
        broker=disk.broker,
        disk=disk.disk,
        log_dirs=disk.log_dirs,
        verdict=pb.DiskVerdict.Name(pb.DiskVerdict.ValueType(int(disk.verdict))),
        await_ms=own.await_ms,
        peers_await_ms=of_peers.await_ms,
        siblings_await_ms=disk.siblings_await_ms,
        busy=own.busy,
        peers_busy=of_peers.busy,
        ios_per_s=own.ios_per_s,
        peers_ios_per_s=of_peers.ios_per_s,
        bytes_per_s=own.bytes_per_s,
        peers_bytes_per_s=of_peers.bytes_per_s,
        odd_intervals=disk.odd_intervals,
        judged_intervals=disk.judged_intervals,
        since_ms=disk.since_ms,
        peers=disk.peers,
        why=disk.why,
    )


def disk_reads_to_proto(
    cluster: str, span: tuple[int, int], found: DiskReads, groups: int, most: int
) -> pb.DiskReadersReport:
    """`most` of the readers, those that read most."""
    return pb.DiskReadersReport(
        cluster=cluster,
        from_ms=span[0],
        to_ms=span[1],
        readers=map(_reader_to_proto, found.readers[:most]),
        caches=map(_cache_to_proto, found.caches),
        readers_in_all=len(found.readers),
        groups=groups,
        samples=len(found.caches),
    )


def _reader_to_proto(reader: DiskReader) -> pb.DiskReader:
    return pb.DiskReader(
        group=reader.group,
        topic=reader.partition.topic,
        partition=reader.partition.partition,
        broker=reader.broker,
        log_dir=reader.log_dir,
        disk=reader.disk,
        committed_offset=reader.committed_offset,
        log_end_offset=reader.log_end_offset,
        behind_s=reader.behind_s,
        bytes_per_s=reader.bytes_per_s,
    )


def _cache_to_proto(cache: PageCache) -> pb.PageCache:
    return pb.PageCache(
        broker=cache.broker,
        memory_available_bytes=cache.memory_available_bytes,
        disk_bytes_per_s=cache.disk_bytes_per_s,
        seconds=cache.seconds or 0.0,
    )


def link_to_proto(use: LinkUse, crossers: Iterable[Crosser], of_peak: Sequence[Crosser]) -> pb.LinkUse:
    by_crossing = use.bytes_by_crossing
    return pb.LinkUse(
        from_idc=use.direction.from_idc,
        to_idc=use.direction.to_idc,
        bytes=use.bytes,
        produced_bytes=by_crossing.get(Crossing.PRODUCE, 0),
        consumed_bytes=by_crossing.get(Crossing.CONSUME, 0),
        replicated_bytes=by_crossing.get(Crossing.REPLICATE, 0),
        estimated_bytes=use.estimated_bytes,
        minute_bytes=use.minute_bytes,
        capacity_bits_per_s=use.line.bits_per_s,
        peak_at_ms=use.peak_at_ms,
        peak_bits_per_s=use.peak_bits_per_s,
        cost=use.cost or 0.0,
        priced=use.cost is not None,
        crossers=map(_crosser_to_proto, crossers),
        peak_crossers=map(_crosser_to_proto, of_peak),
    )


def _crosser_to_proto(crosser: Crosser) -> pb.LinkCrosser:
    return pb.LinkCrosser(
        crossing=pb.Crossing.Name(pb.Crossing.ValueType(int(crosser.crossing))),
        cluster=crosser.cluster,
        topic=crosser.topic,
        principal=crosser.principal,
        client_id=crosser.client_id,
        address=crosser.address,
        bytes=crosser.bytes,
        estimated=crosser.is_estimated,
    )
