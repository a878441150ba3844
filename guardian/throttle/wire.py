"""A broker's counters, out of what its reporter answers to a call with a metric filter."""

from __future__ import annotations

from collections.abc import Mapping

from guardian.throttle.model import FETCH, PRODUCE, BrokerCounters, DiskCounters, NicCounters, RequestCounters
from protos.guardian.v1 import reporter_pb2

_REQUESTS = {
    # Of acks=all a follower that is late is a part of it, and that is meant.
    PRODUCE: "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce:",
    # The whole time of a fetch is mostly that of waiting for news; this is the reading.
    FETCH: "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=FetchConsumer:",
}
_COPIED = (
    "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec:Count",
    "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesOutPerSec:Count",
)
_METADATA_LAG = "kafka.server:type=broker-metadata-metrics:last-applied-record-lag-ms"
# The filter of the call: names that begin so.
PREFIXES = (*_REQUESTS.values(), *_COPIED, _METADATA_LAG)
NAMES = frozenset(
    {
        *_COPIED,
        _METADATA_LAG,
        *(prefix + part for prefix in _REQUESTS.values() for part in ("Count", "Mean", "99thPercentile")),
    }
)


def counters_from_proto(batch: reporter_pb2.MetricBatch, values: Mapping[str, float]) -> BrokerCounters:
    """`values` are those of NAMES that the batch brought. Disks without a log dir, and kinds of requests of which there
    were none yet, are left out."""
    ours = {log_dir.disk for log_dir in batch.host.log_dirs if log_dir.disk}
    return BrokerCounters(
        batch.broker_id,
        batch.collected_at_ms,
        batch.broker_started_at_ms,
        disks={
            disk.name: DiskCounters(
                disk.busy_ms, disk.reads_completed + disk.writes_completed, disk.read_ms + disk.write_ms
            )
            for disk in batch.host.disks
            if disk.name in ours
        },
        nics={
            nic.name: NicCounters(nic.bytes_received, nic.bytes_sent, nic.bits_per_s)
            for nic in batch.host.nics
            if nic.bytes_received or nic.bytes_sent
        },
        requests={
            kind: RequestCounters(count, values.get(prefix + "Mean", 0.0), values.get(prefix + "99thPercentile", 0.0))
            for kind, prefix in _REQUESTS.items()
            if (count := values.get(prefix + "Count", 0.0)) > 0
        },
        copied_bytes=sum(values.get(name, 0.0) for name in _COPIED),
        metadata_lag_ms=values.get(_METADATA_LAG),
    )
