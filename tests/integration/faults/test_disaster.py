"""docs/disaster.md on real processes: a majority is lost for good, all are lost, a data centre is cut off.

Each drill is done by the script that the page names, under load, and measured: how long it took, and what was lost.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from deploy.local import processes
from deploy.local.members import Member, plan_members, render_config, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import Conflict
from raft.entries import command_in
from raft.storage.journal import Journal
from tests.freezing import freeze, kill
from tests.integration.faults import probes
from tests.integration.faults.event_load import EventLoad, segment_id, stored_events
from tests.integration.faults.group import Group
from tests.integration.faults.judge import ROOT
from tests.integration.faults.progress import tell
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

PAGE = ROOT / "docs" / "disaster.md"
WRITERS = 4
_KEEP_ALL_EVENTS = "[limits]\nevents_per_partition = 100000000\n"
_NOT_SERVED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass
class Machines:
    """The old group's members, and those of the new one, which the script starts by `start`."""

    home: Path
    old: list[Member]
    new: list[Member]
    log_of: dict[str, Path] = field(default_factory=dict)

    def begin(self) -> None:
        for number, member in enumerate(self.old):
            log = self.home / f"old-{member.name}.log"
            lake = self.home / "lake"
            self.old[number] = start_member(member, self.old, lake, log, more=_KEEP_ALL_EVENTS)
        wait_ready(self.old, PATIENCE_S)

    def lose(self, members: list[Member]) -> None:
        """Their processes and their disks."""
        for member in members:
            assert member.process is not None
            processes.send(member.process, signal.SIGKILL)
        for member in members:
            processes.kill(member.process)  # type: ignore[arg-type]
            shutil.rmtree(member.data.parent)

    def prepare_new(self) -> None:
        """What the page has people write on each machine."""
        for member in self.new:
            joins = member is not self.new[0]
            member.data.mkdir(parents=True)
            known = [self.new[0], member] if joins else [member]
            text = render_config(member, known, self.home / "lake", join=joins, more=_KEEP_ALL_EVENTS)
            member.config.write_text(text)

    @property
    def start(self) -> str:
        server = shlex.join([sys.executable, "-m", "guardian.cli.main", "server", "--config", "guardian.toml"])
        folder = shlex.quote(str(self.new[0].data.parent.parent))
        return f'cd {folder}/"$NAME" && {{ {server} >log 2>&1 </dev/null & echo $! >pid; }}'

    def end(self) -> None:
        for member in self.old:
            if member.process is not None:
                processes.kill(member.process)
        for pid in self.new[0].data.parent.parent.glob("*/pid"):
            number = int(pid.read_text())
            line = Path(f"/proc/{number}/cmdline")
            if line.exists() and b"guardian.toml" in line.read_bytes():
                kill(number)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    found = Machines(tmp_path, list(plan_members(3, tmp_path / "old")), list(plan_members(3, tmp_path / "new")))
    try:
        found.begin()
        yield found
    finally:
        found.end()


@pytest.fixture
def channels(machines: Machines) -> Iterator[list[grpc.Channel]]:
    opened = [grpc.insecure_channel(member.grpc) for member in machines.old]
    yield opened
    for channel in opened:
        channel.close()


def script(name: str, *arguments: str) -> list[str]:
    return [str(ROOT / "deploy" / "drills" / name), *arguments]


def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    """As an operator runs it, whose `guardian` is that of these tests."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "GUARDIAN_TIMEOUT": "5s"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    tell(f"{Path(command[0]).name} {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def rebuilt(machines: Machines, *what: str) -> str:
    """Runs the script and returns what it said."""
    machines.prepare_new()
    first, *others = machines.new
    members = [word for member in others for word in ("--member", f"{member.name}={member.raft}")]
    where = ["--config", str(first.config), "--endpoint", first.grpc, "--start", machines.start, "--wait", "240"]
    done = ran(script("rebuild.sh", *what, *where, *members))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_log(raft: Path, up_to: int | None = None) -> list[int]:
    """By writer, how many of its events the entries of a member's log hold, from the first one on."""
    journal = Journal(raft)
    try:
        commands = [command_in(entry) for entry, index, _ in journal[:] if up_to is None or index <= up_to]
        assert journal.first_index == 1, "nothing was trimmed yet: the log has all"
    finally:
        journal.close()
    content = b"".join(command for command in commands if command is not None)
    return [_counted(writer, content) for writer in range(WRITERS)]


def _counted(writer: int, content: bytes) -> int:
    number = 0
    while segment_id(writer, number) in content:
        number += 1
    return number


def require_kept(machines: Machines, expected: list[int], acknowledged: list[int], what: str) -> None:
    """Every new member serves exactly the expected events, in order; prints what is lost of the acknowledged ones."""
    for member in machines.new:
        with grpc.insecure_channel(member.grpc) as channel:
            kept = [stored_events(channel, writer) for writer in range(WRITERS)]
        assert kept == [[segment_id(writer, n) for n in range(expected[writer])] for writer in range(WRITERS)]
    lost = sum(max(0, said - had) for said, had in zip(acknowledged, expected, strict=True))
    tell(f"[lost] {lost} of {sum(acknowledged)} acknowledged events: {what}")


def require_a_group(machines: Machines) -> None:
    """It takes changes, has three voters, and lives without its first member."""
    with GuardianClient([member.grpc for member in machines.new], timeout_s=120) as client:
        assert {member.name for member in client.raft_members() if member.is_voter} == {m.name for m in machines.new}
    first = machines.new[0]
    kill(int((first.config.parent / "pid").read_text()))
    others = [grpc.insecure_channel(member.grpc) for member in machines.new[1:]]
    try:
        with EventLoad(others, writers=2, batch=10, partitions=WRITERS) as load:
            load.wait_more(50)
        load.require_all(others[0])
    finally:
        for channel in others:
            channel.close()


@pytest.mark.parametrize(
    "lags", [pytest.param(False, marks=pytest.mark.long, id="it had all"), pytest.param(True, id="it lagged")]
)
def test_two_of_three_members_are_lost_for_good(machines: Machines, channels: list[grpc.Channel], lags: bool) -> None:
    with GuardianClient([member.grpc for member in machines.old], timeout_s=120) as client:
        leader = client.raft_status().leader
    survivor = next(member for member in machines.old if member.name != leader)
    assert survivor.process is not None
    fallen = [member for member in machines.old if member is not survivor]
    with EventLoad(channels, writers=WRITERS, batch=20) as load:
        load.wait_more(500)
        if lags:
            freeze(survivor.process.pid)
            load.wait_more(500)
        machines.lose(fallen)
        lost_at = time.monotonic()
        processes.send(survivor.process, signal.SIGCONT)
        load.stop()
    acknowledged = list(load.acknowledged)
    # The page's first step. What it has is read aside, by other code than the script's.
    processes.stop_all([survivor.process], deadline_s=60)
    aside = machines.home / "aside"
    shutil.copytree(survivor.data, aside)
    expected = in_log(aside / "raft")
    archive = machines.home / "last.tar"
    said = rebuilt(machines, "--salvage", str(survivor.data), "--snapshot", str(archive))
    tell(f"[time] {time.monotonic() - lost_at:.1f} s from the loss until three voters: {said.splitlines()[-1]}")
    require_kept(machines, expected, acknowledged, "those that the survivor's log had not got")
    if lags:
        assert sum(acknowledged) > sum(expected), "the drill lost something, and said how much"
    require_a_group(machines)


def test_all_three_members_are_lost_and_a_snapshot_is_at_hand(machines: Machines, channels: list[grpc.Channel]) -> None:
    archive = machines.home / "guardian.tar"
    with EventLoad(channels, writers=WRITERS, batch=20) as load:
        load.wait_more(500)
        before = list(load.acknowledged)
        save = [sys.executable, "-m", "guardian.cli.main", "raft", "snapshot", "save", str(archive)]
        endpoints = ",".join(member.grpc for member in machines.old)
        environment = {**os.environ, "GUARDIAN_ENDPOINTS": endpoints, "GUARDIAN_TIMEOUT": "120s"}
        saved = subprocess.run(save, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        load.wait_more(500)
        for member in machines.old:
            processes.kill(member.process)  # type: ignore[arg-type]
        lost_at = time.monotonic()
        load.stop()
    acknowledged = list(load.acknowledged)
    index = int(re.findall(r"as of index (\d+)", saved.stdout)[0])
    # An oracle of what was acknowledged up to the snapshot; then all disks are gone.
    shutil.copytree(machines.old[0].data / "raft", machines.home / "aside")
    expected = in_log(machines.home / "aside", index)
    shutil.rmtree(machines.home / "old")
    assert all(had >= said for had, said in zip(expected, before, strict=True)), "saved after it was acknowledged"
    said = rebuilt(machines, "--snapshot", str(archive))
    tell(f"[time] {time.monotonic() - lost_at:.1f} s from the loss until three voters: {said.splitlines()[-1]}")
    require_kept(machines, expected, acknowledged, f"those after index {index}, which the snapshot has")
    assert sum(acknowledged) > sum(expected)
    require_a_group(machines)


def _give_lead(group: Group, name: str) -> None:
    """On a busy machine another one may have been elected meanwhile."""

    def leads() -> bool:
        with GuardianClient(group.endpoints, timeout_s=120) as client, suppress(Conflict):
            return client.raft_status().leader == name or client.transfer_leader(name) == name
        return False

    wait_for(f"{name} leads", leads)


def _serving(probed: subprocess.CompletedProcess[str]) -> set[str]:
    return {each["endpoint"] for each in json.loads(probed.stdout) if each["serves"]}


def test_one_of_three_data_centres_is_cut_off(group: Group) -> None:
    """It is the leader's. Its side acknowledges nothing and answers no linearizable read, and nothing is lost."""
    cut = group.leader()
    others = [name for name in group.names if name != cut]
    probes.put(group.channel(cut), "register", "before the cut")
    with ExitStack() as stack:
        outside = stack.enter_context(EventLoad([group.channel(name) for name in others], writers=4, batch=10))
        inside = stack.enter_context(EventLoad([group.channel(cut)], writers=2, batch=10, partitions=100))
        outside.wait_more(200)
        inside.wait_more(50)
        _give_lead(group, cut)
        group.network.isolate(cut)
        cut_at = time.monotonic()
        group.leader(among=others)
        outside.wait_more(10)
        tell(f"[time] {time.monotonic() - cut_at:.1f} s from the cut until the others acknowledged again")
        probes.put(group.channel(others[0]), "register", "after the cut")
        at_the_cut = inside.total
        probe = [sys.executable, "-m", "guardian.cli.main", "raft", "probe", "-o", "json", "--endpoints"]
        probe.append(",".join(group.endpoints))
        seen = ran(probe)
        assert (seen.returncode, _serving(seen)) == (1, {group.endpoint(name) for name in others}), seen.stderr
        within = ran(group.network.command(cut, probe))
        assert (within.returncode, _serving(within)) == (3, set()), within.stderr
        for _ in range(3):
            assert probes.refusal_of_get(group.channel(cut), "register") in _NOT_SERVED
            assert probes.refusal_of_put(group.channel(cut), "other", "from inside") in _NOT_SERVED
        assert inside.total == at_the_cut, "the side that is cut off acknowledges nothing"
        outside.wait_more(200)
        group.network.heal()
        healed_at = time.monotonic()
        whole = ran([*probe, "--until-all", "2m"])
        assert (whole.returncode, _serving(whole)) == (0, set(group.endpoints)), whole.stderr
        tell(f"[time] {time.monotonic() - healed_at:.1f} s from the heal until all served")
        inside.wait_more(10)
    for name in group.names:
        assert probes.get(group.channel(name), "register") == "after the cut"
        outside.require_all(group.channel(name))
        inside.require_all(group.channel(name))
    tell(f"[lost] 0 of {outside.total + inside.total} acknowledged events")
    group.require_identical()


def test_the_page_has_what_the_drills_do(tmp_path: Path) -> None:
    """Each line that it tells people to type is one that the script takes; what the scripts type is on the page."""
    config = tmp_path / "g1.toml"
    config.write_text('name = "g1"\n')
    text = PAGE.read_text()
    joined = text.replace("\\\n", " ").replace("/etc/guardian/g1.toml", str(config))
    typed = re.findall(r"^deploy/drills/(.*)$", joined, re.MULTILINE)
    assert len(typed) == 2, "of the first drill and of the second"
    for line in typed:
        name, *arguments = shlex.split(line, comments=True)
        done = ran(script(name, *arguments, "--dry-run"))
        assert done.returncode == 0, done.stderr
        for step in set(re.findall(r"guardian (?:raft snapshot|raft|cluster) [a-z]+", done.stdout)):
            assert step in text
    for wrong in ([], ["--member", "g2"], ["--config"], ["--sides", "a"], ["--wait", "long"]):
        refused = ran(script("rebuild.sh", *wrong))
        assert (refused.returncode, refused.stdout) == (2, ""), wrong
    assert ran(script("rebuild.sh", "--help")).stdout.startswith("usage: rebuild.sh")
