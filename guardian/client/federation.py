"""What Guardian knows of the federation: clusters, machines, tenants, topics, policies, exclusions; and its audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from guardian.client.calls import SLOW, Calls
from guardian.model.collection import CollectionAssignment
from guardian.model.topology import BrokerState, Cluster
from guardian.model.wire.collection import assignment_from_proto
from guardian.model.wire.federation import broker_state_to_proto, cluster_from_proto, cluster_to_proto
from protos.guardian.v1 import federation_pb2


class FederationCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def register_cluster(
        self,
        cluster: Cluster,
        idc_of_rack: Mapping[str, str] | None = None,
        *,
        labels: Mapping[int, str] | None = None,
        states: Mapping[int, BrokerState] | None = None,
        expected: Cluster | None = None,
        sets: Mapping[int, str] | None = None,
    ) -> Cluster:
        """Registers a cluster, or replaces all of its entry but labels and states, and returns it completed by Kafka.

        `idc_of_rack` gives the data centre of brokers whose own is not given; `labels` and `states`, by broker id,
        replace those that were registered before, which stay otherwise. `sets` are labels too, of which those of
        brokers that the cluster does not have are left out. Where `expected` is given and the entry is
        another by now, nothing changes. Raises InvalidInput, ClusterUnavailable or Conflict.
        """
        request = federation_pb2.RegisterClusterRequest(
            cluster=cluster_to_proto(cluster),
            idc_of_rack=idc_of_rack,
            label_of_broker=labels,
            state_of_broker={broker: broker_state_to_proto(state) for broker, state in (states or {}).items()},
            expected=cluster_to_proto(expected) if expected is not None else None,
            set_of_broker=sets,
        )
        reply = self._calls.change(lambda stubs: stubs.federation.RegisterCluster, request, SLOW)
        return cluster_from_proto(reply.cluster)

    def remove_cluster(self, name: str) -> None:
        """Forgets a cluster; raises NotFound, or Conflict while one of its tickets is open."""
        request = federation_pb2.RemoveClusterRequest(name=name)
        self._calls.change_once(lambda stubs: stubs.federation.RemoveCluster, request)

    def set_sampling(self, cluster: str, paused: str) -> Cluster:
        """`paused` is why no metrics are collected from the cluster; empty: they are. Raises NotFound or Conflict."""
        request = federation_pb2.SetSamplingRequest(cluster=cluster, paused=paused)
        reply = self._calls.change(lambda stubs: stubs.federation.SetSampling, request)
        return cluster_from_proto(reply.cluster)

    def list_clusters(self) -> tuple[Cluster, ...]:
        """Return every registered cluster, by name, page by page."""
        request = federation_pb2.ListClustersRequest()
        found: list[Cluster] = []
        while True:
            reply = self._calls.read(lambda stubs: stubs.federation.ListClusters, request)
            found += map(cluster_from_proto, reply.clusters)
            if not reply.next_page_token:
                return tuple(found)
            request.page_token = reply.next_page_token

    def change_federation(self, changes: Sequence[federation_pb2.FederationChange], dry_run: bool = False) -> list[int]:
        """Puts and drops entries, all of them or none, exactly once; returns each one's revision (0 for a drop).

        Raises InvalidInput, NotFound for a drop of what is not there, Conflict for another revision than expected.
        With `dry_run` nothing is stored.
        """
        request = federation_pb2.ChangeFederationRequest(changes=changes, dry_run=dry_run)
        if dry_run:
            return list(self._calls.read(lambda stubs: stubs.federation.ChangeFederation, request).revisions)
        return list(self._calls.change_once(lambda stubs: stubs.federation.ChangeFederation, request).revisions)

    def federation(
        self, table: federation_pb2.FederationTable, cluster: str = "", name: str = ""
    ) -> Iterator[federation_pb2.FederationEntry]:
        """A table's entries, by key: of one cluster, of one name, or all. Each page is of its own moment."""
        token = ""
        while True:
            entries, token = self.federation_page(table, cluster, name, token)
            yield from entries
            if not token:
                return

    def federation_page(
        self, table: federation_pb2.FederationTable, cluster: str = "", name: str = "", token: str = "", size: int = 0
    ) -> tuple[Sequence[federation_pb2.FederationEntry], str]:
        """Return up to so many entries (0: as many as the server likes) from the token of the page before on, and the
        token of the next one. An empty token: there is none. Raises InvalidInput for what is no token.
        """
        request = federation_pb2.ListFederationRequest(
            table=table, cluster=cluster, name=name, page_token=token, page_size=size
        )
        page = self._calls.read(lambda stubs: stubs.federation.ListFederation, request)
        return page.entries, page.next_page_token

    def broker_metrics(self, cluster: str, broker: int) -> federation_pb2.BrokerMetrics:
        """All numbers that the broker has now. Raises NotFound or ClusterUnavailable."""
        request = federation_pb2.GetBrokerMetricsRequest(cluster=cluster, broker=broker)
        return self._calls.read(lambda stubs: stubs.federation.GetBrokerMetrics, request, SLOW)

    def collection(self) -> CollectionAssignment:
        """Return which member collects which broker."""
        request = federation_pb2.GetCollectionRequest()
        return assignment_from_proto(self._calls.read(lambda stubs: stubs.federation.GetCollection, request))

    def audit(self, from_ms: int = 0, until_ms: int = 0, actor: str = "") -> Iterator[federation_pb2.AuditRecord]:
        """Yield who changed what, newest first. Times are ms since the epoch; `until_ms` is exclusive, 0: now."""
        token = ""
        while True:
            records, token = self.audit_page(from_ms, until_ms, actor, token)
            yield from records
            if not token:
                return

    def audit_page(
        self, from_ms: int = 0, until_ms: int = 0, actor: str = "", token: str = "", size: int = 0
    ) -> tuple[Sequence[federation_pb2.AuditRecord], str]:
        """Return a page of `audit`, as `federation_page` does: of one actor's it may be short and not the last."""
        request = federation_pb2.ListAuditRequest(
            from_ms=from_ms, until_ms=until_ms, actor=actor, page_token=token, page_size=size
        )
        page = self._calls.read(lambda stubs: stubs.federation.ListAudit, request)
        return page.records, page.next_page_token
