"""A past moment: model -> protobuf."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.health.model.past import PastBroker, PastLogDir, PastTopic
from guardian.lake.model.window import Window
from guardian.model.wire.fields import alias, by_hand, filled
from protos.guardian.v1 import insight_pb2 as pb


def past_to_proto(
    cluster: str, window: Window, brokers: Sequence[PastBroker], topics: Sequence[PastTopic], max_topics: int
) -> pb.PastReport:
    """`max_topics` of the busiest topics; the count is of all. The window ends just after the moment."""
    return pb.PastReport(
        cluster=cluster,
        at_ms=window.to_ms - 1,
        from_ms=window.from_ms,
        brokers=[filled(pb.PastBroker(), broker) for broker in brokers],
        topics=[filled(pb.PastTopic(), topic) for topic in topics[:max_topics]],
        topics_in_all=len(topics),
    )


by_hand(PastLogDir, is_offline=alias("offline"))
