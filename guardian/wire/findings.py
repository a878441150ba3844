"""Findings: model -> protobuf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guardian.model.finding import Finding, LastLook, Place
from protos.guardian.v1 import insight_pb2 as pb


def findings_to_proto(
    found: Sequence[Finding], looks: Mapping[Place, LastLook], in_grace: int, leads_since_ms: int, most: int
) -> pb.FindingsReport:
    """`most` of the findings, the gravest."""
    return pb.FindingsReport(
        findings=map(_finding_to_proto, found[:most]),
        findings_in_all=len(found),
        looks=(_look_to_proto(place, last) for place, last in sorted(looks.items())),
        in_grace=in_grace,
        leads_since_ms=leads_since_ms,
    )


def _finding_to_proto(finding: Finding) -> pb.Finding:
    return pb.Finding(
        kind=pb.FindingKind.Name(pb.FindingKind.ValueType(int(finding.subject.kind))),
        cluster=finding.subject.cluster,
        subject=finding.subject.name,
        since_ms=finding.since_ms,
        last_seen_ms=finding.last_seen_ms,
        evidence=finding.evidence,
        show=finding.show,
    )


def _look_to_proto(place: Place, last: LastLook) -> pb.DetectorLook:
    return pb.DetectorLook(
        detector=place.detector.value,
        cluster=place.cluster,
        looked_at_ms=last.looked_at_ms,
        failed_at_ms=last.failed_at_ms,
        error=last.error,
    )
