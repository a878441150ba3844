"""What healing is at, as protobuf."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.healing.loop.healing import ClusterHealing, Healer
from guardian.healing.rules.trouble import troubled_brokers
from guardian.healing.rules.verdict import Verdict, tickets_of_last_hour
from guardian.model.wire.fields import filled
from protos.guardian.v1 import insight_pb2 as pb


def healing_report(healer: Healer, clusters: Sequence[str]) -> pb.HealingReport:
    """Report healing of these clusters; one that was not looked at yet has its policy only. Raises Unavailable on a
    follower.
    """
    known, leads_since_ms = healer.status()
    return pb.HealingReport(
        clusters=[
            _cluster(name, known[name])
            if name in known
            else pb.HealingCluster(cluster=name, policy=filled(pb.HealingPolicy(), healer.policies.of(name)))
            for name in clusters
        ],
        leads_since_ms=leads_since_ms,
    )


def _cluster(name: str, healing: ClusterHealing) -> pb.HealingCluster:
    return pb.HealingCluster(
        cluster=name,
        policy=filled(pb.HealingPolicy(), healing.policy),
        troubles=map(_trouble, healing.decision.verdicts),
        storm=healing.decision.storm,
        brokers=healing.known.brokers,
        troubled_brokers=len(troubled_brokers(healing.known.troubles)),
        looked_at_ms=healing.decided_at_ms,
        tickets_last_hour=tickets_of_last_hour(healing.known, healing.decided_at_ms),
    )


def _trouble(verdict: Verdict) -> pb.HealingTrouble:
    trouble = verdict.trouble
    return pb.HealingTrouble(
        kind=pb.FindingKind.Name(pb.FindingKind.ValueType(int(trouble.subject.kind))),
        subject=trouble.subject.name,
        evidence=trouble.evidence,
        since_ms=trouble.since_ms,
        phase=verdict.phase,
        sentence=verdict.sentence,
        ticket_id=verdict.ticket_id,
    )
