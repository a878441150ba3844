from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from guardian.collection.rules.ingest import Asked, failed_collection, ingest
from guardian.collection.rules.layout import MetricLayout
from guardian.errors import InvalidInput
from guardian.lake.model.schema import PARTITION_HOURS, TABLES, Rows, table_of
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2 as pb

BROKER = Broker(3, rack="shanghai-a", idc="shanghai", reporter="127.0.0.1:9400")
CLUSTER = Cluster("live", "127.0.0.1:9092", cluster_id="CaLbNkNkTYGNSip0w9qa6w", brokers=(BROKER,))
AT_MS, STARTED_MS = 1_790_000_000_000, 1_789_999_000_000
ASKED = Asked(CLUSTER, BROKER, "m1", AT_MS - 30, AT_MS + 10)


def log(name: str, topic: str, partition: int) -> str:
    return f"kafka.log:type=Log,name={name},topic={topic},partition={partition}:Value"


def replicas_count(topic: str, partition: int) -> str:
    return f"kafka.cluster:type=Partition,name=ReplicasCount,topic={topic},partition={partition}:Value"


METRICS = {
    log("Size", "orders", 0): 1000.0,
    log("LogStartOffset", "orders", 0): 5.0,
    log("LogEndOffset", "orders", 0): 25.0,
    replicas_count("orders", 0): 2.0,
    "kafka.cluster:type=Partition,name=InSyncReplicasCount,topic=orders,partition=0:Value": 1.0,
    log("Size", "my-topic", 11): 7.0,
    log("LogStartOffset", "my-topic", 11): 0.0,
    log("LogEndOffset", "my-topic", 11): 1.0,
    replicas_count("my-topic", 11): 0.0,
    # A follower has one, by the thread that fetches.
    "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-0-1,topic=my-topic,"
    "partition=11:Value": 9.0,
    # A copy under way to another log dir has the same topic and partition; it is not the replica.
    "kafka.log:type=Log,name=LogEndOffset,topic=orders,partition=0,is-future=true:Value": 3.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=orders:Count": 123.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic=orders:Count": 45.0,
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic=orders:Count": 6.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:Count": 200.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec:Count": 50.0,
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:OneMinuteRate": 9.9,
}


def batch(metrics: dict[str, float] = METRICS, **changes: Any) -> pb.MetricBatch:
    disk = pb.DiskFacts(name="sda", bytes_read=1, bytes_written=2, reads_completed=3, writes_completed=4)
    disk.busy_ms, disk.read_ms, disk.write_ms, disk.in_flight = 5, 6, 7, 8
    fields: dict[str, Any] = {
        "cluster_id": "CaLbNkNkTYGNSip0w9qa6w",
        "broker_id": 3,
        "collected_at_ms": AT_MS,
        "rack": "shanghai-a",
        "dictionary_id": 1,
        "names": list(metrics),
        "ids": range(len(metrics)),
        "values": metrics.values(),
        "broker_started_at_ms": STARTED_MS,
        "host": pb.HostFacts(
            disks=[disk],
            memory=pb.MemoryFacts(total_bytes=100, available_bytes=70, page_cache_bytes=30, dirty_bytes=2),
            nics=[pb.NicFacts(name="eth0", bytes_received=1, bytes_sent=2, receive_errors=3, bits_per_s=10**10)],
            cpu=pb.CpuFacts(cores=8, user_ms=1, system_ms=2, io_wait_ms=3, idle_ms=4, steal_ms=5),
            pressure=pb.PressureFacts(cpu_some_us=6, io_some_us=7, io_full_us=8, memory_some_us=9),
            log_dirs=[
                pb.LogDirFacts(
                    path="/d1", total_bytes=100, usable_bytes=60, disk="sda", replicas=["orders-0"], size_bytes=9
                ),
                pb.LogDirFacts(path="/d2", total_bytes=100, usable_bytes=50, replicas=["my-topic-11"]),
                pb.LogDirFacts(path="/d3", offline=True),
            ],
        ),
    }
    return pb.MetricBatch(**{**fields, **changes})


def rows_of(answer: pb.MetricBatch, asked: Asked = ASKED) -> Rows:
    return ingest(answer, MetricLayout().extended_by(answer), asked)


def partition_rows(answer: pb.MetricBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rows_of(answer)["partition_samples"].to_pylist()
    return rows


def test_every_table_has_the_schema_of_the_lake() -> None:
    rows = rows_of(batch())
    sampled = {name: schema for name, schema in TABLES.items() if name != PARTITION_HOURS}  # those are rolled up later
    assert {name: table.schema for name, table in rows.items()} == sampled
    for table in (*rows.values(), *failed_collection(ASKED, "no answer").values()):
        missing = [field.name for field in table.schema if not field.nullable and table[field.name].null_count]
        assert missing == []


@pytest.mark.parametrize("table", sorted(TABLES.keys() - {PARTITION_HOURS}))
def test_columns_in_another_order_have_the_same_values(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = batch({**METRICS, "kafka.server:type=ReplicaManager,name=LeaderCount:Value": 4.0})

    def all_rows() -> list[Rows]:
        return [rows_of(answer), failed_collection(ASKED, "no answer")]

    before = [rows[table].to_pylist() for rows in all_rows() if table in rows]
    assert before[0]
    reordered = pa.schema(reversed(TABLES[table]))
    monkeypatch.setitem(TABLES, table, reordered)
    after = [rows[table] for rows in all_rows() if table in rows]
    assert [rows.schema for rows in after] == [reordered] * len(after)
    assert [rows.to_pylist() for rows in after] == before


def test_a_column_that_no_schema_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="other names than the schema's"):
        table_of(TABLES["nic_samples"], {name: [] for name in (*TABLES["nic_samples"].names, "speed")})


def test_a_replica_is_a_directory_and_its_metrics_say_the_rest() -> None:
    assert partition_rows(batch()) == [
        {
            "at_ms": AT_MS,
            "broker": 3,
            "broker_started_at_ms": STARTED_MS,
            "topic": "orders",
            "partition": 0,
            "log_dir": "/d1",
            "is_leader": True,
            "size_bytes": 1000,
            "log_start_offset": 5,
            "log_end_offset": 25,
            "topic_bytes_in_total": 123,
            "topic_bytes_out_total": 45,
            "topic_messages_in_total": 6,
            "replicas": 2,
            "in_sync_replicas": 1,
            "fetch_lag": None,
        },
        {
            "at_ms": AT_MS,
            "broker": 3,
            "broker_started_at_ms": STARTED_MS,
            "topic": "my-topic",
            "partition": 11,
            "log_dir": "/d2",
            "is_leader": False,
            "size_bytes": 7,
            "log_start_offset": 0,
            "log_end_offset": 1,
            "topic_bytes_in_total": 0,
            "topic_bytes_out_total": 0,
            "topic_messages_in_total": 0,
            "replicas": None,
            "in_sync_replicas": None,
            "fetch_lag": 9,
        },
    ]


def test_the_hosts_facts_and_the_brokers_totals_have_rows_of_their_own() -> None:
    rows = rows_of(batch())
    assert [list(row.values()) for row in rows["log_dir_samples"].to_pylist()] == [
        [AT_MS, 3, "/d1", "sda", 100, 60, False, 9],
        [AT_MS, 3, "/d2", "", 100, 50, False, 0],
        [AT_MS, 3, "/d3", "", 0, 0, True, 0],
    ]
    assert [list(row.values()) for row in rows["disk_samples"].to_pylist()] == [
        [AT_MS, 3, "sda", 1, 2, 3, 4, 5, 6, 7, 8]
    ]
    assert [list(row.values()) for row in rows["broker_samples"].to_pylist()] == [
        [
            *(AT_MS, 3, STARTED_MS, "shanghai-a", "shanghai", 200, 50, len(METRICS), 70, 30, "", "m1", 10),
            *(0, 0, 0, 100, 2),
            *(8, 8, 3, 4, 6, 7, 9),
        ]
    ]
    assert [list(row.values()) for row in rows["nic_samples"].to_pylist()] == [[AT_MS, 3, "eth0", 1, 2, 3, 0, 10**10]]


def test_a_host_that_does_not_tell_its_cpu_or_pressure_has_none_in_its_row() -> None:
    row = rows_of(batch(host=pb.HostFacts()))["broker_samples"].to_pylist()[0]
    assert [row[name] for name in ("cores", "cpu_busy_ms", "cpu_idle_ms", "io_pressure_us")] == [None] * 4


def test_metrics_that_are_kept_have_rows_under_their_own_name() -> None:
    kept = {"kafka.server:type=ReplicaManager,name=LeaderCount:Value": 4.0, "kafka.log:type=LogManager,name=x:Y": 0.5}
    gone = {"kafka.server:type=ReplicaManager,name=PartitionCount:Value": math.nan}
    rows = rows_of(batch({**METRICS, **kept, **gone}))["metric_samples"].to_pylist()
    assert {(row["metric"], row["value"]) for row in rows} == set(kept.items())


def collected(at_ms: int, asked: Asked = ASKED) -> tuple[int, int]:
    """When the broker was collected by the lake, and the skew."""
    row = rows_of(batch(collected_at_ms=at_ms), asked)["broker_samples"].to_pylist()[0]
    return row["at_ms"], row["skew_ms"]


@pytest.mark.parametrize("at_ms", [ASKED.sent_at_ms - 2_000, ASKED.answered_at_ms + 2_000])
def test_a_clock_that_is_a_little_off_is_taken_as_it_is(at_ms: int) -> None:
    assert collected(at_ms) == (at_ms, at_ms - (AT_MS - 10))


@pytest.mark.parametrize("at_ms", [ASKED.sent_at_ms - 2_001, ASKED.answered_at_ms + 2_001, 0, AT_MS + 10**18])
def test_the_members_clock_stands_in_for_one_that_is_wrong(at_ms: int) -> None:
    assert collected(at_ms) == (AT_MS - 10, at_ms - (AT_MS - 10))


@pytest.mark.parametrize("at_ms", [AT_MS, AT_MS + 9_000])
def test_a_call_that_takes_long_makes_no_clock_wrong(at_ms: int) -> None:
    slow = replace(ASKED, sent_at_ms=AT_MS, answered_at_ms=AT_MS + 9_000)
    assert collected(at_ms, slow) == (at_ms, at_ms - (AT_MS + 4_500))


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_a_replica_whose_log_has_no_sane_metrics_gets_no_row(value: float) -> None:
    metrics = METRICS | {log("LogEndOffset", "orders", 0): value}
    assert [row["topic"] for row in partition_rows(batch(metrics))] == ["my-topic"]
    del metrics[log("LogEndOffset", "orders", 0)]
    assert [row["topic"] for row in partition_rows(batch(metrics))] == ["my-topic"]


def test_a_broker_without_any_metric_still_has_its_row() -> None:
    rows = rows_of(batch({}))
    assert rows["partition_samples"].num_rows == 0
    assert rows["broker_samples"].to_pylist()[0]["bytes_in_total"] == 0


def test_values_without_a_name_are_passed_over() -> None:
    count = len(METRICS)
    answer = batch(ids=[*range(count), 4_000_000_000], values=[*METRICS.values(), 1.0])
    assert len(partition_rows(answer)) == 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cluster_id": "other"}, "cluster_id is 'other' at 127.0.0.1:9400: cluster live has 'CaLbNkNkTYGNSip0w9qa6w'"),
        ({"broker_id": 4}, "broker_id is 4 at 127.0.0.1:9400: that is registered as broker 3 of cluster live"),
        ({"values": [1.0]}, "values has 1: a batch needs one value for each id"),
        ({"host": pb.HostFacts(log_dirs=[pb.LogDirFacts(path="/d1", replicas=["orders"])])}, "replicas has 'orders'"),
        ({"host": pb.HostFacts(memory=pb.MemoryFacts(available_bytes=2**63))}, "broker_samples is out of range"),
    ],
)
def test_a_batch_that_is_not_what_it_should_be_is_refused_in_one_sentence(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        rows_of(batch(**changes))


@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_broker_that_is_starting_is_refused_since_some_of_its_logs_are_missing(state: int) -> None:
    name = "kafka.server:type=KafkaServer,name=BrokerState:Value"
    with pytest.raises(InvalidInput, match=f"BrokerState of broker 3 is {state}: it is starting"):
        rows_of(batch({**METRICS, name: state}))
    for later in (3, 6, 7):
        assert len(partition_rows(batch({**METRICS, name: later}))) == 2


def test_a_cluster_whose_id_is_not_known_yet_takes_any() -> None:
    answer = batch(cluster_id="other")
    asked = replace(ASKED, cluster=Cluster("live", "127.0.0.1:9092", brokers=(BROKER,)))
    assert ingest(answer, MetricLayout().extended_by(answer), asked)["broker_samples"].num_rows == 1


def test_a_failed_collection_is_a_row_with_its_error() -> None:
    rows = failed_collection(ASKED, "no answer")
    assert list(rows) == ["broker_samples"]
    assert rows["broker_samples"].schema == TABLES["broker_samples"]
    row = rows["broker_samples"].to_pylist()[0]
    assert {name: value for name, value in row.items() if value} == {
        "at_ms": AT_MS + 10,
        "broker": 3,
        "rack": "shanghai-a",
        "idc": "shanghai",
        "error": "no answer",
        "member": "m1",
    }
