"""The main job, whole and small: traffic, metrics, lake, Spark, plan, ticket, execution, and the imbalance is gone.

`make demo` does it on two clusters and proves more; this is what must never break.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.local import federation, processes
from deploy.local.answering import register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.traffic import plan_traffic
from deploy.local.workload import WorkloadPlan, prepare, read_counts, verify
from guardian.cli.exits import NOT_NOW
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.model.ticket import TicketState
from tests.patience import CALL_S, PATIENCE_S

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

PARTITIONS = 12


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, kafka_cluster: KafkaCluster) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("main-job")
    try:
        group = federation.up(members=1, clusters=0, home=home)
        with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka_cluster.to_cluster(sasl=False))
        yield group
    finally:
        federation.wipe(home)


@pytest.fixture(scope="module")
def workload(
    request: pytest.FixtureRequest, kafka_cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Uneven traffic until the module ends, on topics of its own; yields the file of its counts."""
    home = tmp_path_factory.mktemp("workload")
    cluster = kafka_cluster.to_cluster(sasl=False)
    # Another module's topics may be on the cluster, balanced already.
    module = request.module.__name__.rpartition(".")[2]
    topics = {f"{module}-clicks": PARTITIONS, f"{module}-orders": PARTITIONS}
    traffic = plan_traffic({broker.id: broker.rack for broker in kafka_cluster.brokers}, seed=7, topics=topics)
    prepare(cluster, traffic, {broker.id: broker.log_dirs[0] for broker in kafka_cluster.brokers})
    plan = WorkloadPlan(cluster, traffic, home / "counts.json", seed=7)
    plan.write(home / "plan.json")
    command = [sys.executable, "-m", "deploy.local.workload", str(home / "plan.json")]
    process = processes.spawn(command, home / "workload.log")
    try:
        yield plan.counts
        processes.stop_all([process])
        counts = read_counts(plan.counts)
        result = verify(cluster, counts)
        assert result.ok, result.violations
        # What retention took of the oldest in a long run is counted, too.
        assert result.records + result.expired == sum(counts.values()) > 0
    finally:
        processes.stop_all([process])
        data.delete_topics(cluster, sorted(topics), PATIENCE_S)


def plan_when_there_are_samples(guardian: Cli, members: Federation, *options: str) -> subprocess.CompletedProcess[str]:
    """Too few samples is an answer too: wait for more. So is a member that is too busy to answer."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        made = guardian(members, "plan", "balance", "--cluster", "shared", "--window", "20s", *options)
        if made.returncode == 0:
            return made
        assert "samples" in made.stderr or made.returncode == NOT_NOW, made.stderr
        assert time.monotonic() < deadline, made.stderr
        time.sleep(1)


def plan_that_moves(guardian: Cli, members: Federation, *options: str) -> subprocess.CompletedProcess[str]:
    """Of a window in which enough was written: on a busy machine the writers may stand still for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        made = plan_when_there_are_samples(guardian, members, *options)
        if "WHY" in made.stdout:
            return made
        assert time.monotonic() < deadline, made.stdout


def dry_plan_that_shows(
    guardian: Cli, members: Federation, wanted: Callable[[tuple[float, float]], bool], *options: str
) -> dict[str, Any]:
    """Of a window whose spreads are as wanted: a busy machine holds writers up, and a window shows that, too."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        dry = plan_when_there_are_samples(guardian, members, "--dry-run", "-o", "json", *options)
        [plan] = json.loads(dry.stdout)
        if all(any(row["before"] > 0 for row in rows) for rows in measured(plan)) and wanted(spreads(plan)):
            return dict(plan)
        assert time.monotonic() < deadline, plan["loads"]


def measured(plan: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(what brokers send, what log dirs read and write)."""
    return (
        [row for row in plan["loads"] if row["resource"] == "nw_out" and not row["log_dir"]],
        [row for row in plan["loads"] if row["resource"] == "disk_io" and row["log_dir"]],
    )


def spreads(plan: dict[str, Any]) -> tuple[float, float]:
    """(over brokers, over log dirs), without the plan's moves."""
    brokers, log_dirs = ([row["before"] for row in rows] for rows in measured(plan))
    return max(brokers) * len(brokers) / sum(brokers) - 1, max(log_dirs) * len(log_dirs) / sum(log_dirs) - 1


def is_uneven(spread: tuple[float, float]) -> bool:
    over_brokers, over_log_dirs = spread
    return over_brokers > 0.3 and over_log_dirs > 1


def test_an_imbalance_seen_in_metrics_is_planned_away_and_carried_out(
    guardian: Cli, members: Federation, workload: Path, tmp_path: Path
) -> None:
    file, back = tmp_path / "moves.json", tmp_path / "back.json"
    plan = dry_plan_that_shows(guardian, members, is_uneven, "--spark", "--out", str(file), "--rollback", str(back))
    before = spreads(plan)
    moved = [(move["topic"], move["partition"]) for move in json.loads(file.read_text())["partitions"]]
    assert moved == [(move["topic"], move["partition"]) for move in json.loads(back.read_text())["partitions"]]
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        assert client.tickets() == ()

    made = plan_that_moves(guardian, members, "--spark", "--throttle", "20MB")
    ticket_id = next(word for word in made.stdout.split() if word.startswith("t-"))
    assert "log dir disk_io" in made.stdout
    for action in ("submit", "approve"):
        assert guardian(members, "ticket", action, ticket_id).returncode == 0
    watched = guardian(members, "ticket", "watch", ticket_id)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    ended_ms = time.time_ns() // 1_000_000
    shown = guardian(members, "ticket", "show", ticket_id)
    assert "SUCCEEDED" in shown.stdout

    while time.time_ns() // 1_000_000 < ended_ms + 21_000:
        time.sleep(0.5)
    dry_plan_that_shows(guardian, members, lambda now: now[0] <= before[0] / 2 and now[1] <= before[1] / 2, "--spark")
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        assert [ticket.state for ticket in client.tickets()] == [TicketState.SUCCEEDED]
