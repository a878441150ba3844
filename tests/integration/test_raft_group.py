"""Three members as processes on loopback: acknowledged means kept, whoever is killed."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import queue
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from deploy.local import ports
from protos.guardian.v1 import records_pb2, tiering_pb2

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("raft_member.py")
DEADLINE_S = 60.0
T = TypeVar("T")


class Member:
    """A member's process, and what it answers."""

    def __init__(self, name: str, listen: str, peers: dict[str, str], directory: Path) -> None:
        self.name, self.listen = name, listen
        self.log = directory / f"{name}.log"
        self._arguments = [sys.executable, str(SCRIPT), name, listen, json.dumps(peers), str(directory / name)]
        self._numbers = itertools.count()
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
        self._input = threading.Lock()
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def ask(self, op: str, wait_s: float = DEADLINE_S, **request: object) -> dict[str, Any]:
        """The answer. Raises ConnectionError when the process has ended."""
        number = next(self._numbers)
        answers = self._answers.setdefault(number, queue.SimpleQueue())
        with self._input:
            assert self.process.stdin
            self.process.stdin.write(json.dumps({"id": number, "op": op, **request}) + "\n")
            self.process.stdin.flush()
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            try:
                return answers.get(timeout=0.2)
            except queue.Empty:
                if self.process.poll() is not None:
                    raise ConnectionError(f"{self.name} has ended: {self.log.read_text()}") from None
        raise AssertionError(f"{self.name} did not answer {op} within {wait_s} s: {self.log.read_text()}")

    def propose(self, command: bytes, timeout_s: float = 10) -> dict[str, Any]:
        return self.ask("propose", command=command.hex(), timeout_s=timeout_s)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(DEADLINE_S)

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            reply = json.loads(line)
            self._answers.pop(reply.pop("id")).put(reply)


class Group:
    def __init__(self, directory: Path, size: int) -> None:
        endpoints = {name: f"127.0.0.1:{port}" for name, port in zip("abc", ports.pick(size), strict=False)}
        self.members = {
            name: Member(name, listen, {peer: at for peer, at in endpoints.items() if peer != name}, directory)
            for name, listen in endpoints.items()
        }

    def leader(self) -> Member:
        """The member that all of the living call leader."""

        def agreed() -> Member | None:
            named = {member.ask("status")["leader"] for member in self.living()}
            name = named.pop() if len(named) == 1 else None
            return self.members[name] if name and self.members[name] in self.living() else None

        return eventually(agreed)

    def living(self) -> list[Member]:
        return [member for member in self.members.values() if member.process.poll() is None]

    def write(self, member: Member, number: int) -> None:
        """Appends a segment's event through the member, again and again until it is acknowledged."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            reply = member.propose(append(number))
            if "error" not in reply:
                answer = records_pb2.CommandReply.FromString(bytes.fromhex(reply["result"]))
                assert not answer.error
                assert not answer.segment_events.results[0].error
                return
        raise AssertionError(f"segment {number} was not acknowledged within {DEADLINE_S} s")

    def same_content(self) -> set[int]:
        """The segments that are stored, once every living member holds the same."""

        def agreed() -> set[int] | None:
            contents = [member.ask("content") for member in self.living()]
            if len({content["digest"] for content in contents}) != 1:
                return None
            return {int(segment, 16) for segment in contents[0]["segments"]}

        return eventually(agreed)

    def end(self) -> None:
        for member in self.living():
            member.kill()


def eventually(probe: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        found = probe()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it did not happen within {DEADLINE_S} s")


def append(number: int, events: int = 1, padding: int = 0) -> bytes:
    """A command that appends segments `number`, `number` + 1, ... of one partition."""
    partition = tiering_pb2.TopicIdPartition(cluster_id="c", topic_id=bytes(16), partition=number % 4)
    segments = [
        tiering_pb2.SegmentEvent(
            segment_id=(number + offset).to_bytes(16, "big"),
            state=tiering_pb2.COPY_SEGMENT_STARTED,
            segment_leader_epochs={1: 0},
            custom_metadata=os.urandom(padding),
        )
        for offset in range(events)
    ]
    request = tiering_pb2.AppendSegmentEventsRequest(
        partitions=[tiering_pb2.PartitionEvents(partition=partition, events=segments)]
    )
    return records_pb2.Command(append_segment_events=request).SerializeToString()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, 3)
    yield group
    group.end()


@pytest.fixture
def group_of_one(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, 1)
    yield group
    group.end()


def test_acknowledged_writes_outlive_the_leader_and_it_catches_up(group: Group) -> None:
    leader = group.leader()
    survivor, other = (member for member in group.members.values() if member is not leader)
    acknowledged: set[int] = set()

    def write_through_the_leader() -> None:
        for number in itertools.count(1_000_000):
            try:
                group.write(leader, number)
            except (ConnectionError, OSError):
                return  # it was killed
            acknowledged.add(number)

    doomed = threading.Thread(target=write_through_the_leader)
    doomed.start()
    for number in range(500):
        if number == 200:
            leader.kill()
        group.write(survivor if number % 2 else other, number)
        acknowledged.add(number)
    doomed.join(DEADLINE_S)
    assert len(acknowledged) > 500
    assert acknowledged <= group.same_content()
    leader.start()
    group.write(leader, 500)
    assert len(group.living()) == 3
    assert acknowledged | {500} <= group.same_content()


def test_all_killed_at_once_lose_nothing(group: Group) -> None:
    acknowledged: set[int] = set()
    for round_ in range(3):
        writer = group.leader()
        for number in range(100):
            group.write(writer, round_ * 1000 + number)
            acknowledged.add(round_ * 1000 + number)
        group.end()
        for member in group.members.values():
            member.start()
    group.leader()
    assert group.same_content() == acknowledged


def test_a_graceful_restart_of_all_keeps_the_state(group: Group) -> None:
    for number in range(20):
        group.write(group.members["a"], number)
    stored = group.same_content()
    assert [member.stop() for member in group.members.values()] == [0, 0, 0]
    for member in group.members.values():
        member.start()
    assert group.same_content() == stored == set(range(20))
    group.write(group.members["b"], 20)
    assert group.same_content() == set(range(21))


def test_a_command_of_600_kib_replicates(group: Group) -> None:
    command = append(0, events=60, padding=10 << 10)
    assert len(command) > 600 << 10
    for member in group.members.values():
        reply = member.propose(command, DEADLINE_S)
        assert not records_pb2.CommandReply.FromString(bytes.fromhex(reply["result"])).error
    assert group.same_content() == set(range(60))


def test_without_a_majority_a_proposal_ends_in_time_and_is_never_applied(group: Group) -> None:
    group.write(group.members["a"], 0)
    alone = group.leader()
    for member in group.living():
        if member is not alone:
            member.kill()
    eventually(lambda: True if alone.ask("status")["leader"] is None else None)
    started = time.monotonic()
    reply = alone.propose(append(1), timeout_s=1)
    assert reply["error"] == "NoLeader"
    assert 1 <= time.monotonic() - started < 20
    for member in group.members.values():
        if member is not alone:
            member.start()
    group.write(alone, 2)
    assert group.same_content() == {0, 2}


def test_a_leader_that_just_lost_its_majority_does_not_acknowledge(group: Group) -> None:
    leader = group.leader()
    for member in group.living():
        if member is not leader:
            member.kill()
    reply = leader.propose(append(1), timeout_s=1)
    assert reply["error"] in ("OutcomeUnknown", "NoLeader")


def test_a_failing_state_machine_ends_the_process_with_a_log_line(group_of_one: Group) -> None:
    member = group_of_one.members["a"]
    group_of_one.write(member, 0)
    with pytest.raises(ConnectionError):
        member.propose(b"explode")
    assert member.process.wait(DEADLINE_S) == 70
    assert "member a stops: its log or its state machine failed" in member.log.read_text()
    assert "Input/output error" in member.log.read_text()


class Exploit:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_strangers_on_the_port_change_nothing(group: Group, tmp_path: Path) -> None:
    group.write(group.members["a"], 0)
    exploited = tmp_path / "exploited"
    takeover = {"type": "append_entries", "term": 99, "commit_index": 1, "serialized": b"dump"}
    conversations = [
        [pickle.dumps(Exploit(exploited))],
        [pickle.dumps(["add", "127.0.0.1:1"])],
        [pickle.dumps("readonly")],
        [pickle.dumps("stranger"), pickle.dumps(takeover)],
        [b"\x80garbage"],
        [b""],
    ]
    for member, frames in itertools.product(group.members.values(), conversations):
        host, port = member.listen.split(":")
        with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as stranger:
            stranger.sendall(b"".join(struct.pack("i", len(frame)) + frame for frame in frames))
            assert heard(stranger) == b""
    assert not exploited.exists()
    group.write(group.members["c"], 1)
    assert len(group.living()) == 3
    assert group.same_content() == {0, 1}


def heard(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1)
    except ConnectionResetError:
        return b""
