"""The names of a simulated broker's metrics, as a broker of Kafka 4 has them, and what each number means. Pure.

A broker has three kinds: those of the broker itself (the same names on all), those of the topics that it leads, and
those of its replicas. `FIXED` are the first; for the others there are heads, to which topic and partition are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

METER = ("Count", "FifteenMinuteRate", "FiveMinuteRate", "MeanRate", "OneMinuteRate")
# Of a histogram: by how much of its mean an attribute is; Count is apart.
_HISTOGRAM = {
    "Min": 0.1,
    "50thPercentile": 0.6,
    "Mean": 1.0,
    "75thPercentile": 1.2,
    "StdDev": 1.5,
    "95thPercentile": 2.5,
    "98thPercentile": 4.0,
    "99thPercentile": 6.0,
    "999thPercentile": 15.0,
    "Max": 30.0,
}


class Kind(IntEnum):
    """How a number follows the broker's load."""

    CONSTANT = 0
    COUNTER = 1  # events a second of average load
    RATE = 2  # the same, as a rate
    LATENCY = 3  # rises with load
    DISK_LATENCY = 4  # rises with load, and by a multiple while a disk is slow
    IDLE = 5  # a share that falls with load


@dataclass(frozen=True, slots=True)
class FixedMetric:
    """One number of the broker itself: `base` is its value at average load."""

    name: str
    kind: Kind
    base: float


TOPIC_METERS = (
    "BytesInPerSec",
    "BytesOutPerSec",
    "MessagesInPerSec",
    "TotalProduceRequestsPerSec",
    "TotalFetchRequestsPerSec",
)
REPLICA_HEADS = (
    "kafka.log:type=Log,name=Size",
    "kafka.log:type=Log,name=LogStartOffset",
    "kafka.log:type=Log,name=LogEndOffset",
    "kafka.log:type=Log,name=NumLogSegments",
    "kafka.cluster:type=Partition,name=ReplicasCount",
    "kafka.cluster:type=Partition,name=InSyncReplicasCount",
    "kafka.cluster:type=Partition,name=UnderReplicated",
    "kafka.cluster:type=Partition,name=UnderMinIsr",
    "kafka.cluster:type=Partition,name=AtMinIsr",
    "kafka.cluster:type=Partition,name=LastStableOffsetLag",
)
_LAG_HEAD = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-0"
_FETCHERS = 4

# Requests a second of average load.
_REQUESTS = {
    "Produce": 900.0,
    "Fetch": 2400.0,
    "FetchConsumer": 1500.0,
    "FetchFollower": 900.0,
    "Metadata": 12.0,
    "ApiVersions": 4.0,
    "ListOffsets": 3.0,
    "OffsetCommit": 40.0,
    "OffsetFetch": 6.0,
    "FindCoordinator": 5.0,
    "Heartbeat": 60.0,
    "JoinGroup": 0.2,
    "SyncGroup": 0.2,
    "LeaveGroup": 0.1,
    "DescribeConfigs": 0.05,
    "DescribeLogDirs": 0.05,
    "OffsetForLeaderEpoch": 0.5,
    "InitProducerId": 0.3,
}
_IDLE_REQUESTS = (
    "AddOffsetsToTxn",
    "AddPartitionsToTxn",
    "AlterClientQuotas",
    "AlterConfigs",
    "AlterPartitionReassignments",
    "AlterReplicaLogDirs",
    "AlterUserScramCredentials",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "CreateAcls",
    "CreateDelegationToken",
    "CreatePartitions",
    "CreateTopics",
    "DeleteAcls",
    "DeleteGroups",
    "DeleteRecords",
    "DeleteTopics",
    "DescribeAcls",
    "DescribeClientQuotas",
    "DescribeCluster",
    "DescribeDelegationToken",
    "DescribeGroups",
    "DescribeProducers",
    "DescribeQuorum",
    "DescribeTopicPartitions",
    "DescribeTransactions",
    "DescribeUserScramCredentials",
    "ElectLeaders",
    "EndTxn",
    "ExpireDelegationToken",
    "GetTelemetrySubscriptions",
    "IncrementalAlterConfigs",
    "ListGroups",
    "ListPartitionReassignments",
    "ListTransactions",
    "OffsetDelete",
    "PushTelemetry",
    "RenewDelegationToken",
    "SaslAuthenticate",
    "SaslHandshake",
    "TxnOffsetCommit",
    "UpdateFeatures",
    "WriteTxnMarkers",
)
# Mean, and whether it waits for a disk.
_REQUEST_HISTOGRAMS = {
    "TotalTimeMs": (6.0, True),
    "LocalTimeMs": (2.0, True),
    "RemoteTimeMs": (3.0, False),
    "RequestQueueTimeMs": (0.4, False),
    "ResponseQueueTimeMs": (0.1, False),
    "ResponseSendTimeMs": (0.3, False),
    "ThrottleTimeMs": (0.0, False),
    "RequestBytes": (900.0, False),
}
_LIST_METERS = {
    "kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec": 0.01,
    "kafka.server:type=BrokerTopicMetrics,name=FailedFetchRequestsPerSec": 0.02,
    "kafka.server:type=BrokerTopicMetrics,name=ProduceMessageConversionsPerSec": 0.0,
    "kafka.server:type=BrokerTopicMetrics,name=FetchMessageConversionsPerSec": 0.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesRejectedPerSec": 0.0,
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec": 0.0004,
    "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec": 0.0004,
    "kafka.server:type=ReplicaManager,name=FailedIsrUpdatesPerSec": 0.0,
    "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType=consumer": 30.0,
    "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType=follower": 5.0,
    "kafka.server:type=SessionExpireListener,name=ZooKeeperDisconnectsPerSec": 0.0,
}
_GAUGES = {
    "kafka.server:type=ReplicaManager,name=ReassigningPartitions:Value": (Kind.CONSTANT, 0.0),
    "kafka.server:type=ReplicaManager,name=ProducerIdCount:Value": (Kind.LATENCY, 900.0),
    "kafka.network:type=RequestChannel,name=RequestQueueSize:Value": (Kind.DISK_LATENCY, 3.0),
    "kafka.network:type=RequestChannel,name=ResponseQueueSize:Value": (Kind.LATENCY, 1.0),
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent:Value": (Kind.IDLE, 0.2),
    "kafka.network:type=SocketServer,name=MemoryPoolUsed:Value": (Kind.CONSTANT, 0.0),
    "kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount:Value": (Kind.CONSTANT, 0.0),
    "kafka.log:type=LogCleaner,name=DeadThreadCount:Value": (Kind.CONSTANT, 0.0),
    "kafka.log:type=LogCleaner,name=max-clean-time-secs:Value": (Kind.CONSTANT, 4.0),
    "kafka.log:type=LogCleanerManager,name=max-dirty-percent:Value": (Kind.LATENCY, 11.0),
    "kafka.controller:type=KafkaController,name=ActiveControllerCount:Value": (Kind.CONSTANT, 0.0),
}
_IDLE_METER = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
_PROCESSORS = 8
_PROCESSOR_SENSORS = {
    "connection-count": (Kind.LATENCY, 140.0),
    "connection-creation-rate": (Kind.RATE, 0.4),
    "connection-creation-total": (Kind.COUNTER, 0.4),
    "connection-close-rate": (Kind.RATE, 0.4),
    "connection-close-total": (Kind.COUNTER, 0.4),
    "failed-authentication-total": (Kind.COUNTER, 0.001),
    "failed-authentication-rate": (Kind.RATE, 0.001),
    "incoming-byte-rate": (Kind.RATE, 3.0e6),
    "incoming-byte-total": (Kind.COUNTER, 3.0e6),
    "outgoing-byte-rate": (Kind.RATE, 6.0e6),
    "outgoing-byte-total": (Kind.COUNTER, 6.0e6),
    "io-wait-time-ns-avg": (Kind.LATENCY, 2.0e6),
    "io-time-ns-avg": (Kind.LATENCY, 3.0e5),
    "io-ratio": (Kind.LATENCY, 0.1),
    "io-wait-ratio": (Kind.IDLE, 0.3),
    "network-io-rate": (Kind.RATE, 500.0),
    "network-io-total": (Kind.COUNTER, 500.0),
    "request-rate": (Kind.RATE, 250.0),
    "request-total": (Kind.COUNTER, 250.0),
    "request-size-avg": (Kind.CONSTANT, 900.0),
    "request-size-max": (Kind.CONSTANT, 1.0e6),
    "response-rate": (Kind.RATE, 250.0),
    "response-total": (Kind.COUNTER, 250.0),
    "select-rate": (Kind.RATE, 300.0),
    "select-total": (Kind.COUNTER, 300.0),
}
_QUOTA_CLIENTS = 40

# What the model itself works out, broker by broker.
STATE = "kafka.server:type=KafkaServer,name=BrokerState:Value"
BROKER_METERS = tuple(
    f"kafka.server:type=BrokerTopicMetrics,name={name}"
    for name in (*TOPIC_METERS, "ReplicationBytesInPerSec", "ReplicationBytesOutPerSec")
)
BROKER_GAUGES = (
    "kafka.server:type=ReplicaManager,name=PartitionCount:Value",
    "kafka.server:type=ReplicaManager,name=LeaderCount:Value",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions:Value",
    "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount:Value",
    "kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount:Value",
    "kafka.server:type=ReplicaManager,name=OfflineReplicaCount:Value",
    "kafka.log:type=LogManager,name=OfflineLogDirectoryCount:Value",
    "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica:Value",
)


def _fixed() -> Iterator[FixedMetric]:
    for request, rate in {**_REQUESTS, **dict.fromkeys(_IDLE_REQUESTS, 0.0)}.items():
        for name, (mean, is_disk) in _REQUEST_HISTOGRAMS.items():
            head = f"kafka.network:type=RequestMetrics,name={name},request={request}"
            yield FixedMetric(f"{head}:Count", Kind.COUNTER, rate)
            kind = Kind.DISK_LATENCY if is_disk else Kind.LATENCY
            base = mean if rate else 0.0
            yield from (FixedMetric(f"{head}:{attribute}", kind, base * of) for attribute, of in _HISTOGRAM.items())
    for head, rate in _LIST_METERS.items():
        yield from (FixedMetric(f"{head}:{attribute}", _kind_of(attribute), rate) for attribute in METER)
    for attribute in METER:
        kind = Kind.COUNTER if attribute == "Count" else Kind.IDLE
        yield FixedMetric(f"{_IDLE_METER}:{attribute}", kind, 1e9 if kind is Kind.COUNTER else 0.35)
    yield from (FixedMetric(name, kind, base) for name, (kind, base) in _GAUGES.items())
    for processor in range(_PROCESSORS):
        head = f"kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor={processor}"
        yield from (FixedMetric(f"{head}:{sensor}", kind, base) for sensor, (kind, base) in _PROCESSOR_SENSORS.items())
    for client in range(_QUOTA_CLIENTS):
        for quota, attribute, kind, base in (
            ("Produce", "byte-rate", Kind.RATE, 4.0e5),
            ("Produce", "throttle-time", Kind.CONSTANT, 0.0),
            ("Fetch", "byte-rate", Kind.RATE, 9.0e5),
            ("Fetch", "throttle-time", Kind.CONSTANT, 0.0),
            ("Request", "request-time", Kind.LATENCY, 2.0),
            ("Request", "throttle-time", Kind.CONSTANT, 0.0),
        ):
            yield FixedMetric(f"kafka.server:type={quota},client-id=client-{client}:{attribute}", kind, base)


def _kind_of(attribute: str) -> Kind:
    return Kind.COUNTER if attribute == "Count" else Kind.RATE


FIXED: tuple[FixedMetric, ...] = tuple(_fixed())


def names_of(
    log_dirs: Sequence[str],
    topics: Sequence[str],
    replicas: Sequence[tuple[str, int]],
    followed: Iterable[tuple[str, int]],
) -> list[str]:
    """All names of a broker: `topics` that it leads, its `replicas`, those that it has `followed`.

    In the order of the model's numbers: fixed, the broker's own, log dirs, topics, replicas, lags; of the topics' and
    the replicas' all of one metric together.
    """
    names = [metric.name for metric in FIXED]
    names.append(STATE)
    names += (f"{head}:{attribute}" for head in BROKER_METERS for attribute in METER)
    names += BROKER_GAUGES
    names += (f'kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="{path}":Value' for path in log_dirs)
    for name in TOPIC_METERS:
        for attribute in METER:
            names += (f"kafka.server:type=BrokerTopicMetrics,name={name},topic={topic}:{attribute}" for topic in topics)
    for head in REPLICA_HEADS:
        names += (f"{head},topic={topic},partition={number}:Value" for topic, number in replicas)
    names += (f"{_LAG_HEAD}-{number % _FETCHERS},topic={topic},partition={number}:Value" for topic, number in followed)
    return names
