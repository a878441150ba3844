"""Lake -> windows -> model -> plan -> checked, on a real Spark session and a synthetic lake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from guardian.errors import InvalidInput, NotFound
from guardian.model.plan import Plan, spreads
from guardian.wire.plans import plan_to_bytes
from spark_analytics.jobs.balance import balance, measure
from spark_analytics.jobs.session import local_session
from spark_analytics.lake.reader import model_rows
from spark_analytics.lake.schema import (
    BROKER_SAMPLES,
    LOG_DIR_SAMPLES,
    PARTITION_SAMPLES,
    TABLES,
    directory_of,
)
from spark_analytics.lake.window import REPLICA, Window, model_of
from spark_analytics.model.cluster_model import ClusterModel

pytestmark = pytest.mark.integration

T0 = 1_766_000_040_000  # not at the start of an hour
STEP = 10_000
TO = T0 + 6 * STEP
MB = 1_000_000


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("tests")
    yield session
    session.stop()


@dataclass
class SyntheticPartition:
    """Leads and writes at constant rates, bytes/s; a message is 1000 bytes."""

    topic: str
    number: int
    replicas: list[tuple[int, str]]  # the leader first
    write_rate: int
    read_rate: int = 0
    size: int = MB


@dataclass
class SyntheticCluster:
    """Writes what the collectors would have written of a cluster, sample by sample."""

    name: str
    brokers: list[int]
    log_dirs: list[str]
    partitions: list[SyntheticPartition]
    started: dict[int, int] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def sample(self, at_ms: int, brokers: list[int] | None = None, burst: int = 0) -> SyntheticCluster:
        """One collection of each broker. `burst` bytes were written to every partition besides."""
        for broker in self.brokers if brokers is None else brokers:
            self._sample_broker(at_ms, broker, burst)
        return self

    def sample_all(self, start: int = T0, count: int = 7) -> SyntheticCluster:
        for index in range(count):
            self.sample(start + index * STEP)
        return self

    def fail(self, at_ms: int, broker: int) -> SyntheticCluster:
        self._broker_row(at_ms, broker, 0, "no answer within 5 s")
        return self

    def write(self, lake: Path, member: str = "g1") -> SyntheticCluster:
        for table, rows in self.rows.items():
            by_hour: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                by_hour.setdefault(directory_of(table, self.name, row["at_ms"]), []).append(row)
            for directory, some in by_hour.items():
                (lake / directory).mkdir(parents=True, exist_ok=True)
                path = lake / directory / f"{member}-{some[0]['at_ms']}-{len(some)}.parquet"
                pq.write_table(pa.Table.from_pylist(some, schema=TABLES[table]), path, compression="zstd")
        return self

    def _sample_broker(self, at_ms: int, broker: int, burst: int) -> None:
        started = self.started.get(broker, T0 - 3_600_000)
        self._broker_row(at_ms, broker, started, "")
        for log_dir in self.log_dirs:
            self._row(
                LOG_DIR_SAMPLES,
                at_ms=at_ms,
                broker=broker,
                log_dir=log_dir,
                disk="sda",
                total_bytes=10**12,
                usable_bytes=9 * 10**11,
                offline=False,
            )
        for partition in self.partitions:
            for place, log_dir in partition.replicas:
                if place == broker:
                    self._partition_row(at_ms, broker, started, partition, log_dir, burst)

    def _partition_row(
        self, at_ms: int, broker: int, started: int, partition: SyntheticPartition, log_dir: str, burst: int
    ) -> None:
        led = [p for p in self.partitions if p.topic == partition.topic and p.replicas[0][0] == broker]
        lived = at_ms - started
        self._row(
            PARTITION_SAMPLES,
            at_ms=at_ms,
            broker=broker,
            broker_started_at_ms=started,
            topic=partition.topic,
            partition=partition.number,
            log_dir=log_dir,
            is_leader=partition.replicas[0][0] == broker,
            size_bytes=partition.size,
            log_start_offset=0,
            log_end_offset=(partition.write_rate * (at_ms - T0 + 10**7) // 1000 + burst) // 1000,
            topic_bytes_in_total=sum(p.write_rate * lived // 1000 + burst for p in led),
            topic_bytes_out_total=sum(p.read_rate * lived // 1000 for p in led),
        )

    def _broker_row(self, at_ms: int, broker: int, started: int, error: str) -> None:
        self._row(
            BROKER_SAMPLES,
            at_ms=at_ms,
            broker=broker,
            broker_started_at_ms=started,
            rack=f"rack-{broker}",
            idc="shanghai",
            bytes_in_total=0,
            bytes_out_total=0,
            metrics=0 if error else 100,
            memory_available_bytes=0,
            page_cache_bytes=0,
            error=error,
        )

    def _row(self, table: str, **values: Any) -> None:
        self.rows.setdefault(table, []).append(values)


def two_partitions() -> SyntheticCluster:
    return SyntheticCluster(
        "live",
        [1, 2],
        ["/d1", "/d2"],
        [
            SyntheticPartition("orders", 0, [(1, "/d1"), (2, "/d1")], 3 * MB, read_rate=6 * MB),
            SyntheticPartition("orders", 1, [(1, "/d2"), (2, "/d1")], MB, read_rate=2 * MB),
        ],
    )


def skewed(name: str = "live") -> SyntheticCluster:
    """Broker 1's /d1 has a replica of everything."""
    partitions = [
        SyntheticPartition(
            f"t{number % 4}",
            number,
            [(1, "/d1"), (2 + number % 2, "/d1")],
            write_rate=MB * (1 + number * number // 10),
            size=MB * (10 + number),
        )
        for number in range(24)
    ]
    return SyntheticCluster(name, [1, 2, 3], ["/d1", "/d2", "/d3"], partitions)


def model(spark: SparkSession, lake: Path, from_ms: int = T0, to_ms: int = TO + 1) -> ClusterModel:
    window = Window(from_ms, to_ms)
    rows = model_rows(spark, str(lake), ["live"], window)
    return model_of("live", rows.toArrow(), window)


def write_rates(found: ClusterModel) -> list[float]:
    return [float(rate) for rate in found.write_rate]


def test_topic_bytes_are_shared_out_by_messages(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    found = model(spark, tmp_path)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)
    # Bytes out follow the messages too: 8 MB/s, three quarters to partition 0.
    assert list(found.read_rate) == pytest.approx([6 * MB, 2 * MB], rel=1e-3)
    assert [(place.broker, place.log_dir) for place in found.replicas(1)] == [(1, "/d2"), (2, "/d1")]
    assert "14 samples of 2 brokers" in found.input
    assert "100% complete" in found.input


def test_one_burst_does_not_move_the_median(spark: SparkSession, tmp_path: Path) -> None:
    cluster = two_partitions()
    for index in range(7):
        cluster.sample(T0 + index * STEP, burst=0 if index < 4 else 900 * MB)
    cluster.write(tmp_path)
    assert write_rates(model(spark, tmp_path)) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_a_restart_makes_no_rate(spark: SparkSession, tmp_path: Path) -> None:
    cluster = two_partitions().sample_all(count=3)
    cluster.started = {1: T0 + 25_000}
    cluster.sample_all(start=T0 + 3 * STEP, count=4).write(tmp_path)
    found = model(spark, tmp_path)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)
    # Without the check for a new life, 5 pairs of 6 would count as well.
    rows = model_rows(spark, str(tmp_path), ["live"], Window(T0, TO + 1)).toArrow().to_pylist()
    assert {row["rate_pairs"] for row in rows if row["kind"] == REPLICA} == {5}


def test_a_counter_that_goes_backwards_makes_no_rate(spark: SparkSession, tmp_path: Path) -> None:
    cluster = two_partitions().sample_all()
    for row in cluster.rows[PARTITION_SAMPLES]:
        if row["at_ms"] >= T0 + 4 * STEP:
            row["topic_bytes_in_total"] -= 200 * MB
    cluster.write(tmp_path)
    assert write_rates(model(spark, tmp_path)) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_rows_that_came_twice_count_once(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path, "g1").write(tmp_path, "g2")
    found = model(spark, tmp_path)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)
    assert "14 samples of 2 brokers" in found.input


def test_two_collectors_of_a_broker_do_not_distort_its_rates(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path, "g1")
    # Moments later, with a few bytes more: the slivers in between say 90 MB/s.
    late = two_partitions()
    for index in range(6):
        late.sample(T0 + index * STEP + 10, burst=900_000)
    late.write(tmp_path, "g2")
    found = model(spark, tmp_path)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=0.1)
    assert "100% complete" in found.input


def test_a_replica_that_moved_within_the_window_is_where_it_was_last_seen(spark: SparkSession, tmp_path: Path) -> None:
    cluster = two_partitions().sample_all(count=3)
    cluster.brokers = [1, 2, 3]
    for index in range(3):
        cluster.sample(T0 + index * STEP, brokers=[3])
    cluster.partitions[0] = replace(cluster.partitions[0], replicas=[(1, "/d1"), (3, "/d2")])
    cluster.partitions[1] = replace(cluster.partitions[1], replicas=[(2, "/d2"), (1, "/d2")])
    cluster.sample_all(start=T0 + 3 * STEP, count=4).write(tmp_path)
    found = model(spark, tmp_path)
    assert [(place.broker, place.log_dir) for place in found.replicas(0)] == [(1, "/d1"), (3, "/d2")]
    assert [(place.broker, place.log_dir) for place in found.replicas(1)] == [(2, "/d2"), (1, "/d2")]
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=0.01)


def test_a_window_takes_only_its_own_samples(spark: SparkSession, tmp_path: Path) -> None:
    hour = 3_600_000
    old = two_partitions()
    old.partitions = [replace(partition, write_rate=50 * MB) for partition in old.partitions]
    old.sample_all(start=T0 - hour).write(tmp_path)
    two_partitions().sample_all().write(tmp_path)
    assert write_rates(model(spark, tmp_path)) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_a_window_spans_hours(spark: SparkSession, tmp_path: Path) -> None:
    end_of_hour = T0 - T0 % 3_600_000 + 3_600_000
    start = end_of_hour - 3 * STEP
    two_partitions().sample_all(start=start).write(tmp_path)
    assert len(list(tmp_path.glob(f"{PARTITION_SAMPLES}/cluster=live/*"))) == 2
    found = model(spark, tmp_path, start, start + 6 * STEP + 1)
    assert "14 samples of 2 brokers" in found.input


def test_balance_plans_two_clusters_in_one_run_and_the_same_input_gives_the_same_bytes(
    spark: SparkSession, tmp_path: Path
) -> None:
    skewed("live").sample_all().write(tmp_path)
    skewed("bulk").sample_all().write(tmp_path)
    plans = balance(spark, str(tmp_path), ["live", "bulk"], T0, TO + 1)
    assert list(plans) == ["live", "bulk"]
    for name, plan in plans.items():
        assert (plan.cluster, plan.kind, plan.made_at_ms) == (name, "balance", TO + 1)
        assert_halved(plan)
    again = balance(spark, str(tmp_path), ["bulk", "live"], T0, TO + 1)
    assert {name: plan_to_bytes(plan) for name, plan in again.items()} == {
        name: plan_to_bytes(plan) for name, plan in plans.items()
    }


def assert_halved(plan: Plan) -> None:
    for what, (before, after) in spreads(plan.loads).items():
        assert before > 0.3, what
        assert after <= before / 2, what


def test_measure_tells_the_load_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    loads = measure(spark, str(tmp_path), ["live"], T0, TO + 1)["live"]
    assert [(row.broker, row.log_dir) for row in loads] == [
        (1, ""),
        (1, "/d1"),
        (1, "/d2"),
        (2, ""),
        (2, "/d1"),
        (2, "/d2"),
    ]
    assert [row.before for row in loads] == pytest.approx([12 * MB, 3 * MB, MB, 4 * MB, 4 * MB, 0], rel=1e-3)
    assert all(row.before == row.after for row in loads)


def test_brokers_without_samples_are_named(spark: SparkSession, tmp_path: Path) -> None:
    cluster = skewed()
    for index in range(7):
        cluster.sample(T0 + index * STEP, brokers=[1]).fail(T0 + index * STEP, 2)
    cluster.sample(T0, brokers=[3]).write(tmp_path)
    with pytest.raises(InvalidInput, match=r"cluster live has 1 of 3 brokers with samples between .*broker 2, 3\)"):
        balance(spark, str(tmp_path), ["live"], T0, TO + 1)


def test_a_window_without_samples_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    skewed().sample_all().write(tmp_path)
    with pytest.raises(InvalidInput, match="cluster live has no samples between"):
        balance(spark, str(tmp_path), ["live"], 1000, 61_000)


def test_an_empty_or_missing_lake_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    for lake in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InvalidInput, match="has no samples: name the members' lake"):
            balance(spark, str(lake), ["live"], T0, TO)
    with pytest.raises(InvalidInput, match=r"^[^\n]* can't be read: [^\n]*$"):
        balance(spark, "nosuch://host/lake", ["live"], T0, TO)


def test_an_unknown_cluster_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    with pytest.raises(NotFound, match=r"cluster lvie has no samples in lake .*: it has live"):
        balance(spark, str(tmp_path), ["lvie"], T0, TO)


def test_a_corrupt_file_is_named_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    skewed().sample_all().write(tmp_path)
    corrupt = tmp_path / directory_of(PARTITION_SAMPLES, "live", T0) / "g9-1-1.parquet"
    corrupt.write_bytes(b"PAR1 this is not the metadata that a Parquet file ends with PAR1")
    with pytest.raises(InvalidInput, match=r"^lake file \S+g9-1-1.parquet can't be read as Parquet[^\n]*$"):
        balance(spark, str(tmp_path), ["live"], T0, TO + 1)


def test_a_half_written_file_is_not_seen(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    (tmp_path / directory_of(PARTITION_SAMPLES, "live", T0) / ".g9-1-1.parquet").write_bytes(b"half")
    assert write_rates(model(spark, tmp_path)) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_the_command_writes_plans_and_leaves_nothing_behind(tmp_path: Path) -> None:
    lake, scratch, work = (tmp_path / name for name in ("lake", "tmp", "work"))
    scratch.mkdir()
    work.mkdir()
    skewed().sample_all().write(lake)
    root = Path(__file__).resolve().parents[2]
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "spark_analytics.jobs.balance", "--lake", str(lake), "--cluster", "live"),
            *("--window", "2m", "--until", str(TO + 1), "--out", "plans.json"),
        ],
        cwd=work,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
    plan = json.loads((work / "plans.json").read_text())["live"]
    assert plan["kind"] == "balance"
    assert plan["moves"]
    assert [path.name for path in work.iterdir()] == ["plans.json"]
    assert list(scratch.iterdir()) == []
