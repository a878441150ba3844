"""Attacks T1 to T5 of the design's RAFT page, as messages to one member that nobody ticks but the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.local import ports
from raft.journal import FileJournal
from raft.replica import Timing, _Member, _Node, _Proposal, _Waker

SUCCESS = 0  # the library's reason
NEVER = Timing(heartbeat=0.1, election_min=1e6, election_max=2e6)


class Replica:
    """What a node needs of its replica."""

    def __init__(self) -> None:
        self.applied: list[bytes] = []
        self.to_propose: list[_Proposal] = []
        self.outcomes: list[int] = []

    @property
    def state_machine_index(self) -> int:
        return 0

    def apply(self, _index: int, command: bytes) -> bytes:
        self.applied.append(command)
        return b""

    def take_waiting(self) -> list[_Proposal]:
        taken, self.to_propose = self.to_propose, []
        return taken

    def ended(self, _proposal: _Proposal, _result: bytes | None, reason: int) -> None:
        self.outcomes.append(reason)


class Lab:
    """One member, b, of a group; what it would send is in `out`."""

    def __init__(self, directory: Path, size: int) -> None:
        names = "abcde"[:size]
        self.replica = Replica()
        self.journal = FileJournal(directory)
        self.waker = _Waker()
        endpoints = (f"127.0.0.1:{port}" for port in ports.pick(len(names)))
        self.members = {name: _Member(name, endpoint) for name, endpoint in zip(names, endpoints, strict=True)}
        others = [member for name, member in self.members.items() if name != "b"]
        self.node = _Node(self.members["b"], others, self.journal, self.replica, self.waker, NEVER)  # type: ignore[arg-type]
        self.transport: Any = self.node._transport
        self.transport._send_now = self.send
        self.out: list[tuple[str, dict[str, Any]]] = []
        for member in others:
            self.transport._onNodeConnected(member)

    def send(self, member: _Member, message: dict[str, Any]) -> bool:
        self.out.append((member.address, message))
        return True

    def receive(self, sender: str, **message: Any) -> None:
        self.transport._onMessageReceived(self.members[sender], message)

    def append(self, sender: str, term: int, after: tuple[int, int], entries: list[Any], commit: int = 0) -> None:
        self.receive(
            sender,
            type="append_entries",
            term=term,
            commit_index=commit,
            prevLogIdx=after[0],
            prevLogTerm=after[1],
            entries=entries,
        )

    def sent(self, kind: str) -> list[dict[str, Any]]:
        return [message for _, message in self.out if message["type"] == kind]

    def run_for_election(self) -> int:
        self.node._SyncObj__raftElectionDeadline = 0
        self.node.tick()
        return int(self.node.raftCurrentTerm)

    def close(self) -> None:
        self.node.stop()
        self.waker.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path, 3)
    yield lab
    lab.close()


@pytest.fixture
def lab_of_five(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path, 5)
    yield lab
    lab.close()


def entries(first: int, last: int, term: int) -> list[tuple[bytes, int, int]]:
    return [(b"\x00%d" % index, index, term) for index in range(first, last + 1)]


def test_an_acknowledgement_waits_for_the_sync_and_carries_the_term(lab: Lab) -> None:
    lab.append("a", 1, (1, 0), entries(2, 5, 1))
    assert lab.sent("next_node_idx") == []
    lab.node.tick()
    assert lab.sent("next_node_idx") == [
        {"type": "next_node_idx", "next_node_idx": 6, "reset": False, "success": True, "term": 1}
    ]


def test_nothing_is_acknowledged_when_the_sync_fails(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    lab.append("a", 1, (1, 0), entries(2, 5, 1))
    monkeypatch.setattr("os.fdatasync", full)
    with pytest.raises(OSError, match="No space left"):
        lab.node.tick()
    assert lab.sent("next_node_idx") == []
    monkeypatch.undo()


def test_t1_a_shorter_message_sent_again_truncates_nothing(lab: Lab) -> None:
    lab.append("a", 1, (1, 0), entries(2, 10, 1), commit=10)
    lab.node.tick()
    for again in (entries(5, 6, 1), []):
        lab.append("a", 1, (4, 1), again, commit=10)
        lab.node.tick()
        assert lab.journal.last_index == 10
    assert lab.replica.applied == [b"%d" % index for index in range(2, 11)]
    assert [ack["next_node_idx"] for ack in lab.sent("next_node_idx")] == [11, 7, 5]


def test_t1_a_tail_that_the_leader_did_not_confirm_is_not_committed(lab: Lab) -> None:
    lab.append("a", 1, (1, 0), entries(2, 10, 1))
    lab.append("c", 2, (4, 1), [], commit=8)
    lab.node.tick()
    assert lab.journal.last_index == 10
    assert lab.replica.applied == [b"2", b"3", b"4"]


def test_t1_a_real_conflict_truncates(lab: Lab) -> None:
    lab.append("a", 1, (1, 0), entries(2, 10, 1))
    lab.append("c", 2, (6, 1), [*entries(7, 7, 1), (b"\x00new", 8, 2)])
    assert (lab.journal.last_index, lab.journal.term_at(8)) == (8, 2)
    assert lab.journal[-1][0] == b"\x00new"


def test_an_older_leader_changes_nothing(lab: Lab) -> None:
    lab.append("c", 5, (1, 0), entries(2, 4, 5))
    lab.append("a", 3, (1, 0), entries(2, 2, 3), commit=2)
    lab.node.tick()
    assert (lab.journal.last_index, lab.journal.term_at(2), lab.replica.applied) == (4, 5, [])


def test_t2_a_stale_acknowledgement_commits_nothing(lab: Lab) -> None:
    term = lab.run_for_election()
    lab.receive("a", type="response_vote", term=term)
    assert lab.node._isLeader()
    lab.replica.to_propose = [_Proposal(b"x")]
    lab.node.tick()
    for stale in (term - 1, term + 1):
        lab.receive("a", type="next_node_idx", term=stale, next_node_idx=50, reset=False, success=True)
        lab.node.tick()
    assert (lab.replica.applied, lab.replica.outcomes) == ([], [])
    lab.receive("a", type="next_node_idx", term=term, next_node_idx=4, reset=False, success=True)
    lab.node.tick()
    assert (lab.replica.applied, lab.replica.outcomes) == ([b"x"], [SUCCESS])


def test_t3_one_voter_counts_once(lab_of_five: Lab) -> None:
    term = lab_of_five.run_for_election()
    for _ in range(3):
        lab_of_five.receive("a", type="response_vote", term=term)
    assert not lab_of_five.node._isLeader()
    lab_of_five.receive("c", type="response_vote", term=term)
    assert lab_of_five.node._isLeader()


def test_t4_a_restart_does_not_vote_twice(tmp_path: Path) -> None:
    first = Lab(tmp_path, 3)
    first.receive("a", type="request_vote", term=7, last_log_index=5, last_log_term=1)
    first.node.tick()
    assert len(first.sent("response_vote")) == 1
    first.close()
    second = Lab(tmp_path, 3)
    second.receive("c", type="request_vote", term=7, last_log_index=5, last_log_term=1)
    second.node.tick()
    assert (second.node.raftCurrentTerm, second.sent("response_vote")) == (7, [])
    second.close()


@pytest.mark.parametrize(
    "message",
    [
        {"type": "append_entries", "term": 9, "commit_index": 0, "serialized": (b"dump", True, True)},
        {"type": "append_entries", "term": 9},
        {"type": "timeout_now", "term": 9},
        {"type": "apply_command", "command": b"\x03\x80", "request_id": 1},
        ["add", "evil:1"],
        None,
    ],
)
def test_what_no_member_sends_changes_nothing_and_disconnects(
    lab: Lab, message: object, caplog: pytest.LogCaptureFixture
) -> None:
    class Connection:
        def __init__(self) -> None:
            self.is_connected = True

        def disconnect(self) -> None:
            self.is_connected = False

    connection = Connection()
    lab.transport._connections[lab.members["a"]] = connection
    lab.transport._onMessageReceived(lab.members["a"], message)
    del lab.transport._connections[lab.members["a"]]
    assert not connection.is_connected
    assert (lab.node.raftCurrentTerm, lab.journal.last_index) == (0, 1)
    assert "disconnected from a" in caplog.text
