"""Findings: model -> protobuf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guardian.health.model.finding import BrokersSeen, Finding, LastLook, Place, Subject
from guardian.model.wire.fields import NOT_ON_THE_WIRE, alias, by_hand, filled
from protos.guardian.v1 import insight_pb2 as pb


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


by_hand(Subject, name=alias("subject"))
by_hand(Finding, line=NOT_ON_THE_WIRE, load=NOT_ON_THE_WIRE)
