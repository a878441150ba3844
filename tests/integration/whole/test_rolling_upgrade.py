"""Three members go from one version to the next and back, and forth again for good, while clients write.

No version is older than this one yet, so both are made of this tree: the older one lacks a field, and the newer one has
it at level 1. Members go as docs/upgrade.md says: move the lead away, SIGTERM, start the other version, wait for
/readyz. Nothing that was asked for fails, nothing acknowledged is missing, and all stores hold the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from deploy.local import ports, processes
from deploy.local.answering import register
from deploy.local.federation import Federation
from deploy.local.fleet.listening import SimulatedKafka
from deploy.local.fleet.shape import FleetSpec, fleet
from deploy.local.members import Member, plan_members, wait_ready
from guardian.client import GuardianClient
from guardian.model.topology import Cluster
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc, tiering_pb2
from tests.integration.faults.digest import content_of
from tests.patience import PATIENCE_S, wait_for
from tests.simulated import served

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
PACKAGES = ("guardian", "raft", "metastore", "protos", "spark_analytics", "deploy")
FIELD = "sampling_paused"
"""Of the message Cluster, which a command carries: what the newer version has and the older one does not."""
WRITES_A_STEP = 15
# Writers that take all CPUs only make each step longer.
PAUSE_S = 0.02
CLUSTER, PAUSED = "sim", "a test"

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This version without FIELD: a member of it drops the field from what it stores."""
    folder = copied(tmp_path_factory.mktemp("older"))
    edit(folder / "protos/guardian/v1/federation.proto", rf"\n  string {FIELD} = \d+;[^\n]*", "")
    wire = folder / "guardian/model/wire/federation.py"
    edit(wire, r"(from guardian\.model\.wire\.fields import) ", r"\1 NOT_ON_THE_WIRE, by_hand, ")
    edit(wire, r"\Z", f"\n\nby_hand(Cluster, {FIELD}=NOT_ON_THE_WIRE)\n")
    protoc = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=."]
    subprocess.run([*protoc, "protos/guardian/v1/federation.proto"], cwd=folder, check=True, timeout=PATIENCE_S)
    return folder


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This version with a level that brings FIELD."""
    folder = copied(tmp_path_factory.mktemp("newer"))
    levels = folder / "metastore/levels.py"
    edit(levels, r"\nLEVEL = 0\n", "\nLEVEL = 1\n")
    edit(levels, r"\nSINCE: (.*) = \{\}\n", rf'\nSINCE: \1 = {{"guardian.v1.Cluster.{FIELD}": 1}}\n')
    return folder


def copied(folder: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("target", "node_modules"))
    return folder


def edit(path: Path, pattern: str, replacement: str, times: int = 1) -> None:
    text, found = re.subn(pattern, replacement, path.read_text())
    assert found == times, f"{path} has {found} of {pattern!r}, and {times} are to be edited"
    path.write_text(text)


@dataclass
class Group:
    """Members g1 to g3, each at the version that it was last started with."""

    home: Path
    members: list[Member]
    runs: dict[str, Path] = field(default_factory=dict)

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]

    def start(self, number: int, code: Path) -> None:
        member = self.members[number]
        member.data.mkdir(parents=True, exist_ok=True)
        peers = [f'{other.name} = "{other.raft}"' for other in self.members if other is not member]
        own = {"name": member.name, "data": str(member.data), "grpc": member.grpc, "http": member.http}
        own |= {"raft": member.raft, "lake": str(self.home / "lake")}
        lines = [f"{key} = {json.dumps(value)}" for key, value in own.items()]
        member.config.write_text("\n".join([*lines, "", "[peers]", *peers, ""]))
        command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
        environment = {**os.environ, "PYTHONPATH": str(code)}
        log = self.home / f"{member.name}.log"
        process = processes.spawn(command, log, env=environment, cwd=member.data.parent)
        self.members[number] = Member(member.name, member.data, member.grpc, member.http, member.raft, process)
        self.runs[member.name] = code

    def stop(self, numbers: tuple[int, ...] = (0, 1, 2)) -> None:
        running = [self.members[number].process for number in numbers]
        late = processes.stop_all([process for process in running if process is not None], deadline_s=60)
        assert not late, "a member did not end at SIGTERM"

    def kill(self) -> None:
        for member in self.members:
            if member.process is not None:
                processes.kill(member.process)


class Writers:
    """Clients that write until they are told to stop; a call that fails ends its thread, and the test."""

    def __init__(self, endpoints: list[str]) -> None:
        self._endpoints = endpoints
        self._is_over = threading.Event()
        self.failures: list[str] = []
        self.hosts: list[str] = []
        self.ids: list[int] = []
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in (self._machine, self._id)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    @property
    def written(self) -> int:
        return min(len(self.hosts), len(self.ids))

    def wait(self, more: int) -> None:
        goal, deadline = self.written + more, time.monotonic() + PATIENCE_S
        while self.written < goal and not self.failures:
            assert time.monotonic() < deadline, f"{more} writes took more than {PATIENCE_S:g} s"
            time.sleep(0.05)
        assert not self.failures

    def _run(self, write: Callable[[GuardianClient], None]) -> None:
        with GuardianClient(self._endpoints, timeout_s=120, actor="upgrader") as client:
            while not self._is_over.wait(PAUSE_S):
                try:
                    write(client)
                except Exception as error:  # noqa: BLE001  whatever it is, it is what must not happen
                    self.failures.append(repr(error))
                    return

    def _machine(self, client: GuardianClient) -> None:
        host = f"m{len(self.hosts):06}"
        entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
        client.change_federation([federation_pb2.FederationChange(put=entry, expected_revision=0)])
        self.hosts.append(host)

    def _id(self, client: GuardianClient) -> None:
        self.ids.append(client.allocate_ids("c1", tiering_pb2.TOPIC_ID).first)


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """Of a cluster that can be registered, and does nothing else."""
    (port,) = ports.pick(1)
    shape = fleet(FleetSpec(brokers=3, replicas=4, clusters=1, base_port=port - 1))[0]
    with served(SimulatedKafka(shape)):
        yield shape.brokers[0].listener


@pytest.fixture
def group(tmp_path: Path, older: Path) -> Iterator[Group]:
    group = Group(tmp_path, list(plan_members(3, tmp_path)))
    try:
        for number in range(3):
            group.start(number, older)
        wait_ready(group.members, PATIENCE_S)
        yield group
    finally:
        group.kill()


def exchange(group: Group, number: int, code: Path, writers: Writers) -> None:
    """One member, as the run-book says."""
    member = group.members[number]
    others = [endpoint for endpoint in group.endpoints if endpoint != member.grpc]
    with GuardianClient(others, timeout_s=120) as client:
        if client.raft_status().leader == member.name:
            client.transfer_leader()
        group.stop((number,))
        writers.wait(WRITES_A_STEP)
        group.start(number, code)
        wait_ready([group.members[number]], PATIENCE_S)
        wait_for(f"{member.name} catching up", lambda: _is_fed(client, member.name))
    writers.wait(WRITES_A_STEP)


def lead(group: Group, number: int, writers: Writers) -> None:
    """Writes also go through this member's version as the leader's."""
    name = group.members[number].name
    with GuardianClient(group.endpoints, timeout_s=120) as client:
        if client.raft_status().leader != name:
            client.transfer_leader(name)
        wait_for(f"{name} leading", lambda: client.raft_status().leader == name)
    writers.wait(WRITES_A_STEP)


def _is_fed(client: GuardianClient, name: str) -> bool:
    status = client.raft_status()
    member = next(each for each in status.members if each.name == name)
    return member.is_connected and status.commit_index - member.match_index < 100


def require_same_bytes(group: Group) -> None:
    """Stops all members when they have applied the same, and compares what both versions have stored."""
    for _ in range(10):
        with GuardianClient(group.endpoints, timeout_s=120) as client:
            wait_for(
                "equal indexes",
                lambda: len({client.raft_status(each, 120).applied_index for each in group.endpoints}) == 1,
            )
        group.stop()
        contents = [content_of(member.data / "store") for member in group.members]
        if len({content.applied_index for content in contents}) == 1:
            assert len({content.sha256 for content in contents}) == 1, contents
            assert contents[0].keys > 2 * WRITES_A_STEP
            return
        for number, member in enumerate(group.members):
            group.start(number, group.runs[member.name])
        wait_ready(group.members, PATIENCE_S)
    pytest.fail("the members never ended at the same index")


def require_all_there(group: Group, writers: Writers) -> None:
    """Linearizably; `require_same_bytes` looks at each member."""
    with GuardianClient(group.endpoints, timeout_s=120) as client:
        stored = {entry.machine.host for entry in client.federation(federation_pb2.MACHINES)}
        assert stored == set(writers.hosts)
        assert client.highest_id("c1", tiering_pb2.TOPIC_ID) == writers.ids[-1]
        (cluster,) = client.list_clusters()
        assert cluster.sampling_paused == PAUSED
    assert writers.ids == list(range(writers.ids[0], writers.ids[0] + len(writers.ids))), (
        "each id once, and all of them"
    )


def pause(endpoint: str) -> None:
    """By this very member: a client could choose another one, of the version that does not know the field."""
    with grpc.insecure_channel(endpoint) as channel:
        request = federation_pb2.SetSamplingRequest(cluster=CLUSTER, paused=PAUSED)
        federation_pb2_grpc.FederationStub(channel).SetSampling(request, timeout=PATIENCE_S)


def require_too_old(group: Group, number: int, code: Path) -> None:
    """The member ends at once, and says what it needs."""
    newer = group.runs[group.members[number].name]
    group.stop((number,))
    group.start(number, code)
    member = group.members[number]
    wait_for(f"{member.name} ending", lambda: member.pid is None)
    said = (group.home / f"{member.name}.log").read_text().splitlines()[-1]
    assert "feature level 1, and this version of Guardian knows levels up to 0: start a newer version" in said
    group.start(number, newer)
    wait_ready(group.members, PATIENCE_S)


def test_members_go_to_the_next_version_and_back_and_forth_while_clients_write(
    group: Group, older: Path, newer: Path, bootstrap: str, guardian: Cli
) -> None:
    federation = Federation(group.home, members=group.members)

    def known() -> dict[str, object]:  # one that takes seconds to answer is told of as not reached
        looked = guardian(federation, "raft", "finish-upgrade", "--dry-run", "-o", "json")
        return dict(json.loads(looked.stdout or "{}"))

    with GuardianClient(group.endpoints, timeout_s=120) as client:
        register(client, Cluster(CLUSTER, bootstrap))
    with Writers(group.endpoints) as writers:
        writers.wait(WRITES_A_STEP)
        exchange(group, 0, newer, writers)
        lead(group, 0, writers)  # the new version leads old ones
        with pytest.raises(grpc.RpcError, match=f"Cluster.{FIELD} needs feature level 1, and the group is at 0: bring"):
            pause(group.members[0].grpc)
        not_yet = guardian(federation, "raft", "finish-upgrade", "--yes")
        assert (not_yet.returncode, "run an older version" in not_yet.stderr) == (2, True), not_yet.stderr
        wait_for("the versions are told", lambda: known().get("known_by") == {"g1": 1, "g2": 0, "g3": 0})
        lead(group, 1, writers)  # an old one leads it
        for number in (1, 2):
            exchange(group, number, newer, writers)
        for number in (0, 1):  # a majority goes back, and what it leads is what the newer version wrote
            exchange(group, number, older, writers)
        for number in (0, 1):
            exchange(group, number, newer, writers)
        due = {"level": 0, "known_by": {"g1": 1, "g2": 1, "g3": 1}, "next": 1}
        wait_for("all members tell what they know", lambda: known() == due)
        finished = guardian(federation, "raft", "finish-upgrade", "--yes")
        assert (finished.returncode, finished.stderr) == (0, "The group is at feature level 1\n")
        pause(group.members[0].grpc)
        writers.wait(WRITES_A_STEP)
    assert not writers.failures
    require_all_there(group, writers)
    require_too_old(group, 2, older)
    require_same_bytes(group)
