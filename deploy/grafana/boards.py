"""What is on the dashboards. Names of brokers' metrics are in deploy/prometheus/broker-metrics.txt, those of members in
guardian/server/metrics.py, and those with colons in deploy/prometheus/recording.yml."""

from __future__ import annotations

from deploy.grafana.board import Board, Panel, Query, Row, Variable

_CLUSTER = Variable("cluster", 'up{job="kafka"}', "cluster")
_BROKER = Variable("broker", 'up{job="kafka", cluster=~"$cluster"}', "broker")
_TOPIC = Variable("topic", 'kafka_server_brokertopicmetrics_bytesin_total{cluster=~"$cluster", topic!=""}', "topic")
_TENANT = Variable("tenant", 'guardian_topic_tenant{cluster=~"$cluster"}', "tenant")
_MEMBER = Variable("member", 'up{job="guardian"}', "instance")

_IN = 'cluster=~"$cluster"'
_AT = 'cluster=~"$cluster", broker=~"$broker"'
_OF = 'cluster=~"$cluster", topic=~"$topic"'
_BY = 'cluster=~"$cluster", tenant=~"$tenant"'
_ON = 'instance=~"$member"'
_RATE = "[$__rate_interval]"
_BROKER_NAME = "{{cluster}}/{{broker}}"
_DISK_NAME = "{{cluster}}/{{broker}} {{device}}"


def _rates(metric: str, labels: str, by: str) -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}{_RATE}))"


def _graph(title: str, unit: str, *queries: tuple[str, str], about: str = "", stacked: bool = False) -> Panel:
    return Panel(title, tuple(Query(*each) for each in queries), unit, about, stacked=stacked)


def _stat(title: str, expr: str, legend: str, *bad: float, unit: str = "short", about: str = "") -> Panel:
    thresholds = (bad[0], bad[-1]) if bad else None
    return Panel(title, (Query(expr, legend),), unit, about, "stat", width=4, height=5, thresholds=thresholds)


def _table(title: str, unit: str, expr: str, about: str = "") -> Panel:
    return Panel(title, (Query(expr),), unit, about, "table", width=12)


FLEET = Board(
    "guardian-fleet",
    "Kafka fleet",
    "All clusters: what is broken, what they carry, where it gets tight.",
    (_CLUSTER,),
    (
        Row(
            "Now",
            (
                _stat("Brokers", f'count by (cluster) (up{{job="kafka", {_IN}}} == 1)', "{{cluster}}"),
                _stat("Not scraped", f'count by (cluster) (up{{job="kafka", {_IN}}} == 0)', "{{cluster}}", 1),
                _stat(
                    "Partitions without a leader",
                    f"cluster:kafka_leaderless_partitions:count{{{_IN}}}",
                    "{{cluster}}",
                    1,
                ),
                _stat(
                    "Under min ISR",
                    f"sum by (cluster) (kafka_server_replicamanager_underminisrpartitioncount{{{_IN}}})",
                    "{{cluster}}",
                    1,
                ),
                _stat(
                    "Under-replicated",
                    f"sum by (cluster) (kafka_server_replicamanager_underreplicatedpartitions{{{_IN}}})",
                    "{{cluster}}",
                    1,
                    100,
                ),
                _stat("Offline log dirs", f"sum by (cluster) (guardian_log_dir_offline{{{_IN}}})", "{{cluster}}", 1),
            ),
        ),
        Row(
            "Traffic",
            (
                _graph(
                    "Written by producers",
                    "Bps",
                    (f"sum by (cluster) (cluster_broker:kafka_bytes_in:rate5m{{{_IN}}})", "{{cluster}}"),
                    stacked=True,
                ),
                _graph(
                    "Read by consumers",
                    "Bps",
                    (f"sum by (cluster) (cluster_broker:kafka_bytes_out:rate5m{{{_IN}}})", "{{cluster}}"),
                    stacked=True,
                ),
                _graph(
                    "Spread over brokers",
                    "percentunit",
                    (
                        f"max by (cluster) (cluster_broker:kafka_bytes_in:rate5m{{{_IN}}})"
                        f" / avg by (cluster) (cluster_broker:kafka_bytes_in:rate5m{{{_IN}}}) - 1",
                        "{{cluster}} in",
                    ),
                    (
                        f"max by (cluster) (cluster_broker:kafka_bytes_out:rate5m{{{_IN}}})"
                        f" / avg by (cluster) (cluster_broker:kafka_bytes_out:rate5m{{{_IN}}}) - 1",
                        "{{cluster}} out",
                    ),
                    about="What the busiest broker carries beyond the mean: `guardian plan balance` lowers it.",
                ),
            ),
        ),
        Row(
            "Space",
            (
                _graph(
                    "Used of all log dirs",
                    "percentunit",
                    (
                        f"1 - sum by (cluster) (guardian_log_dir_usable_bytes{{{_IN}}})"
                        f" / sum by (cluster) (guardian_log_dir_capacity_bytes{{{_IN}}})",
                        "{{cluster}}",
                    ),
                ),
                _graph(
                    "Used of the fullest log dir",
                    "percentunit",
                    (f"max by (cluster) (cluster_broker_log_dir:guardian_log_dir_used:ratio{{{_IN}}})", "{{cluster}}"),
                ),
                _graph(
                    "Partition replicas",
                    "short",
                    (f"sum by (cluster) (kafka_server_replicamanager_partitioncount{{{_IN}}})", "{{cluster}}"),
                ),
            ),
        ),
        Row(
            "Where to look",
            (
                _table(
                    "Fullest log dirs",
                    "percentunit",
                    f"topk(10, cluster_broker_log_dir:guardian_log_dir_used:ratio{{{_IN}}})",
                ),
                _table(
                    "Slowest disks", "s", f"topk(10, cluster_broker_device:node_disk_await_seconds:rate5m{{{_IN}}})"
                ),
                _table("Topics written most", "Bps", f"topk(10, cluster_topic:kafka_bytes_in:rate5m{{{_IN}}})"),
                _table(
                    "Slowest to produce to",
                    "ms",
                    "topk(10, max by (cluster, broker) (kafka_network_requestmetrics_totaltimems"
                    f'{{{_IN}, request="Produce", quantile="0.99"}}))',
                    "The 99th percentile, as the broker reckons it since its start, newer requests weighing more.",
                ),
            ),
        ),
    ),
)

BROKER = Board(
    "guardian-broker",
    "Kafka broker",
    "One broker or a few: traffic, where requests spend their time, the JVM and the host.",
    (_CLUSTER, _BROKER),
    (
        Row(
            "Now",
            (
                _stat("Scraped", f'up{{job="kafka", {_AT}}}', _BROKER_NAME, 1, 0.5),
                _stat("Leads", f"kafka_server_replicamanager_leadercount{{{_AT}}}", _BROKER_NAME),
                _stat("Replicas", f"kafka_server_replicamanager_partitioncount{{{_AT}}}", _BROKER_NAME),
                _stat(
                    "Under min ISR", f"kafka_server_replicamanager_underminisrpartitioncount{{{_AT}}}", _BROKER_NAME, 1
                ),
                _stat("Being moved", f"kafka_server_replicamanager_reassigningpartitions{{{_AT}}}", _BROKER_NAME),
                _stat("Up for", f"time() - process_start_time_seconds{{{_AT}}}", _BROKER_NAME, unit="s"),
            ),
        ),
        Row(
            "Traffic",
            (
                _graph(
                    "Clients",
                    "Bps",
                    (f"cluster_broker:kafka_bytes_in:rate5m{{{_AT}}}", f"{_BROKER_NAME} in"),
                    (f"cluster_broker:kafka_bytes_out:rate5m{{{_AT}}}", f"{_BROKER_NAME} out"),
                ),
                _graph(
                    "Replication",
                    "Bps",
                    (
                        _rates("kafka_server_brokertopicmetrics_replicationbytesin_total", _AT, "cluster, broker"),
                        f"{_BROKER_NAME} in",
                    ),
                    (
                        _rates("kafka_server_brokertopicmetrics_replicationbytesout_total", _AT, "cluster, broker"),
                        f"{_BROKER_NAME} out",
                    ),
                    (
                        _rates("kafka_server_brokertopicmetrics_reassignmentbytesin_total", _AT, "cluster, broker"),
                        f"{_BROKER_NAME} moved in",
                    ),
                ),
                _graph(
                    "Requests",
                    "reqps",
                    (
                        _rates("kafka_network_requestmetrics_requests_total", _AT, "cluster, broker, request"),
                        f"{_BROKER_NAME} {{{{request}}}}",
                    ),
                ),
                _graph(
                    "Errors answered",
                    "reqps",
                    (
                        _rates(
                            "kafka_network_requestmetrics_errors_total",
                            f'{_AT}, error!="NONE"',
                            "cluster, broker, error",
                        ),
                        f"{_BROKER_NAME} {{{{error}}}}",
                    ),
                ),
                _graph(
                    "ISR shrinks and expansions",
                    "ops",
                    (
                        _rates("kafka_server_replicamanager_isrshrinks_total", _AT, "cluster, broker"),
                        f"{_BROKER_NAME} shrinks",
                    ),
                    (
                        _rates("kafka_server_replicamanager_isrexpands_total", _AT, "cluster, broker"),
                        f"{_BROKER_NAME} expands",
                    ),
                ),
                _graph(
                    "Lag of its replicas",
                    "short",
                    (f"kafka_server_replicafetchermanager_maxlag{{{_AT}}}", _BROKER_NAME),
                    about="Messages by which the replica that is furthest behind lags its leader.",
                ),
            ),
        ),
        Row(
            "Where a request spends its time (99th percentile)",
            tuple(
                _graph(
                    title,
                    "ms",
                    *(
                        (
                            f"max by (cluster, broker) (kafka_network_requestmetrics_{part}"
                            f'{{{_AT}, request="{request}", quantile="0.99"}})',
                            f"{_BROKER_NAME} {name}",
                        )
                        for part, name in (
                            ("totaltimems", "all"),
                            ("requestqueuetimems", "waits for a thread"),
                            ("localtimems", "disk and page cache"),
                            ("remotetimems", "waits for followers or data"),
                            ("responsesendtimems", "is sent"),
                        )
                    ),
                )
                for title, request in (
                    ("Produce", "Produce"),
                    ("Fetch of consumers", "FetchConsumer"),
                    ("Fetch of followers", "FetchFollower"),
                )
            ),
        ),
        Row(
            "Threads and queues",
            (
                _graph(
                    "Idle request threads",
                    "percentunit",
                    (f"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{{{_AT}}}", _BROKER_NAME),
                ),
                _graph(
                    "Idle network threads",
                    "percentunit",
                    (f"kafka_network_socketserver_networkprocessoravgidle_percent{{{_AT}}}", _BROKER_NAME),
                ),
                _graph(
                    "Requests waiting",
                    "short",
                    (f"kafka_network_requestchannel_requestqueuesize{{{_AT}}}", _BROKER_NAME),
                ),
            ),
        ),
        Row(
            "JVM and host",
            (
                _graph("Heap", "bytes", (f'jvm_memory_used_bytes{{{_AT}, area="heap"}}', _BROKER_NAME)),
                _graph(
                    "Garbage collection",
                    "percentunit",
                    (_rates("jvm_gc_collection_seconds_sum", _AT, "cluster, broker"), _BROKER_NAME),
                    about="Share of the time that it took.",
                ),
                _graph(
                    "CPU of the broker",
                    "short",
                    (f"rate(process_cpu_seconds_total{{{_AT}}}{_RATE})", _BROKER_NAME),
                    about="In cores.",
                ),
                _graph(
                    "CPU of the host",
                    "percentunit",
                    (
                        "1 - "
                        + _rates("node_cpu_seconds_total", f'{_AT}, mode=~"idle|iowait"', "cluster, broker")
                        + f" / {_rates('node_cpu_seconds_total', _AT, 'cluster, broker')}",
                        _BROKER_NAME,
                    ),
                ),
                _graph(
                    "Page cache",
                    "bytes",
                    (f"node_memory_Cached_bytes{{{_AT}}}", f"{_BROKER_NAME} cached"),
                    (f"node_memory_Dirty_bytes{{{_AT}}}", f"{_BROKER_NAME} dirty"),
                ),
                _graph(
                    "Network",
                    "Bps",
                    (_rates("node_network_receive_bytes_total", _AT, "cluster, broker"), f"{_BROKER_NAME} in"),
                    (_rates("node_network_transmit_bytes_total", _AT, "cluster, broker"), f"{_BROKER_NAME} out"),
                ),
                _graph(
                    "Pressure",
                    "percentunit",
                    (f"rate(node_pressure_io_waiting_seconds_total{{{_AT}}}{_RATE})", f"{_BROKER_NAME} I/O"),
                    (f"rate(node_pressure_cpu_waiting_seconds_total{{{_AT}}}{_RATE})", f"{_BROKER_NAME} CPU"),
                    (f"rate(node_pressure_memory_waiting_seconds_total{{{_AT}}}{_RATE})", f"{_BROKER_NAME} memory"),
                    about="Share of the time in which something waited for it.",
                ),
                _graph("Open files", "short", (f"process_open_fds{{{_AT}}}", _BROKER_NAME)),
            ),
        ),
    ),
)

DISK = Board(
    "guardian-disk",
    "Kafka disks",
    "Log dirs and the disks below them: which is full, which is busy, which is slower than its peers.",
    (_CLUSTER, _BROKER),
    (
        Row(
            "Space",
            (
                _graph(
                    "Used",
                    "percentunit",
                    (f"cluster_broker_log_dir:guardian_log_dir_used:ratio{{{_AT}}}", _BROKER_NAME + " {{log_dir}}"),
                ),
                _graph(
                    "Full in",
                    "s",
                    (
                        f"guardian_log_dir_usable_bytes{{{_AT}}}"
                        f" / clamp_min(-deriv(guardian_log_dir_usable_bytes{{{_AT}}}[6h]), 1) < 30 * 86400",
                        _BROKER_NAME + " {{log_dir}}",
                    ),
                    about="At the rate of the last six hours; those with less than 30 days.",
                ),
                _graph(
                    "Of Kafka's replicas",
                    "bytes",
                    (f"guardian_log_dir_size_bytes{{{_AT}}}", _BROKER_NAME + " {{log_dir}}"),
                ),
                _graph("Replicas", "short", (f"guardian_log_dir_replicas{{{_AT}}}", _BROKER_NAME + " {{log_dir}}")),
                _graph("Offline", "short", (f"guardian_log_dir_offline{{{_AT}}}", _BROKER_NAME + " {{log_dir}}")),
            ),
        ),
        Row(
            "Work",
            (
                _graph(
                    "Time of an I/O",
                    "s",
                    (f"cluster_broker_device:node_disk_await_seconds:rate5m{{{_AT}}}", _DISK_NAME),
                    (f"cluster:node_disk_await_seconds:median{{{_IN}}}", "{{cluster}} median of all"),
                    about="Waiting included. A disk far above its cluster is failing: `guardian disk show`.",
                ),
                _graph("Busy", "percentunit", (f"rate(node_disk_io_time_seconds_total{{{_AT}}}{_RATE})", _DISK_NAME)),
                _graph("Under way", "short", (f"node_disk_io_now{{{_AT}}}", _DISK_NAME)),
                _graph(
                    "Read",
                    "Bps",
                    (f"rate(node_disk_read_bytes_total{{{_AT}}}{_RATE})", _DISK_NAME),
                    about="What is not in the page cache: `guardian group disk-reads` says who wants it.",
                ),
                _graph("Written", "Bps", (f"rate(node_disk_written_bytes_total{{{_AT}}}{_RATE})", _DISK_NAME)),
                _graph(
                    "I/Os",
                    "iops",
                    (f"rate(node_disk_reads_completed_total{{{_AT}}}{_RATE})", f"{_DISK_NAME} reads"),
                    (f"rate(node_disk_writes_completed_total{{{_AT}}}{_RATE})", f"{_DISK_NAME} writes"),
                ),
                _graph(
                    "Time of a read",
                    "s",
                    (
                        f"rate(node_disk_read_time_seconds_total{{{_AT}}}{_RATE})"
                        f" / (rate(node_disk_reads_completed_total{{{_AT}}}{_RATE}) > 0)",
                        _DISK_NAME,
                    ),
                ),
                _graph(
                    "Time of a write",
                    "s",
                    (
                        f"rate(node_disk_write_time_seconds_total{{{_AT}}}{_RATE})"
                        f" / (rate(node_disk_writes_completed_total{{{_AT}}}{_RATE}) > 0)",
                        _DISK_NAME,
                    ),
                ),
                _graph(
                    "Everything stalled for I/O",
                    "percentunit",
                    (f"rate(node_pressure_io_stalled_seconds_total{{{_AT}}}{_RATE})", _BROKER_NAME),
                ),
            ),
        ),
    ),
)

TOPIC = Board(
    "guardian-topic",
    "Kafka topics",
    "One topic or a few: traffic, size, replication.",
    (_CLUSTER, _TOPIC),
    (
        Row(
            "Traffic",
            (
                _graph("Written", "Bps", (f"cluster_topic:kafka_bytes_in:rate5m{{{_OF}}}", "{{cluster}}/{{topic}}")),
                _graph("Read", "Bps", (f"cluster_topic:kafka_bytes_out:rate5m{{{_OF}}}", "{{cluster}}/{{topic}}")),
                _graph("Records", "wps", (f"cluster_topic:kafka_messages_in:rate5m{{{_OF}}}", "{{cluster}}/{{topic}}")),
                _graph(
                    "Produce requests",
                    "reqps",
                    (
                        _rates("kafka_server_brokertopicmetrics_totalproducerequests_total", _OF, "cluster, topic"),
                        "{{cluster}}/{{topic}}",
                    ),
                ),
                _graph(
                    "Fetch requests",
                    "reqps",
                    (
                        _rates("kafka_server_brokertopicmetrics_totalfetchrequests_total", _OF, "cluster, topic"),
                        "{{cluster}}/{{topic}}",
                    ),
                    about="Those of followers too.",
                ),
            ),
        ),
        Row(
            "Partitions",
            (
                _graph(
                    "Size of all replicas",
                    "bytes",
                    (f"cluster_topic:kafka_log_bytes:sum{{{_OF}}}", "{{cluster}}/{{topic}}"),
                ),
                _graph(
                    "Under-replicated",
                    "short",
                    (
                        f"sum by (cluster, topic) (kafka_cluster_partition_underreplicated{{{_OF}}})",
                        "{{cluster}}/{{topic}}",
                    ),
                ),
                _graph(
                    "Under min ISR",
                    "short",
                    (
                        f"sum by (cluster, topic) (kafka_cluster_partition_underminisr{{{_OF}}})",
                        "{{cluster}}/{{topic}}",
                    ),
                ),
                _table(
                    "Largest partitions",
                    "bytes",
                    f"topk(10, max by (cluster, topic, partition) (kafka_log_log_size{{{_OF}}}))",
                ),
                _table(
                    "Written most, by broker",
                    "Bps",
                    "topk(10, "
                    + _rates("kafka_server_brokertopicmetrics_bytesin_total", _OF, "cluster, topic, broker")
                    + ")",
                ),
            ),
        ),
    ),
)

TENANT = Board(
    "guardian-tenant",
    "Kafka tenants",
    "What tenants write, read and keep: brokers' metrics by topic, joined with Guardian's topic directory. A topic that"
    " is not in the directory (`guardian topic put`) is nobody's.",
    (_CLUSTER, _TENANT),
    (
        Row(
            "Tenants",
            (
                _graph(
                    "Written",
                    "Bps",
                    (f"cluster_tenant:kafka_bytes_in:rate5m{{{_BY}}}", "{{cluster}}/{{tenant}}"),
                    stacked=True,
                ),
                _graph(
                    "Read",
                    "Bps",
                    (f"cluster_tenant:kafka_bytes_out:rate5m{{{_BY}}}", "{{cluster}}/{{tenant}}"),
                    stacked=True,
                ),
                _graph(
                    "Kept by brokers",
                    "bytes",
                    (f"cluster_tenant:kafka_log_bytes:sum{{{_BY}}}", "{{cluster}}/{{tenant}}"),
                    about="All replicas; not what is in remote storage.",
                    stacked=True,
                ),
            ),
        ),
        Row(
            "Their topics",
            (
                _table(
                    "Written most",
                    "Bps",
                    f"topk(20, cluster_topic:kafka_bytes_in:rate5m{{{_IN}}} * on (cluster, topic) group_left (tenant)"
                    f" cluster_topic_tenant:guardian_topic_tenant:max{{{_BY}}})",
                ),
                _table(
                    "Largest",
                    "bytes",
                    f"topk(20, cluster_topic:kafka_log_bytes:sum{{{_IN}}} * on (cluster, topic) group_left (tenant)"
                    f" cluster_topic_tenant:guardian_topic_tenant:max{{{_BY}}})",
                ),
                _graph(
                    "Nobody's",
                    "Bps",
                    (
                        f"sum by (cluster) (cluster_topic:kafka_bytes_in:rate5m{{{_IN}}}"
                        " unless on (cluster, topic) cluster_topic_tenant:guardian_topic_tenant:max)",
                        "{{cluster}} written",
                    ),
                    about="Traffic of topics without a tenant in the directory.",
                ),
            ),
        ),
    ),
)

GUARDIAN = Board(
    "guardian-members",
    "Guardian",
    "The members themselves: Raft, collection, the lake, tickets, tiering, calls.",
    (_MEMBER,),
    (
        Row(
            "Now",
            (
                _stat("Knows a leader", f"guardian_raft_has_leader{{{_ON}}}", "{{instance}}", 1, 0.5),
                _stat("Leads", f"guardian_raft_is_leader{{{_ON}}}", "{{instance}}"),
                _stat("Refuses changes", f"guardian_raft_refuses_writes{{{_ON}}}", "{{instance}}", 1),
                _stat("State is old by", f"guardian_raft_staleness_seconds{{{_ON}}}", "{{instance}}", 2, 10, unit="s"),
                _stat("Collects from brokers", f"guardian_collected_brokers{{{_ON}}}", "{{instance}}"),
                _stat(
                    "Longest gap",
                    f"guardian_collection_longest_gap_seconds{{{_ON}}}",
                    "{{instance}}",
                    120,
                    300,
                    unit="s",
                ),
            ),
        ),
        Row(
            "Raft",
            (
                _graph(
                    "Applied",
                    "ops",
                    (f"rate(guardian_raft_applied_index{{{_ON}}}{_RATE})", "{{instance}}"),
                    about="Entries of the log.",
                ),
                _graph(
                    "Lag of members",
                    "short",
                    (f"max by (member) (guardian_raft_member_lag{{{_ON}}})", "{{member}}"),
                    about="In entries, as the leader knows.",
                ),
                _graph(
                    "Waiting",
                    "short",
                    (f"guardian_raft_proposals_waiting{{{_ON}}}", "{{instance}} changes"),
                    (f"guardian_raft_reads_waiting{{{_ON}}}", "{{instance}} reads"),
                ),
                _graph(
                    "Events",
                    "ops",
                    (_rates("guardian_raft_events_total", _ON, "instance, event"), "{{instance}} {{event}}"),
                ),
                _graph("Connected", "short", (f"guardian_raft_live_members{{{_ON}}}", "{{instance}}")),
                _graph(
                    "Free where the data is",
                    "bytes",
                    (f"guardian_disk_free_bytes{{{_ON}}}", "{{instance}}"),
                    (f"guardian_disk_reserve_bytes{{{_ON}}}", "{{instance}} reserve"),
                ),
            ),
        ),
        Row(
            "Collection and lake",
            (
                _graph(
                    "Collections",
                    "ops",
                    (_rates("guardian_collections_total", _ON, "instance, result"), "{{instance}} {{result}}"),
                ),
                _graph(
                    "Time of a collection, p99",
                    "s",
                    (
                        "histogram_quantile(0.99, sum by (instance, le)"
                        f" (rate(guardian_collection_seconds_bucket{{{_ON}}}{_RATE})))",
                        "{{instance}}",
                    ),
                ),
                _graph("Values", "ops", (_rates("guardian_collected_values_total", _ON, "instance"), "{{instance}}")),
                _graph(
                    "Rows",
                    "ops",
                    (_rates("guardian_lake_written_rows_total", _ON, "instance"), "{{instance}} written"),
                    (_rates("guardian_lake_dropped_rows_total", _ON, "instance"), "{{instance}} dropped"),
                ),
                _graph("Rows waiting", "short", (f"guardian_lake_waiting_rows{{{_ON}}}", "{{instance}}")),
                _graph(
                    "Files",
                    "ops",
                    (_rates("guardian_lake_written_files_total", _ON, "instance"), "{{instance}} written"),
                    (_rates("guardian_lake_failed_files_total", _ON, "instance"), "{{instance}} failed"),
                ),
                _graph(
                    "Slices of client activity",
                    "ops",
                    (_rates("guardian_activity_slices_total", _ON, "instance, result"), "{{instance}} {{result}}"),
                ),
                _graph(
                    "Rows of client activity",
                    "short",
                    (f"guardian_activity_waiting_rows{{{_ON}}}", "{{instance}} waiting"),
                    (_rates("guardian_activity_stored_rows_total", _ON, "instance"), "{{instance}} stored, a second"),
                ),
            ),
        ),
        Row(
            "Tickets",
            (
                _graph("Tickets", "short", (f"max by (state) (guardian_tickets{{{_ON}}})", "{{state}}")),
                _graph(
                    "Moves",
                    "short",
                    (f"max by (state) (guardian_moves{{{_ON}}})", "{{state}}"),
                    about="Partitions of the tickets that run.",
                ),
                _graph("Still to copy", "bytes", (f"max(guardian_moves_unfinished_bytes{{{_ON}}})", "bytes")),
                _graph(
                    "Still to copy, by ticket",
                    "bytes",
                    (
                        f"max by (ticket, cluster, kind) (guardian_ticket_left_bytes{{{_ON}}})",
                        "{{ticket}} {{kind}} of {{cluster}}",
                    ),
                ),
                _graph(
                    "Over in",
                    "s",
                    (
                        f"max by (ticket, cluster, kind) (guardian_ticket_eta_seconds{{{_ON}}})",
                        "{{ticket}} {{kind}} of {{cluster}}",
                    ),
                    about="At the rate so far, where something was copied already; else at the throttle.",
                ),
                _graph(
                    "Events sent",
                    "ops",
                    (_rates("guardian_sink_events_total", _ON, "sink, result"), "{{sink}} {{result}}"),
                ),
                _graph(
                    "Time of the leader's ticks",
                    "s",
                    (
                        f"rate(guardian_leader_tick_seconds_sum{{{_ON}}}{_RATE})"
                        f" / (rate(guardian_leader_tick_seconds_count{{{_ON}}}{_RATE}) > 0)",
                        "{{instance}} {{loop}}",
                    ),
                ),
                _graph(
                    "Failed ticks",
                    "ops",
                    (f"rate(guardian_leader_failed_ticks_total{{{_ON}}}{_RATE})", "{{instance}} {{loop}}"),
                ),
            ),
        ),
        Row(
            "Tiering",
            (
                _graph("Live segments", "short", (f"max(guardian_tiering_live_segments{{{_ON}}})", "segments")),
                _graph("Their bytes", "bytes", (f"max(guardian_tiering_live_bytes{{{_ON}}})", "bytes")),
                _graph(
                    "Claims",
                    "ops",
                    (_rates("guardian_tiering_claims_total", _ON, "instance, result"), "{{instance}} {{result}}"),
                ),
                _graph(
                    "Appends refused",
                    "ops",
                    (_rates("guardian_tiering_refused_appends_total", _ON, "instance, kind"), "{{instance}} {{kind}}"),
                ),
                _graph(
                    "Not sent to brokers yet",
                    "short",
                    (f"guardian_tiering_unsent_partitions{{{_ON}}}", "{{instance}}"),
                    about="Partitions.",
                ),
                _graph(
                    "Swept segments",
                    "ops",
                    ("max(rate(guardian_tiering_swept_segments_total" + f"{{{_ON}}}{_RATE}))", "segments"),
                ),
            ),
        ),
        Row(
            "Calls",
            (
                _graph("By method", "reqps", (_rates("guardian_grpc_calls_total", _ON, "method"), "{{method}}")),
                _graph(
                    "Not OK",
                    "reqps",
                    (_rates("guardian_grpc_calls_total", f'{_ON}, code!="OK"', "method, code"), "{{method}} {{code}}"),
                ),
                _graph("p99", "s", ("service_method:guardian_grpc_call_seconds:p99", "{{method}}")),
                _graph(
                    "Under way", "short", (f"sum by (method) (guardian_grpc_calls_under_way{{{_ON}}})", "{{method}}")
                ),
                _graph("Client sessions", "short", (f"max(guardian_sessions{{{_ON}}})", "sessions")),
            ),
        ),
    ),
)

BOARDS = {"fleet": FLEET, "broker": BROKER, "disk": DISK, "topic": TOPIC, "tenant": TENANT, "guardian": GUARDIAN}
