"""Members as processes on loopback: acknowledged means kept and a read never goes back, whoever is killed, added,
removed or cut off."""

from __future__ import annotations

import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from deploy.local import ports
from tests.freezing import frozen
from tests.patience import CALL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).parents[1] / "raft_member.py"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """A process, and who waits for its answers. One object: writers ask while the next run takes its place."""

    process: subprocess.Popen[str]
    input: threading.Lock = field(default_factory=threading.Lock)
    answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = field(default_factory=dict)

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            reply = json.loads(line)
            self.answers.pop(reply.pop("id")).put(reply)


class Member:
    """A member's process, and what it answers."""

    def __init__(
        self, name: str, listen: str, peers: dict[str, str], directory: Path, options: dict[str, Any] | None = None
    ) -> None:
        self.name, self.listen = name, listen
        self.log = directory / f"{name}.log"
        arguments = [name, listen, json.dumps(peers), str(directory / name), json.dumps(options or {})]
        self._peers, self._options = peers, options or {}
        self._arguments = [sys.executable, str(SCRIPT), *arguments]
        self._numbers = itertools.count()
        self.start()

    def name_peer(self, name: str, at: str, timing: dict[str, float]) -> None:
        """In its file, from the next start on; it waits otherwise for a leader, too."""
        options = {**self._options, "timing": timing}
        self._arguments[4], self._arguments[-1] = json.dumps({**self._peers, name: at}), json.dumps(options)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._run = Run(
                subprocess.Popen(
                    self._arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=os.environ | {"PYTHONPATH": str(ROOT)},
                )
            )
        threading.Thread(target=self._run.read, daemon=True).start()

    @property
    def process(self) -> subprocess.Popen[str]:
        return self._run.process

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, op: str, wait_s: float = PATIENCE_S, **request: object) -> dict[str, Any]:
        """The answer. Raises ConnectionError when the process has ended."""
        number, run = next(self._numbers), self._run
        process, answers = run.process, run.answers.setdefault(number, queue.SimpleQueue())
        with run.input:
            assert process.stdin
            try:
                process.stdin.write(json.dumps({"id": number, "op": op, **request}) + "\n")
                process.stdin.flush()
            except (BrokenPipeError, ValueError) as error:
                raise ConnectionError(f"{self.name} has ended: {self.log.read_text()}") from error
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            try:
                return answers.get(timeout=0.2)
            except queue.Empty:
                if process.poll() is not None:
                    raise ConnectionError(f"{self.name} has ended: {self.log.read_text()}") from None
        raise AssertionError(f"{self.name} did not answer {op} within {wait_s} s: {self.log.read_text()}")

    def propose(self, command: bytes, timeout_s: float = 10) -> dict[str, Any]:
        return self.ask("propose", command=command.hex(), timeout_s=timeout_s)

    def status(self) -> dict[str, Any]:
        return self.ask("status")

    def change(self, kind: str, name: str, address: str = "") -> dict[str, Any]:
        return self.ask("change", kind=kind, name=name, address=address, timeout_s=CALL_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


class Group:
    def __init__(self, directory: Path, size: int, options: dict[str, Any] | None = None) -> None:
        self.directory, self.options = directory, options or {}
        endpoints = {name: f"127.0.0.1:{port}" for name, port in zip("abc", ports.pick(size), strict=False)}
        self.members = {
            name: Member(
                name, listen, {peer: at for peer, at in endpoints.items() if peer != name}, directory, self.options
            )
            for name, listen in endpoints.items()
        }
        self._acknowledged = threading.Lock()
        self.acknowledged: set[int] = set()
        self.doubtful: set[int] = set()  # written again, though the first time may have been carried out

    def join(self, name: str) -> Member:
        """A new machine: empty, and told of one member of the group."""
        listen = f"127.0.0.1:{ports.pick(1)[0]}"
        known = next(member for member in self.members.values() if member.is_alive)
        options = {**self.options, "join": True}
        self.members[name] = Member(name, listen, {known.name: known.listen}, self.directory, options)
        return self.members[name]

    def leader(self) -> Member:
        """The member that all of the living call leader."""

        def agreed() -> Member | None:
            named = {member.status()["leader"] for member in self.living()}
            name = named.pop() if len(named) == 1 else None
            return self.members[name] if name and self.members[name].is_alive else None

        return until(agreed)

    def followers(self) -> list[Member]:
        leader = self.leader()
        return [member for member in self.living() if member is not leader]

    def living(self) -> list[Member]:
        # A copy: writers ask while a new machine joins.
        return [member for member in list(self.members.values()) if member.is_alive]

    def write(self, member: Member, number: int, padding: int = 0) -> None:
        """Writes a number through the member, again and again until it is acknowledged."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            reply = member.propose(b"%d " % number + bytes(padding))
            if "error" not in reply:
                with self._acknowledged:
                    self.acknowledged.add(number)
                return
            if reply["error"] == "OutcomeUnknown":
                self.doubtful.add(number)
        raise AssertionError(f"{number} was not acknowledged within {PATIENCE_S} s")

    def same_content(self) -> list[int]:
        """The numbers that are stored, once every living member holds the same, in the same order."""

        def agreed() -> list[int] | None:
            contents = [member.ask("content") for member in self.living()]
            return contents[0]["numbers"] if len({content["digest"] for content in contents}) == 1 else None

        numbers = until(agreed)
        return [each for at, each in enumerate(numbers) if each not in self.doubtful or each not in numbers[:at]]

    def require_nothing_lost(self) -> None:
        missing = self.acknowledged - set(self.same_content())
        assert not missing, f"acknowledged and lost: {sorted(missing)[:10]}"

    def end(self) -> None:
        for member in self.living():
            member.kill()


class Load:
    """Writes all the time, through whichever member takes it, until the block ends."""

    def __init__(self, group: Group, writers: int = 4, padding: int = 0) -> None:
        self._group = group
        self._padding = padding
        self._is_over = threading.Event()
        self._numbers = itertools.count(1_000_000)
        self._threads = [threading.Thread(target=self._run, args=(writer,)) for writer in range(writers)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.goes_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def goes_on(self, count: int = 50) -> None:
        """Waits for some more acknowledgements: the group takes writes now."""
        before = len(self._group.acknowledged)
        until(lambda: len(self._group.acknowledged) >= before + count)

    def _run(self, writer: int) -> None:
        group = self._group
        while not self._is_over.is_set():
            number = next(self._numbers)
            for attempt in itertools.count(writer):
                living = group.living()
                try:
                    reply = living[attempt % len(living)].propose(b"%d " % number + bytes(self._padding), timeout_s=1)
                except (ConnectionError, ZeroDivisionError):
                    continue
                if "error" not in reply:
                    with group._acknowledged:
                        group.acknowledged.add(number)
                    break
                if self._is_over.is_set():
                    return


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, 3)
    yield group
    group.end()


@pytest.fixture
def patient_group(tmp_path: Path) -> Iterator[Group]:
    """Elects only for a reason: that the machine stands still for seconds is none."""
    group = Group(tmp_path, 3, {"timing": {"election_min": 4.0, "election_max": 6.0}})
    yield group
    group.end()


@pytest.fixture
def group_with_short_logs(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, 3, {"kept_entries": 100, "segment_bytes": 1 << 12})
    yield group
    group.end()


@pytest.fixture
def group_of_one(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, 1)
    yield group
    group.end()


def test_acknowledged_writes_outlive_the_leader_and_it_catches_up(group: Group) -> None:
    leader = group.leader()
    with Load(group) as load:
        leader.kill()
        load.goes_on(300)
        leader.start()
        load.goes_on()
    group.write(leader, 0)
    assert len(group.living()) == 3
    group.require_nothing_lost()


def test_all_killed_at_once_lose_nothing(group: Group) -> None:
    for _ in range(3):
        with Load(group) as load:
            load.goes_on(100)
            group.end()
            for member in group.members.values():
                member.start()
            load.goes_on()
        group.require_nothing_lost()


def test_a_graceful_restart_of_all_keeps_the_state(group: Group) -> None:
    for number in range(20):
        group.write(group.members["a"], number)
    stored = group.same_content()
    assert [member.stop() for member in group.members.values()] == [0, 0, 0]
    for member in group.members.values():
        member.start()
    # What is stored is applied again once the new leader has committed something of its own term.
    until(lambda: group.same_content() == stored)
    group.write(group.members["b"], 20)
    assert set(group.same_content()) == set(range(21))


def test_the_largest_command_replicates_from_every_member(group: Group) -> None:
    for number, member in enumerate(group.members.values()):
        group.write(member, number, padding=(3 << 20) - 10)
    assert group.same_content() == [0, 1, 2]


def test_without_a_majority_a_proposal_ends_in_time_and_is_never_applied(group: Group) -> None:
    group.write(group.members["a"], 0)
    alone = group.leader()
    for member in group.living():
        if member is not alone:
            member.kill()
    until(lambda: alone.status()["leader"] is None)
    started = time.monotonic()
    reply = alone.propose(b"1", timeout_s=1)
    assert reply["error"] == "NoLeader"
    assert 1 <= time.monotonic() - started < CALL_S
    for member in group.members.values():
        if member is not alone:
            member.start()
    group.write(alone, 2)
    assert group.same_content() == [0, 2]


def test_a_leader_that_just_lost_its_majority_does_not_acknowledge(group: Group) -> None:
    leader = group.leader()
    for member in group.living():
        if member is not leader:
            member.kill()
    reply = leader.propose(b"1", timeout_s=1)
    assert reply["error"] in ("OutcomeUnknown", "NoLeader")


def test_a_failing_state_machine_ends_the_process_with_a_log_line(group_of_one: Group) -> None:
    member = group_of_one.members["a"]
    group_of_one.write(member, 0)
    with pytest.raises(ConnectionError):
        member.propose(b"explode")
    assert member.process.wait(PATIENCE_S) == 70
    assert "member a stops: its log or its state machine failed" in member.log.read_text()
    assert "Input/output error" in member.log.read_text()


def test_strangers_on_the_port_change_nothing_and_are_counted(group: Group) -> None:
    group.write(group.members["a"], 0)
    for member in group.members.values():
        host, port = member.listen.split(":")
        for said in (b"\x00\x00\x00\x04junk", b"\x7f\xff\xff\xff", b"\x80\x05garbage", b""):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as stranger:
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
                assert heard(stranger) == b""
        assert any(name.startswith("refused") for name in member.status()["counters"])
    group.write(group.members["c"], 1)
    assert group.same_content() == [0, 1]


def heard(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1)
    except ConnectionResetError:
        return b""


def test_a_member_that_was_down_past_the_trim_point_catches_up_by_a_snapshot(group_with_short_logs: Group) -> None:
    group = group_with_short_logs
    absent = group.followers()[0]
    last = absent.status()["last"]
    absent.kill()
    with Load(group) as load:
        # Of both: whoever leads when it comes back has a shorter log.
        until(lambda: all(each.status()["first"] > last for each in group.living()))
        absent.start()
        until(lambda: absent.status()["counters"].get("snapshots_installed"))
        load.goes_on()
    group.require_nothing_lost()
    assert len(group.living()) == 3


def test_a_dead_member_is_replaced_on_a_new_machine_under_load(group_with_short_logs: Group) -> None:
    group = group_with_short_logs
    dead = group.followers()[0]
    with Load(group) as load:
        until(lambda: group.leader().status()["first"] > 1)
        dead.kill()
        load.goes_on()
        fresh = group.join("d")
        asked = next(member for member in group.living() if member is not fresh)
        assert asked.change("add", "d", fresh.listen) == {}
        load.goes_on()
        until(lambda: asked.change("promote", "d") == {})
        assert fresh.change("remove", dead.name) == {}
        load.goes_on()
        voters = {name: "voter" for name in group.members if name != dead.name}
        until(lambda: fresh.status()["members"] == voters)
        group.leader().kill()  # with the new member counted, two of three still are a majority
        load.goes_on()
    group.require_nothing_lost()


def test_leadership_is_transferred_under_load(group: Group) -> None:
    with Load(group) as load:
        for to in ("a", "b", "c", None):
            before = group.leader()
            asked = group.followers()[0]
            reply = asked.ask("transfer", to=to, timeout_s=CALL_S)
            assert reply["leader"] == (to or reply["leader"])
            assert to is not None or reply["leader"] != before.name
            load.goes_on()
    group.require_nothing_lost()


def test_a_leader_can_be_removed_and_stops_taking_part(patient_group: Group) -> None:
    group = patient_group
    with Load(group) as load:
        leader = group.leader()
        assert leader.change("remove", leader.name) == {}
        others = [member for member in group.living() if member is not leader]
        until(lambda: leader.name not in others[0].status()["members"])
        until(lambda: others[0].status()["leader"] in {member.name for member in others})
        term = others[0].status()["term"]
        until(lambda: leader.name not in leader.status()["members"])
        leader.kill()
        load.goes_on()
        assert others[0].status()["term"] == term
    group.require_nothing_lost()


def test_reads_on_a_follower_never_go_back_while_leaders_change(group: Group) -> None:
    with Load(group) as load:
        reader = group.followers()[0]
        newest = reads = 0
        for turn in (1, 2, 3):
            successor = next(member for member in group.followers() if member is not reader)
            transfer = threading.Thread(target=successor.ask, args=("transfer",), kwargs={"to": None, "timeout_s": 10})
            transfer.start()
            while transfer.is_alive() or reads < 2 * turn:
                acknowledged = len(group.acknowledged)
                reply = reader.ask("read", timeout_s=5)
                if "error" in reply:
                    continue
                assert reply["count"] >= max(newest, acknowledged)
                newest, reads = reply["count"], reads + 1
            transfer.join()
            load.goes_on()
    assert reads > 3


def test_a_leader_that_was_cut_off_serves_no_linearizable_read(group: Group) -> None:
    old = group.leader()
    others = [member for member in group.living() if member is not old]
    group.write(old, 0)
    for member in others:
        member.ask("block", members=[old.name])
    old.ask("block", members=[member.name for member in others])
    answers: list[dict[str, Any]] = []
    reading = threading.Thread(target=lambda: answers.append(old.ask("read", timeout_s=4)))
    reading.start()
    group.write(others[0], 1)
    reading.join()
    assert answers[0]["error"] == "NoLeader"
    assert others[1].ask("read", timeout_s=CALL_S)["count"] == 2
    for member in group.living():
        member.ask("block", members=[])
    assert until(lambda: old.ask("read", timeout_s=CALL_S).get("count")) == 2


def test_a_leader_that_stood_still_reads_nothing_old_when_it_goes_on(group: Group) -> None:
    old = group.leader()
    others = [member for member in group.living() if member is not old]
    with frozen(old.process.pid):
        group.write(others[0], 1)
    assert until(lambda: old.ask("read", timeout_s=CALL_S).get("count")) == 1


def test_an_isolated_member_that_comes_back_does_not_disturb_the_leader(patient_group: Group) -> None:
    group = patient_group
    leader = group.leader()
    alone = group.followers()[0]
    term = leader.status()["term"]
    others = [member for member in group.living() if member is not alone]
    for member in others:
        member.ask("block", members=[alone.name])
    alone.ask("block", members=[member.name for member in others])
    until(lambda: alone.status()["counters"].get("pre_votes", 0) >= 3)
    assert alone.status()["leader"] is None
    group.write(leader, 1)
    for member in group.living():
        member.ask("block", members=[])
    assert group.leader() is leader
    assert {member.status()["term"] for member in group.living()} == {term}
    assert group.same_content() == [1]


def test_a_local_read_says_how_old_it_may_be(group: Group) -> None:
    follower = group.followers()[0]
    until(lambda: (follower.status()["staleness_s"] or 9) < 1)
    with frozen(*(member.process.pid for member in group.members.values() if member is not follower)):
        until(lambda: follower.status()["staleness_s"] > 1.5)
