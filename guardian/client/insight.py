"""What Guardian finds out about a cluster when it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.client.calls import Calls
from protos.guardian.v1 import insight_pb2


class InsightCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def durability(self, cluster: str, topics: Sequence[str] = (), max_topics: int = 0) -> insight_pb2.DurabilityReport:
        """How safe the cluster's data is; `topics` are patterns as a shell has them, none: all.

        Raises NotFound or ClusterUnavailable.
        """
        request = insight_pb2.GetDurabilityRequest(cluster=cluster, topics=topics, max_topics=max_topics)
        return self._calls.read(lambda stubs: stubs.insight.GetDurability, request)
