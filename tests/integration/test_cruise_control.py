"""Cruise Control's own client, cccli of cruise-control-client, unchanged, against two clusters at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deploy.local import federation
from deploy.local.federation import Federation
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.ticket import TicketState
from tests.patience import CONTROL_S

pytestmark = pytest.mark.integration

DEADLINE_S = 240.0
TOPIC = "skewed"
PARTITIONS = 12
CLUSTERS = ("live", "bulk")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """One member, two clusters of three brokers; all of a topic's replicas are on two of them."""
    home = tmp_path_factory.mktemp("cruise-control")
    try:
        local = federation.up(members=1, clusters=2, brokers=3, workload=False, home=home)
        for name in CLUSTERS:
            _fill(local, name)
        yield local
    finally:
        federation.wipe(home)


def _fill(local: Federation, name: str) -> None:
    kafka = local.cluster(name).kafka
    cluster = kafka.to_cluster(sasl=False)
    first, second = sorted(broker.id for broker in kafka.brokers)[:2]
    data.create_topics(cluster, {TOPIC: dict.fromkeys(range(PARTITIONS), (first, second))}, {})
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for partition in range(PARTITIONS):
        for _ in range(50):
            producer.produce(TOPIC, b"x" * 10_000, partition=partition)
    assert producer.flush(DEADLINE_S) == 0


class Cccli:
    """Runs the client as its users do; `-a` takes what stands before /kafkacruisecontrol."""

    def __init__(self, http: str) -> None:
        self._http = http

    def text(self, cluster: str, *arguments: str) -> str:
        command = [str(Path(sys.executable).parent / "cccli"), "-a", f"{self._http}/clusters/{cluster}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __call__(self, cluster: str, *arguments: str) -> Any:
        document = json.loads(self.text(cluster, *arguments, "--json", "true"))
        assert "errorMessage" not in document, document
        return document

    def of_all(self, *arguments: str) -> dict[str, Any]:
        """Both clusters at the same time."""
        with ThreadPoolExecutor(len(CLUSTERS)) as pool:
            asked = {name: pool.submit(self, name, *arguments) for name in CLUSTERS}
            return {name: future.result() for name, future in asked.items()}


@pytest.fixture
def cccli(local: Federation) -> Cccli:
    return Cccli(local.members[0].http)


def replicas_of(local: Federation, name: str) -> dict[int, int]:
    """How many replicas of the topic each broker holds."""
    kafka = local.cluster(name).kafka
    held = {broker.id: 0 for broker in kafka.brokers}
    with closing(KafkaControl(kafka.to_cluster(sasl=False), CONTROL_S)) as admin:
        for state in admin.describe_partitions([TOPIC]).values():
            for broker in state.replicas:
                held[broker] += 1
    return held


def wait_for(what: str, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {DEADLINE_S:g} s"
        time.sleep(0.5)


def approved(local: Federation, cccli: Cccli, cluster: str, told: dict[str, Any]) -> None:
    """The second person's step, and the wait until what was asked for is done."""
    (row,) = cccli(cluster, "review", "--approve", str(told["reviewId"]))["RequestInfo"]
    assert row["Status"] in ("APPROVED", "SUBMITTED")
    with GuardianClient(local.endpoints) as client:
        wait_for(f"the end of {told['ticket']}", lambda: client.ticket(told["ticket"])[0].state.is_over)
        ticket, _ = client.ticket(told["ticket"])
    assert ticket.state is TicketState.SUCCEEDED, ticket.history[-1]
    tasks = cccli(cluster, "user_tasks")["userTasks"]
    assert [task["Status"] for task in tasks if task.get("guardian", {}).get("ticket") == ticket.id] == ["Completed"]


def test_state_and_load_of_both_clusters(local: Federation, cccli: Cccli) -> None:
    for name, document in cccli.of_all("state").items():
        assert document["ExecutorState"] == {"state": "NO_TASK_IN_PROGRESS"}, name
    for document in cccli.of_all("load").values():
        by_broker = {row["Broker"]: row for row in document["brokers"]}
        assert len(by_broker) == 3
        assert sum(row["Replicas"] for row in by_broker.values()) >= 2 * PARTITIONS
        assert all(row["BrokerState"] == "ALIVE" and row["DiskCapacityMB"] > 0 for row in by_broker.values())
    assert "LEADERS/REPLICAS" in cccli.text("live", "load")
    for document in cccli.of_all("kafka_cluster_state").values():
        assert document["KafkaPartitionState"]["offline"] == []
        assert document["KafkaBrokerState"]["Summary"]["Brokers"] == 3
    everything = cccli("live", "state", "--substates", "monitor", "analyzer", "anomaly_detector", "executor")
    assert everything["MonitorState"]["numTotalPartitions"] >= PARTITIONS


def test_rebalance_dry_and_real_on_both_clusters(local: Federation, cccli: Cccli) -> None:
    before = {name: replicas_of(local, name) for name in CLUSTERS}
    rehearsed: dict[str, Any] = {}

    def all_would_move() -> bool:
        """By its rates: a topic of which the lake has its first sample stays until there are enough of them."""
        rehearsed.update(cccli.of_all("rebalance", "--dry-run"))
        return all(
            each["summary"]["numReplicaMovements"] > 0 and "rates of 3 of them" in each["guardian"]["input"]
            for each in rehearsed.values()
        )

    wait_for("a rebalance that moves something on each cluster", all_would_move)
    for document in rehearsed.values():
        assert document["guardian"]["message"].startswith("This is a dry run")
    assert {name: replicas_of(local, name) for name in CLUSTERS} == before
    with GuardianClient(local.endpoints) as client:
        assert client.tickets() == ()

    told = {
        name: document["guardian"]
        for name, document in cccli.of_all("rebalance", "--reason", "brokers are uneven").items()
    }
    for name, each in told.items():
        assert each.get("reviewStatus") == "PENDING_REVIEW", (name, each)
        assert "waits for approval" in each["message"]
        (row,) = cccli(name, "review_board")["RequestInfo"]
        assert (row["Id"], row["Status"], row["Reason"]) == (each["reviewId"], "PENDING_REVIEW", "brokers are uneven")
    for name, each in told.items():
        approved(local, cccli, name, each)
        held = replicas_of(local, name)
        assert max(held.values()) - min(held.values()) < PARTITIONS, held
        assert sum(held.values()) == 2 * PARTITIONS


@pytest.mark.long
def test_remove_broker_empties_it_and_keeps_it_empty(local: Federation, cccli: Cccli) -> None:
    gone = max(broker.id for broker in local.cluster("bulk").kafka.brokers)
    dry = cccli("bulk", "remove_broker", str(gone), "--dry-run")
    assert {row["Broker"]: row["Replicas"] for row in dry["loadAfterOptimization"]["brokers"]}[gone] == 0
    told = cccli("bulk", "remove_broker", str(gone))["guardian"]
    approved(local, cccli, "bulk", told)
    assert replicas_of(local, "bulk")[gone] == 0
    state = cccli("bulk", "state")["ExecutorState"]
    assert state == {"state": "NO_TASK_IN_PROGRESS", "recentlyRemovedBrokers": [gone]}
    assert "recentlyRemovedBrokers" not in cccli("live", "state")["ExecutorState"]
    cccli("bulk", "admin", "--drop-recently-removed-brokers", str(gone))
    assert "recentlyRemovedBrokers" not in cccli("bulk", "state")["ExecutorState"]
    with GuardianClient(local.endpoints) as client:
        assert {ticket.state for ticket in client.tickets()} == {TicketState.SUCCEEDED}
    lines = cccli.text("bulk", "user_tasks")
    assert "remove_broker" in lines
    assert "Completed" in lines
