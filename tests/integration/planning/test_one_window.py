"""One definition of windows: of one lake Spark and a member make the same rows, the same model, the same plan.

The lake has what lakes have: gaps, a topic whose counters began anew, a broker that restarted, one that died, rows that
came late and twice, hours that are rolled up and hours that are not. What Kafka shows is one state for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from guardian.lake.loop import LakeKeeper
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, PARTITION_HOURS, PARTITION_SAMPLES
from guardian.lake.model.window import Window, recent_window
from guardian.lake.model.windows import KINDS, Windows
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.lake.store.windows import windows_of
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState
from guardian.model.directory import Directory
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Heal, Task
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.plans import plan_to_bytes
from guardian.planning.service.planning_worker import Question, plan_to_bytes_of
from spark_analytics.jobs.plans import plans
from spark_analytics.jobs.session import local_session
from spark_analytics.lake.reader import model_rows
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.readers.live import live_model
from tests.integration.synthetic_lake import T0, SyntheticCluster, skewed
from tests.unit.lake.store.test_windows import with_hosts

pytestmark = [pytest.mark.integration, pytest.mark.long]

HOUR = 3_600_000
MINUTE = 60_000
START = T0 - T0 % HOUR
NOW = START + 4 * HOUR + 50 * MINUTE
DIED = NOW - 90_000
RESTARTED = NOW - 20 * MINUTE
DIRECTORY = Directory(
    clusters=(Cluster("live", "h:9092", brokers=tuple(Broker(each, idc="a") for each in (1, 2, 3, 4))),)
)
SETTINGS = PlannerSettings()


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = local_session("one window", "local[2]")
    yield session
    session.stop()


def cluster_of_four() -> SyntheticCluster:
    """Broker 4 holds nothing."""
    cluster = skewed()
    cluster.brokers = [1, 2, 3, 4]
    cluster.partitions = [replace(each, write_rate=each.write_rate // 50) for each in cluster.partitions]
    return cluster


def sampled() -> SyntheticCluster:
    """A sample a minute until now. Broker 3 dies, broker 2 restarts, broker 1 is not reached for six minutes, and
    topic t1 was made anew."""
    cluster = cluster_of_four()
    cluster.started = dict.fromkeys(cluster.brokers, START - HOUR)
    for at_ms in range(START + 10_000, NOW, MINUTE):
        if at_ms >= RESTARTED:
            cluster.started[2] = RESTARTED
        gap = RESTARTED + 5 * MINUTE <= at_ms < RESTARTED + 11 * MINUTE
        lives = [
            broker for broker in cluster.brokers if not (broker == 1 and gap) and not (broker == 3 and at_ms > DIED)
        ]
        cluster.sample(at_ms, lives, burst=at_ms % 7 * 1000)
        if gap:
            cluster.fail(at_ms, 1)
    for row in cluster.rows[PARTITION_SAMPLES]:
        if row["topic"] == "t1" and row["at_ms"] > NOW - 8 * MINUTE:
            row["topic_bytes_in_total"] //= 1000
    return uneven(with_hosts(cluster))


def uneven(cluster: SyntheticCluster) -> SyntheticCluster:
    """Machines that have more to do from minute to minute: what a window says depends on which pairs count."""
    for row in cluster.rows[BROKER_SAMPLES]:
        if not row["error"]:
            minute = (row["at_ms"] - START) // MINUTE
            lived = (row["at_ms"] - row["broker_started_at_ms"]) // MINUTE
            row |= {"bytes_in_total": lived**2 * 1000, "bytes_out_total": lived**2 * 3000}
            row |= {"replication_bytes_in_total": lived * 7, "replication_bytes_out_total": lived * row["broker"]}
            row["cpu_busy_ms"] += minute**2 * row["broker"]
    for row in cluster.rows[DISK_SAMPLES]:
        minute = (row["at_ms"] - START) // MINUTE
        row |= {"bytes_read": row["bytes_read"] + minute**2 * 999, "busy_ms": row["busy_ms"] // 5 + minute**2}
    return cluster


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keeper has rolled up the first three hours; then the samples of one minute came late, and those of the
    newest minutes come once more, from a second member."""
    path = tmp_path_factory.mktemp("lake")
    cluster = sampled()
    whole = {table: list(rows) for table, rows in cluster.rows.items()}

    def write(member: str, first_ms: int, last_ms: int, *, but: range = range(0)) -> None:
        cluster.rows = {
            table: [row for row in rows if first_ms <= row["at_ms"] < last_ms and row["at_ms"] not in but]
            for table, rows in whole.items()
        }
        cluster.write(path, member)

    late = range(NOW - 4 * MINUTE, NOW - 3 * MINUTE)
    write("g1", START, NOW, but=late)
    write("g2", START, START + HOUR)
    keeper = LakeKeeper(str(path), LakeTimes(retention_ms=10**9), lambda: START + 3 * HOUR + 11 * MINUTE)
    while keeper.tick():
        pass
    write("late", late.start, late.stop)
    write("g2", NOW - 3 * MINUTE, NOW)
    assert len(list((path / PARTITION_HOURS).rglob("rolled-*.parquet"))) == 3
    return path


def facts() -> LiveFacts:
    """Broker 3 is dead: Kafka has made others lead what it led."""
    cluster = cluster_of_four()
    held: dict[tuple[int, str], dict[TopicPartition, LogDirReplica]] = {
        (broker, path): {} for broker in (1, 2, 4) for path in cluster.log_dirs
    }
    partitions = {}
    for each in cluster.partitions:
        partition = TopicPartition(each.topic, each.number)
        brokers = tuple(broker for broker, _ in each.replicas)
        lives = tuple(broker for broker in brokers if broker != 3)
        partitions[partition] = PartitionState(lives[0], brokers, lives)
        for broker, path in each.replicas:
            if broker != 3:
                held[broker, path][partition] = LogDirReplica(each.size, 0, False)
    log_dirs = tuple(
        LogDir(broker, path, "", 10**12, 9 * 10**11, replicas) for (broker, path), replicas in held.items()
    )
    nodes = {broker: BrokerNode(broker, "h", 9092, f"rack-{broker}") for broker in (1, 2, 4)}
    return LiveFacts("live", NOW, nodes, partitions, {}, log_dirs)


def by_member(lake: Path, window: Window) -> Windows:
    return windows_of(LakeReader(str(lake), ReadLimits(seconds=60)), "live", window)


def by_spark(spark: SparkSession, lake: Path, window: Window) -> Windows:
    return Windows.of(model_rows(spark, str(lake), ["live"], window).toArrow())


def in_order(rows: pa.Table, kind: str) -> pa.Table:
    keys = [name for name in ("broker", "topic", "partition", "log_dir", "disk") if name in KINDS[kind].names]
    return rows.combine_chunks().sort_by([(name, "ascending") for name in keys])


def assert_same(one: ClusterModel, other: ClusterModel) -> None:
    for name in one.__slots__:
        np.testing.assert_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.parametrize("length_ms", [0, HOUR, 4 * HOUR + 5 * MINUTE])
def test_rows_and_models_are_the_same_to_the_bit(spark: SparkSession, lake: Path, length_ms: int) -> None:
    window = recent_window(NOW, length_ms)
    ours, theirs = by_member(lake, window), by_spark(spark, lake, window)
    for kind, one, other in zip(
        KINDS,
        (ours.brokers, ours.log_dirs, ours.disks, ours.replicas),
        (theirs.brokers, theirs.log_dirs, theirs.disks, theirs.replicas),
        strict=True,
    ):
        assert one.num_rows > 0
        assert in_order(one, kind).to_pylist() == in_order(other, kind).to_pylist(), kind
    assert_same(live_model(facts(), DIRECTORY, ours), live_model(facts(), DIRECTORY, theirs))


def test_the_lake_is_as_bad_as_it_says(lake: Path) -> None:
    """What the test above compares would say nothing on a smooth lake."""
    window = recent_window(NOW, HOUR)
    rows = {row["broker"]: row for row in by_member(lake, window).brokers.to_pylist()}
    told = {broker: (row["failed"], row["samples"], row["pairs"]) for broker, row in rows.items()}
    assert told == {1: (6, 54, 53), 2: (0, 60, 58), 3: (0, 59, 58), 4: (0, 60, 59)}
    assert rows[1]["covered_ms"] == 52 * MINUTE  # less the gap
    assert rows[3]["last_at_ms"] <= DIED
    assert len({row["cpu"] for row in rows.values()}) == 4
    pairs = {row["topic"]: row["rate_pairs"] for row in by_member(lake, window).replicas.to_pylist() if row["led_ms"]}
    assert pairs == {"t0": 53, "t1": 52, "t2": 53, "t3": 53}


@pytest.mark.parametrize("task", [Heal(), Balance()], ids=lambda task: task.kind)
def test_a_plan_is_the_same_to_the_byte_and_knows_who_died_just_now(
    spark: SparkSession, lake: Path, task: Task
) -> None:
    member = plan_to_bytes_of(Question(facts(), DIRECTORY, str(lake), task, SETTINGS))
    window = recent_window(NOW)
    [made] = plans(spark, str(lake), {"live": task}, window, SETTINGS, DIRECTORY, {"live": facts()}).values()
    assert plan_to_bytes(made) == member
    assert made.moves
    assert "broker 3 is dead" in made.input
    assert 3 not in {place.broker for move in made.moves for place in move.target}


def test_a_window_without_samples_is_planned_by_what_kafka_shows(spark: SparkSession, lake: Path) -> None:
    later = replace(facts(), at_ms=NOW + 3 * HOUR)
    member = plan_to_bytes_of(Question(later, DIRECTORY, str(lake), Heal(), SETTINGS))
    window = recent_window(later.at_ms)
    [made] = plans(spark, str(lake), {"live": Heal()}, window, SETTINGS, DIRECTORY, {"live": later}).values()
    assert plan_to_bytes(made) == member
    assert "no rates" in made.input
