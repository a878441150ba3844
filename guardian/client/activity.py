"""Who did what on the clusters, as the brokers' slices of client activity tell."""

from __future__ import annotations

from typing import Any

from guardian.client.calls import SLOW, Calls
from protos.guardian.v1 import activity_pb2 as pb


class ActivityCalls:
    """Part of GuardianClient. Times are ms since the epoch; all raise InvalidInput, also where no activity is
    kept, NotFound for a cluster that is not registered, and Unavailable while the store is away."""

    _calls: Calls

    def topic_activity(
        self, cluster: str, topic: str, from_ms: int, to_ms: int, limit: int = 0
    ) -> pb.ListActivityReply:
        """List who used a topic."""
        return self._activity(cluster=cluster, topic=topic, from_ms=from_ms, to_ms=to_ms, limit=limit)

    def broker_activity(
        self, cluster: str, broker: int, from_ms: int, to_ms: int, limit: int = 0
    ) -> pb.ListActivityReply:
        """List what a broker did, and for whom."""
        return self._activity(cluster=cluster, broker=broker, from_ms=from_ms, to_ms=to_ms, limit=limit)

    def principal_activity(
        self, cluster: str, principal: str, from_ms: int, to_ms: int, limit: int = 0
    ) -> pb.ListActivityReply:
        """List what a principal, such as "User:alice", did."""
        return self._activity(cluster=cluster, principal=principal, from_ms=from_ms, to_ms=to_ms, limit=limit)

    def idle_topics(
        self, cluster: str, since_ms: int, *, with_internal: bool = False, limit: int = 0
    ) -> pb.ListIdleTopicsReply:
        """The cluster's topics without readers or without writers since then."""
        request = pb.ListIdleTopicsRequest(cluster=cluster, since_ms=since_ms, with_internal=with_internal, limit=limit)
        return self._calls.read(lambda stubs: stubs.activity.ListIdleTopics, request, SLOW)

    def topic_use(self, cluster: str, from_ms: int, to_ms: int) -> pb.ListTopicUseReply:
        """List what each topic moved, and holds now."""
        request = pb.ListTopicUseRequest(cluster=cluster, from_ms=from_ms, to_ms=to_ms)
        return self._calls.read(lambda stubs: stubs.activity.ListTopicUse, request, SLOW)

    def acl_use(self, cluster: str, since_ms: int) -> pb.ListAclUseReply:
        """The rules that allow, and what was used of them since then. Raises InvalidInput without an authorizer."""
        request = pb.ListAclUseRequest(cluster=cluster, since_ms=since_ms)
        return self._calls.read(lambda stubs: stubs.activity.ListAclUse, request, SLOW)

    def _activity(self, **asked: Any) -> pb.ListActivityReply:
        return self._calls.read(lambda stubs: stubs.activity.ListActivity, pb.ListActivityRequest(**asked), SLOW)
