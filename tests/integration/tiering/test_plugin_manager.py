"""Kafka's RemoteLogMetadataManager as Guardian's plugin has it, in a JVM of its own, against three real members.

No broker: the driver (tiering/ManagerDriver.java) loads the plugin's jar with Kafka's child-first class loader and
calls what a broker's RemoteLogManager calls.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local import federation, processes
from deploy.local.distribution import kafka_libs, plugin_jar
from deploy.local.federation import Federation
from guardian.client import GuardianClient
from tests.integration.leading import who_leads
from tests.patience import CALL_S, until

pytestmark = pytest.mark.integration

DRIVER = Path(__file__).parent / "ManagerDriver.java"
COME_AGAIN = (
    "thrown RetriableRemoteStorageException",
    "thrown ReplicaNotAvailableException",
)  # from Kafka 4 on; in 3.9
# Nothing is given up before the test itself is; what is told to come back at once is an outage.
PATIENT = "guardian.fence=claim-order guardian.wait.ms=50000 guardian.write.timeout.ms=50000"
QUICK = "guardian.fence=claim-order guardian.wait.ms=5000 guardian.write.timeout.ms=20000"


class Driver:
    """A JVM with managers in it."""

    def __init__(self, process: subprocess.Popen[str], endpoints: Sequence[str], cluster: str) -> None:
        self._process = process
        self._endpoints = endpoints
        self._cluster = cluster

    def open(self, name: str, broker_id: int, settings: str = PATIENT) -> None:
        endpoints = ",".join(self._endpoints)
        self.ok(f"open {name} {broker_id} cluster.id={self._cluster} guardian.endpoints={endpoints} {settings}")

    def say(self, command: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def ok(self, command: str) -> str:
        answer = self.say(command)
        assert answer.split(" ")[0] == "ok", f"{command}: {answer}"
        return answer.removeprefix("ok").strip()

    def add(self, name: str, partition: int, segment: str, start: int, end: int) -> None:
        """As Kafka does: again and again while it is told to come back."""
        self._write(f"add {name} {partition} {segment} {start} {end}")

    def copy(self, name: str, partition: int, segment: str, start: int, end: int) -> None:
        self.add(name, partition, segment, start, end)
        self.finish(name, partition, segment)

    def finish(self, name: str, partition: int, segment: str) -> None:
        self._write(f"update {name} {partition} {segment} COPY_SEGMENT_FINISHED")

    def _write(self, command: str) -> None:
        answers: list[str] = []

        def is_done() -> bool:
            answers.append(self.say(command))
            return not answers[-1].startswith(COME_AGAIN)

        until(is_done)
        assert answers[-1] == "ok", f"{command}: {answers[-1]}"

    def metric(self, name: str, attribute: str = "Value") -> float:
        return float(self.ok(f"metric {name} {attribute}"))

    def becomes(self, command: str, answer: str) -> None:
        until(lambda: self.say(command) == f"ok {answer}".strip())


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("members")
    try:
        yield federation.up(members=3, clusters=0, home=home)
    finally:
        federation.wipe(home)


@contextmanager
def driving(members: Federation, cluster: str, log: Path, kafka: str = "4.3") -> Iterator[Driver]:
    command = ["java", "-Xmx256m", "-cp", f"{kafka_libs(kafka)}/*", str(DRIVER), str(plugin_jar()), cluster]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        try:
            yield Driver(process, members.endpoints, cluster)
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def driver(members: Federation, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Driver]:
    with driving(members, request.node.name, tmp_path / "driver.log") as driver:
        yield driver


def test_what_is_copied_is_found_here_and_by_a_manager_that_comes_later(driver: Driver) -> None:
    driver.open("a", 1)
    driver.ok("lead a 0 1")
    driver.copy("a", 0, "first", 0, 99)
    assert driver.ok("find a 0 50") == "0-99"
    driver.becomes("find a 1 50", "nothing")
    driver.copy("a", 0, "second", 100, 199)
    driver.open("b", 2)
    driver.ok("follow b 0")
    driver.becomes("ready b 0", "true")
    assert driver.ok("list b 0") == "0-99:COPY_SEGMENT_FINISHED 100-199:COPY_SEGMENT_FINISHED"
    driver.copy("a", 0, "third", 200, 299)
    driver.becomes("find b 0 250", "200-299")
    assert driver.say("find b 1 0").startswith("thrown RemoteResourceNotFoundException")
    assert driver.metric("PartitionsLed") == 2
    assert driver.metric("Segments") == 3
    assert driver.metric("WriteTimeMs", "Count") == 6
    driver.ok("close a")
    assert driver.ok("close b") == "", "threads are left"


def test_a_replaced_leader_changes_nothing_and_is_told_both_tokens(driver: Driver) -> None:
    driver.open("old", 1)
    driver.open("new", 2)
    driver.ok("lead old 0")
    driver.copy("old", 0, "good", 0, 99)
    driver.add("old", 0, "half", 100, 199)
    driver.ok("lead new 0")
    driver.becomes("ready new 0", "true")
    driver.copy("new", 0, "better", 100, 199)
    answer = driver.say("update old 0 half COPY_SEGMENT_FINISHED")
    assert "RemoteStorageException" in answer
    assert "Retriable" not in answer
    assert "token 1" in answer
    assert "token 2" in answer
    assert driver.say("update old 0 better DELETE_SEGMENT_STARTED").split(" ")[1] == "RemoteStorageException"
    assert driver.ok("ready old 0") == "false"
    driver.becomes(
        "list new 0",
        "0-99:COPY_SEGMENT_FINISHED 100-199:COPY_SEGMENT_FINISHED 100-199:DELETE_SEGMENT_STARTED",
    )
    driver.becomes("find old 0 150", "100-199")


def test_a_leader_keeps_its_copies_when_kafka_names_it_again(driver: Driver) -> None:
    driver.open("a", 1)
    driver.ok("lead a 0")
    driver.add("a", 0, "first", 0, 99)
    driver.ok("lead a 0")
    driver.ok("update a 0 first COPY_SEGMENT_FINISHED")
    assert driver.ok("list a 0") == "0-99:COPY_SEGMENT_FINISHED"


def test_a_killed_broker_leaves_an_orphan_that_its_successor_sweeps(members: Federation, tmp_path: Path) -> None:
    with driving(members, "orphans", tmp_path / "first.log") as died:
        died.open("a", 1)
        died.ok("lead a 0")
        died.copy("a", 0, "good", 0, 99)
        died.add("a", 0, "half", 100, 199)
    with driving(members, "orphans", tmp_path / "second.log") as driver:
        driver.open("a", 1)
        driver.ok("lead a 0")
        driver.becomes("list a 0", "0-99:COPY_SEGMENT_FINISHED 100-199:DELETE_SEGMENT_STARTED")
        until(lambda: driver.metric("OrphanBytesFound") == 1_000)
        driver.ok("update a 0 half DELETE_SEGMENT_STARTED")
        driver.ok("update a 0 half DELETE_SEGMENT_FINISHED")
        driver.ok("update a 0 half DELETE_SEGMENT_FINISHED")
        assert driver.ok("list a 0") == "0-99:COPY_SEGMENT_FINISHED"
        assert driver.metric("OrphanBytesSwept") == 1_000


@pytest.mark.long
def test_it_runs_in_kafka_3_9(members: Federation, tmp_path: Path) -> None:
    with driving(members, "old", tmp_path / "driver.log", kafka="3.9") as driver:
        driver.open("a", 1)
        driver.ok("follow a 0")
        until(lambda: not driver.say("find a 0 50").startswith("thrown ReplicaNotAvailableException"))
        driver.ok("lead a 0")
        driver.copy("a", 0, "first", 0, 99)
        assert driver.ok("find a 0 50") == "0-99"
        assert driver.ok("list a 0") == "0-99:COPY_SEGMENT_FINISHED"
        assert driver.metric("Segments") == 1


@pytest.mark.long
def test_while_guardian_is_down_look_ups_go_on_and_writes_come_back_as_retriable(
    members: Federation, driver: Driver
) -> None:
    driver.open("a", 1, QUICK)
    driver.ok("lead a 0")
    driver.copy("a", 0, "first", 0, 99)
    for member in members.members:
        assert member.process
        processes.kill(member.process)
    until(lambda: is_told_at_once_to_come_back(driver, "add a 0 second 100 199"))
    assert driver.metric("Reachable") == 0
    assert driver.ok("find a 0 50") == "0-99"
    driver.ok("lead a 1")
    assert driver.ok("ready a 1") == "false"
    assert driver.say("find a 1 50").startswith("thrown RetriableRemoteStorageException")
    federation.up(members=3, clusters=0, home=members.home)
    driver.becomes("ready a 1", "true")
    driver.copy("a", 0, "fourth", 100, 199)
    driver.copy("a", 1, "first", 0, 99)
    assert driver.ok("find a 0 150") == "100-199"


def is_told_at_once_to_come_back(driver: Driver, command: str) -> bool:
    """That is, before the time is over for which a call waits."""
    began = time.monotonic()
    answer = driver.say(command)
    return answer.startswith("thrown RetriableRemoteStorageException") and time.monotonic() - began < 5.0


def test_a_guardian_leader_that_is_killed_costs_a_wait_and_no_segment(members: Federation, driver: Driver) -> None:
    running = federation.up(members=3, clusters=0, home=members.home)
    driver.open("a", 1)
    driver.ok("lead a 0")
    driver.copy("a", 0, "first", 0, 99)
    driver.add("a", 0, "second", 100, 199)
    with GuardianClient(running.endpoints, timeout_s=CALL_S) as client:
        leads = who_leads(client)
    leader = next(member for member in running.members if member.name == leads)
    assert leader.process
    processes.kill(leader.process)
    driver.finish("a", 0, "second")
    driver.copy("a", 0, "third", 200, 299)
    federation.up(members=3, clusters=0, home=members.home)
    assert driver.metric("WritesFailed") == 0
