"""Durability of topics: model -> protobuf."""

from __future__ import annotations

from collections import Counter

from guardian.model.durability import Durability, TopicDurability
from guardian.model.wire.fields import alias, by_hand, filled
from protos.guardian.v1 import insight_pb2 as pb


def durability_to_proto(cluster: str, found: Durability, max_topics: int) -> pb.DurabilityReport:
    """`max_topics` of the worst topics; the counts are of all."""
    return pb.DurabilityReport(
        cluster=cluster,
        topics=[filled(pb.TopicDurability(), topic) for topic in found.topics[:max_topics]],
        losses=[filled(pb.LossEffect(), loss) for loss in found.losses],
        remarks=found.remarks,
        topics_by_rating=Counter(int(topic.rating) for topic in found.topics),
        topics_in_all=len(found.topics),
    )


by_hand(TopicDurability, is_unclean=alias("unclean_elections"))
