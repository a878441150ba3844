"""`guardian raft` as an operator uses it, on members as processes: no JVM."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.federation import Federation
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from protos.guardian.v1 import federation_pb2, tiering_pb2
from tests.integration.faults.damage import flip
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]


@dataclass
class Group:
    """Members g1 to g3; g4 has ports and no process yet."""

    home: Path
    members: list[Member]

    def start(self, name: str, *, join: bool = False) -> None:
        number = self.number(name)
        member = self.members[number]
        group = self.members[:3] if not join else self.members
        log = self.home / f"{name}.log"
        self.members[number] = start_member(member, group, self.home / "lake", log, join=join)

    def kill(self, name: str) -> None:
        process = self.member(name).process
        assert process is not None
        processes.kill(process)

    def stop(self) -> None:
        for member in self.members:
            if member.pid is not None and member.process is not None:
                processes.kill(member.process)

    def number(self, name: str) -> int:
        return next(number for number, member in enumerate(self.members) if member.name == name)

    def member(self, name: str) -> Member:
        return self.members[self.number(name)]

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members if member.pid is not None]

    def as_federation(self) -> Federation:
        return Federation(self.home, members=[member for member in self.members if member.pid is not None])


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, list(plan_members(4, tmp_path)))
    try:
        for name in ("g1", "g2", "g3"):
            group.start(name)
        wait_ready(group.members[:3])
        yield group
    finally:
        group.stop()


@pytest.fixture
def cli(group: Group, guardian: Cli) -> Callable[..., str]:
    """Runs `guardian raft ...`, which must succeed, and returns what it printed."""

    def run(*arguments: str) -> str:
        result = guardian(group.as_federation(), "raft", *arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


def machine(host: str) -> federation_pb2.FederationChange:
    entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
    return federation_pb2.FederationChange(put=entry, expected_revision=0)


def hosts(client: GuardianClient) -> list[str]:
    return [entry.machine.host for entry in client.federation(federation_pb2.MACHINES)]


def roles(printed: str) -> dict[str, str]:
    return {line.split()[0]: line.split()[1] for line in printed.splitlines()[1:]}


def test_the_group_is_shown_and_its_leadership_handed_over(group: Group, cli: Callable[..., str]) -> None:
    states: dict[str, str] = {}

    def are_told() -> bool:
        states.clear()
        states.update((line.split()[1], line.split()[2]) for line in cli("status").splitlines()[1:])
        return sorted(states.values()) == ["follower", "follower", "leader"]

    wait_for("a leader and two followers", are_told)
    leader = next(name for name, state in states.items() if state == "leader")
    to = next(name for name in states if name != leader)
    assert cli("transfer-leader", to) == f"{to} leads\n"
    wait_for("the transfer", lambda: roles(cli("members")).get(to) == "leader")
    members = json.loads(cli("members", "-o", "json"))
    assert {(each["name"], each["is_voter"], each["endpoint"]) for each in members} == {
        (each.name, True, each.grpc) for each in group.members[:3]
    }
    group.kill(leader)

    def is_shown_dead() -> bool:
        shown = json.loads(cli("status", "-o", "json"))
        assert len(shown) == 3, "the one that is dead is shown, too"
        return [entry["endpoint"] for entry in shown if entry["status"] is None] == [group.member(leader).grpc]

    wait_for("one that is dead and two that are not", is_shown_dead)


@pytest.mark.long
def test_a_dead_member_is_replaced_by_one_on_a_new_machine(
    group: Group, cli: Callable[..., str], guardian: Cli
) -> None:
    with GuardianClient(group.endpoints) as client:
        for number in range(20):
            client.change_federation([machine(f"m{number:02}")])
        group.kill("g1")
        group.start("g4", join=True)
        assert "g4 is a learner" in cli("add", "g4", "--raft", group.member("g4").raft)
        assert roles(cli("members"))["g4"] == "learner"
        assert "g4 is a voter" in cli("promote", "g4", "--wait", f"{PATIENCE_S}s")
        assert "g1 is no member any more" in cli("remove", "g1", "--yes")
        assert sorted(roles(cli("members"))) == ["g2", "g3", "g4"]
        client.change_federation([machine("after")])
    with GuardianClient([group.member("g4").grpc]) as client:
        assert hosts(client) == ["after", *(f"m{number:02}" for number in range(20))]
    again = guardian(group.as_federation(), "raft", "remove", "g1", "--yes")
    assert (again.returncode, again.stdout) == (2, "")
    assert "'g1' is no member: the members are g2, g3, g4" in again.stderr


def test_a_damaged_member_is_replaced_step_by_step(group: Group, cli: Callable[..., str]) -> None:
    group.kill("g2")
    flip(next((group.member("g2").data / "store").glob("gen-*/MANIFEST-*")))
    group.start("g2")
    damaged = group.member("g2").process
    assert damaged is not None
    codes: list[int] = []

    def has_ended() -> bool:
        pid, status = os.waitpid(damaged.pid, os.WNOHANG)
        if pid:
            codes.append(os.waitstatus_to_exitcode(status))
        return bool(pid)

    wait_for("the end of the damaged member", has_ended)
    assert codes == [65], (group.home / "g2.log").read_text()
    told = next(each for each in json.loads(cli("members", "-o", "json")) if each["name"] == "g2")
    assert told["stop_cause"] == "STOP_CAUSE_DAMAGED"
    assert "MANIFEST" in told["stop_reason"]
    group.start("g4", join=True)
    printed = cli("replace", "g2", "g4", "--raft", group.member("g4").raft, "--yes")
    assert printed.splitlines()[0] == "g4 is in the group"
    assert printed.splitlines()[-2:] == ["g4 is a voter", "g2 is no member any more"]
    assert sorted(roles(cli("members"))) == ["g1", "g3", "g4"]
    again = cli("replace", "g2", "g4", "--raft", group.member("g4").raft, "--yes")
    assert again.splitlines()[0] == "g2 is no member any more", "a repetition finds all of it done"


def test_a_snapshot_of_the_group_is_verified_and_restored_into_a_new_one(
    group: Group, cli: Callable[..., str], guardian: Cli, tmp_path: Path
) -> None:
    archive = tmp_path / "guardian.tar"
    with GuardianClient(group.endpoints) as client:
        for number in range(50):
            client.change_federation([machine(f"m{number:02}")])
        expected = hosts(client)
        allocated = client.allocate_ids("c1", tiering_pb2.TOPIC_ID, 7).first + 6
        assert f"{archive} has the state as of index" in cli("snapshot", "save", str(archive))
        client.change_federation([machine("later")])
    assert "is whole: the state as of index" in cli("snapshot", "verify", str(archive))
    assert json.loads(cli("snapshot", "verify", str(archive), "-o", "json"))["members"] == ["g1", "g2", "g3"]
    damaged = tmp_path / "damaged.tar"
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    refused = guardian(group.as_federation(), "raft", "snapshot", "verify", str(damaged))
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    group.stop()

    home = tmp_path / "restored"
    alone = Group(home, list(plan_members(1, home)))
    member = alone.members[0]
    restore = ("snapshot", "restore", str(archive), "--data", str(member.data), "--name", "g1", "--raft", member.raft)
    refused = guardian(group.as_federation(), "raft", *restore[:2], str(damaged), *restore[3:])
    assert refused.returncode == 2, refused.stdout
    assert "g1 is the only member of a new group" in cli(*restore)
    assert "is not empty" in guardian(group.as_federation(), "raft", *restore).stderr
    try:
        alone.start("g1")
        wait_ready(alone.members)
        with GuardianClient([member.grpc]) as client:
            assert hosts(client) == expected, "and nothing of what came later"
            assert client.highest_id("c1", tiering_pb2.TOPIC_ID) == allocated
            assert client.allocate_ids("c1", tiering_pb2.TOPIC_ID).first > allocated
    finally:
        alone.stop()


@pytest.mark.long
def test_changes_are_made_once_while_the_leader_is_killed_again_and_again(group: Group) -> None:
    """Each change says that it expects nothing there: one that is made twice would be refused the second time."""
    failures: list[GuardianError] = []
    revisions: dict[str, int] = {}
    is_over = threading.Event()

    def write(writer: int) -> None:
        number = 0
        with GuardianClient([member.grpc for member in group.members[:3]], timeout_s=CALL_S) as client:
            while not is_over.is_set():
                host = f"w{writer}-{number:05}"
                number += 1
                try:
                    revisions[host] = client.change_federation([machine(host)])[0]
                    client.allocate_ids("c1", tiering_pb2.TOPIC_ID, 3)
                except GuardianError as error:
                    failures.append(error)
                    return

    def wait_for_more() -> None:
        before = len(revisions)
        wait_for("20 changes", lambda: len(revisions) > before + 20 or bool(failures))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    try:
        with GuardianClient([member.grpc for member in group.members[:3]], timeout_s=CALL_S) as client:
            for _ in range(4):
                wait_for_more()
                leader = client.raft_status().leader
                group.kill(leader)
                wait_for_more()
                group.start(leader)
                wait_ready([group.member(leader)])
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert failures == []
    with GuardianClient(group.endpoints) as client:
        stored = {entry.machine.host: entry.revision for entry in client.federation(federation_pb2.MACHINES)}
        assert stored == revisions
        assert client.highest_id("c1", tiering_pb2.TOPIC_ID) == 3 * len(revisions), "no id was given twice or lost"
