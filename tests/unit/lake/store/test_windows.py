"""The newest samples of a lake, read without Spark, and what they make of a live model."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.lake.loop import LakeKeeper
from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    NIC_SAMPLES,
    PARTITION_HOURS,
    PARTITION_SAMPLES,
    directory_of,
)
from guardian.lake.model.window import Window
from guardian.lake.model.windows import Windows
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.store.reader import LakeReader
from guardian.lake.store.windows import windows_of
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState
from guardian.model.topology import TopicPartition
from spark_analytics.model.resources import Resource
from spark_analytics.readers.live import live_model
from tests.integration.synthetic_lake import MB, STEP, T0, TO, SyntheticCluster, two_partitions

WINDOW = Window(T0, TO + 1)
MINUTE, HOUR = 60_000, 3_600_000


def with_hosts(cluster: SyntheticCluster) -> SyntheticCluster:
    """Disks that read and wrote 5 MB/s, half of the time; 2 of 8 cores busy; NICs of 1 Gbit/s."""
    for row in cluster.rows[BROKER_SAMPLES]:
        since = row["at_ms"] - T0
        row |= {"cores": 8, "cpu_busy_ms": 1_000_000 + 2 * since}
        counters = {"bytes_read": 2_000 * since, "bytes_written": 3_000 * since}
        times = {"busy_ms": since // 2, "read_ms": since // 10, "write_ms": since // 5}
        requests = {"reads_completed": since // 100, "writes_completed": since // 50, "in_flight": 1}
        disk = {"at_ms": row["at_ms"], "broker": row["broker"], "disk": "sda", **counters, **times, **requests}
        cluster.rows.setdefault(DISK_SAMPLES, []).append(disk)
        nic = {"nic": "eth0", "bytes_received": 0, "bytes_sent": 0, "receive_errors": 0, "send_errors": 0}
        nic |= {"at_ms": row["at_ms"], "broker": row["broker"], "bits_per_s": 10**9}
        cluster.rows.setdefault(NIC_SAMPLES, []).append(nic)
    return cluster


def read(lake: Path) -> Windows:
    return windows_of(LakeReader(str(lake)), "live", WINDOW)


def test_rates_and_machines_are_those_of_the_samples(tmp_path: Path) -> None:
    with_hosts(two_partitions().sample_all()).write(tmp_path)
    found = read(tmp_path)
    rows = {(row["broker"], row["partition"]): row for row in found.replicas.to_pylist()}
    # Bytes are counted by topic: partitions share them by their messages.
    assert rows[1, 0]["write_rate"] == pytest.approx(3 * MB, rel=0.02)
    assert rows[1, 1]["write_rate"] == pytest.approx(MB, rel=0.02)
    assert rows[1, 0]["read_rate"] == pytest.approx(6 * MB, rel=0.02)
    assert rows[2, 0]["write_rate"] is None
    assert found.sampled.keys() == {1, 2}
    assert found.cpu == {1: pytest.approx(200), 2: pytest.approx(200)}
    assert found.cores == {1: 8, 2: 8}
    assert found.nics == {1: 125_000_000, 2: 125_000_000}
    assert found.disk_of[1, "/d2"] == "sda"
    assert found.disks_by_name[1, "sda"]["io_rate"] == pytest.approx(5 * MB)
    assert found.disks_by_name[1, "sda"]["busy"] == pytest.approx(0.5)
    assert found.disks_by_name[1, "sda"]["await_ms"] == pytest.approx(10)


def test_a_lake_without_the_cluster_knows_nothing(tmp_path: Path) -> None:
    assert read(tmp_path).sampled == {}
    assert read(tmp_path).replicas.num_rows == 0


def test_a_failed_collection_is_no_sample(tmp_path: Path) -> None:
    cluster = two_partitions()
    for index in range(5):
        cluster.sample(T0 + index * STEP, [1]).fail(T0 + index * STEP, 2)
    with_hosts(cluster).write(tmp_path)
    assert read(tmp_path).sampled.keys() == {1}


def test_a_long_window_takes_whole_hours_from_their_roll_ups_and_the_rest_from_samples(tmp_path: Path) -> None:
    start = T0 - T0 % HOUR
    cluster = two_partitions()
    for index in range(30):
        cluster.sample(start + index * 600_000)
    cluster.write(tmp_path)
    keeper = LakeKeeper(str(tmp_path), LakeTimes(retention_ms=10**9), lambda: start + 3 * HOUR + 700_000)
    while keeper.tick():
        pass
    rolled = sorted((tmp_path / PARTITION_HOURS).rglob("rolled-*.parquet"))
    assert len(rolled) == 3
    rolled[0].with_name("rolled-0000000000000-older.parquet").write_bytes(b"never read, as the last one counts")
    # The first hour lies in the window only in part: it is read from samples, as are the last two.
    for hour in (1, 2):
        for file in (tmp_path / directory_of(PARTITION_SAMPLES, "live", start + hour * HOUR)).iterdir():
            file.write_bytes(b"never read")
    window = Window(start + 10 * MINUTE, start + 5 * HOUR)
    rows = windows_of(LakeReader(str(tmp_path)), "live", window).replicas.to_pylist()
    # 29 samples make 28 pairs; the four that span two hours are in neither.
    assert {(row["samples"], row["rate_pairs"]) for row in rows if row["is_leader"]} == {(29, 24)}
    rates = {row["partition"]: row["write_rate"] for row in rows if row["is_leader"]}
    assert rates == {0: pytest.approx(3 * MB, rel=1e-3), 1: pytest.approx(MB, rel=1e-3)}
    short = windows_of(LakeReader(str(tmp_path)), "live", Window(start, start + HOUR)).replicas.to_pylist()
    assert {row["samples"] for row in short} == {6}


def test_a_window_between_two_samples_has_no_rows(tmp_path: Path) -> None:
    with_hosts(two_partitions().sample_all()).write(tmp_path)
    found = windows_of(LakeReader(str(tmp_path)), "live", Window(T0 + 1, T0 + STEP))
    assert [table.num_rows for table in (found.brokers, found.disks, found.replicas)] == [0, 0, 0]


def test_a_live_model_costs_what_the_lake_says_where_kafka_shows_it(tmp_path: Path) -> None:
    """Broker 2 leads partition 0 by now, and the other one has moved to another log dir."""
    with_hosts(two_partitions().sample_all()).write(tmp_path)
    orders = [TopicPartition("orders", number) for number in (0, 1)]

    def log_dir(broker: int, path: str, *partitions: TopicPartition) -> LogDir:
        replicas = {partition: LogDirReplica(7, 0, False) for partition in partitions}
        return LogDir(broker, path, "", 10**12, 9 * 10**11, replicas)

    facts = LiveFacts(
        "live",
        TO,
        {broker: BrokerNode(broker, "h", 9092, f"rack-{broker}") for broker in (1, 2)},
        {orders[0]: PartitionState(2, (2, 1), (1, 2)), orders[1]: PartitionState(1, (1, 2), (1, 2))},
        {},
        (log_dir(1, "/d1", *orders), log_dir(1, "/d2"), log_dir(2, "/d1", *orders), log_dir(2, "/d2")),
    )
    model = live_model(facts, None, read(tmp_path))
    assert model.movable.all()
    assert [(each.broker, each.log_dir) for each in model.replicas(0)] == [(2, "/d1"), (1, "/d1")]
    assert model.slot_load[:, Resource.NW_IN].tolist() == pytest.approx([3 * MB, 3 * MB, MB, MB], rel=0.02)
    assert model.leader_load[0, Resource.NW_OUT] == pytest.approx(6 * MB + 3 * MB, rel=0.02)
    assert model.capacity[:, Resource.CPU].tolist() == [800, 800]
    assert model.capacity[:, Resource.NW_IN].tolist() == [125_000_000, 125_000_000]
    assert len(model.disk_total_bytes) == 2
    assert model.slot_load[:, Resource.CPU].sum() + model.leader_load[:, Resource.CPU].sum() == pytest.approx(400)
    assert "rates of 2 of them from the lake" in model.input
