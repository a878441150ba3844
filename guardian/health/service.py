"""The Insight service: asks Kafka and the lake, and says what it means. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

import grpc

from guardian.errors import InvalidInput, NotFound
from guardian.health.loop import lake_facts
from guardian.health.loop.described_topics import described_topics
from guardian.health.loop.durability_facts import durability_facts
from guardian.health.loop.fault_facts import cluster_now, with_log_dirs
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.past_facts import past_samples
from guardian.health.loop.sources import Sources
from guardian.health.model.finding import LastLook
from guardian.health.rules import findings, showing
from guardian.health.rules.disk_reads import disk_reads
from guardian.health.rules.disks import judge
from guardian.health.rules.durability import audit
from guardian.health.rules.past import past_brokers
from guardian.health.wire.disks import disk_reads_to_proto, disks_to_proto
from guardian.health.wire.durability import durability_to_proto
from guardian.health.wire.faults import acks_of, clients_of, fault_of, prediction_to_proto
from guardian.health.wire.findings import brokers_seen_to_proto, findings_to_proto
from guardian.health.wire.past import past_to_proto
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.links.loop.link_use import LinkUseReader
from guardian.model.faults.cluster import predict
from guardian.model.topology import Cluster
from guardian.serving.admins import registered
from guardian.serving.requests import views_for
from guardian.serving.sight import Sight
from guardian.serving.turns import LISTS
from guardian.serving.who_asks import sees, who_asks
from protos.guardian.v1 import insight_pb2 as pb
from protos.guardian.v1 import insight_pb2_grpc

MAX_TOPICS = 10_000
MAX_DISKS = 50_000
MAX_READERS = 10_000
MAX_CROSSERS = 1000
MAX_FINDINGS = 10_000
_CROSSERS = 10
_PAST_MS = 300_000
_HOUR_MS = 3_600_000
_READERS_MS = 600_000  # what a page cache holds is a matter of minutes


class InsightServicer(insight_pb2_grpc.InsightServicer):
    """`watch` is None where no detectors run; `healing` reports on clusters, and is None where nothing heals."""

    def __init__(
        self,
        sources: Sources,
        watch: FindingsWatch | None = None,
        healing: Callable[[Sequence[str]], pb.HealingReport] | None = None,
    ) -> None:
        self._sources = sources
        self._watch = watch
        self._healing = healing

    def GetDurability(self, request: pb.GetDurabilityRequest, context: grpc.ServicerContext) -> pb.DurabilityReport:
        cluster = self._cluster(request.cluster, context)
        with closing(self._sources.connect(cluster)) as admin:
            topics, brokers = durability_facts(admin, cluster, request.topics)
        if request.topics and not topics:
            raise NotFound(f"topics is {', '.join(request.topics)}: cluster {cluster.name} has none of that name")
        most = min(request.max_topics or MAX_TOPICS, MAX_TOPICS)
        with LISTS.one():
            return durability_to_proto(cluster.name, audit(topics, brokers), most)

    def PredictFault(self, request: pb.PredictFaultRequest, context: grpc.ServicerContext) -> pb.FaultReport:
        cluster = self._cluster(request.cluster, context)
        fault, acks = fault_of(request), acks_of(request)
        with closing(self._sources.connect(cluster)) as admin:
            now = with_log_dirs(admin, cluster_now(admin, cluster, request.topics, clients_of(request)), fault)
        if request.topics and not now.topics:
            raise NotFound(f"topics is {', '.join(request.topics)}: cluster {cluster.name} has none of that name")
        most = min(request.max_topics or MAX_TOPICS, MAX_TOPICS)
        with LISTS.one():
            return prediction_to_proto(cluster.name, now, fault, predict(now, fault, acks), most)

    def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: grpc.ServicerContext
    ) -> pb.DescribeTopicsReply:
        cluster = self._cluster(request.cluster, context)
        with closing(self._sources.connect(cluster)) as admin:
            reply = described_topics(admin, request.topics, with_settings=request.with_settings)
        if request.topics and not reply.topics:
            raise NotFound(f"topics is {', '.join(request.topics)}: cluster {cluster.name} has none of that name")
        return reply

    def ListQuotas(self, request: pb.ListQuotasRequest, context: grpc.ServicerContext) -> pb.QuotasReport:
        with closing(self._sources.connect(self._cluster(request.cluster, context))) as admin:
            found = admin.describe_client_quotas()
        by_name = sorted(found.items(), key=lambda quota: (quota[0].user or "", quota[0].client_id or ""))
        return pb.QuotasReport(
            quotas=[
                pb.ClientQuota(user=entity.user, client_id=entity.client_id, values=values)
                for entity, values in by_name
            ]
        )

    def GetDiskHealth(self, request: pb.GetDiskHealthRequest, context: grpc.ServicerContext) -> pb.DiskHealthReport:
        cluster = self._cluster(request.cluster, context)
        window = self._window(request.from_ms, request.to_ms, _HOUR_MS)
        series = lake_facts.disk_series(LakeReader(self._sources.lake_url), cluster.name, window)
        most = min(request.max_disks or MAX_DISKS, MAX_DISKS)
        with LISTS.one():
            return disks_to_proto(cluster.name, (window.from_ms, window.to_ms), judge(series), most)

    def GetPast(self, request: pb.GetPastRequest, context: grpc.ServicerContext) -> pb.PastReport:
        cluster = self._cluster(request.cluster, context)
        wanted = request.broker if request.HasField("broker") else None
        at_ms = request.at_ms or self._sources.now_ms()
        window = Window(max(0, at_ms - _PAST_MS), at_ms + 1)
        samples = past_samples(LakeReader(self._sources.lake_url), cluster.name, window, wanted)
        brokers = past_brokers(samples, (broker.id for broker in cluster.brokers if wanted in (None, broker.id)))
        if wanted is not None and not brokers:
            raise NotFound(
                f"broker is {wanted}, which cluster {cluster.name} does not have, and was not seen to have between "
                f"{window}: see `guardian broker list --cluster {cluster.name}`"
            )
        with LISTS.one():
            return past_to_proto(cluster.name, window, brokers, samples.topics, request.max_topics or MAX_TOPICS)

    def GetDiskReaders(self, request: pb.GetDiskReadersRequest, context: grpc.ServicerContext) -> pb.DiskReadersReport:
        cluster = self._cluster(request.cluster, context)
        window = self._window(request.from_ms, request.to_ms, _READERS_MS)
        with closing(self._sources.connect(cluster)) as admin:
            offsets = admin.committed_offsets()
        lake = LakeReader(self._sources.lake_url)
        hosts = lake_facts.hosts(lake, cluster.name, window)
        read = {partition.topic for each in offsets.by_group.values() for partition in each}
        leaders, topics = lake_facts.leaders_and_topics(lake, cluster.name, window, read)
        found = disk_reads(offsets.by_group, leaders, topics, hosts)
        most = min(request.max_readers or MAX_READERS, MAX_READERS)
        return disk_reads_to_proto(cluster.name, (window.from_ms, window.to_ms), found, offsets, most)

    def GetLinkUse(self, request: pb.GetLinkUseRequest, context: grpc.ServicerContext) -> pb.LinkUseReport:
        views = views_for(self._sources.store, context)
        clusters = (
            [registered(views.cluster, name) for name in sorted(set(request.clusters))]
            if request.clusters
            else sorted((each for each in views.clusters() if sees(each.name)), key=lambda cluster: cluster.name)
        )
        window = self._window(request.from_ms, request.to_ms, _HOUR_MS)
        idc = Sight(who_asks(), lambda: views).idc
        reader = LinkUseReader(
            LakeReader(self._sources.lake_url), self._sources.activity, self._sources.links_file, idc
        )
        report = reader.report(clusters, window, min(request.max_crossers or _CROSSERS, MAX_CROSSERS))
        if not sees(""):
            report.remarks.append("only clusters that you see are in the numbers: lines may carry more")
        return report

    def GetLines(self, request: pb.GetLinesRequest, context: grpc.ServicerContext) -> pb.LinesReport:
        cluster = self._cluster(request.cluster, context) if request.cluster else None
        return self._lines(cluster, self._window(request.from_ms, request.to_ms, _HOUR_MS))

    def lines_of(self, cluster: Cluster, newest_ms: int = 0) -> pb.LinesReport:
        """Return the same for a cluster, within the newest so many ms; 0: as usual. Raises GuardianError."""
        return self._lines(cluster, self._window(0, 0, newest_ms or _HOUR_MS))

    def _lines(self, cluster: Cluster | None, window: Window) -> pb.LinesReport:
        return LinkUseReader(
            LakeReader(self._sources.lake_url), self._sources.activity, self._sources.links_file
        ).lines(cluster, window)

    def ListFindings(self, request: pb.ListFindingsRequest, context: grpc.ServicerContext) -> pb.FindingsReport:
        if self._watch is None:
            raise InvalidInput("this member has no detectors: ask a member that `guardian server` runs")
        if request.cluster:
            self._cluster(request.cluster, context)
        watch, leads_since_ms = self._watch.known()
        sight = Sight(who_asks(), self._sources.store.read_local)
        looks = {**dict.fromkeys(self._watch.places(), LastLook()), **watch.looks}
        watch = showing.watch_of(replace(watch, looks=looks), sight)
        report = findings_to_proto(
            [showing.finding_of(finding, sight) for finding in findings.findings(watch, request.cluster)],
            showing.looks_of(findings.looks(watch, request.cluster), sight),
            findings.in_grace(watch, request.cluster),
            leads_since_ms,
            min(request.limit or MAX_FINDINGS, MAX_FINDINGS),
        )
        report.brokers.extend(
            brokers_seen_to_proto(seen)
            for seen in self._watch.serving()
            if sight.sees(seen.cluster) and request.cluster in ("", seen.cluster)
        )
        return report

    def GetHealing(self, request: pb.GetHealingRequest, context: grpc.ServicerContext) -> pb.HealingReport:
        if self._healing is None:
            raise InvalidInput("this member heals nothing: ask a member that `guardian server` runs")
        if request.cluster:
            self._cluster(request.cluster, context)
        clusters = views_for(self._sources.store, context).clusters()
        names = sorted(cluster.name for cluster in clusters if sees(cluster.name))
        return self._healing([request.cluster] if request.cluster else names)

    def _cluster(self, name: str, context: grpc.ServicerContext) -> Cluster:
        return registered(views_for(self._sources.store, context).cluster, name)

    def _window(self, from_ms: int, to_ms: int, usual_ms: int) -> Window:
        """The last of the usual time, unless the request says otherwise."""
        end_ms = to_ms or self._sources.now_ms() + 1
        return Window(from_ms or max(0, end_ms - usual_ms), end_ms)
