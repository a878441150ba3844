"""Which brokers get no new replicas, and what was set there."""

from __future__ import annotations

from guardian.client.calls import Calls
from guardian.model.cordon import Cordon
from guardian.model.wire.cordons import cordon_from_proto
from protos.guardian.v1 import placement_pb2


class PlacementCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def cordons(self, cluster: str = "") -> tuple[Cordon, ...]:
        """List the cordons of a cluster, or of all; without the partitions that the brokers held."""
        request = placement_pb2.ListCordonsRequest(cluster=cluster)
        found: list[Cordon] = []
        while True:
            reply = self._calls.read(lambda stubs: stubs.placement.ListCordons, request)
            found += map(cordon_from_proto, reply.cordons)
            if not reply.next_page_token:
                return tuple(found)
            request.page_token = reply.next_page_token

    def placement_rules(self, cluster_id: str, known_version: str = "") -> placement_pb2.PlacementRules:
        """Return what controllers are told; raises NotFound for a cluster.id that is not registered."""
        request = placement_pb2.GetPlacementRequest(cluster_id=cluster_id, known_version=known_version)
        return self._calls.read(lambda stubs: stubs.placement.GetPlacement, request)
