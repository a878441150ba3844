"""What every Replica promises, on the in-memory one and on a real group of one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raft.errors import NoLeader
from raft.inmem import InMemoryReplica
from raft.protocol import Replica
from raft.replica import SyncObjReplica

DEADLINE_S = 30


class RecordingMachine:
    """Answers with the number of the command and the command."""

    def __init__(self) -> None:
        self.commands: list[bytes] = []
        self.indexes: list[int] = []
        self.is_closed = False

    @property
    def applied_index(self) -> int:
        return self.indexes[-1] if self.indexes else 0

    def apply(self, index: int, command: bytes) -> bytes:
        self.indexes.append(index)
        self.commands.append(command)
        return b"%d:%s" % (len(self.commands), command)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def machine() -> RecordingMachine:
    return RecordingMachine()


@pytest.fixture(params=["in memory", "pysyncobj"])
def replica(request: pytest.FixtureRequest, machine: RecordingMachine, tmp_path: Path) -> Iterator[Replica]:
    make: dict[str, Callable[[], Replica]] = {
        "in memory": lambda: InMemoryReplica("a", machine),
        "pysyncobj": lambda: SyncObjReplica("a", "127.0.0.1:1", {}, machine, tmp_path),
    }
    replica = make[request.param]()
    yield replica
    replica.close()


def test_a_proposal_returns_what_the_state_machine_answered(replica: Replica) -> None:
    assert replica.propose(b"x", DEADLINE_S) == b"1:x"
    assert replica.propose(b"", DEADLINE_S) == b"2:"


def test_any_bytes_arrive_as_they_are(replica: Replica, machine: RecordingMachine) -> None:
    commands = [bytes(range(256)), b"\x80\x05.", b"\x00" * 10, bytes(600 << 10)]
    for command in commands:
        replica.propose(command, DEADLINE_S)
    assert machine.commands == commands


def test_concurrent_proposals_are_applied_once_each_and_in_order(replica: Replica, machine: RecordingMachine) -> None:
    answers: list[bytes] = []

    def write(writer: int) -> None:
        answers.extend(replica.propose(b"%d-%d" % (writer, number), DEADLINE_S) for number in range(50))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == sorted(b"%d:%s" % (n, command) for n, command in enumerate(machine.commands, start=1))
    assert sorted(machine.commands) == sorted(b"%d-%d" % (writer, n) for writer in range(8) for n in range(50))
    assert machine.indexes == sorted(set(machine.indexes))
    for writer in range(8):
        own = [command for command in machine.commands if command.startswith(b"%d-" % writer)]
        assert own == [b"%d-%d" % (writer, number) for number in range(50)]


def test_the_status_tells_of_a_leading_member(replica: Replica) -> None:
    replica.propose(b"x", DEADLINE_S)
    status = replica.status()
    assert (status.name, status.leader, status.live_members) == ("a", "a", ("a",))
    assert status.applied_index >= 1
    assert replica.is_leader()


def test_closing_closes_the_state_machine_and_refuses_proposals(replica: Replica, machine: RecordingMachine) -> None:
    replica.close()
    replica.close()
    assert machine.is_closed
    assert not replica.is_leader()
    with pytest.raises(NoLeader):
        replica.propose(b"x", DEADLINE_S)
