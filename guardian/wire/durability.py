"""Durability of topics: model -> protobuf."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from guardian.model.durability import Durability, TopicDurability
from protos.guardian.v1 import insight_pb2 as pb


def durability_to_proto(cluster: str, found: Durability, max_topics: int) -> pb.DurabilityReport:
    """`max_topics` of the worst topics; the counts are of all."""
    return pb.DurabilityReport(
        cluster=cluster,
        topics=[_topic_to_proto(topic) for topic in found.topics[:max_topics]],
        losses=[pb.LossEffect(**{**asdict(loss), "scope": loss.scope.value}) for loss in found.losses],
        remarks=found.remarks,
        topics_by_rating=Counter(int(topic.rating) for topic in found.topics),
        topics_in_all=len(found.topics),
    )


def _topic_to_proto(topic: TopicDurability) -> pb.TopicDurability:
    fields = asdict(topic)
    fields["unclean_elections"] = fields.pop("is_unclean")
    return pb.TopicDurability(**fields)
