"""What is on the dashboards. Names of brokers' metrics are in deploy/prometheus/broker-metrics.txt, those of members in
guardian/member/metrics.py, and those with colons in deploy/prometheus/recording.yml.

Queries are PromQL, with two abbreviations: RATE is the interval of rates, and among labels IN, AT, OF, BY and ON are
the clusters, brokers, topics, tenants and members that are chosen on the dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deploy.grafana.board import Board, Panel, Query, Row, Variable

_CLUSTERS = Variable("cluster", 'up{job="kafka"}', "cluster")
_BROKERS = Variable("broker", 'up{job="kafka", cluster=~"$cluster"}', "broker")
_TOPICS = Variable("topic", 'kafka_server_brokertopicmetrics_bytesin_total{cluster=~"$cluster", topic!=""}', "topic")
_TENANTS = Variable("tenant", 'guardian_topic_tenant{cluster=~"$cluster"}', "tenant")
_MEMBERS = Variable("member", 'up{job="guardian"}', "instance")

_CHOSEN = {
    "IN": 'cluster=~"$cluster"',
    "AT": 'cluster=~"$cluster", broker=~"$broker"',
    "OF": 'cluster=~"$cluster", topic=~"$topic"',
    "BY": 'cluster=~"$cluster", tenant=~"$tenant"',
    "ON": 'instance=~"$member"',
}
_ABBREVIATION = re.compile(r"(?<=\{)(?:IN|AT|OF|BY|ON)\b|\b(?:IN|AT|OF|BY|ON)(?=\})")


def _promql(query: str) -> str:
    return _ABBREVIATION.sub(lambda found: _CHOSEN[found[0]], query).replace("[RATE]", "[$__rate_interval]")


def _graph(title: str, unit: str, queries: Mapping[str, str], about: str = "", stacked: bool = False) -> Panel:
    """Return a panel over time of the queries, by how their series are called."""
    return Panel(
        title, tuple(Query(_promql(each), legend) for legend, each in queries.items()), unit, about, stacked=stacked
    )


def _table(title: str, unit: str, query: str, about: str = "") -> Panel:
    return Panel(title, (Query(_promql(query)),), unit, about, "table", width=12)


@dataclass(frozen=True, slots=True)
class _Series:
    """Series of things that `legend` names."""

    legend: str

    def graph(
        self, title: str, unit: str, queries: str | Mapping[str, str], about: str = "", stacked: bool = False
    ) -> Panel:
        """Return a panel over time; where it has several queries, each by the word that follows the thing's name."""
        if isinstance(queries, str):
            return _graph(title, unit, {self.legend: queries}, about, stacked)
        return _graph(title, unit, {f"{self.legend} {word}": each for word, each in queries.items()}, about, stacked)

    def stat(self, title: str, query: str, *bad: float, unit: str = "short") -> Panel:
        """Return a panel of the values now, which are yellow from the first bad one, and red from the last."""
        thresholds = (bad[0], bad[-1]) if bad else None
        queries = (Query(_promql(query), self.legend),)
        return Panel(title, queries, unit, kind="stat", width=4, height=5, thresholds=thresholds)


_cluster = _Series("{{cluster}}")
_broker = _Series("{{cluster}}/{{broker}}")
_log_dir = _Series("{{cluster}}/{{broker}} {{log_dir}}")
_disk = _Series("{{cluster}}/{{broker}} {{device}}")
_topic = _Series("{{cluster}}/{{topic}}")
_tenant = _Series("{{cluster}}/{{tenant}}")
_member = _Series("{{instance}}")


def _latency(title: str, request: str) -> Panel:
    """Return the 99th percentile of each part of the time that a request takes."""
    parts = {
        "all": "totaltimems",
        "waits for a thread": "requestqueuetimems",
        "disk and page cache": "localtimems",
        "waits for followers or data": "remotetimems",
        "is sent": "responsesendtimems",
    }
    metric = "max by (cluster, broker) (kafka_network_requestmetrics_"
    labels = f'{{AT, request="{request}", quantile="0.99"}}'
    return _broker.graph(title, "ms", {word: f"{metric}{part}{labels})" for word, part in parts.items()})


def _row(title: str, *panels: Panel) -> Row:
    return Row(title, panels)


def _board(uid: str, title: str, description: str, variables: tuple[Variable, ...], *rows: Row) -> Board:
    return Board(uid, title, description, variables, rows)


FLEET = _board(
    "guardian-fleet",
    "Kafka fleet",
    "All clusters: what is broken, what they carry, where it gets tight.",
    (_CLUSTERS,),
    _row(
        "Now",
        _cluster.stat("Brokers", 'count by (cluster) (up{job="kafka", IN} == 1)'),
        _cluster.stat("Not scraped", 'count by (cluster) (up{job="kafka", IN} == 0)', 1),
        _cluster.stat("Partitions without a leader", "cluster:kafka_leaderless_partitions:count{IN}", 1),
        _cluster.stat(
            "Under min ISR", "sum by (cluster) (kafka_server_replicamanager_underminisrpartitioncount{IN})", 1
        ),
        _cluster.stat(
            "Under-replicated", "sum by (cluster) (kafka_server_replicamanager_underreplicatedpartitions{IN})", 1, 100
        ),
        _cluster.stat("Offline log dirs", "sum by (cluster) (guardian_log_dir_offline{IN})", 1),
    ),
    _row(
        "Traffic",
        _cluster.graph(
            "Written by producers", "Bps", "sum by (cluster) (cluster_broker:kafka_bytes_in:rate5m{IN})", stacked=True
        ),
        _cluster.graph(
            "Read by consumers", "Bps", "sum by (cluster) (cluster_broker:kafka_bytes_out:rate5m{IN})", stacked=True
        ),
        _cluster.graph(
            "Spread over brokers",
            "percentunit",
            {
                "in": "max by (cluster) (cluster_broker:kafka_bytes_in:rate5m{IN})"
                " / avg by (cluster) (cluster_broker:kafka_bytes_in:rate5m{IN}) - 1",
                "out": "max by (cluster) (cluster_broker:kafka_bytes_out:rate5m{IN})"
                " / avg by (cluster) (cluster_broker:kafka_bytes_out:rate5m{IN}) - 1",
            },
            about="What the busiest broker carries beyond the mean: `guardian plan balance` lowers it.",
        ),
    ),
    _row(
        "Space",
        _cluster.graph(
            "Used of all log dirs",
            "percentunit",
            "1 - sum by (cluster) (guardian_log_dir_usable_bytes{IN})"
            " / sum by (cluster) (guardian_log_dir_capacity_bytes{IN})",
        ),
        _cluster.graph(
            "Used of the fullest log dir",
            "percentunit",
            "max by (cluster) (cluster_broker_log_dir:guardian_log_dir_used:ratio{IN})",
        ),
        _cluster.graph(
            "Partition replicas", "short", "sum by (cluster) (kafka_server_replicamanager_partitioncount{IN})"
        ),
    ),
    _row(
        "Where to look",
        _table("Fullest log dirs", "percentunit", "topk(10, cluster_broker_log_dir:guardian_log_dir_used:ratio{IN})"),
        _table("Slowest disks", "s", "topk(10, cluster_broker_device:node_disk_await_seconds:rate5m{IN})"),
        _table("Topics written most", "Bps", "topk(10, cluster_topic:kafka_bytes_in:rate5m{IN})"),
        _table(
            "Slowest to produce to",
            "ms",
            "topk(10, max by (cluster, broker)"
            ' (kafka_network_requestmetrics_totaltimems{IN, request="Produce", quantile="0.99"}))',
            about="The 99th percentile, as the broker reckons it since its start, newer requests weighing more.",
        ),
    ),
)

BROKER = _board(
    "guardian-broker",
    "Kafka broker",
    "One broker or a few: traffic, where requests spend their time, the JVM and the host.",
    (_CLUSTERS, _BROKERS),
    _row(
        "Now",
        _broker.stat("Scraped", 'up{job="kafka", AT}', 1, 0.5),
        _broker.stat("Leads", "kafka_server_replicamanager_leadercount{AT}"),
        _broker.stat("Replicas", "kafka_server_replicamanager_partitioncount{AT}"),
        _broker.stat("Under min ISR", "kafka_server_replicamanager_underminisrpartitioncount{AT}", 1),
        _broker.stat("Being moved", "kafka_server_replicamanager_reassigningpartitions{AT}"),
        _broker.stat("Up for", "time() - process_start_time_seconds{AT}", unit="s"),
    ),
    _row(
        "Traffic",
        _broker.graph(
            "Clients",
            "Bps",
            {"in": "cluster_broker:kafka_bytes_in:rate5m{AT}", "out": "cluster_broker:kafka_bytes_out:rate5m{AT}"},
        ),
        _broker.graph(
            "Replication",
            "Bps",
            {
                "in": "sum by (cluster, broker)"
                " (rate(kafka_server_brokertopicmetrics_replicationbytesin_total{AT}[RATE]))",
                "out": "sum by (cluster, broker)"
                " (rate(kafka_server_brokertopicmetrics_replicationbytesout_total{AT}[RATE]))",
                "moved in": "sum by (cluster, broker)"
                " (rate(kafka_server_brokertopicmetrics_reassignmentbytesin_total{AT}[RATE]))",
            },
        ),
        _broker.graph(
            "Requests",
            "reqps",
            {
                "{{request}}": "sum by (cluster, broker, request)"
                " (rate(kafka_network_requestmetrics_requests_total{AT}[RATE]))"
            },
        ),
        _broker.graph(
            "Errors answered",
            "reqps",
            {
                "{{error}}": "sum by (cluster, broker, error)"
                ' (rate(kafka_network_requestmetrics_errors_total{AT, error!="NONE"}[RATE]))'
            },
        ),
        _broker.graph(
            "ISR shrinks and expansions",
            "ops",
            {
                "shrinks": "sum by (cluster, broker) (rate(kafka_server_replicamanager_isrshrinks_total{AT}[RATE]))",
                "expands": "sum by (cluster, broker) (rate(kafka_server_replicamanager_isrexpands_total{AT}[RATE]))",
            },
        ),
        _broker.graph(
            "Lag of its replicas",
            "short",
            "kafka_server_replicafetchermanager_maxlag{AT}",
            about="Messages by which the replica that is furthest behind lags its leader.",
        ),
    ),
    _row(
        "Where a request spends its time (99th percentile)",
        _latency("Produce", "Produce"),
        _latency("Fetch of consumers", "FetchConsumer"),
        _latency("Fetch of followers", "FetchFollower"),
    ),
    _row(
        "Threads and queues",
        _broker.graph(
            "Idle request threads",
            "percentunit",
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{AT}",
        ),
        _broker.graph(
            "Idle network threads", "percentunit", "kafka_network_socketserver_networkprocessoravgidle_percent{AT}"
        ),
        _broker.graph("Requests waiting", "short", "kafka_network_requestchannel_requestqueuesize{AT}"),
    ),
    _row(
        "JVM and host",
        _broker.graph("Heap", "bytes", 'jvm_memory_used_bytes{AT, area="heap"}'),
        _broker.graph(
            "Garbage collection",
            "percentunit",
            "sum by (cluster, broker) (rate(jvm_gc_collection_seconds_sum{AT}[RATE]))",
            about="Share of the time that it took.",
        ),
        _broker.graph("CPU of the broker", "short", "rate(process_cpu_seconds_total{AT}[RATE])", about="In cores."),
        _broker.graph(
            "CPU of the host",
            "percentunit",
            '1 - sum by (cluster, broker) (rate(node_cpu_seconds_total{AT, mode=~"idle|iowait"}[RATE]))'
            " / sum by (cluster, broker) (rate(node_cpu_seconds_total{AT}[RATE]))",
        ),
        _broker.graph(
            "Page cache", "bytes", {"cached": "node_memory_Cached_bytes{AT}", "dirty": "node_memory_Dirty_bytes{AT}"}
        ),
        _broker.graph(
            "Network",
            "Bps",
            {
                "in": "sum by (cluster, broker) (rate(node_network_receive_bytes_total{AT}[RATE]))",
                "out": "sum by (cluster, broker) (rate(node_network_transmit_bytes_total{AT}[RATE]))",
            },
        ),
        _broker.graph(
            "Pressure",
            "percentunit",
            {
                "I/O": "rate(node_pressure_io_waiting_seconds_total{AT}[RATE])",
                "CPU": "rate(node_pressure_cpu_waiting_seconds_total{AT}[RATE])",
                "memory": "rate(node_pressure_memory_waiting_seconds_total{AT}[RATE])",
            },
            about="Share of the time in which something waited for it.",
        ),
        _broker.graph("Open files", "short", "process_open_fds{AT}"),
    ),
)

DISK = _board(
    "guardian-disk",
    "Kafka disks",
    "Log dirs and the disks below them: which is full, which is busy, which is slower than its peers.",
    (_CLUSTERS, _BROKERS),
    _row(
        "Space",
        _log_dir.graph("Used", "percentunit", "cluster_broker_log_dir:guardian_log_dir_used:ratio{AT}"),
        _log_dir.graph(
            "Full in",
            "s",
            "guardian_log_dir_usable_bytes{AT}"
            " / clamp_min(-deriv(guardian_log_dir_usable_bytes{AT}[6h]), 1) < 30 * 86400",
            about="At the rate of the last six hours; those with less than 30 days.",
        ),
        _log_dir.graph("Of Kafka's replicas", "bytes", "guardian_log_dir_size_bytes{AT}"),
        _log_dir.graph("Replicas", "short", "guardian_log_dir_replicas{AT}"),
        _log_dir.graph("Offline", "short", "guardian_log_dir_offline{AT}"),
    ),
    _row(
        "Work",
        _graph(
            "Time of an I/O",
            "s",
            {
                "{{cluster}}/{{broker}} {{device}}": "cluster_broker_device:node_disk_await_seconds:rate5m{AT}",
                "{{cluster}} median of all": "cluster:node_disk_await_seconds:median{IN}",
            },
            about="Waiting included. A disk far above its cluster is failing: `guardian disk show`.",
        ),
        _disk.graph("Busy", "percentunit", "rate(node_disk_io_time_seconds_total{AT}[RATE])"),
        _disk.graph("Under way", "short", "node_disk_io_now{AT}"),
        _disk.graph(
            "Read",
            "Bps",
            "rate(node_disk_read_bytes_total{AT}[RATE])",
            about="What is not in the page cache: `guardian group disk-reads` says who wants it.",
        ),
        _disk.graph("Written", "Bps", "rate(node_disk_written_bytes_total{AT}[RATE])"),
        _disk.graph(
            "I/Os",
            "iops",
            {
                "reads": "rate(node_disk_reads_completed_total{AT}[RATE])",
                "writes": "rate(node_disk_writes_completed_total{AT}[RATE])",
            },
        ),
        _disk.graph(
            "Time of a read",
            "s",
            "rate(node_disk_read_time_seconds_total{AT}[RATE]) / (rate(node_disk_reads_completed_total{AT}[RATE]) > 0)",
        ),
        _disk.graph(
            "Time of a write",
            "s",
            "rate(node_disk_write_time_seconds_total{AT}[RATE])"
            " / (rate(node_disk_writes_completed_total{AT}[RATE]) > 0)",
        ),
        _broker.graph(
            "Everything stalled for I/O", "percentunit", "rate(node_pressure_io_stalled_seconds_total{AT}[RATE])"
        ),
    ),
)

TOPIC = _board(
    "guardian-topic",
    "Kafka topics",
    "One topic or a few: traffic, size, replication.",
    (_CLUSTERS, _TOPICS),
    _row(
        "Traffic",
        _topic.graph("Written", "Bps", "cluster_topic:kafka_bytes_in:rate5m{OF}"),
        _topic.graph("Read", "Bps", "cluster_topic:kafka_bytes_out:rate5m{OF}"),
        _topic.graph("Records", "wps", "cluster_topic:kafka_messages_in:rate5m{OF}"),
        _topic.graph(
            "Produce requests",
            "reqps",
            "sum by (cluster, topic) (rate(kafka_server_brokertopicmetrics_totalproducerequests_total{OF}[RATE]))",
        ),
        _topic.graph(
            "Fetch requests",
            "reqps",
            "sum by (cluster, topic) (rate(kafka_server_brokertopicmetrics_totalfetchrequests_total{OF}[RATE]))",
            about="Those of followers too.",
        ),
    ),
    _row(
        "Partitions",
        _topic.graph("Size of all replicas", "bytes", "cluster_topic:kafka_log_bytes:sum{OF}"),
        _topic.graph(
            "Under-replicated", "short", "sum by (cluster, topic) (kafka_cluster_partition_underreplicated{OF})"
        ),
        _topic.graph("Under min ISR", "short", "sum by (cluster, topic) (kafka_cluster_partition_underminisr{OF})"),
        _table("Largest partitions", "bytes", "topk(10, max by (cluster, topic, partition) (kafka_log_log_size{OF}))"),
        _table(
            "Written most, by broker",
            "Bps",
            "topk(10, sum by (cluster, topic, broker) (rate(kafka_server_brokertopicmetrics_bytesin_total{OF}[RATE])))",
        ),
    ),
)

TENANT = _board(
    "guardian-tenant",
    "Kafka tenants",
    "What tenants write, read and keep: brokers' metrics by topic, joined with Guardian's topic directory. A"
    " topic that is not in the directory (`guardian topic put`) is nobody's.",
    (_CLUSTERS, _TENANTS),
    _row(
        "Tenants",
        _tenant.graph("Written", "Bps", "cluster_tenant:kafka_bytes_in:rate5m{BY}", stacked=True),
        _tenant.graph("Read", "Bps", "cluster_tenant:kafka_bytes_out:rate5m{BY}", stacked=True),
        _tenant.graph(
            "Kept by brokers",
            "bytes",
            "cluster_tenant:kafka_log_bytes:sum{BY}",
            about="All replicas; not what is in remote storage.",
            stacked=True,
        ),
    ),
    _row(
        "Their topics",
        _table(
            "Written most",
            "Bps",
            "topk(20, cluster_topic:kafka_bytes_in:rate5m{IN}"
            " * on (cluster, topic) group_left (tenant) cluster_topic_tenant:guardian_topic_tenant:max{BY})",
        ),
        _table(
            "Largest",
            "bytes",
            "topk(20, cluster_topic:kafka_log_bytes:sum{IN}"
            " * on (cluster, topic) group_left (tenant) cluster_topic_tenant:guardian_topic_tenant:max{BY})",
        ),
        _cluster.graph(
            "Nobody's",
            "Bps",
            {
                "written": "sum by (cluster) (cluster_topic:kafka_bytes_in:rate5m{IN}"
                " unless on (cluster, topic) cluster_topic_tenant:guardian_topic_tenant:max)"
            },
            about="Traffic of topics without a tenant in the directory.",
        ),
    ),
)

GUARDIAN = _board(
    "guardian-members",
    "Guardian",
    "The members themselves: Raft, collection, the lake, tickets, tiering, calls.",
    (_MEMBERS,),
    _row(
        "Now",
        _member.stat("Knows a leader", "guardian_raft_has_leader{ON}", 1, 0.5),
        _member.stat("Leads", "guardian_raft_is_leader{ON}"),
        _member.stat("Refuses changes", "guardian_raft_refuses_writes{ON}", 1),
        _member.stat("State is old by", "guardian_raft_staleness_seconds{ON}", 2, 10, unit="s"),
        _member.stat("Collects from brokers", "guardian_collected_brokers{ON}"),
        _member.stat("Longest gap", "guardian_collection_longest_gap_seconds{ON}", 120, 300, unit="s"),
    ),
    _row(
        "Raft",
        _member.graph("Applied", "ops", "rate(guardian_raft_applied_index{ON}[RATE])", about="Entries of the log."),
        _graph(
            "Lag of members",
            "short",
            {"{{member}}": "max by (member) (guardian_raft_member_lag{ON})"},
            about="In entries, as the leader knows.",
        ),
        _member.graph(
            "Waiting",
            "short",
            {"changes": "guardian_raft_proposals_waiting{ON}", "reads": "guardian_raft_reads_waiting{ON}"},
        ),
        _member.graph(
            "Events", "ops", {"{{event}}": "sum by (instance, event) (rate(guardian_raft_events_total{ON}[RATE]))"}
        ),
        _member.graph("Connected", "short", "guardian_raft_live_members{ON}"),
        _graph(
            "Free where the data is",
            "bytes",
            {"{{instance}}": "guardian_disk_free_bytes{ON}", "{{instance}} reserve": "guardian_disk_reserve_bytes{ON}"},
        ),
    ),
    _row(
        "Collection and lake",
        _member.graph(
            "Collections",
            "ops",
            {"{{result}}": "sum by (instance, result) (rate(guardian_collections_total{ON}[RATE]))"},
        ),
        _member.graph(
            "Time of a collection, p99",
            "s",
            "histogram_quantile(0.99, sum by (instance, le) (rate(guardian_collection_seconds_bucket{ON}[RATE])))",
        ),
        _member.graph("Values", "ops", "sum by (instance) (rate(guardian_collected_values_total{ON}[RATE]))"),
        _member.graph(
            "Rows",
            "ops",
            {
                "written": "sum by (instance) (rate(guardian_lake_written_rows_total{ON}[RATE]))",
                "dropped": "sum by (instance) (rate(guardian_lake_dropped_rows_total{ON}[RATE]))",
            },
        ),
        _member.graph("Rows waiting", "short", "guardian_lake_waiting_rows{ON}"),
        _member.graph("Damaged files", "short", "guardian_lake_damaged_files{ON}"),
        _member.graph(
            "Files",
            "ops",
            {
                "written": "sum by (instance) (rate(guardian_lake_written_files_total{ON}[RATE]))",
                "failed": "sum by (instance) (rate(guardian_lake_failed_files_total{ON}[RATE]))",
            },
        ),
        _member.graph(
            "Slices of client activity",
            "ops",
            {"{{result}}": "sum by (instance, result) (rate(guardian_activity_slices_total{ON}[RATE]))"},
        ),
        _member.graph(
            "Rows of client activity",
            "short",
            {
                "waiting": "guardian_activity_waiting_rows{ON}",
                "stored, a second": "sum by (instance) (rate(guardian_activity_stored_rows_total{ON}[RATE]))",
            },
        ),
    ),
    _row(
        "Tickets",
        _graph("Tickets", "short", {"{{state}}": "max by (state) (guardian_tickets{ON})"}),
        _graph(
            "Moves",
            "short",
            {"{{state}}": "max by (state) (guardian_moves{ON})"},
            about="Partitions of the tickets that run.",
        ),
        _graph("Still to copy", "bytes", {"bytes": "max(guardian_moves_unfinished_bytes{ON})"}),
        _graph(
            "Still to copy, by ticket",
            "bytes",
            {"{{ticket}} {{kind}} of {{cluster}}": "max by (ticket, cluster, kind) (guardian_ticket_left_bytes{ON})"},
        ),
        _graph(
            "Over in",
            "s",
            {"{{ticket}} {{kind}} of {{cluster}}": "max by (ticket, cluster, kind) (guardian_ticket_eta_seconds{ON})"},
            about="At the rate so far, where something was copied already; else at the throttle.",
        ),
        _graph(
            "Events sent",
            "ops",
            {"{{sink}} {{result}}": "sum by (sink, result) (rate(guardian_sink_events_total{ON}[RATE]))"},
        ),
        _member.graph(
            "Time of the leader's ticks",
            "s",
            {
                "{{loop}}": "rate(guardian_leader_tick_seconds_sum{ON}[RATE])"
                " / (rate(guardian_leader_tick_seconds_count{ON}[RATE]) > 0)"
            },
        ),
        _member.graph("Failed ticks", "ops", {"{{loop}}": "rate(guardian_leader_failed_ticks_total{ON}[RATE])"}),
    ),
    _row(
        "Tiering",
        _graph("Live segments", "short", {"segments": "max(guardian_tiering_live_segments{ON})"}),
        _graph("Their bytes", "bytes", {"bytes": "max(guardian_tiering_live_bytes{ON})"}),
        _member.graph(
            "Claims", "ops", {"{{result}}": "sum by (instance, result) (rate(guardian_tiering_claims_total{ON}[RATE]))"}
        ),
        _member.graph(
            "Appends refused",
            "ops",
            {"{{kind}}": "sum by (instance, kind) (rate(guardian_tiering_refused_appends_total{ON}[RATE]))"},
        ),
        _member.graph(
            "Not sent to brokers yet", "short", "guardian_tiering_unsent_partitions{ON}", about="Partitions."
        ),
        _graph("Swept segments", "ops", {"segments": "max(rate(guardian_tiering_swept_segments_total{ON}[RATE]))"}),
    ),
    _row(
        "Calls",
        _graph("By method", "reqps", {"{{method}}": "sum by (method) (rate(guardian_grpc_calls_total{ON}[RATE]))"}),
        _graph(
            "Not OK",
            "reqps",
            {"{{method}} {{code}}": 'sum by (method, code) (rate(guardian_grpc_calls_total{ON, code!="OK"}[RATE]))'},
        ),
        _graph("p99", "s", {"{{method}}": "service_method:guardian_grpc_call_seconds:p99"}),
        _graph("Under way", "short", {"{{method}}": "sum by (method) (guardian_grpc_calls_under_way{ON})"}),
        _graph("Client sessions", "short", {"sessions": "max(guardian_sessions{ON})"}),
    ),
)

BOARDS = {"fleet": FLEET, "broker": BROKER, "disk": DISK, "topic": TOPIC, "tenant": TENANT, "guardian": GUARDIAN}
