"""Findings: model -> protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guardian.health.model.finding import (
    BrokersSeen,
    Detector,
    Finding,
    FindingKind,
    LastLook,
    Place,
    Seen,
    Sighting,
    Subject,
)
from guardian.model.links import Direction
from guardian.model.wire.fields import NOT_ON_THE_WIRE, alias, by_hand, filled
from protos.guardian.v1 import insight_pb2 as pb
from protos.guardian.v1 import records_pb2


def findings_to_proto(
    found: Sequence[Finding], looks: Mapping[Place, LastLook], in_grace: int, leads_since_ms: int, most: int
) -> pb.FindingsReport:
    """`most` of the findings, the gravest."""
    return pb.FindingsReport(
        findings=(filled(pb.Finding(), finding) for finding in found[:most]),
        findings_in_all=len(found),
        looks=(filled(filled(pb.DetectorLook(), place), last) for place, last in sorted(looks.items())),
        in_grace=in_grace,
        leads_since_ms=leads_since_ms,
    )


def brokers_seen_to_proto(seen: BrokersSeen) -> pb.BrokersSeen:
    """Return it as it is told beside findings."""
    return filled(pb.BrokersSeen(), seen)


def kept_to_proto(cluster: str, at_ms: int, seen: Iterable[Seen]) -> records_pb2.KeptFindings:
    """Return what is stored for the next leader."""
    return records_pb2.KeptFindings(cluster=cluster, at_ms=at_ms, findings=map(_kept_to_proto, seen))


def kept_from_proto(message: records_pb2.KeptFindings) -> list[Seen]:
    """Return what was stored, last seen then; what this version does not know is left out."""
    return [seen for each in message.findings if (seen := _kept_from_proto(message, each)) is not None]


def _kept_to_proto(seen: Seen) -> records_pb2.KeptFinding:
    sighting = seen.sighting
    from_idc, to_idc = sighting.line or ("", "")
    return records_pb2.KeptFinding(
        detector=seen.place.detector.value,
        kind=sighting.subject.kind.value,
        subject=sighting.subject.name,
        evidence=sighting.evidence,
        show=sighting.show,
        since_ms=seen.since_ms,
        is_raised=seen.is_raised,
        brokers=sighting.brokers,
        log_dirs=sighting.log_dirs,
        replicas=sighting.replicas,
        from_idc=from_idc,
        to_idc=to_idc,
        load=sighting.load,
        disks=sighting.disks,
    )


def _kept_from_proto(of: records_pb2.KeptFindings, message: records_pb2.KeptFinding) -> Seen | None:
    try:
        kind, detector = FindingKind(message.kind), Detector(message.detector)
    except ValueError:
        return None
    sighting = Sighting(
        Subject(kind, of.cluster, message.subject),
        message.evidence,
        message.show,
        brokers=tuple(message.brokers),
        log_dirs=tuple(message.log_dirs),
        replicas=message.replicas if message.HasField("replicas") else None,
        line=Direction(message.from_idc, message.to_idc) if message.from_idc else None,
        load=message.load,
        disks=message.disks,
    )
    return Seen(Place(detector, of.cluster), sighting, message.since_ms, of.at_ms, message.is_raised)


by_hand(Subject, name=alias("subject"))
by_hand(Finding, line=NOT_ON_THE_WIRE, load=NOT_ON_THE_WIRE)
