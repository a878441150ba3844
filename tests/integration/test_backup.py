"""docs/backup.md on real processes: a back-up under load, all members lost with their disks, a new group from it."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.federation import Federation
from deploy.local.members import Member, plan_members, render_config, start_member, wait_ready
from guardian.client import GuardianClient
from protos.guardian.v1 import federation_pb2

pytestmark = pytest.mark.integration

DEADLINE_S = 240.0
PAGE = Path(__file__).parents[2] / "docs" / "backup.md"
Cli = Callable[..., subprocess.CompletedProcess[str]]


def start(members: list[Member], number: int, home: Path, *, join: bool = False, alone: bool = False) -> None:
    member = members[number]
    group = [member] if alone else members
    members[number] = start_member(member, group, home / "lake", home / f"{member.name}.log", join=join)


def end(members: list[Member]) -> None:
    for member in members:
        if member.process is not None:
            processes.kill(member.process)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[list[Member]]:
    home = tmp_path / "old"
    members = list(plan_members(3, home))
    try:
        for number in range(3):
            start(members, number, home)
        wait_ready(members, DEADLINE_S)
        yield members
    finally:
        end(members)


def machine(host: str) -> federation_pb2.FederationChange:
    entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
    return federation_pb2.FederationChange(put=entry, expected_revision=0)


def hosts(endpoint: str) -> list[str]:
    with GuardianClient([endpoint], timeout_s=120) as client:
        return [entry.machine.host for entry in client.federation(federation_pb2.MACHINES)]


def writing(endpoints: list[str], is_over: threading.Event, written: list[str]) -> None:
    with GuardianClient(endpoints, timeout_s=120) as client:
        while not is_over.is_set():
            host = f"m{len(written):06}"
            client.change_federation([machine(host)])
            written.append(host)


def until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {DEADLINE_S:g} s"
        time.sleep(0.1)


def test_a_group_that_is_lost_with_all_its_disks_comes_back_from_a_snapshot(
    old: list[Member], tmp_path: Path, guardian: Cli
) -> None:
    archive = tmp_path / "guardian.tar"
    is_over, written = threading.Event(), list[str]()
    writer = threading.Thread(target=writing, args=([member.grpc for member in old], is_over, written))

    def cli(members: list[Member], *arguments: str) -> str:
        done = guardian(Federation(tmp_path, members=members), "raft", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    writer.start()
    try:
        until("some writes", lambda: len(written) > 100)
        before = len(written)
        cli(old, "snapshot", "save", str(archive))
        until("writes after it", lambda: len(written) > before + 50)
    finally:
        is_over.set()
        writer.join()
    with GuardianClient([member.grpc for member in old], timeout_s=120) as client:
        level = client.raft_status().level
    cli(old, "snapshot", "verify", str(archive))
    end(old)
    shutil.rmtree(tmp_path / "old")

    home = tmp_path / "new"
    new = list(plan_members(3, home))
    new[0].data.parent.mkdir(parents=True)
    new[0].config.write_text(render_config(new[0], new[:1], home / "lake"))
    cli(new, "snapshot", "restore", str(archive), "--config", str(new[0].config))
    try:
        start(new, 0, home, alone=True)
        wait_ready(new[:1], DEADLINE_S)
        kept = hosts(new[0].grpc)
        assert kept == written[: len(kept)], "a beginning of what was acknowledged, without a hole"
        assert before <= len(kept) < len(written)
        for number in (1, 2):
            start(new, number, home, join=True)
            name = new[number].name
            cli(new[:1], "add", name, "--raft", new[number].raft)
            cli(new[:1], "promote", name, "--wait", str(DEADLINE_S))
        wait_ready(new, DEADLINE_S)
        with GuardianClient([member.grpc for member in new], timeout_s=120) as client:
            client.change_federation([machine("after")])
            assert client.raft_status().level == level
        for member in new:
            assert hosts(member.grpc) == ["after", *kept]
        end(new[:1])
        assert hosts(new[2].grpc) == ["after", *kept], "and it is a group: it lives without the first one"
    finally:
        end(new)


def test_the_page_has_the_steps_of_this_test() -> None:
    typed = re.findall(r"^guardian (.*?)(?:\s+#.*)?$", PAGE.read_text(), re.MULTILINE)
    done = ["snapshot save", "snapshot verify", "snapshot restore", "add", "promote"]
    assert [step for step in done if any(line.startswith(f"raft {step}") for line in typed)] == done
