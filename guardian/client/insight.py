"""What Guardian finds out about a cluster when it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from guardian.client.calls import SLOW, Calls
from guardian.client.errors import from_rpc
from protos.guardian.v1 import insight_pb2


class InsightCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def durability(self, cluster: str, topics: Sequence[str] = (), max_topics: int = 0) -> insight_pb2.DurabilityReport:
        """Report how safe the cluster's data is; `topics` are patterns as a shell has them, none: all.

        Raises NotFound or ClusterUnavailable.
        """
        request = insight_pb2.GetDurabilityRequest(cluster=cluster, topics=topics, max_topics=max_topics)
        return self._calls.read(lambda stubs: stubs.insight.GetDurability, request)

    def predict_fault(self, request: insight_pb2.PredictFaultRequest) -> insight_pb2.FaultReport:
        """Return what a fault would do to each topic. Raises NotFound, InvalidInput or ClusterUnavailable."""
        return self._calls.read(lambda stubs: stubs.insight.PredictFault, request, SLOW)

    def described_topics(
        self, cluster: str, topics: Sequence[str] = (), *, with_settings: bool = False
    ) -> insight_pb2.DescribeTopicsReply:
        """Topics as Kafka has them: brokers and own settings, and with_settings all that is no default of Kafka;
        `topics` are patterns, none: all but Kafka's own.

        Raises NotFound or ClusterUnavailable.
        """
        request = insight_pb2.DescribeTopicsRequest(cluster=cluster, topics=topics, with_settings=with_settings)
        return self._calls.read(lambda stubs: stubs.insight.DescribeTopics, request)

    def client_quotas(self, cluster: str) -> insight_pb2.QuotasReport:
        """Report what Kafka lets clients use, by user and client id. Raises NotFound or ClusterUnavailable."""
        request = insight_pb2.ListQuotasRequest(cluster=cluster)
        return self._calls.read(lambda stubs: stubs.insight.ListQuotas, request)

    def disk_health(
        self, cluster: str, from_ms: int = 0, to_ms: int = 0, max_disks: int = 0
    ) -> insight_pb2.DiskHealthReport:
        """Report which disks are slower than their peers. Raises NotFound, or InvalidInput when it is too much to
        read.
        """
        request = insight_pb2.GetDiskHealthRequest(cluster=cluster, from_ms=from_ms, to_ms=to_ms, max_disks=max_disks)
        return self._calls.read(lambda stubs: stubs.insight.GetDiskHealth, request, SLOW)

    def past(
        self, cluster: str, at_ms: int = 0, broker: int | None = None, max_topics: int = 0
    ) -> insight_pb2.PastReport:
        """Report how a cluster, or one broker of it, was at a past moment (ms since the epoch; 0: now). Raises
        NotFound, or InvalidInput when it is too much to read.
        """
        request = insight_pb2.GetPastRequest(cluster=cluster, at_ms=at_ms, broker=broker, max_topics=max_topics)
        return self._calls.read(lambda stubs: stubs.insight.GetPast, request, SLOW)

    def disk_readers(
        self, cluster: str, from_ms: int = 0, to_ms: int = 0, max_readers: int = 0
    ) -> insight_pb2.DiskReadersReport:
        """Report which consumer groups read from disk. Raises NotFound, ClusterUnavailable, or InvalidInput when it is
        too much to read.
        """
        request = insight_pb2.GetDiskReadersRequest(
            cluster=cluster, from_ms=from_ms, to_ms=to_ms, max_readers=max_readers
        )
        return self._calls.read(lambda stubs: stubs.insight.GetDiskReaders, request, SLOW)

    def link_use(
        self, from_ms: int = 0, to_ms: int = 0, clusters: Sequence[str] = (), max_crossers: int = 0
    ) -> insight_pb2.LinkUseReport:
        """Report what crosses the lines between IDCs; no clusters: all. Raises NotFound, or InvalidInput when it is too
        much to read, or the members' links file is wrong.
        """
        request = insight_pb2.GetLinkUseRequest(
            clusters=clusters, from_ms=from_ms, to_ms=to_ms, max_crossers=max_crossers
        )
        return self._calls.read(lambda stubs: stubs.insight.GetLinkUse, request, SLOW)

    def lines(self, cluster: str = "", from_ms: int = 0, to_ms: int = 0) -> insight_pb2.LinesReport:
        """The lines between IDCs, and, of a cluster that is named, from which IDCs its clients write and read. Raises
        NotFound, or InvalidInput when it is too much to read, or the members' links file is wrong."""
        request = insight_pb2.GetLinesRequest(cluster=cluster, from_ms=from_ms, to_ms=to_ms)
        return self._calls.read(lambda stubs: stubs.insight.GetLines, request, SLOW)

    def lines_at(self, endpoint: str, timeout_s: float = 3.0) -> insight_pb2.LinesReport:
        """The lines as one member's own file has them. Raises InvalidInput when that is wrong, Unavailable when the
        member does not answer."""
        try:
            return self._calls.at(endpoint).insight.GetLines(insight_pb2.GetLinesRequest(), timeout=timeout_s)
        except grpc.RpcError as error:
            raise from_rpc(error) from None

    def findings(self, cluster: str = "", limit: int = 0) -> insight_pb2.FindingsReport:
        """Report what the leader's detectors find, and when they looked; no cluster: all. Raises NotFound."""
        request = insight_pb2.ListFindingsRequest(cluster=cluster, limit=limit)
        return self._calls.ask_leader(lambda stubs: stubs.insight.ListFindings, request)

    def healing(self, cluster: str = "") -> insight_pb2.HealingReport:
        """Report what healing is at, as the leader knows; no cluster: all. Raises NotFound."""
        request = insight_pb2.GetHealingRequest(cluster=cluster)
        return self._calls.ask_leader(lambda stubs: stubs.insight.GetHealing, request)
