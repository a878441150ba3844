"""`guardian plan`, `what-if` and `forecast` as an operator types them: a simulated fleet, a member, the lake, Spark.

sim-1 is an ordinary cluster; in sim-2 brokers 1 to 3, one in each data centre, have the label gold, and a topic too.

Spark reads each cluster's samples once: most commands of this process are answered from what it has read, by all else
that a command is made of. A process of its own does everything anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from deploy.local import members, ports, processes
from deploy.local.members import plan_members, start_member, wait_ready
from guardian.errors import GuardianError
from guardian.lake.model.schema import BROKER_SAMPLES, PARTITION_SAMPLES
from guardian.lake.model.window import Window
from guardian.model.tasks import Heal
from spark_analytics.jobs import clusters, session
from spark_analytics.jobs.plans import plans
from spark_analytics.lake import reader
from tests.command_line import app
from tests.patience import MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

BROKERS, REPLICAS, CLUSTERS, ROUNDS = 14, 36, 2, 6
PLANNER = {"throttle": 40_000_000, "cpu_limit": 0.65}
GOLD = {1, 2, 3}
TOPIC = "ads.views-3"


@dataclass(frozen=True)
class Answer:
    """What a command printed; `error` is its one sentence when it could not do what was asked."""

    code: int
    out: str
    error: str

    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str) -> Answer:
    """In this process, whose Spark session stays: a session of its own costs each command many seconds."""
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, GuardianError):
        return Answer(2, result.stdout, str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def done(*arguments: str) -> str:
    answer = run(*arguments)
    assert answer.code == 0, answer
    return answer.out


def plan(kind: str, *arguments: str, cluster: str = "sim-1") -> dict[str, Any]:
    """The plan that a dry run prints as JSON."""
    (found,) = json.loads(
        done("plan", kind, "--cluster", cluster, "--window", "30m", "--spark", "--dry-run", "-o", "json", *arguments)
    )
    assert found["cluster"] == cluster
    return dict(found)


def refused(*arguments: str) -> str:
    answer = run(*arguments)
    assert answer.code == 2, answer
    return answer.error


def brokers_of(moves: list[dict[str, Any]], side: str = "target") -> set[int]:
    return {place["broker"] for move in moves for place in move[side]}


def copied_from_one_broker_to_another(moves: list[dict[str, Any]]) -> set[int]:
    return {
        broker
        for move in moves
        for broker in {place["broker"] for place in move["target"]} - {place["broker"] for place in move["original"]}
    }


def rounds(lake: Path) -> int:
    """How often the broker that was collected least was collected."""
    if not any((lake / BROKER_SAMPLES).glob("*/*/[!.]*")):
        return 0
    found: pa.Table = ds.dataset(lake / BROKER_SAMPLES, format="parquet", partitioning="hive").to_table()
    counts = found.filter(pc.equal(found["error"], "")).group_by(["cluster", "broker"]).aggregate([([], "count_all")])
    return min(counts["count_all"].to_pylist()) if counts.num_rows == BROKERS else 0


def label_gold() -> None:
    """Registers sim-2 again, as it is but for the labels."""
    (known,) = (each for each in json.loads(done("cluster", "list", "-o", "json")) if each["name"] == "sim-2")
    idcs = {broker["rack"]: broker["idc"] for broker in known["brokers"]}
    done(
        *("cluster", "add", "sim-2", "--bootstrap", known["bootstrap"]),
        *(f"--idc={rack}={idc}" for rack, idc in idcs.items()),
        *(f"--reporter={broker['id']}={broker['reporter']}" for broker in known["brokers"]),
        *(f"--label={broker}=gold" for broker in GOLD),
    )


def read_once(patch: pytest.MonkeyPatch) -> None:
    """What is asked of a cluster still goes the way to a Spark worker, as bytes."""
    kept: dict[tuple[str, tuple[str, ...]], pa.Table] = {}
    shipping: Any = cloudpickle  # by which Spark sends functions to its workers
    model_rows, in_groups, gathered = reader.model_rows, clusters.in_groups, clusters.gathered

    def rows_of(spark: SparkSession, lake: str, names: Sequence[str], window: Window) -> pa.Table:
        key = str(lake), tuple(names)
        if key not in kept:
            kept[key] = model_rows(spark, lake, names, window).toArrow()
        return kept[key]

    def asked(rows: Any, count: int, ask: Callable[[pa.Table], pa.Table]) -> Any:
        if not isinstance(rows, pa.Table):
            return in_groups(rows, count, ask)
        ask = shipping.loads(shipping.dumps(ask))
        return [ask(rows.filter(pc.equal(rows["cluster"], name))) for name in rows["cluster"].unique().to_pylist()]

    def collected(answers: Any) -> Any:
        if not isinstance(answers, list):
            return gathered(answers)
        return {row["cluster"]: row for answer in answers for row in answer.to_pylist()}

    patch.setattr(reader, "model_rows", rows_of)
    patch.setattr(clusters, "in_groups", asked)
    patch.setattr(clusters, "gathered", collected)


@pytest.fixture(scope="module", autouse=True)
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All that the tests share: they change nothing. Its value is the lake."""
    home = tmp_path_factory.mktemp("fleet")
    base_port = ports.pick_pair()
    group = plan_members(1, home)
    sizes = [f"--brokers={BROKERS}", f"--partitions={REPLICAS}", f"--clusters={CLUSTERS}", f"--base-port={base_port}"]
    command = [sys.executable, "-m", "guardian.cli.main", "local", "fleet", *sizes, f"--endpoints={group[0].grpc}"]
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(members, "COLLECT", {"interval_s": 1.0, "flush_s": 2.0})
        patch.setenv("GUARDIAN_ENDPOINTS", group[0].grpc)
        member = start_member(group[0], group, home / "lake", home / "member.log", planner=PLANNER, kafka=MEMBER_KAFKA)
        assert member.process is not None
        stack.callback(processes.stop_all, [member.process])
        wait_ready([member])
        simulated = processes.spawn(command, home / "fleet.log")
        stack.callback(processes.stop_all, [simulated])
        wait_for(
            f"{ROUNDS} rounds in the lake", lambda: rounds(home / "lake") >= ROUNDS or not processes.is_alive(simulated)
        )
        assert processes.is_alive(simulated), processes.last_lines(simulated)

        label_gold()
        done("tenant", "put", "ads", "--owner", "ann", "--label", "gold")
        done("topic", "put", "--cluster", "sim-2", "fresh", "--tenant", "ads", "--label", "gold", "--in", "2MB")
        done("idc-policy", "put", "two-cities", "--replicas=shanghai=2", "--replicas=suzhou=1", "--leaders=shanghai")
        done("machine", "put", "spare-1", "--idc=shanghai", "--rack=d", "--disk=16000G", "--disks=4", "--cores=16")

        is_ours = SparkSession.getActiveSession() is None
        spark = session.local_session("plan cli", "local[2]")
        if is_ours:
            stack.callback(spark.stop)
        patch.setattr(session, "local_session", lambda *_, **__: contextlib.nullcontext(spark))
        read_once(patch)
        yield home / "lake"


def test_balance_says_what_it_moves_and_writes_all_its_files_and_stores_nothing_in_a_dry_run(tmp_path: Path) -> None:
    out, back, page = (tmp_path / name for name in ("moves.json", "back.json", "plan.html"))
    files = ("--out", str(out), "--rollback", str(back), "--picture", str(page))

    found = plan("balance", *files)

    assert found["kind"] == "balance"
    assert found["moves"]
    assert [goal for goal in found["goals"] if goal["is_hard"] and not goal["is_met"]] == []
    moves, undo = (json.loads(path.read_text())["partitions"] for path in (out, back))
    assert [(each["topic"], each["partition"]) for each in moves] == [
        (each["topic"], each["partition"]) for each in found["moves"]
    ]
    assert [each["replicas"] for each in moves] == [
        [place["broker"] for place in each["target"]] for each in found["moves"]
    ]
    assert [each["replicas"] for each in undo] == [
        [place["broker"] for place in each["original"]] for each in found["moves"]
    ]
    assert page.read_text().startswith("<!")
    assert "sim-1" in page.read_text()
    assert json.loads(done("ticket", "list", "-o", "json")) == []


def test_a_budget_bounds_what_is_copied() -> None:
    found = plan("balance", "--max-bytes", "2GB")

    copied = sum(
        int(move["size_bytes"]) * len({place["broker"] for place in move["target"]} - brokers_of([move], "original"))
        for move in found["moves"]
        if not move["is_new"]
    )
    assert copied <= 2e9
    asked = found["settings"]
    assert asked["max_bytes"] == 2e9
    assert (asked["throttle"], asked["cpu_limit"]) == (40e6, 0.65)  # the member's [planner]


def test_leaders_move_without_a_copy_and_away_from_the_broker_named() -> None:
    found = plan("leaders", "--away-from", "3")

    assert found["moves"]
    for move in found["moves"]:
        assert {(p["broker"], p["log_dir"]) for p in move["target"]} == {
            (p["broker"], p["log_dir"]) for p in move["original"]
        }
        assert move["target"][0]["broker"] != 3
    assert any(move["original"][0]["broker"] == 3 for move in found["moves"])


def test_brokers_removed_hold_nothing_in_the_plan() -> None:
    found = plan("remove", "--broker", "3")

    assert found["moves"]
    assert all(3 in brokers_of([move], "original") for move in found["moves"])
    assert 3 not in brokers_of(found["moves"])
    (left,) = (row for row in found["loads"] if (row["broker"], row["log_dir"], row["resource"]) == (3, "", "replicas"))
    assert (left["before"], left["after"]) == (len(found["moves"]), 0.0)


def test_only_the_broker_added_gets_anything() -> None:
    assert copied_from_one_broker_to_another(plan("add", "--broker", "7")["moves"]) <= {7}


def test_a_log_dir_is_emptied() -> None:
    found = plan("empty-disk", "--log-dir", "2:/data/disk1/kafka")

    emptied = {"broker": 2, "log_dir": "/data/disk1/kafka"}
    assert found["moves"]
    assert all(emptied in move["original"] and emptied not in move["target"] for move in found["moves"])


def test_fewer_replicas_are_asked_for_and_dropped() -> None:
    found = plan("replication-factor", "--topic", TOPIC, "--to", "2")

    assert {move["topic"] for move in found["moves"]} == {TOPIC}
    assert {len(move["target"]) for move in found["moves"]} == {2}


def test_a_migration_puts_replicas_and_leaders_where_the_policy_says_and_shows_what_lines_carry() -> None:
    idc = {
        broker["id"]: broker["idc"]
        for cluster in json.loads(done("cluster", "list", "-o", "json"))
        for broker in cluster["brokers"]
        if cluster["name"] == "sim-1"
    }

    found = plan("migrate-idc", "--policy", "two-cities", "--topic", "ads*")

    assert found["moves"]
    for move in found["moves"]:
        where = [idc[place["broker"]] for place in move["target"]]
        assert sorted(where) == ["shanghai", "shanghai", "suzhou"]
        assert where[0] == "shanghai"
    assert sum(int(line["bytes"]) for line in found["links"]) > 0
    assert any("addresses in no network" in note for note in found["notes"])  # of producers and consumers


def test_a_cluster_that_is_not_registered_is_named_before_the_lake_is_read() -> None:
    answer = run("plan", "heal", "--cluster", "sim-2", "--cluster", "nope", "--window", "30m", "--dry-run")

    assert (answer.code, answer.out) == (2, "")
    assert "cluster is 'nope', which is not registered: use one of sim-1, sim-2" in answer.error
    assert "Reading" not in answer.error


def test_a_new_topic_stays_inside_the_brokers_of_its_label() -> None:
    found = plan("preallocate", "--topic", "fresh", "--partitions", "6", "--expected-size", "1GB", cluster="sim-2")

    assert found["kind"] == "create-topic"
    assert [move["partition"] for move in sorted(found["moves"], key=lambda move: move["partition"])] == [*range(6)]
    assert brokers_of(found["moves"]) == GOLD
    assert all(move["is_new"] for move in found["moves"])


def test_an_expanded_topic_keeps_what_it_has() -> None:
    before = {place["partition"] for place in plan("replication-factor", "--topic", TOPIC, "--to", "2")["moves"]}

    found = plan("preallocate", "--topic", TOPIC, "--partitions", str(len(before) + 5), "--expand")

    added = [*range(len(before), len(before) + 5)]
    assert sorted(move["partition"] for move in found["moves"]) == added
    assert {move["topic"] for move in found["moves"]} == {TOPIC}


def test_healing_takes_strangers_off_the_brokers_of_a_label() -> None:
    found = plan("heal", cluster="sim-2")

    assert found["moves"]
    assert not brokers_of(found["moves"]) & GOLD
    assert all(brokers_of([move], "original") & GOLD for move in found["moves"])


AGO_MS = 10 * 60_000


def as_if_it_had_died(lake: Path, broker: int, out: Path) -> None:
    """The lake of sim-1 as it were had this broker died ten minutes ago: it fails since, and others lead for it."""
    read: dict[Path, pa.Table] = {}
    for table in (BROKER_SAMPLES, "*"):  # the first is written last: whatever it speaks of is there
        for path in lake.glob(f"{table}/cluster=sim-1/hour=*/[!.]*.parquet"):
            if table == BROKER_SAMPLES or BROKER_SAMPLES not in path.parts:
                read[path] = pq.ParquetFile(path).read()
    held = [row for path, rows in read.items() if PARTITION_SAMPLES in path.parts for row in rows.to_pylist()]
    led = {(row["topic"], row["partition"]): row["replicas"] for row in held if leads(row, broker)}
    heirs: dict[tuple[str, int], int] = {}
    for row in held:
        name = row["topic"], row["partition"]
        if name in led and row["broker"] != broker:
            heirs[name] = min(row["broker"], heirs.get(name, row["broker"]))
    for path, rows in read.items():
        table = path.relative_to(lake).parts[0]
        found = [changed for row in rows.to_pylist() for changed in since_death(table, row, broker, led, heirs)]
        target = out / path.relative_to(lake)
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(found, rows.schema), target)


def leads(row: dict[str, Any], broker: int) -> bool:
    return row["broker"] == broker and bool(row["is_leader"])


def since_death(
    table: str,
    row: dict[str, Any],
    broker: int,
    led: dict[tuple[str, int], int],
    heirs: dict[tuple[str, int], int],
) -> Iterator[dict[str, Any]]:
    if row["broker"] == broker:
        yield row | {"at_ms": row["at_ms"] - AGO_MS}
        if table == BROKER_SAMPLES:
            yield row | {"error": "it did not answer"}
        return
    if table == PARTITION_SAMPLES:
        name = row["topic"], row["partition"]
        if heirs.get(name) == row["broker"]:
            row |= {"is_leader": True, "replicas": led[name]}
    yield row


def test_healing_makes_anew_what_a_dead_broker_held(fleet: Path, tmp_path: Path) -> None:
    def is_copied() -> bool:
        try:
            as_if_it_had_died(fleet, 3, tmp_path / "lake")
        except FileNotFoundError:  # the keeper has merged it into another
            return False
        return True

    wait_for("copy of the lake", is_copied)

    now_ms = time.time_ns() // 1_000_000
    with session.local_session("heal") as spark:
        [found] = plans(spark, str(tmp_path / "lake"), {"sim-1": Heal()}, Window(now_ms - 7_200_000, now_ms)).values()

    assert "broker 3 is dead: no sample since " in found.input
    (row,) = (row for row in found.loads if (row.broker, row.log_dir, row.resource) == (3, "", "replicas"))
    assert row.before > 0
    assert row.after == 0
    assert len([move for move in found.moves if 3 in {place.broker for place in move.original}]) == row.before
    assert 3 not in {place.broker for move in found.moves for place in move.target}
    # Kafka says that it lives, whatever the lake has: there is nothing to make anew.
    alive = plan("heal", "--lake", str(tmp_path / "lake"), "--window", "2h")
    assert "dead" not in alive["input"]
    assert alive["moves"] == []
    lost = run("what-if", "carry", "--broker", "4", "--cluster", "sim-1", "--lake", str(tmp_path / "lake"))
    assert lost.code == 0, lost
    assert "broker 4 lost" in lost.out


def test_a_label_grows_by_brokers_or_by_machines_of_the_pool() -> None:
    taken = plan("isolate", "--label", "silver", "--topic", TOPIC, "--broker=1", "--broker=2", "--broker=3")

    assert brokers_of([move for move in taken["moves"] if move["topic"] == TOPIC]) == {1, 2, 3}
    assert not brokers_of([move for move in taken["moves"] if move["topic"] != TOPIC]) & {1, 2, 3}


def test_a_disk_that_is_not_full_needs_no_relief_and_the_table_says_so() -> None:
    out = done("plan", "relieve", "--cluster", "sim-1", "--window", "30m", "--spark", "--dry-run")

    assert "relieve, nothing to move" in out


def test_a_reassignment_that_anyone_made_is_checked_against_the_cluster(tmp_path: Path) -> None:
    made = tmp_path / "made.json"
    done("plan", "balance", "--cluster", "sim-1", "--window", "30m", "--spark", "--dry-run", "--out", str(made))

    sound = run("plan", "check", str(made), "--cluster", "sim-1", "--window", "30m", "-o", "json")

    assert (sound.code, sound.json()["violations"]) == (0, []), sound
    assert sound.json()["replica_moves"] > 0
    document = json.loads(made.read_text())
    document["partitions"][0]["replicas"][0] = 999
    made.write_text(json.dumps(document))
    broken = run("plan", "check", str(made), "--cluster", "sim-1", "--window", "30m")
    assert broken.code == 1
    assert "a broker is not in the model" in broken.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plan", "remove", "--cluster", "sim-1", "--dry-run"], "brokers is empty: name those to remove"),
        (["plan", "balance", "--cluster", "sim-1", "--goal", "DiskUsage"], "DiskUsage"),
        (["plan", "balance", "--cluster", "sim-1", "--max-bytes", "3QB"], "max-bytes is '3QB': use bytes, such as"),
        (["plan", "empty-disk", "--cluster", "sim-1", "--log-dir", "7"], "log-dir is '7': use BROKER:/PATH"),
        (["plan", "migrate-idc", "--cluster", "sim-1", "--policy", "nope"], "nope"),
        (["plan", "remove", "--cluster", "sim-1", "--window", "30m", "--spark", "--broker", "99"], "99"),
        (["plan", "balance", "--cluster", "nope", "--window", "30m"], "nope"),
        (["what-if", "carry", "--cluster", "sim-1"], "name"),
        (["what-if", "lose", "--cluster", "sim-1"], "name a broker"),
        (["what-if", "cut", "9", "--cluster", "sim-1"], "9"),
    ],
)
def test_wrong_input_is_named_with_the_fix(arguments: list[str], sentence: str) -> None:
    assert sentence in refused(*arguments)


def test_what_if_answers_each_question() -> None:
    def answer(*arguments: str) -> dict[str, Any]:
        question, *more = arguments
        found = json.loads(done("what-if", question, *more, "--cluster", "sim-1", "--window", "30m", "-o", "json"))
        return dict(found["sim-1"])

    assert answer("carry", "--idc", "shanghai")["leaders"] > 0
    grown = answer("grow", "--times", "1000")
    assert not grown["is_safe"]
    assert grown["over"]
    assert answer("upgrade", "--broker", "3", "--cpu", "2")["sentences"]
    shrinking = answer("shrink")["shrinking"]
    assert 0 < len(shrinking["could_go"]) <= shrinking["at_most"] <= 7 - 3
    unsafe = ("what-if", "grow", "--times", "1000", "--cluster", "sim-1", "--window", "30m", "--fail")
    failed = run(*unsafe)
    assert failed.code == 1
    assert "NOT SAFE" in failed.out


def test_a_forecast_of_minutes_says_that_it_can_not_tell_yet() -> None:
    answer = run("forecast", "--window", "30m")

    assert answer.code == 4, answer
    assert "cluster sim-1: " in answer.out
    assert "cluster sim-2: " in answer.out
    assert "have too few samples to tell" in answer.out


@pytest.mark.long
def test_a_process_of_its_own_plans_as_well_and_ends_with_2_and_one_sentence_when_it_can_not() -> None:
    def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "guardian.cli.main", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=dict(os.environ)
        )

    planned = cli("plan", "heal", "--cluster", "sim-2", "--window", "30m", "--spark", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.startswith("Cluster sim-2: heal, ")

    wrong = cli("plan", "balance", "--cluster", "sim-1", "--max-time", "soon")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("Error: --max-time is 'soon': use a number and ms, s, m, h or d")
    assert len(wrong.stderr.strip().splitlines()) == 1


def model_document() -> dict[str, Any]:
    """Three brokers of which the first has nearly everything."""
    load = {"cpu": 4.0, "nw_in": 100.0, "nw_out": 100.0, "disk": 1000.0, "lead_cpu": 2.0, "lead_nw_out": 100.0}
    follows = {"cpu": 2.0, "nw_in": 100.0, "nw_out": 0.0, "disk": 1000.0}
    return {
        "format": "cluster-model-v1",
        "name": "tiny",
        "brokers": [
            {
                "id": broker,
                "rack": f"r{broker % 3}",
                "capacity": {"cpu": 100.0, "nw_in": 1e5, "nw_out": 1e5, "disk": 1e6},
            }
            for broker in range(1, 7)
        ],
        "replicas": [
            {"topic": "t", "partition": p, "broker": broker, "isLeader": leads, "load": load if leads else follows}
            for p in range(12)
            for broker, leads in ((1, True), (2, False))
        ],
    }


def test_a_model_in_a_file_is_planned_and_scored_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDIAN_ENDPOINTS", "127.0.0.1:1")
    model, placement, page = (tmp_path / name for name in ("tiny.json", "tiny.placement.json", "plan.html"))
    model.write_text(json.dumps(model_document()))

    planned = run("plan", "model", str(model), "--out", str(placement), "--picture", str(page), "-o", "json")
    assert planned.code == 0, planned
    assert page.read_text().startswith("<!")
    scored = run("plan", "score", str(model), str(placement), "-o", "json")
    assert scored.code == 0, scored
    assert planned.json()["replica_moves"] == scored.json()["replica_moves"] > 0

    emptied = run("plan", "model", str(model), "--remove", "1", "--out", str(placement))
    assert emptied.code == 0, emptied
    placed = json.loads(placement.read_text())
    assert len(placed["partitions"]) == 12
    assert 1 not in {now for each in placed["partitions"] for now, _before in each["replicas"]}

    placed["partitions"][0] |= {"leader": 1, "replicas": [[1, 1], [4, 2]]}
    placement.write_text(json.dumps(placed))
    clash = run("plan", "score", str(model), str(placement))
    assert clash.code == 1
    assert "rack" in clash.out + clash.error

    model.write_text('{"format": "cluster-model-v0"}')
    assert "format is 'cluster-model-v0': use 'cluster-model-v1'" in refused("plan", "model", str(model))
