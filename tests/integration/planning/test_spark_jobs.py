"""Lake -> windows -> model -> plan -> checked, on a real Spark session and a synthetic lake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from guardian.errors import GuardianError, InvalidInput, NotFound
from guardian.lake.loop import LakeKeeper
from guardian.lake.model.schema import PARTITION_HOURS, PARTITION_SAMPLES, directory_of
from guardian.lake.model.window import Window
from guardian.lake.model.windows import REPLICA
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.rules.setting_aside import DAMAGED
from guardian.model.plan import Plan, spreads
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Remove
from guardian.model.wire.plans import plan_to_bytes
from spark_analytics.jobs.clusters import of_each, same_for
from spark_analytics.jobs.forecast import forecasts
from spark_analytics.jobs.measure import measure
from spark_analytics.jobs.plans import outcomes, plans
from spark_analytics.jobs.session import local_session
from spark_analytics.jobs.whatif import answers
from spark_analytics.lake.reader import model_rows
from spark_analytics.lake.window import model_of
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.resources import Resource
from spark_analytics.whatif.questions import Carry
from tests.integration.synthetic_lake import (
    MB,
    STEP,
    T0,
    TO,
    SyntheticCluster,
    SyntheticPartition,
    skewed,
    two_partitions,
)
from tests.patience import PATIENCE_S
from tests.unit.lake.damage import cut, with_noise
from tests.unit.spark_analytics.extensions.acme import NAME, installed_into

pytestmark = pytest.mark.integration

HOUR = 3_600_000
WINDOW = Window(T0, TO + 1)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("tests")
    yield session
    session.stop()


def model(spark: SparkSession, lake: Path, from_ms: int = T0, to_ms: int = TO + 1) -> ClusterModel:
    window = Window(from_ms, to_ms)
    rows = model_rows(spark, str(lake), ["live"], window)
    return model_of("live", rows.toArrow(), window)


def write_rates(found: ClusterModel) -> list[float]:
    """Of each partition: what its leader takes in."""
    led = found.slot_load[found.leader_slot] + found.leader_load
    return [float(rate) for rate in led[:, Resource.NW_IN]]


def read_rates(found: ClusterModel) -> list[float]:
    """Of each partition: what its leader gives to consumers, without what its followers take."""
    led = found.slot_load[found.leader_slot] + found.leader_load
    followers = np.diff(found.slot_start) - 1
    return [float(rate) for rate in led[:, Resource.NW_OUT] - followers * led[:, Resource.NW_IN]]


def test_topic_bytes_are_shared_out_by_messages(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    found = model(spark, tmp_path)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)
    # Bytes out follow the messages too: 8 MB/s, three quarters to partition 0.
    assert read_rates(found) == pytest.approx([6 * MB, 2 * MB], rel=1e-3)
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
    assert {row["rate_pairs"] for row in rows if row["kind"] == REPLICA and row["is_leader"]} == {5}


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


def test_plans_are_made_for_two_clusters_in_one_run_and_the_same_input_gives_the_same_bytes(
    spark: SparkSession, tmp_path: Path
) -> None:
    skewed("live").sample_all().write(tmp_path)
    skewed("bulk").sample_all().write(tmp_path)
    made = plans(spark, str(tmp_path), {"live": Balance(), "bulk": Balance()}, WINDOW)
    assert list(made) == ["live", "bulk"]
    for name, plan in made.items():
        assert (plan.cluster, plan.kind, plan.made_at_ms) == (name, "balance", TO + 1)
        assert_better(plan)
    again = plans(spark, str(tmp_path), {"bulk": Balance(), "live": Balance()}, WINDOW)
    assert {name: plan_to_bytes(plan) for name, plan in again.items()} == {
        name: plan_to_bytes(plan) for name, plan in made.items()
    }


def assert_better(plan: Plan) -> None:
    before, after = spreads(plan.loads)["broker disk"]
    assert before > 0.3
    assert after <= before / 2


def test_one_cluster_that_can_not_be_planned_does_not_keep_the_others_from_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    skewed("live").sample_all().write(tmp_path)
    skewed("new").sample_all(count=2).write(tmp_path)
    made = outcomes(spark, str(tmp_path), {"new": Balance(), "live": Remove((9,))}, WINDOW)
    assert str(made["new"]).startswith("cluster new has 0 of 3 brokers with samples")
    assert isinstance(made["live"], GuardianError)
    assert "9" in str(made["live"])
    made = outcomes(spark, str(tmp_path), {"new": Balance(), "live": Balance()}, WINDOW)
    assert isinstance(made["new"], InvalidInput)
    assert isinstance(made["live"], Plan)


def test_a_bug_that_one_cluster_trips_is_its_own_sentence(spark: SparkSession, tmp_path: Path) -> None:
    skewed("live").sample_all().write(tmp_path)
    skewed("bulk").sample_all().write(tmp_path)

    def asked(model: ClusterModel) -> int:
        """Runs in a Spark worker."""
        return 10 // (model.brokers - 3) if model.cluster == "live" else model.brokers

    found = of_each(spark, str(tmp_path), same_for(["live", "bulk"], asked), WINDOW)
    assert str(found["live"]) == (
        "cluster live has no answer, report this: ZeroDivisionError: integer division or modulo by zero"
    )
    assert isinstance(found["live"], GuardianError)
    assert found["bulk"] == 3


def dwarf(name: str) -> SyntheticCluster:
    places = [SyntheticPartition("t", number, [(1, "/d1"), (2, "/d1")], MB * (1 + number)) for number in range(4)]
    return SyntheticCluster(name, [1, 2], ["/d1", "/d2"], places)


@pytest.mark.long
def test_a_giant_beside_dwarfs_in_one_run_changes_no_plan(spark: SparkSession, tmp_path: Path) -> None:
    brokers = list(range(1, 31))
    places = [
        SyntheticPartition(
            f"t{number % 9}",
            number,
            [(1 + number * number % 29, "/d1"), (30 - number % 3, "/d2")],
            MB * (1 + number % 7),
            size=MB * (10 + number % 40),
        )
        for number in range(600)
        if 1 + number * number % 29 != 30 - number % 3
    ]
    giant = SyntheticCluster("giant", brokers, ["/d1", "/d2"], places)
    dwarfs = [f"dwarf-{number}" for number in range(8)]
    for cluster in (giant, *map(dwarf, dwarfs)):
        cluster.sample_all(count=5).write(tmp_path)
    together = plans(spark, str(tmp_path), dict.fromkeys(["giant", *dwarfs], Balance()), WINDOW)
    assert list(together) == ["giant", *dwarfs]
    assert together["giant"].moves
    for name in ("giant", dwarfs[3]):
        [alone] = plans(spark, str(tmp_path), {name: Balance()}, WINDOW).values()
        assert plan_to_bytes(together[name]) == plan_to_bytes(alone)


def test_measure_tells_the_load_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    loads = measure(spark, str(tmp_path), ["live"], WINDOW)["live"]
    written = {load.broker: load.before for load in loads if load.resource == "nw_in"}
    assert written == pytest.approx({1: 4 * MB, 2: 4 * MB}, rel=1e-3)
    assert {load.broker: load.before for load in loads if load.resource == "leaders"} == {1: 2, 2: 0}
    assert all(load.before == load.after for load in loads)


def test_what_if_is_answered_for_each_cluster_or_says_why_not(spark: SparkSession, tmp_path: Path) -> None:
    skewed("live").sample_all().write(tmp_path)
    two_partitions().sample_all().write(tmp_path / "other")
    found = answers(spark, str(tmp_path), {"live": Carry(brokers=(1,))}, WINDOW)["live"]
    assert not isinstance(found, GuardianError)
    assert found.cluster == "live"
    assert found.sentences
    refused = answers(spark, str(tmp_path), {"live": Carry(racks=("nowhere",))}, WINDOW)["live"]
    assert isinstance(refused, InvalidInput)
    assert "nowhere" in str(refused)


def test_a_disk_that_fills_steadily_is_forecast(spark: SparkSession, tmp_path: Path) -> None:
    cluster = SyntheticCluster("live", [1], ["/d1"], [])
    start = T0 - T0 % HOUR
    for hour in range(48):
        cluster.sample(start + hour * HOUR)
    for row in cluster.rows["log_dir_samples"]:
        row["usable_bytes"] = 10**12 - 2 * 10**9 * ((row["at_ms"] - start) // HOUR)
    cluster.write(tmp_path)
    window = Window(start, start + 48 * HOUR)
    settings = PlannerSettings(disk_limit=1.0)
    [found] = forecasts(spark, str(tmp_path), ["live"], window, settings)["live"]
    assert (found.broker, found.log_dir, found.resource, found.points) == (1, "/d1", "disk", 48)
    assert found.per_day == pytest.approx(48 * 10**9, rel=0.01)
    assert found.days == pytest.approx((10**12 - 94 * 10**9) / (48 * 10**9), rel=0.05)


def long_day(lake: Path) -> Window:
    """Five hours with a sample every ten minutes; the keeper has rolled up the first four."""
    start = T0 - T0 % HOUR
    cluster = two_partitions()
    for index in range(30):
        cluster.sample(start + index * 600_000)
    cluster.write(lake, "g1").write(lake, "g2")
    keeper = LakeKeeper(str(lake), LakeTimes(retention_ms=10**9), lambda: start + 4 * HOUR + 700_000)
    while keeper.tick():
        pass
    return Window(start, start + 5 * HOUR)


def test_hours_that_are_rolled_up_give_the_rates_that_their_samples_give(spark: SparkSession, tmp_path: Path) -> None:
    window = long_day(tmp_path)
    assert len(list((tmp_path / PARTITION_HOURS).rglob("rolled-*.parquet"))) == 4
    found = model(spark, tmp_path, window.from_ms, window.to_ms)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)
    assert read_rates(found) == pytest.approx([6 * MB, 2 * MB], rel=1e-3)
    rows = model_rows(spark, str(tmp_path), ["live"], window).toArrow().to_pylist()
    # 30 samples make 29 pairs; the four that span two hours are in neither.
    assert {row["rate_pairs"] for row in rows if row["kind"] == REPLICA and row["is_leader"]} == {25}
    assert {row["samples"] for row in rows if row["kind"] == REPLICA} == {30}


def test_a_roll_up_takes_the_place_of_its_samples_and_the_last_one_counts(spark: SparkSession, tmp_path: Path) -> None:
    window = long_day(tmp_path)
    newest = sorted((tmp_path / PARTITION_HOURS).rglob("rolled-*.parquet"))[-1]
    older = pq.read_table(newest, partitioning=None).slice(0, 1)
    pq.write_table(older, newest.with_name("rolled-0000000000000-older.parquet"))
    for samples in sorted((tmp_path / PARTITION_SAMPLES / "cluster=live").iterdir())[:4]:
        for file in samples.iterdir():
            file.write_bytes(b"never read")
    found = model(spark, tmp_path, window.from_ms, window.to_ms)
    assert write_rates(found) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_a_short_window_reads_samples_although_the_hour_is_rolled_up(spark: SparkSession, tmp_path: Path) -> None:
    window = long_day(tmp_path)
    rows = model_rows(spark, str(tmp_path), ["live"], Window(window.from_ms, window.from_ms + 2 * HOUR)).toArrow()
    pairs = {row["rate_pairs"] for row in rows.to_pylist() if row["kind"] == REPLICA and row["is_leader"]}
    assert pairs == {11}


def test_brokers_without_samples_are_named(spark: SparkSession, tmp_path: Path) -> None:
    cluster = skewed()
    for index in range(7):
        cluster.sample(T0 + index * STEP, brokers=[1])
    cluster.sample(T0, brokers=[3]).fail(T0, 2).fail(TO, 2).write(tmp_path)
    with pytest.raises(InvalidInput, match=r"cluster live has 1 of 3 brokers with samples between .*broker 2, 3\)"):
        plans(spark, str(tmp_path), {"live": Balance()}, WINDOW)


def test_a_window_without_samples_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    skewed().sample_all().write(tmp_path)
    with pytest.raises(InvalidInput, match="cluster live has no samples between"):
        plans(spark, str(tmp_path), {"live": Balance()}, Window(1000, 61_000))


def test_an_empty_or_missing_lake_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    for lake in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InvalidInput, match="has no samples: name the members' lake"):
            plans(spark, str(lake), {"live": Balance()}, WINDOW)
    with pytest.raises(InvalidInput, match=r"^[^\n]* can't be read: [^\n]*$"):
        plans(spark, "nosuch://host/lake", {"live": Balance()}, WINDOW)


def test_an_unknown_cluster_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    with pytest.raises(NotFound, match=r"cluster lvie has no samples in lake .*: it has live"):
        plans(spark, str(tmp_path), {"lvie": Balance()}, WINDOW)


def test_a_corrupt_file_is_named_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    skewed().sample_all().write(tmp_path)
    corrupt = tmp_path / directory_of(PARTITION_SAMPLES, "live", T0) / "g9-1-1.parquet"
    corrupt.write_bytes(b"PAR1 this is not the metadata that a Parquet file ends with PAR1")
    with pytest.raises(InvalidInput, match=r"^lake file \S+g9-1-1.parquet can't be read as Parquet[^\n]*$"):
        plans(spark, str(tmp_path), {"live": Balance()}, WINDOW)


def test_damaged_files_are_set_aside_and_all_others_count(spark: SparkSession, tmp_path: Path) -> None:
    skewed().sample_all().write(tmp_path)
    expected = plans(spark, str(tmp_path), {"live": Balance()}, WINDOW)["live"].moves
    good = next(tmp_path.glob(f"{PARTITION_SAMPLES}/*/*/*.parquet"))
    damaged = [good.with_name(f"g9-{number}.parquet") for number in range(4)]
    for copy in damaged:
        copy.write_bytes(good.read_bytes())
    size = good.stat().st_size
    for copy, share in zip(damaged, (0.1, 0.5, 0.99), strict=False):
        cut(copy, int(size * share))
    with_noise(damaged[3], "size_bytes")
    assert plans(spark, str(tmp_path), {"live": Balance()}, WINDOW)["live"].moves == expected
    assert not [copy for copy in damaged if copy.exists()]
    aside = sorted((tmp_path / DAMAGED).rglob("*.parquet"))
    assert [each.name for each in aside] == [copy.name for copy in damaged]
    assert good.exists()


def test_a_half_written_file_is_not_seen(spark: SparkSession, tmp_path: Path) -> None:
    two_partitions().sample_all().write(tmp_path)
    (tmp_path / directory_of(PARTITION_SAMPLES, "live", T0) / ".g9-1-1.parquet").write_bytes(b"half")
    assert write_rates(model(spark, tmp_path)) == pytest.approx([3 * MB, MB], rel=1e-3)


def test_the_command_writes_plans_and_leaves_nothing_behind(tmp_path: Path) -> None:
    lake, scratch, work = (tmp_path / name for name in ("lake", "tmp", "work"))
    scratch.mkdir()
    work.mkdir()
    skewed().sample_all().write(lake)
    root = Path(__file__).resolve().parents[3]
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "spark_analytics.jobs.plans", "--lake", str(lake), "--cluster", "live"),
            *("--window", "2m", "--until", str(TO + 1), "--out", "plans.json"),
        ],
        cwd=work,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
    plan = json.loads((work / "plans.json").read_text())["live"]
    assert plan["kind"] == "balance"
    assert plan["moves"]
    assert [path.name for path in work.iterdir()] == ["plans.json"]
    assert list(scratch.iterdir()) == []


@pytest.mark.long
def test_a_job_keeps_the_goals_of_an_installed_package(tmp_path: Path) -> None:
    """Topic t1 is on broker 1, whose host is plain; its workers find what the driver has on its path."""
    lake, out = tmp_path / "lake", tmp_path / "plans.json"
    partitions = [
        replace(each, topic="pci-cards" if each.topic == "t1" else each.topic) for each in skewed().partitions
    ]
    cluster = skewed()
    cluster.partitions = partitions
    cluster.sample_all().write(lake)
    hosts = {1: "plain-1", 2: "secure-2", 3: "secure-3"}
    machines = [{"host": host, "cluster": "live", "broker_id": broker} for broker, host in hosts.items()]
    (tmp_path / "directory.json").write_text(json.dumps({"machines": machines}))
    root = Path(__file__).resolve().parents[3]
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "spark_analytics.jobs.plans", "--lake", str(lake), "--cluster", "live"),
            *("--window", "2m", "--until", str(TO + 1), "--out", str(out), "--task", '{"kind": "heal"}'),
            *("--directory", str(tmp_path / "directory.json")),
        ],
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{installed_into(tmp_path)}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    plan = json.loads(out.read_text())["live"]
    moved = {each["topic"]: {place["broker"] for place in each["target"]} for each in plan["moves"]}
    assert moved == {"pci-cards": {2, 3}}
    assert {each["goal"] for each in plan["moves"]} == {NAME}
