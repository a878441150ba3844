"""What every Replica promises, on the in-memory one and on a real group of one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local import ports
from raft.configuration import Role
from raft.errors import ChangeRefused, DamagedSnapshot, NoLeader, RaftError
from raft.inmem import InMemoryReplica
from raft.protocol import AddLearner, Outcome, Promote, Remove, Replica
from raft.replica import RaftReplica
from raft.snapshotting import snapshots
from tests.patience import PATIENCE_S


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

    def checksum_at(self, index: int) -> bytes | None:
        return b"%d" % sum(1 for at in self.indexes if at <= index)

    def sync(self) -> int:
        return self.applied_index

    def save(self, directory: Path) -> int:
        directory.mkdir()
        (directory / "commands").write_bytes(b"\n".join(self.commands))
        return self.applied_index

    def reopen(self) -> None:
        """It never lacks room."""

    def install(self, directory: Path) -> None:
        self.commands = (directory / "commands").read_bytes().split(b"\n")

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def machine() -> RecordingMachine:
    return RecordingMachine()


@pytest.fixture(params=["in memory", "raft"])
def replica(request: pytest.FixtureRequest, machine: RecordingMachine, tmp_path: Path) -> Iterator[Replica]:
    listen = f"127.0.0.1:{ports.pick(1)[0]}"
    make: dict[str, Callable[[], Replica]] = {
        "in memory": lambda: InMemoryReplica("a", machine),
        "raft": lambda: RaftReplica("a", listen, {}, machine, tmp_path / "raft", disk_reserve_bytes=0),
    }
    replica = make[request.param]()
    yield replica
    replica.close()


def test_a_proposal_returns_what_the_state_machine_answered(replica: Replica) -> None:
    assert replica.propose(b"x", PATIENCE_S) == b"1:x"
    assert replica.propose(b"", PATIENCE_S) == b"2:"


def test_any_bytes_arrive_as_they_are(replica: Replica, machine: RecordingMachine) -> None:
    commands = [bytes(range(256)), b"\x80\x05.", b"\x00" * 10, bytes(600 << 10)]
    for command in commands:
        replica.propose(command, PATIENCE_S)
    assert machine.commands == commands


def test_concurrent_proposals_are_applied_once_each_and_in_order(replica: Replica, machine: RecordingMachine) -> None:
    answers: list[bytes] = []

    def write(writer: int) -> None:
        answers.extend(replica.propose(b"%d-%d" % (writer, number), PATIENCE_S) for number in range(50))

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


def test_asynchronous_proposals_are_appended_in_the_order_of_the_calls(
    replica: Replica, machine: RecordingMachine
) -> None:
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    for number in range(500):
        replica.propose_async(b"%d" % number, PATIENCE_S, outcomes.put)
    assert [outcomes.get(timeout=PATIENCE_S) for _ in range(500)] == [b"%d:%d" % (n + 1, n) for n in range(500)]
    assert machine.commands == [b"%d" % number for number in range(500)]


def test_a_read_index_covers_all_that_was_acknowledged(replica: Replica, machine: RecordingMachine) -> None:
    for number in range(5):
        replica.propose(b"%d" % number, PATIENCE_S)
        assert replica.read_index(PATIENCE_S) >= machine.applied_index
        assert len(machine.commands) == number + 1
    indexes: queue.SimpleQueue[int | RaftError] = queue.SimpleQueue()
    replica.read_index_async(PATIENCE_S, indexes.put)
    index = indexes.get(timeout=PATIENCE_S)
    assert isinstance(index, int)
    assert index >= machine.applied_index


def test_the_status_tells_of_a_leading_member(replica: Replica) -> None:
    replica.propose(b"x", PATIENCE_S)
    replica.read_index(PATIENCE_S)
    status = replica.status()
    assert (status.name, status.leader, status.live_members, status.state) == ("a", "a", ("a",), "leader")
    assert status.first_index <= status.applied_index <= status.commit_index <= status.last_index
    assert status.group_id
    assert status.staleness_s is not None
    assert [(member.name, member.role, member.is_connected) for member in status.members] == [("a", Role.VOTER, True)]
    assert replica.is_leader()
    assert replica.staleness_s() is not None


def test_the_only_voter_can_neither_go_nor_hand_over(replica: Replica) -> None:
    replica.propose(b"x", PATIENCE_S)
    assert replica.transfer_leadership("a", PATIENCE_S) == "a"
    with pytest.raises(ChangeRefused):
        replica.transfer_leadership(None, PATIENCE_S)
    with pytest.raises(ChangeRefused, match="last voter"):
        replica.change_membership(Remove("a"), PATIENCE_S)
    with pytest.raises(ChangeRefused, match="not in the group"):
        replica.change_membership(Promote("x"), PATIENCE_S)


def test_a_change_that_is_in_force_already_is_a_success(replica: Replica) -> None:
    replica.propose(b"x", PATIENCE_S)
    (own,) = replica.status().members
    for change in (AddLearner("a", own.address), Promote("a"), Remove("x")):
        replica.change_membership(change, PATIENCE_S)
    (still,) = replica.status().members
    assert (still.name, still.address, still.role) == (own.name, own.address, own.role)


def test_a_saved_snapshot_is_complete(replica: Replica, tmp_path: Path) -> None:
    replica.propose(b"x", PATIENCE_S)
    replica.propose(b"y", PATIENCE_S)
    replica.save_snapshot(tmp_path / "snapshot")
    manifest = snapshots.verify(tmp_path / "snapshot")
    assert manifest.index == replica.status().applied_index
    assert manifest.configuration.voters == {"a"}
    (tmp_path / "snapshot" / snapshots.STATE / "commands").write_bytes(b"x\nz")
    with pytest.raises(DamagedSnapshot):
        snapshots.verify(tmp_path / "snapshot")


def test_closing_closes_the_state_machine_and_refuses_everything(replica: Replica, machine: RecordingMachine) -> None:
    replica.close()
    replica.close()
    assert machine.is_closed
    assert not replica.is_leader()
    with pytest.raises(NoLeader):
        replica.propose(b"x", PATIENCE_S)
    with pytest.raises(NoLeader):
        replica.read_index(PATIENCE_S)
    with pytest.raises(NoLeader):
        replica.transfer_leadership(None, PATIENCE_S)
    with pytest.raises(NoLeader):
        replica.change_membership(Remove("x"), PATIENCE_S)
