"""From a broker's batch to rows of the lake. Pure.

A replica is a directory in one of the broker's log dirs; the metrics of its log say the rest. One whose log has no
metrics (it is being loaded, or deleted) gets no row: a gap is honest, an offset of 0 would look like lost data.
Counters that do not exist yet (Kafka makes a topic's at its first byte) are 0. A broker that is starting is refused:
it has the directories of all its replicas and the logs of some, as if the others were gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import Message

from guardian.collection.rules.layout import Floats, MetricLayout, OfBroker, OfPartition, OfTopic, Scattered, scatter
from guardian.errors import InvalidInput
from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    METRIC_SAMPLES,
    NIC_SAMPLES,
    PARTITION_SAMPLES,
    TABLES,
    Rows,
    table_of,
)
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2

_Int64s = npt.NDArray[np.int64]
_RUNNING = 3  # of BrokerState; below it: not running, starting, recovery; above it: two kinds of shutting down
_INT64_MAX = 2**63 - 1
# Hosts without a time service drift by seconds a day, those with one stay within milliseconds.
_TRUSTED_SKEW_MS = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What a batch answers: whose it should be, who asked, and when by the member's clock (ms since the epoch)."""

    cluster: Cluster
    broker: Broker
    member: str
    sent_at_ms: int
    answered_at_ms: int

    def skew_ms(self, batch: reporter_pb2.MetricBatch) -> int:
        """The broker's clock minus the member's, to half of the time that the call took."""
        return batch.collected_at_ms - (self.sent_at_ms + self.answered_at_ms) // 2

    def correction_ms(self, batch: reporter_pb2.MetricBatch) -> int:
        """Return what to add to the broker's times. It is 0, unless the broker says to have collected more than 2 s
        before the call or after it. A call may take long, and no clock is wrong because of that.
        """
        begin_ms, end_ms = self.sent_at_ms - _TRUSTED_SKEW_MS, self.answered_at_ms + _TRUSTED_SKEW_MS
        return 0 if begin_ms <= batch.collected_at_ms <= end_ms else -self.skew_ms(batch)


@dataclass(frozen=True, slots=True)
class _Moment:
    """What every row begins with."""

    at_ms: int
    broker: int
    broker_started_at_ms: int


def ingest(batch: reporter_pb2.MetricBatch, layout: MetricLayout, asked: Asked) -> Rows:
    """The rows of one collection. `layout` is what is known after the batch.

    `at_ms` is the broker's clock, or the middle of the call by the member's when that is more than 2 s before or after
    the call.

    Raises InvalidInput when the batch comes from another broker or cluster than expected, from a broker that is still
    starting, or contradicts itself.
    """
    _require_from(batch, asked.cluster, asked.broker)
    found = scatter(batch, layout)
    state = found.broker[OfBroker.STATE]
    if state < _RUNNING:
        raise InvalidInput(
            f"BrokerState of broker {asked.broker.id} is {state:g}: it is starting, collect again when it is 3"
        )
    at_ms = batch.collected_at_ms + asked.correction_ms(batch)
    moment = _Moment(at_ms, batch.broker_id, batch.broker_started_at_ms)
    return {
        PARTITION_SAMPLES: _partition_rows(batch, layout, found, moment),
        LOG_DIR_SAMPLES: _host_rows(LOG_DIR_SAMPLES, batch.host.log_dirs, moment, log_dir="path"),
        DISK_SAMPLES: _host_rows(DISK_SAMPLES, batch.host.disks, moment, disk="name"),
        NIC_SAMPLES: _host_rows(NIC_SAMPLES, batch.host.nics, moment, nic="name"),
        METRIC_SAMPLES: _metric_rows(layout, found, moment),
        BROKER_SAMPLES: _broker_table(_broker_row(batch, found, asked, moment)),
    }


def failed_collection(asked: Asked, error: str) -> Rows:
    """The row that says that a collection failed, and why. Its `at_ms` is the member's clock."""
    broker = asked.broker
    totals = ("broker_started_at_ms", "bytes_in_total", "bytes_out_total", "metrics")
    memory = ("memory_available_bytes", "page_cache_bytes")
    row: dict[str, int | str | None] = {
        "at_ms": asked.answered_at_ms,
        "broker": broker.id,
        "rack": broker.rack,
        "idc": broker.idc,
        "error": error or "the collection failed",
        "member": asked.member,
        **dict.fromkeys((*totals, *memory), 0),
    }
    return {BROKER_SAMPLES: _broker_table(row)}


def _require_from(batch: reporter_pb2.MetricBatch, cluster: Cluster, broker: Broker) -> None:
    if cluster.cluster_id and batch.cluster_id != cluster.cluster_id:
        raise InvalidInput(
            f"cluster_id is {batch.cluster_id!r} at {broker.reporter_endpoint}: cluster {cluster.name} has "
            f"{cluster.cluster_id!r}, correct the reporter of broker {broker.id}"
        )
    if batch.broker_id != broker.id:
        raise InvalidInput(
            f"broker_id is {batch.broker_id} at {broker.reporter_endpoint}: that is registered as broker {broker.id} "
            f"of cluster {cluster.name}, correct its reporter"
        )


def _partition_rows(
    batch: reporter_pb2.MetricBatch, layout: MetricLayout, found: Scattered, moment: _Moment
) -> pa.Table:
    """Return a row for each replica that has a directory and a log with metrics."""
    log_dirs, rows = _stored(batch, layout)
    log = found.partitions[[OfPartition.SIZE, OfPartition.LOG_START_OFFSET, OfPartition.LOG_END_OFFSET]][:, rows]
    has_log = np.all(_is_whole(log), axis=0)
    log_dirs, rows, log = log_dirs[has_log], rows[has_log], log[:, has_log]
    topics = layout.partition_topics[rows]
    replicas, in_sync, lag = (
        found.partitions[column, rows]
        for column in (OfPartition.REPLICAS, OfPartition.IN_SYNC_REPLICAS, OfPartition.FETCH_LAG)
    )
    is_leader = np.nan_to_num(replicas) > 0
    size, start, end = log.astype(np.int64)
    bytes_in, bytes_out, messages_in = (
        _counts(found.topics[column, topics]) for column in (OfTopic.BYTES_IN, OfTopic.BYTES_OUT, OfTopic.MESSAGES_IN)
    )
    return table_of(
        TABLES[PARTITION_SAMPLES],
        {
            **_repeated(moment, len(rows)),
            "topic": _texts(list(layout.topics), topics),
            "partition": layout.partition_numbers[rows],
            "log_dir": _texts([log_dir.path for log_dir in batch.host.log_dirs], log_dirs),
            "is_leader": is_leader,
            "size_bytes": size,
            "log_start_offset": start,
            "log_end_offset": end,
            "topic_bytes_in_total": bytes_in,
            "topic_bytes_out_total": bytes_out,
            "topic_messages_in_total": messages_in,
            "replicas": _nullable(replicas, is_leader, pa.int32()),
            "in_sync_replicas": _nullable(in_sync, is_leader, pa.int32()),
            "fetch_lag": _nullable(lag, ~is_leader, pa.int64()),
        },
    )


def _stored(
    batch: reporter_pb2.MetricBatch, layout: MetricLayout
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return, of each replica that the batch finds on disk and knows metrics of, the log dir's position and the
    layout's row.
    """
    log_dirs: list[int] = []
    rows: list[int] = []
    for position, log_dir in enumerate(batch.host.log_dirs):
        for replica in log_dir.replicas:
            row = layout.partitions.get(replica)
            if row is None:
                _require_replica(replica, log_dir.path)
                continue
            log_dirs.append(position)
            rows.append(row)
    return np.array(log_dirs, np.int32), np.array(rows, np.int32)


def _require_replica(replica: str, log_dir: str) -> None:
    topic, _, number = replica.rpartition("-")
    if not topic or not number.isdecimal():
        raise InvalidInput(f"replicas has {replica!r} in {log_dir}: use topic-partition")


def _metric_rows(layout: MetricLayout, found: Scattered, moment: _Moment) -> pa.Table:
    at = np.flatnonzero(np.isfinite(found.kept))
    return table_of(
        TABLES[METRIC_SAMPLES],
        {**_repeated(moment, len(at)), "metric": _texts(layout.kept, at), "value": found.kept[at]},
    )


def _host_rows(table: str, facts: Iterable[Message], moment: _Moment, **renamed: str) -> pa.Table:
    """Return a row for each log dir, disk or interface; its fields have the columns' names, but for those `renamed`."""
    each_one = tuple(facts)
    columns: dict[str, Any] = {"at_ms": [moment.at_ms] * len(each_one), "broker": [moment.broker] * len(each_one)}
    for name in TABLES[table].names:
        if name not in columns:
            field = renamed.get(name, name)
            columns[name] = [getattr(each, field) for each in each_one]
    return _table(table, columns)


def _broker_row(
    batch: reporter_pb2.MetricBatch, found: Scattered, asked: Asked, moment: _Moment
) -> dict[str, int | str | None]:
    counts = dict(zip(OfBroker, _counts(found.broker).tolist(), strict=True))
    host = batch.host
    return {
        "at_ms": moment.at_ms,
        "broker": moment.broker,
        "broker_started_at_ms": moment.broker_started_at_ms,
        "rack": batch.rack or asked.broker.rack,
        "idc": asked.broker.idc,
        "bytes_in_total": counts[OfBroker.BYTES_IN],
        "bytes_out_total": counts[OfBroker.BYTES_OUT],
        "metrics": len(batch.values),
        "memory_available_bytes": host.memory.available_bytes,
        "page_cache_bytes": host.memory.page_cache_bytes,
        "error": "",
        "member": asked.member,
        "skew_ms": asked.skew_ms(batch),
        "messages_in_total": counts[OfBroker.MESSAGES_IN],
        "replication_bytes_in_total": counts[OfBroker.REPLICATION_BYTES_IN],
        "replication_bytes_out_total": counts[OfBroker.REPLICATION_BYTES_OUT],
        "memory_total_bytes": host.memory.total_bytes,
        "memory_dirty_bytes": host.memory.dirty_bytes,
        **_cpu(host),
        **_pressure(host),
    }


def _cpu(host: reporter_pb2.HostFacts) -> dict[str, int]:
    if not host.HasField("cpu"):
        return {}
    cpu = host.cpu
    return {
        "cores": cpu.cores,
        "cpu_busy_ms": cpu.user_ms + cpu.system_ms + cpu.steal_ms,
        "cpu_io_wait_ms": cpu.io_wait_ms,
        "cpu_idle_ms": cpu.idle_ms,
    }


def _pressure(host: reporter_pb2.HostFacts) -> dict[str, int]:
    if not host.HasField("pressure"):
        return {}
    return {
        "cpu_pressure_us": host.pressure.cpu_some_us,
        "io_pressure_us": host.pressure.io_some_us,
        "memory_pressure_us": host.pressure.memory_some_us,
    }


def _is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    """A count, an offset or a size; not so where the broker has no such number."""
    return np.abs(values) < _INT64_MAX  # NaN is not


def _counts(values: Floats) -> _Int64s:
    return np.where(_is_whole(values), values, 0).astype(np.int64)


def _nullable(values: Floats, where: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    known = where & (np.abs(values) < np.iinfo(kind.to_pandas_dtype()).max)
    return pa.array(np.where(known, values, 0).astype(kind.to_pandas_dtype()), mask=~known)


def _repeated(moment: _Moment, count: int) -> dict[str, pa.Array]:
    return {
        "at_ms": pa.repeat(pa.scalar(moment.at_ms, pa.int64()), count),
        "broker": pa.repeat(pa.scalar(moment.broker, pa.int32()), count),
        "broker_started_at_ms": pa.repeat(pa.scalar(moment.broker_started_at_ms, pa.int64()), count),
    }


def _texts(texts: Sequence[str], positions: npt.NDArray[Any]) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(positions))


def _broker_table(row: Mapping[str, int | str | None]) -> pa.Table:
    """Return the one row; columns that it lacks are null."""
    missing = dict.fromkeys(TABLES[BROKER_SAMPLES].names)
    return _table(BROKER_SAMPLES, {name: [value] for name, value in {**missing, **row}.items()})


def _table(name: str, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    try:
        return table_of(TABLES[name], columns)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"a number of {name} is out of range: {error}, look at the broker's host facts") from error
