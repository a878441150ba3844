"""The Insight service: asks Kafka and the lake, and says what it means. Changes nothing."""

from __future__ import annotations

from contextlib import closing

import grpc

from guardian.core import findings
from guardian.core.disk_reads import disk_reads
from guardian.core.disks import judge
from guardian.core.durability import audit
from guardian.errors import InvalidInput, NotFound
from guardian.model.topology import Cluster
from guardian.server import lake_facts
from guardian.server.admins import registered
from guardian.server.described_topics import described_topics
from guardian.server.durability_facts import durability_facts
from guardian.server.findings import FindingsWatch
from guardian.server.healing import Healer
from guardian.server.healing_report import healing_report
from guardian.server.link_use import LinkUseReader
from guardian.server.requests import views_for
from guardian.server.sources import Sources
from guardian.wire.disks import disk_reads_to_proto, disks_to_proto
from guardian.wire.durability import durability_to_proto
from guardian.wire.findings import findings_to_proto
from protos.guardian.v1 import insight_pb2 as pb
from protos.guardian.v1 import insight_pb2_grpc
from spark_analytics.lake.samples import LakeReader
from spark_analytics.lake.window import Window

MAX_TOPICS = 10_000
MAX_DISKS = 50_000
MAX_READERS = 10_000
MAX_CROSSERS = 1000
MAX_FINDINGS = 10_000
_CROSSERS = 10
_HOUR_MS = 3_600_000
_READERS_MS = 600_000  # what a page cache holds is a matter of minutes


class InsightServicer(insight_pb2_grpc.InsightServicer):
    """`watch` is None where no detectors run, `healer` where nothing heals."""

    def __init__(self, sources: Sources, watch: FindingsWatch | None = None, healer: Healer | None = None) -> None:
        self._sources = sources
        self._watch = watch
        self._healer = healer

    def GetDurability(self, request: pb.GetDurabilityRequest, context: grpc.ServicerContext) -> pb.DurabilityReport:
        cluster = self._cluster(request.cluster, context)
        with closing(self._sources.connect(cluster)) as admin:
            topics, brokers = durability_facts(admin, cluster, request.topics)
        if request.topics and not topics:
            raise NotFound(f"topics is {', '.join(request.topics)}: cluster {cluster.name} has none of that name")
        return durability_to_proto(
            cluster.name, audit(topics, brokers), min(request.max_topics or MAX_TOPICS, MAX_TOPICS)
        )

    def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: grpc.ServicerContext
    ) -> pb.DescribeTopicsReply:
        cluster = self._cluster(request.cluster, context)
        with closing(self._sources.connect(cluster)) as admin:
            reply = described_topics(admin, request.topics)
        if request.topics and not reply.topics:
            raise NotFound(f"topics is {', '.join(request.topics)}: cluster {cluster.name} has none of that name")
        return reply

    def GetDiskHealth(self, request: pb.GetDiskHealthRequest, context: grpc.ServicerContext) -> pb.DiskHealthReport:
        cluster = self._cluster(request.cluster, context)
        window = self._window(request.from_ms, request.to_ms, _HOUR_MS)
        found = judge(lake_facts.disk_series(LakeReader(self._sources.lake_url), cluster.name, window))
        most = min(request.max_disks or MAX_DISKS, MAX_DISKS)
        return disks_to_proto(cluster.name, (window.from_ms, window.to_ms), found, most)

    def GetDiskReaders(self, request: pb.GetDiskReadersRequest, context: grpc.ServicerContext) -> pb.DiskReadersReport:
        cluster = self._cluster(request.cluster, context)
        window = self._window(request.from_ms, request.to_ms, _READERS_MS)
        with closing(self._sources.connect(cluster)) as admin:
            committed = admin.committed_offsets().by_group
        lake = LakeReader(self._sources.lake_url)
        hosts = lake_facts.hosts(lake, cluster.name, window)
        read = {partition.topic for offsets in committed.values() for partition in offsets}
        leaders, topics = lake_facts.leaders_and_topics(lake, cluster.name, window, read)
        found = disk_reads(committed, leaders, topics, hosts)
        most = min(request.max_readers or MAX_READERS, MAX_READERS)
        return disk_reads_to_proto(cluster.name, (window.from_ms, window.to_ms), found, len(committed), most)

    def GetLinkUse(self, request: pb.GetLinkUseRequest, context: grpc.ServicerContext) -> pb.LinkUseReport:
        views = views_for(self._sources.store, context)
        clusters = (
            [registered(views.cluster, name) for name in sorted(set(request.clusters))]
            if request.clusters
            else sorted(views.clusters(), key=lambda cluster: cluster.name)
        )
        window = self._window(request.from_ms, request.to_ms, _HOUR_MS)
        reader = LinkUseReader(LakeReader(self._sources.lake_url), self._sources.activity, self._sources.links_file)
        return reader.report(clusters, window, min(request.max_crossers or _CROSSERS, MAX_CROSSERS))

    def GetLines(self, request: pb.GetLinesRequest, context: grpc.ServicerContext) -> pb.LinesReport:
        cluster = self._cluster(request.cluster, context) if request.cluster else None
        window = self._window(request.from_ms, request.to_ms, _HOUR_MS)
        return LinkUseReader(
            LakeReader(self._sources.lake_url), self._sources.activity, self._sources.links_file
        ).lines(cluster, window)

    def ListFindings(self, request: pb.ListFindingsRequest, context: grpc.ServicerContext) -> pb.FindingsReport:
        if self._watch is None:
            raise InvalidInput("this member has no detectors: ask a member that `guardian server` runs")
        if request.cluster:
            self._cluster(request.cluster, context)
        watch, leads_since_ms = self._watch.known()
        return findings_to_proto(
            findings.findings(watch, request.cluster),
            findings.looks(watch, request.cluster),
            findings.in_grace(watch, request.cluster),
            leads_since_ms,
            min(request.limit or MAX_FINDINGS, MAX_FINDINGS),
        )

    def GetHealing(self, request: pb.GetHealingRequest, context: grpc.ServicerContext) -> pb.HealingReport:
        if self._healer is None:
            raise InvalidInput("this member heals nothing: ask a member that `guardian server` runs")
        if request.cluster:
            self._cluster(request.cluster, context)
        names = sorted(cluster.name for cluster in views_for(self._sources.store, context).clusters())
        return healing_report(self._healer, [request.cluster] if request.cluster else names)

    def _cluster(self, name: str, context: grpc.ServicerContext) -> Cluster:
        return registered(views_for(self._sources.store, context).cluster, name)

    def _window(self, from_ms: int, to_ms: int, usual_ms: int) -> Window:
        """The last of the usual time, unless the request says otherwise."""
        end_ms = to_ms or self._sources.now_ms() + 1
        return Window(from_ms or max(0, end_ms - usual_ms), end_ms)
