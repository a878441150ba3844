"""Cruise Control's own client, cccli of cruise-control-client, unchanged, against two clusters at once."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.local import federation, processes
from deploy.local.federation import Federation
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import TicketState
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

TOPIC = "skewed"
PARTITIONS = 12
CLUSTERS = ("live", "bulk")


def up(home: Path) -> Federation:
    """Nobody breaks a broker or a planner here: whatever one of them takes to answer is because it is busy."""
    kafka, more = {"rpc_timeout_s": PATIENCE_S}, f"[plans]\nwait_s = {PATIENCE_S}\ndeadline_s = {PATIENCE_S}\n"
    return federation.up(
        members=1, clusters=len(CLUSTERS), brokers=3, workload=False, home=home, kafka=kafka, more=more
    )


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """One member, two clusters of three brokers; all of a topic's replicas are on two of them."""
    home = tmp_path_factory.mktemp("cruise-control")
    try:
        local = up(home)
        for name in CLUSTERS:
            _fill(local, name)
        yield local
    finally:
        federation.wipe(home)


def _fill(local: Federation, name: str) -> None:
    kafka = local.cluster(name).kafka
    cluster = kafka.to_cluster(sasl=False)
    first, second = sorted(broker.id for broker in kafka.brokers)[:2]
    data.create_topics(cluster, {TOPIC: dict.fromkeys(range(PARTITIONS), (first, second))}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for partition in range(PARTITIONS):
        for _ in range(50):
            producer.produce(TOPIC, b"x" * 10_000, partition=partition)
    assert producer.flush(PATIENCE_S) == 0


class Cccli:
    """Runs the client as its users do; `-a` takes what stands before /kafkacruisecontrol."""

    def __init__(self, http: str) -> None:
        self._http = http

    def text(self, cluster: str, *arguments: str) -> str:
        command = [str(Path(sys.executable).parent / "cccli"), "-a", f"{self._http}/clusters/{cluster}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
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


def approved(local: Federation, cccli: Cccli, cluster: str, told: dict[str, Any]) -> None:
    """The second person's step, and the wait until what was asked for is done."""
    (row,) = cccli(cluster, "review", "--approve", str(told["reviewId"]))["RequestInfo"]
    assert row["Status"] in ("APPROVED", "SUBMITTED")
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
        wait_for(f"the end of {told['ticket']}", lambda: client.ticket(told["ticket"])[0].state.is_over)
        ticket, _ = client.ticket(told["ticket"])
    assert ticket.state is TicketState.SUCCEEDED, ticket.history[-1]
    tasks = cccli(cluster, "user_tasks", "--add-parameter", "fetch_completed_task=true")["userTasks"]
    (task,) = (task for task in tasks if ticket.id in task.get("guardian", {}).get("tickets", ()))
    assert task["Status"] == "Completed"
    assert json.loads(task["originalResponse"])["summary"]["numReplicaMovements"] > 0


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


def posted(local: Federation, target: str, body: dict[str, Any] | None = None) -> httpx.Response:
    """As Strimzi's operators send it, to the first cluster; again while it is under way."""
    url = f"http://{local.members[0].http}/clusters/live/kafkacruisecontrol/{target}"
    deadline = time.monotonic() + PATIENCE_S
    while (answer := httpx.post(url, json=body, timeout=PATIENCE_S, trust_env=False)).status_code == 202:
        assert time.monotonic() < deadline, answer.text
    return answer


def test_strimzis_operators_are_answered_in_their_words(local: Federation) -> None:
    first, *_ = sorted(broker.id for broker in local.cluster("live").kafka.brokers)
    gone = max(broker.id for broker in local.cluster("live").kafka.brokers) + 1000
    for dry in ("true", "false"):
        answer = posted(local, f"remove_broker?json=true&dryrun={dry}&brokerid={gone}")
        assert answer.status_code == 500, answer.text
        assert f"java.lang.IllegalArgumentException: Broker {gone} does not exist." in answer.json()["errorMessage"]
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client, pytest.raises(InvalidInput) as refused:
        client.ask_for("live", Ask(AskKind.REMOVE, (gone,), shutdown=False), author="ann", dry_run=True)
    assert str(refused.value) in answer.json()["errorMessage"]
    body = {"replication_factor": {"topic_by_replication_factor": {"1": TOPIC}}}
    target = "topic_configuration?skip_rack_awareness_check=true&dryrun=true&json=true&verbose=true"
    wait_for("a model of the cluster", lambda: posted(local, target, body).status_code == 200)
    shrunk = posted(local, target, body)
    moves = {move["topicPartition"]: move["newReplicas"] for move in shrunk.json()["proposals"]}
    assert {len(replicas) for replicas in moves.values()} == {1}
    assert len(moves) == PARTITIONS
    missing = {"replication_factor": {"topic_by_replication_factor": {"1": "nowhere"}}}
    refusal = posted(local, "topic_configuration?dryrun=false&json=true", missing)
    assert (refusal.status_code, "topic nowhere does not exist" in refusal.json()["errorMessage"]) == (500, True)
    assert replicas_of(local, "live")[first] == PARTITIONS


ASKED = 45


class Person:
    """Somebody at an address of his own: while security is off, an address stands for a person."""

    def __init__(self, local: Federation, address: str) -> None:
        base = f"http://{local.members[0].http}"
        transport = httpx.HTTPTransport(local_address=address, limits=httpx.Limits(max_connections=2 * ASKED))
        self.address = address
        self.web = httpx.Client(base_url=base, transport=transport, timeout=PATIENCE_S, trust_env=False)

    def rehearse(self, reason: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        query = {"json": "true", "reason": reason}
        return self.web.post("/clusters/live/kafkacruisecontrol/rebalance", params=query, headers=headers)

    def plan(self) -> httpx.Response:
        return self.web.post("/api/v1/clusters/live/plans", json={"kind": "balance"})

    def tasks(self, **more: str) -> list[dict[str, Any]]:
        """His user tasks, the newest first."""
        query = {"json": "true", "client_ids": self.address, **more}
        answer = self.web.get("/clusters/live/kafkacruisecontrol/user_tasks", params=query)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["userTasks"])

    def answered(self, task_id: str) -> tuple[str, dict[str, Any]]:
        """The status of a task of his, and what it was answered with."""
        (task,) = (task for task in self.tasks(fetch_completed_task="true") if task["UserTaskId"] == task_id)
        return task["Status"], json.loads(task["originalResponse"])

    def active(self) -> int:
        return sum(task["Status"] == "Active" for task in self.tasks())


@pytest.mark.long
def test_one_person_who_asks_for_many_plans_holds_nobody_up(local: Federation) -> None:
    """His line stays full, and others' plans, probes and changes go on; what he gets too much of is refused at once."""
    many, other = Person(local, "127.0.0.1"), Person(local, "127.0.0.2")
    stop, refused = threading.Event(), threading.Event()
    answers: list[httpx.Response] = []

    def ask(number: int) -> None:
        for again in itertools.count():
            answer = many.rehearse(f"{number}-{again}") if number % 3 else many.plan()
            answers.append(answer)
            if answer.status_code in (429, 500):
                refused.set()
            if stop.wait(2.0):
                return

    of_before = {task["UserTaskId"] for task in many.tasks()}
    assert many.rehearse("the first").status_code in (200, 202)
    with ThreadPoolExecutor(ASKED) as pool, GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
        asked = [pool.submit(ask, number) for number in range(ASKED)]
        try:
            assert refused.wait(PATIENCE_S)
            answer = other.plan()
            assert answer.status_code == 200, answer.text
            assert answer.json()["cluster"] == "live"
            refused.clear()
            assert refused.wait(PATIENCE_S), "the first person's line is still full"
            assert not any(each.done() for each in asked)
            assert many.active() <= 6, "one is under way and five wait"
            assert other.web.get("/healthz").status_code == 200
            client.set_sampling("live", "while plans are asked for")
            client.set_sampling("live", "")
        finally:
            stop.set()
        for each in asked:
            each.result(PATIENCE_S)
    by_status = {status: [each for each in answers if each.status_code == status] for status in (200, 202, 429, 500)}
    others = [(each.status_code, each.text) for each in answers if each.status_code not in by_status]
    assert others == [], "each is done, under way, or refused with the reason"
    for status, kind in ((429, "detail"), (500, "errorMessage")):
        assert by_status[status], f"nothing was refused with {status}"
        for refusal in by_status[status]:
            assert "requests of 127.0.0.1: " in refusal.json()[kind], refusal.text
            assert "under way, 5 wait (got one more, at most 5 may wait)" in refusal.json()[kind]
            assert int(refusal.headers["Retry-After"]) > 0
    wait_for("the end of all that was asked for", lambda: not many.active())
    tasks = [task for task in many.tasks(fetch_completed_task="true") if task["UserTaskId"] not in of_before]
    assert tasks
    assert [task for task in tasks if task["Status"] != "Completed"] == []


def test_what_was_asked_for_is_known_after_the_member_was_killed_and_is_there_again(local: Federation) -> None:
    before = Person(local, "127.0.0.3")
    asked = wait_for("a plan", lambda: found if (found := before.rehearse("kept")).status_code == 200 else None)
    task_id = asked.headers["User-Task-ID"]
    assert before.answered(task_id) == ("Completed", asked.json())
    with ThreadPoolExecutor(1) as pool:
        cut_off = pool.submit(before.rehearse, "cut-off")
        wait_for("another one under way", lambda: before.active() or cut_off.done())
        process = local.members[0].process
        assert process is not None
        processes.kill(process)
        assert isinstance(cut_off.exception(PATIENCE_S), httpx.TransportError | None)
    local.members[:] = up(local.home).members

    again = Person(local, "127.0.0.3")
    assert again.answered(task_id) == ("Completed", asked.json())
    wait_for("that the other one is over as well", lambda: not again.active())
    (other,) = (task["UserTaskId"] for task in again.tasks() if "reason=cut-off" in task["RequestURL"])
    status, answer = again.answered(other)
    assert (status, answer.keys() & {"summary", "errorMessage"}) in (
        ("Completed", {"summary"}),
        ("CompletedWithError", {"errorMessage"}),
    )
    known = len(again.tasks())
    repeated = again.rehearse("kept", {"User-Task-ID": task_id})
    assert (repeated.status_code, repeated.json()) == (200, asked.json())
    assert len(again.tasks()) == known, "it was answered by the task, not made again"


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
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
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
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
        assert {ticket.state for ticket in client.tickets()} == {TicketState.SUCCEEDED}
    lines = cccli.text("bulk", "user_tasks")
    assert "remove_broker" in lines
    assert "Completed" in lines
