"""The broker plugin's segment event store, out of its shaded jar, against three members whose leader is killed again
and again: what was acknowledged is stored once and in order, and who follows hears all of it."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.local import distribution, processes
from deploy.local.members import Member, plan_members, start_member, wait_ready
from deploy.local.processes import LocalProcess
from guardian.client import GuardianClient
from protos.guardian.v1 import tiering_pb2
from tests.patience import CALL_S, wait_for

pytestmark = pytest.mark.integration

PARTITIONS = 10
IN_FLIGHT = 20
KILLS = 3
DRIVER = distribution.PLUGIN / "src/test/java/guardian/kafka/metadata/store/StoreDriver.java"


@dataclass
class Group:
    """Members g1 to g3."""

    home: Path
    members: list[Member]

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]

    def start(self, number: int) -> None:
        member = self.members[number]
        log = self.home / f"{member.name}.log"
        self.members[number] = start_member(member, self.members, self.home / "lake", log)

    def kill(self, number: int) -> None:
        process = self.members[number].process
        assert process is not None
        processes.kill(process)

    def leader(self) -> int:
        with GuardianClient(self.endpoints, timeout_s=CALL_S) as client:
            wait_for("a member leads", lambda: client.raft_status().leader_endpoint in self.endpoints)
            return self.endpoints.index(client.raft_status().leader_endpoint)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, list(plan_members(3, tmp_path)))
    try:
        for number in range(3):
            group.start(number)
        wait_ready(group.members)
        yield group
    finally:
        for number, member in enumerate(group.members):
            if member.process is not None:
                group.kill(number)


@pytest.fixture(scope="module")
def classpath(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The plugin's jar as brokers get it, with the driver compiled against it."""
    javac = shutil.which("javac")
    assert javac is not None, f"javac is not on the PATH: {distribution.INSTALL_JAVA}"
    jars = os.pathsep.join((str(distribution.plugin_jar()), f"{distribution.kafka_libs()}/*"))
    classes = tmp_path_factory.mktemp("driver")
    subprocess.run([javac, "-proc:none", "-cp", jars, "-d", str(classes), str(DRIVER)], check=True)
    return os.pathsep.join((str(classes), jars))


@dataclass
class Report:
    """What the driver says when it ends. Events are (partition, segment, state)."""

    acknowledged: set[tuple[int, str, int]] = field(default_factory=set)
    heard: list[tuple[int, str, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    failures: int = -1
    status: str = ""
    cluster_id: str = ""
    topic_id: bytes = b""

    @staticmethod
    def read(path: Path) -> Report:
        report = Report()
        for line in path.read_text().splitlines():
            kind, _, rest = line.partition(" ")
            if kind in ("acknowledged", "heard"):
                topic, partition, segment, state = rest.split()
                report.topic_id = base64.urlsafe_b64decode(topic + "==")
                event = (int(partition), segment, int(state))
                report.acknowledged.add(event) if kind == "acknowledged" else report.heard.append(event)
            elif kind == "fault":
                report.faults.append(rest)
            elif kind == "failures":
                report.failures = int(rest)
            elif kind == "status":
                report.status = rest
            else:
                report.cluster_id = rest
        return report


class Driver:
    """Writes until it is told to stop."""

    def __init__(self, classpath: str, endpoints: list[str], home: Path) -> None:
        self._file = home / "report"
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", classpath]
        command += ["guardian.kafka.metadata.store.StoreDriver", "write", ",".join(endpoints)]
        command += [str(IN_FLIGHT), str(PARTITIONS), str(self._file)]
        self.process: LocalProcess = processes.spawn(command, home / "driver.log")

    def acknowledged(self) -> int:
        said = [line for line in processes.output(self.process).splitlines() if line.startswith("acknowledged ")]
        return int(said[-1].split()[1]) if said else 0

    def wait_for_more(self, count: int) -> None:
        """Until so many more are acknowledged."""
        wanted = self.acknowledged() + count
        self._wait(f"{wanted} acknowledged", lambda: self.acknowledged() >= wanted)

    def stop(self) -> Report:
        self._file.with_name("report.stop").touch()
        wait_for("the driver ends", lambda: not processes.is_alive(self.process), story=self._said_last)
        return Report.read(self._file)

    def _wait(self, what: str, holds: Callable[[], bool]) -> None:
        wait_for(what, holds, meanwhile=self._must_run, story=self._said_last)

    def _must_run(self) -> None:
        assert processes.is_alive(self.process), self._said_last()

    def _said_last(self) -> str:
        return processes.last_lines(self.process)


@pytest.fixture
def driver(classpath: str, group: Group, tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(classpath, group.endpoints, tmp_path)
    try:
        yield driver
    finally:
        processes.kill(driver.process)


def stored(client: GuardianClient, report: Report) -> list[tuple[int, str, int]]:
    """All events in Guardian, in order within each partition."""
    events = []
    for number in range(PARTITIONS):
        partition = tiering_pb2.TopicIdPartition(
            cluster_id=report.cluster_id, topic_id=report.topic_id, partition=number
        )
        next_id = 0
        while groups := (reply := client.pull_segment_events(partition, next_id)).groups:
            for group in groups:
                assert group.first_event_id == next_id, "ids have no gaps"
                next_id += len(group.events)
                events += [(number, name(event.segment_id), int(event.state)) for event in group.events]
            assert reply.next_event_id == next_id
    return events


def name(segment_id: bytes) -> str:
    return base64.urlsafe_b64encode(segment_id).decode().rstrip("=")


def test_what_is_acknowledged_is_stored_once_and_heard_while_leaders_are_killed(group: Group, driver: Driver) -> None:
    driver.wait_for_more(300)
    for _ in range(KILLS):
        killed = group.leader()
        group.kill(killed)
        driver.wait_for_more(300)
        group.start(killed)
        wait_ready(group.members)
    report = driver.stop()
    assert report.failures == 0, processes.last_lines(driver.process, 40)
    assert report.faults == []
    with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
        kept = stored(client, report)
    assert len(kept) == len(set(kept)), "nothing is stored twice"
    assert report.acknowledged == set(kept), "nothing is lost, and nothing else is stored"
    for partition in range(PARTITIONS):
        assert [event for event in report.heard if event[0] == partition] == [
            event for event in kept if event[0] == partition
        ], "who follows hears all events in their order"
