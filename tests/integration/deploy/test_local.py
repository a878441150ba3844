"""`guardian local` with a real cluster: two brokers, their traffic, no members."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from deploy.local import federation
from deploy.local.federation import Federation
from deploy.local.workload import SEQUENCE_BYTES, WorkloadPlan, read_counts, verify
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster, TopicPartition
from tests.freezing import kill
from tests.patience import CONTROL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration

SIZE = ("--members", "0", "--clusters", "1", "--brokers", "2")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("local") / ".guardian" / "local"
    yield home
    federation.wipe(home)


@pytest.fixture
def local(home: Path) -> Federation:
    """All of it serves: what an earlier test stopped is started again."""
    return federation.up(members=0, clusters=1, brokers=2, home=home)


def guardian_local(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "guardian.cli.main", "local", *arguments]
    environment = {**os.environ, "GUARDIAN_LOCAL": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def pids(status: dict[str, Any]) -> list[int | None]:
    return [
        node["pid"] for cluster in status["clusters"] for kind in ("controllers", "brokers") for node in cluster[kind]
    ]


def processes_in(home: Path) -> list[list[str]]:
    """The command line of every process that names this home: found without the state that `down` goes by."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if any(str(home) in word for word in line) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def spread(loads: list[float]) -> float:
    return max(loads) * len(loads) / sum(loads) - 1


def written(local: Federation) -> int:
    return sum(read_counts(local.clusters[0].counts).values())


def test_up_returns_when_all_serves_and_status_tells_it_in_the_promised_shape(home: Path) -> None:
    first = guardian_local(home, "up", *SIZE)
    assert first.returncode == 0, first.stderr
    answer = guardian_local(home, "status", "-o", "json")
    status = json.loads(answer.stdout)
    assert set(status) == {"members", "clusters"}
    assert status["members"] == []
    (live,) = status["clusters"]
    assert list(live) == ["name", "bootstrap", "controllers", "brokers"]
    assert live["name"] == "live"
    assert [list(node) for node in live["controllers"]] == [["id", "pid"]]
    assert [list(node) for node in live["brokers"]] == [["id", "pid", "rack", "idc", "log_dirs"]] * 2
    assert [(node["rack"], node["idc"]) for node in live["brokers"]] == [
        ("shanghai-a", "shanghai"),
        ("shanghai-b", "shanghai"),
    ]
    for pid in pids(status):
        assert "kafka.Kafka" in psutil.Process(pid).cmdline()
    with closing(KafkaControl(Cluster("live", live["bootstrap"]), CONTROL_S)) as control:
        assert set(control.describe_cluster().brokers) == {1, 2}
        found = {(log_dir.broker, log_dir.path) for log_dir in control.describe_log_dirs([1, 2])}
    assert found == {(node["id"], path) for node in live["brokers"] for path in node["log_dirs"]}
    assert len(found) == 6


def test_a_second_up_starts_nothing(home: Path, local: Federation) -> None:
    before = federation.status(home), local.clusters[0].workload_pid
    again = guardian_local(home, "up", *SIZE)
    assert again.returncode == 0
    assert "cluster live: runs already" in again.stderr
    assert (federation.status(home), Federation.load(home).clusters[0].workload_pid) == before


def test_another_size_is_refused_in_one_sentence_and_changes_nothing(home: Path, local: Federation) -> None:
    before = federation.status(home)
    refused = guardian_local(home, "up", "--members", "0", "--clusters", "1", "--brokers", "3")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "cluster live stands here with --brokers 2" in refused.stderr
    assert federation.status(home) == before


def test_traffic_is_piled_on_one_broker_and_on_first_log_dirs(local: Federation) -> None:
    (live,) = local.clusters
    until(lambda: written(local) > 2000)
    counts = read_counts(live.counts)
    with closing(KafkaControl(live.kafka.to_cluster(), CONTROL_S)) as control:
        partitions = control.describe_partitions({partition.topic for partition in counts})
        log_dirs = control.describe_log_dirs([1, 2])
    assert set(partitions) == set(counts)
    assert all(len(state.replicas) == 2 for state in partitions.values())
    led: dict[int, float] = defaultdict(float)
    for partition, state in partitions.items():
        led[state.replicas[0]] += counts[partition]
    assert spread([led[1], led[2]]) > 0.5
    by_log_dir = [
        float(sum(replica.size_bytes for partition, replica in log_dir.replicas.items() if partition in counts))
        for log_dir in log_dirs
    ]
    assert spread(by_log_dir) > 1
    assert max(counts.values()) < 0.15 * sum(counts.values())


def test_every_record_is_where_its_sequence_says_also_after_a_broker_was_killed(local: Federation) -> None:
    (live,) = local.clusters
    live.kafka.kill_broker(1)
    assert [broker["pid"] is None for broker in federation.status(local.home)["clusters"][0]["brokers"]] == [
        True,
        False,
    ]
    before = written(local)
    until(lambda: written(local) > before + 500)
    federation.up(members=0, clusters=1, brokers=2, home=local.home)
    federation.stop_workload(local, "live")
    counts = read_counts(live.counts)
    result = verify(live.kafka.to_cluster(), counts)
    assert result.violations == ()
    assert result.records == sum(counts.values()) > before + 500
    assert result.partitions == len(counts) == len(WorkloadPlan.read(live.workload_plan).traffic)


@pytest.mark.parametrize(
    ("sequences", "acknowledged", "violations"),
    [
        ([0, 1, 2], 3, []),
        ([0, 1, 3], 3, ["holds sequence 3 at offset 2"]),
        ([0, 1, 1, 2], 4, ["holds sequence 1 at offset 2", "holds sequence 2 at offset 3"]),
        ([1, 0], 2, ["holds sequence 1 at offset 0", "holds sequence 0 at offset 1"]),
        ([0, 1, 2], 4, ["ends at offset 3, yet 4 records were acknowledged"]),
        ([0, 1, 2], 2, ["ends at offset 3, yet 2 records were acknowledged"]),
    ],
    ids=["as written", "lost", "twice", "swapped", "lost at the end", "more than was written"],
)
def test_verify_finds_what_was_planted(
    local: Federation,
    new_topic: Callable[[], str],
    sequences: list[int],
    acknowledged: int,
    violations: list[str],
) -> None:
    cluster, topic = local.clusters[0].kafka.to_cluster(), new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2), 1: (2, 1)}}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all")
    for sequence in sequences:
        producer.produce(topic, value=sequence.to_bytes(SEQUENCE_BYTES, "big") + b"payload", partition=0)
    producer.flush(PATIENCE_S)
    result = verify(cluster, {TopicPartition(topic, 0): acknowledged, TopicPartition(topic, 1): 0})
    assert list(result.violations) == [f"{topic}-0 {violation}" for violation in violations]
    assert result.ok == (not violations)
    assert result.records == len(sequences)


def test_a_workload_that_was_killed_goes_on_where_its_partitions_end(local: Federation) -> None:
    (live,) = local.clusters
    before = written(local)
    assert live.workload_pid is not None
    kill(live.workload_pid)
    assert live.workload_pid is None
    again = federation.up(members=0, clusters=1, brokers=2, home=local.home)
    until(lambda: written(again) > before + 200)
    federation.stop_workload(again, "live")
    assert verify(live.kafka.to_cluster(), read_counts(live.counts)).violations == ()


def test_down_leaves_no_process_and_up_goes_on_with_the_data(home: Path, local: Federation) -> None:
    assert processes_in(home)
    cluster_id, ports = local.clusters[0].kafka.cluster_id, local.clusters[0].kafka.bootstrap
    answer = guardian_local(home, "down")
    assert answer.returncode == 0, answer.stderr
    assert processes_in(home) == []
    assert pids(federation.status(home)) == [None, None, None]
    assert "not running" in guardian_local(home, "status").stdout
    kept = written(local)
    again = federation.up(members=0, clusters=1, brokers=2, home=home)
    assert (again.clusters[0].kafka.cluster_id, again.clusters[0].kafka.bootstrap) == (cluster_id, ports)
    until(lambda: written(again) > kept)
    federation.stop_workload(again, "live")
    assert verify(again.clusters[0].kafka.to_cluster(), read_counts(again.clusters[0].counts)).violations == ()


def test_wipe_leaves_no_process_and_no_file(home: Path, local: Federation) -> None:
    assert guardian_local(home, "wipe").returncode == 0
    assert processes_in(home) == []
    assert not home.exists()
    assert not home.parent.exists()
