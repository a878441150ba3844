"""Messages to one member that nobody ticks but the test: the attacks T1 to T9 of the design's RAFT page, and who may
lead, who is heard, what is read and who belongs to the group.

The member is b, its journal is real; time and network are the test's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from raft.configuration import Configuration
from raft.entries import NO_OP, command_entry, configuration_entry
from raft.errors import CannotStart, ChangeRefused, LowDisk, NoLeader, OutcomeUnknown, Overloaded, RaftError
from raft.network import frames
from raft.network.frames import MAX_COMMAND_BYTES
from raft.node.changing import Handover
from raft.node.feeding import TELL_AFTER_S
from raft.node.installing import repair
from raft.node.library import Timing
from raft.node.matching import Contradiction
from raft.node.member import Member
from raft.node.waker import Waker
from raft.protocol import AddLearner, Outcome, Promote, Remove
from raft.rules.reads import Read
from raft.snapshotting import snapshots
from raft.snapshotting.pending_install import PendingInstall
from raft.snapshotting.pending_install import write as write_note
from raft.storage.identity import FolderIdentity
from raft.storage.journal import Entry, Journal
from tests.simulation.raft_world import InlineExecutor

Message = dict[str, Any]
BEYOND = 5.0  # more than any time-out of Timing()


class Machine:
    def __init__(self) -> None:
        self.applied: list[bytes] = []
        self.indexes: list[int] = []
        self.failure: Exception | None = None

    @property
    def applied_index(self) -> int:
        return self.indexes[-1] if self.indexes else 0

    def apply(self, index: int, command: bytes) -> bytes:
        if self.failure is not None:
            raise self.failure
        self.applied.append(command)
        self.indexes.append(index)
        return b"done " + command[:10]

    def checksum_at(self, index: int) -> bytes | None:
        done = [command for at, command in zip(self.indexes, self.applied, strict=False) if at <= index]
        return hashlib.sha256(b"".join(done)).digest()

    def sync(self) -> int:
        return self.applied_index

    def save(self, directory: Path) -> int:
        directory.mkdir()
        (directory / "state").write_bytes(b"saved")
        return self.applied_index

    def reopen(self) -> None:
        """It never lacks room."""

    def install(self, directory: Path) -> None:
        self.applied = [(directory / "state").read_bytes()]

    def close(self) -> None:
        pass


def incarnation_of(name: str) -> str:
    return f"folder of {name}"


class Network:
    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.members: dict[str, str] = {}
        self.connected: set[str] = set()

    def send(self, name: str, message: Message | bytes) -> bool:
        if name not in self.connected:
            return False
        frame = message if isinstance(message, bytes) else frames.encode(message)
        self._lab.out.append((name, frames.decode(frame[frames.LENGTH.size :])))
        return True

    def is_connected(self, name: str) -> bool:
        return name in self.connected

    def incarnation(self, name: str) -> str:
        return incarnation_of(name)

    def set_members(self, members: Mapping[str, str]) -> None:
        self.members = dict(members)
        self.connected |= members.keys()

    def tick(self, _now: float) -> None:
        pass

    def close(self) -> None:
        pass


class Lab:
    """One member; what it sends is in `out`."""

    def __init__(self, directory: Path, names: str = "abc", *, peers: str = "ac", reserve_bytes: int = 0) -> None:
        self.out: list[tuple[str, Message]] = []
        self.outcomes: list[Outcome] = []
        self.read_indexes: list[int | RaftError] = []
        self.answers: list[str | RaftError] = []
        self.now = 1000.0
        self._is_closed = False
        self.machine = Machine()
        self.group = Configuration.of_voters("g", {name: f"{name}:1" for name in names}).founded(
            {name: incarnation_of(name) for name in names}
        )
        self.journal = Journal(directory, self.group if names else None)
        self.network = Network(self)
        self.member = Member(
            FolderIdentity("b", incarnation_of("b")),
            self.journal,
            self.machine,
            directory,
            lambda _member, _poller: self.network,
            peers=peers,
            disk_reserve_bytes=reserve_bytes,
            timing=Timing(),
            clock=lambda: self.now,
        )

    @property
    def core(self) -> Any:
        return self.member.core

    def tick(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.member.tick(0)

    def receive(self, sender: str, kind: str, **fields: Any) -> None:
        self.network.connected.add(sender)
        self.member.on_message(sender, frames.decode(frames.encode({"type": kind, **fields})[frames.LENGTH.size :]))

    def append(self, sender: str, term: int, after: tuple[int, int], entries: list[Entry], commit: int = 0) -> None:
        index, previous = after
        fields = {"commit_index": commit, "prevLogIdx": index, "prevLogTerm": previous, "entries": entries}
        self.receive(sender, "append_entries", term=term, **fields)

    def acknowledge(self, sender: str, next_index: int, *, term: int | None = None, has_space: bool = True) -> None:
        term = self.core.term if term is None else term
        self.receive(
            sender, "next_node_idx", term=term, next_node_idx=next_index, reset=False, success=True, has_space=has_space
        )

    def sent(self, kind: str, to: str | None = None) -> list[Message]:
        return [message for name, message in self.out if message["type"] == kind and to in (None, name)]

    def lead(self) -> int:
        """Has b elected, its first entry committed, and returns its term."""
        self.tick(BEYOND)
        term = self.core.term + 1
        for name in sorted(self.group.voters - {"b"}):
            self.receive(name, "pre_vote_reply", term=term, is_granted=True)
        self.tick()
        for name in sorted(self.group.voters - {"b"}):
            self.receive(name, "response_vote", term=term)
        assert self.core.is_leader
        self.tick()
        for name in sorted(self.group.voters - {"b"}):
            self.acknowledge(name, self.journal.last_index + 1)
        self.tick()
        assert self.core.commit_index == self.journal.last_index
        self.out.clear()
        return int(self.core.term)

    def lead_unsettled(self) -> None:
        """Has b elected; nobody has its first entry."""
        self.tick(BEYOND)
        term = self.core.term + 1
        self.receive("a", "pre_vote_reply", term=term, is_granted=True)
        self.tick()
        self.receive("a", "response_vote", term=term)
        self.tick()
        assert self.core.is_leader

    def propose(self, command: bytes = b"x") -> None:
        self.member.proposals.submit(command, self.now + 3.0, self.outcomes.append)

    def read(self) -> None:
        self.member.reading.submit(Read(self.now + 3.0, self.read_indexes.append))

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.member.close()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def make(names: str = "abc", directory: str = "b", **options: Any) -> Lab:
        labs.append(Lab(tmp_path / directory, names, **options))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(make: Callable[..., Lab]) -> Lab:
    return make()


def entries(first: int, last: int, term: int) -> list[Entry]:
    return [(command_entry(b"%d" % index), index, term) for index in range(first, last + 1)]


class TestLog:
    def test_an_acknowledgement_waits_for_the_sync_and_carries_the_term(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 5, 1))
        assert lab.sent("next_node_idx") == []
        lab.tick()
        assert lab.sent("next_node_idx", "a") == [
            {
                "type": "next_node_idx",
                "term": 1,
                "next_node_idx": 6,
                "reset": False,
                "success": True,
                "has_space": True,
            }
        ]

    def test_nothing_is_acknowledged_when_the_sync_fails(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(_file: int) -> None:
            raise OSError(28, "No space left on device")

        lab.append("a", 1, (1, 0), entries(2, 5, 1))
        monkeypatch.setattr("os.fdatasync", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                lab.tick()
            monkeypatch.undo()  # a disk that recovers is not trusted again
        assert lab.sent("next_node_idx") == []

    def test_t1_a_shorter_message_sent_again_truncates_nothing(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 10, 1), commit=10)
        lab.tick()
        for again in (entries(5, 6, 1), []):
            lab.append("a", 1, (4, 1), again, commit=10)
            lab.tick()
            assert lab.journal.last_index == 10
        assert lab.machine.applied == [b"%d" % index for index in range(2, 11)]
        assert [ack["next_node_idx"] for ack in lab.sent("next_node_idx")] == [11, 7, 5]

    def test_t1_a_tail_that_the_leader_did_not_confirm_is_not_committed(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 10, 1))
        lab.append("c", 2, (4, 1), [], commit=8)
        lab.tick()
        assert lab.journal.last_index == 10
        assert lab.machine.applied == [b"2", b"3", b"4"]

    def test_t1_a_real_conflict_truncates(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 10, 1))
        lab.append("c", 2, (6, 1), [*entries(7, 7, 1), (command_entry(b"new"), 8, 2)])
        assert (lab.journal.last_index, lab.journal.term_at(8)) == (8, 2)
        assert lab.journal[-1][0] == command_entry(b"new")

    def test_t1_a_leader_that_contradicts_what_is_committed_stops_the_member(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 10, 1), commit=10)
        with pytest.raises(Contradiction):
            lab.append("c", 2, (6, 1), entries(7, 8, 2))
        assert lab.journal.last_index == 10

    def test_an_older_leader_changes_nothing_and_is_told_the_term(self, lab: Lab) -> None:
        lab.append("c", 5, (1, 0), entries(2, 4, 5))
        lab.append("a", 3, (1, 0), entries(2, 2, 3), commit=2)
        lab.tick()
        assert (lab.journal.last_index, lab.journal.term_at(2), lab.machine.applied) == (4, 5, [])
        assert lab.sent("stale_term", "a") == [{"type": "stale_term", "term": 5}]
        assert lab.core.leader == "c"

    def test_t2_a_stale_acknowledgement_commits_nothing(self, lab: Lab) -> None:
        term = lab.lead()
        lab.propose()
        lab.tick()
        index = lab.journal.last_index
        for stale in (term - 1, term + 1):
            lab.acknowledge("a", 50, term=stale)
            lab.tick()
        assert (lab.machine.applied, lab.outcomes) == ([], [])
        lab.acknowledge("a", index + 1)
        lab.tick()
        assert (lab.machine.applied, lab.outcomes) == ([b"x"], [b"done x"])

    def test_t2_an_acknowledgement_of_more_than_there_is_counts_for_what_there_is(self, lab: Lab) -> None:
        lab.lead()
        lab.acknowledge("a", 50)
        lab.propose()
        lab.tick()
        lab.tick()
        assert lab.outcomes == []

    def test_an_acknowledgement_of_a_stranger_or_a_learner_counts_for_nothing(self, lab: Lab) -> None:
        lab.lead()
        lab.member.changing.submit(AddLearner("d", "d:1"), lab.now + 3, lab.answers.append)
        lab.tick()
        for sender in ("d", "stranger"):
            lab.acknowledge(sender, lab.journal.last_index + 1)
            lab.tick()
        assert lab.core.commit_index < lab.journal.last_index

    def test_t3_one_voter_counts_once(self, make: Callable[..., Lab]) -> None:
        lab = make("abcde")
        lab.tick(BEYOND)
        term = lab.core.term + 1
        for name in "aaa":
            lab.receive(name, "pre_vote_reply", term=term, is_granted=True)
        lab.tick()
        assert lab.sent("request_vote") == []
        lab.receive("c", "pre_vote_reply", term=term, is_granted=True)
        lab.tick()
        for name in ("a", "a", "stranger"):
            lab.receive(name, "response_vote", term=term)
        assert not lab.core.is_leader
        lab.receive("c", "response_vote", term=term)
        assert lab.core.is_leader

    def test_t4_a_restart_does_not_vote_twice(self, make: Callable[..., Lab]) -> None:
        ask = {"term": 7, "last_log_index": 5, "last_log_term": 1, "is_transfer": False}
        first = make()
        first.receive("a", "request_vote", **ask)
        first.tick()
        assert len(first.sent("response_vote", "a")) == 1
        first.close()
        second = make()
        second.receive("c", "request_vote", **ask)
        second.tick()
        assert (second.core.term, second.sent("response_vote")) == (7, [])

    def test_t4_a_vote_is_durable_before_it_leaves(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_file: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr("os.fsync", fail)
        monkeypatch.setattr("os.fdatasync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            lab.receive("a", "request_vote", term=7, last_log_index=5, last_log_term=1, is_transfer=False)
        assert lab.sent("response_vote") == []
        monkeypatch.undo()

    def test_t6_the_largest_command_replicates_whole(self, lab: Lab) -> None:
        lab.lead()
        lab.propose(bytes(MAX_COMMAND_BYTES))
        lab.tick()
        for name in "ac":
            (sent,) = [message for message in lab.sent("append_entries", name) if message["entries"]]
            assert sent["entries"][0][0] == command_entry(bytes(MAX_COMMAND_BYTES))

    def test_t7_a_state_machine_that_fails_ends_the_member(self, lab: Lab) -> None:
        lab.machine.failure = OSError(5, "Input/output error")
        lab.append("a", 1, (1, 0), entries(2, 3, 1), commit=3)
        with pytest.raises(OSError, match="Input/output error"):
            lab.tick()
        assert lab.machine.applied == []

    def test_t9_any_number_of_wake_ups_fits_the_pipe(self) -> None:
        waker = Waker()
        for _ in range(200_000):
            waker.wake()
        waker.rearm()
        waker.wake()
        waker.close()
        waker.wake()

    def test_the_first_entry_of_a_term_is_needed_to_commit_those_before(self, lab: Lab) -> None:
        """Raft's figure 8: a majority that holds an older term's entry does not commit it."""
        lab.append("a", 1, (1, 0), entries(2, 3, 1))
        lab.member.on_disconnected("a")
        lab.tick(BEYOND)
        lab.receive("c", "pre_vote_reply", term=2, is_granted=True)
        lab.tick()
        lab.receive("c", "response_vote", term=2)
        lab.acknowledge("c", 4)
        lab.tick()
        assert (lab.core.commit_index, lab.machine.applied) == (1, [])
        lab.acknowledge("c", 5)
        lab.tick()
        assert lab.machine.applied == [b"2", b"3"]

    def test_a_follower_without_space_drops_entries_and_says_so(self, make: Callable[..., Lab]) -> None:
        lab = make(reserve_bytes=1 << 60)
        lab.append("a", 1, (1, 0), entries(2, 5, 1))
        lab.tick()
        (reply,) = lab.sent("next_node_idx")
        assert (reply["next_node_idx"], reply["success"], reply["has_space"]) == (2, True, False)
        assert lab.journal.last_index == 1

    def test_without_space_a_new_leader_s_first_entry_and_what_is_before_it_are_taken(
        self, make: Callable[..., Lab]
    ) -> None:
        lab = make(reserve_bytes=1 << 60)
        lab.append("a", 2, (1, 0), [*entries(2, 3, 1), (NO_OP, 4, 2), *entries(5, 6, 2)])
        lab.tick()
        assert lab.journal.last_index == 4
        assert [reply["next_node_idx"] for reply in lab.sent("next_node_idx")] == [5]

    def test_a_follower_without_space_refuses_at_once_and_names_the_disk(
        self, make: Callable[..., Lab], tmp_path: Path
    ) -> None:
        lab = make(reserve_bytes=1 << 60)
        lab.append("a", 1, (1, 0), entries(2, 5, 1), commit=5)
        lab.read()
        lab.tick(0.1)
        with pytest.raises(LowDisk, match=str(tmp_path)):
            lab.propose()
        lab.receive("a", "read_reply", request_id=lab.sent("read_request", "a")[-1]["request_id"], index=5)
        lab.tick()
        (refused,) = lab.read_indexes
        assert isinstance(refused, LowDisk)
        assert str(tmp_path) in str(refused)

    def test_a_follower_without_space_reads_what_it_has(self, make: Callable[..., Lab]) -> None:
        lab = make(reserve_bytes=1 << 60)
        lab.append("a", 2, (1, 0), [*entries(2, 3, 1), (NO_OP, 4, 2)], commit=4)
        lab.read()
        lab.tick(0.1)
        lab.receive("a", "read_reply", request_id=lab.sent("read_request", "a")[-1]["request_id"], index=4)
        lab.tick()
        lab.tick()
        assert lab.read_indexes == [4]

    def test_a_new_leader_sends_what_its_first_entry_needs_in_spite_of_full_disks(self, lab: Lab) -> None:
        big = [(command_entry(b"%d" % index + bytes(1 << 20)), index, 1) for index in range(2, 6)]
        lab.append("a", 1, (1, 0), big)
        lab.tick()
        lab.lead_unsettled()
        lab.receive(
            "a", "next_node_idx", term=lab.core.term, next_node_idx=2, reset=True, success=False, has_space=True
        )
        for index in range(2, 7):
            assert lab.sent("append_entries", "a")[-1]["entries"][0][1] == index
            lab.acknowledge("a", index + 1, has_space=False)
        lab.tick()
        assert lab.core.commit_index == 6

    def test_a_leader_takes_no_commands_while_a_majority_lacks_space(self, lab: Lab) -> None:
        lab.lead()
        for name in "ac":
            lab.acknowledge(name, lab.journal.last_index + 1, has_space=False)
        lab.tick(0.06)
        with pytest.raises(LowDisk):
            lab.propose()
        lab.acknowledge("a", lab.journal.last_index + 1, has_space=True)
        lab.tick(0.06)
        lab.propose()
        lab.tick()
        assert lab.sent("append_entries", "a")[-1]["entries"]
        assert not any(message["entries"] for message in lab.sent("append_entries", "c"))


class TestElections:
    ASK: ClassVar[Message] = {"last_log_index": 9, "last_log_term": 9}

    def test_silence_leads_to_a_pre_vote_that_changes_no_term(self, lab: Lab) -> None:
        lab.tick(BEYOND)
        assert lab.sent("pre_vote", "a") == lab.sent("pre_vote", "c")
        assert lab.sent("pre_vote", "a")[0]["term"] == 1
        for _ in range(20):
            lab.tick(BEYOND)  # cut off from everybody
        assert lab.core.term == 0
        assert lab.sent("request_vote") == []

    def test_who_hears_from_a_leader_supports_nobody_else(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.receive("c", "pre_vote", term=9, **self.ASK)
        lab.receive("c", "request_vote", term=9, is_transfer=False, **self.ASK)
        lab.tick()
        assert lab.sent("pre_vote_reply", "c") == [{"type": "pre_vote_reply", "term": 3, "is_granted": False}]
        assert (lab.sent("response_vote"), lab.core.term, lab.core.leader) == ([], 3, "a")

    def test_silence_frees_from_the_leader(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.tick(Timing().election_min + 0.01)
        lab.receive("c", "pre_vote", term=4, **self.ASK)
        lab.receive("c", "request_vote", term=4, is_transfer=False, **self.ASK)
        lab.tick()
        assert lab.sent("pre_vote_reply", "c")[0]["is_granted"]
        assert lab.sent("response_vote", "c") == [{"type": "response_vote", "term": 4}]

    def test_a_broken_connection_to_the_leader_frees_too(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.network.connected.discard("a")
        lab.member.on_disconnected("a")
        assert lab.core.leader is None
        lab.receive("c", "pre_vote", term=4, **self.ASK)
        assert lab.sent("pre_vote_reply", "c")[0]["is_granted"]
        lab.tick(0.5)
        assert lab.sent("pre_vote", "c")

    def test_a_transfer_is_heard_in_spite_of_the_leader(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.receive("c", "request_vote", term=4, is_transfer=True, **self.ASK)
        lab.tick()
        assert lab.sent("response_vote", "c") == [{"type": "response_vote", "term": 4}]

    def test_a_leader_is_deaf_to_candidates_unless_it_asked_for_them(self, lab: Lab) -> None:
        term = lab.lead()
        lab.receive("c", "request_vote", term=term + 5, is_transfer=False, **self.ASK)
        assert lab.core.is_leader
        lab.receive("c", "request_vote", term=term + 1, is_transfer=True, **self.ASK)
        assert not lab.core.is_leader

    def test_an_older_log_gets_no_vote(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), entries(2, 5, 3))
        lab.tick(Timing().election_min + 0.01)
        short = {"last_log_index": 4, "last_log_term": 3}
        lab.receive("c", "pre_vote", term=4, **short)
        lab.receive("c", "request_vote", term=4, is_transfer=False, **short)
        lab.tick()
        assert not lab.sent("pre_vote_reply")[0]["is_granted"]
        assert lab.sent("response_vote") == []

    def test_a_leader_that_hears_from_no_majority_steps_down(self, lab: Lab) -> None:
        lab.lead()
        for _ in range(40):
            lab.tick(0.1)
            lab.acknowledge("a", 2)  # one of two others is enough
        assert lab.core.is_leader
        for _ in range(20):
            lab.tick(0.1)
        assert (lab.core.is_leader, lab.core.leader) == (False, None)

    def test_a_leader_that_stood_still_hears_the_others_out_before_it_steps_down(self, lab: Lab) -> None:
        lab.lead()
        lab.tick(BEYOND)
        lab.acknowledge("a", 2)  # had been waiting in the socket
        for _ in range(5):
            lab.tick(0.1)
        assert lab.core.is_leader

    def test_a_newer_term_ends_a_leader_but_only_a_member_s_word_counts(self, lab: Lab) -> None:
        term = lab.lead()
        lab.receive("stranger", "stale_term", term=term + 9)
        assert lab.core.is_leader
        lab.receive("c", "stale_term", term=term + 2)
        assert (lab.core.is_leader, lab.core.term) == (False, term + 2)

    def test_a_stranger_is_served_nothing_and_is_counted(self, lab: Lab) -> None:
        lab.lead()
        last = lab.journal.last_index
        lab.receive("removed", "apply_command", command=command_entry(b"x"), request_id=1)
        lab.receive("removed", "read_request", request_id=2)
        ask = {"type": "change_request", "request_id": 3, "kind": "remove", "name": "c", "address": ""}
        lab.member.on_message("removed", ask)
        lab.receive("removed", "snapshot_pull", snapshot_id="s", file="state", offset=0)
        lab.tick()
        lab.tick()
        assert lab.journal.last_index == last
        assert [message for name, message in lab.out if name == "removed"] == []
        assert lab.member.seat.counters["refused_strangers"] == 4

    def test_a_stranger_s_transfer_does_not_depose_a_leader(self, lab: Lab) -> None:
        term = lab.lead()
        ask = {"last_log_index": 100, "last_log_term": term, "is_transfer": True}
        lab.receive("removed", "request_vote", term=term + 100, **ask)
        lab.receive("removed", "pre_vote_reply", term=term + 100, is_granted=False)
        lab.tick()
        assert (lab.core.is_leader, lab.core.term) == (True, term)

    def test_a_candidate_of_an_older_term_changes_nothing_and_is_counted(self, lab: Lab) -> None:
        lab.append("c", 5, (1, 0), [])
        lab.receive("a", "request_vote", term=4, last_log_index=9, last_log_term=4, is_transfer=True)
        lab.tick()
        assert (lab.core.term, lab.sent("response_vote")) == (5, [])
        assert lab.member.seat.counters["stale_candidates"] == 1

    def test_a_won_pre_vote_is_void_once_another_one_leads(self, lab: Lab) -> None:
        lab.tick(BEYOND)
        lab.receive("a", "pre_vote_reply", term=lab.core.term + 1, is_granted=True)
        lab.append("c", 7, (1, 0), [])
        lab.tick()
        assert (lab.core.term, lab.core.leader, lab.sent("request_vote")) == (7, "c", [])

    def test_a_second_leader_of_the_same_term_is_refused(self, lab: Lab) -> None:
        term = lab.lead()
        lab.append("a", term, (1, 0), entries(2, 2, term))
        assert lab.core.is_leader
        assert lab.member.seat.counters["refused_second_leader"] == 1

    def test_a_member_that_was_told_of_no_group_neither_votes_nor_runs(self, make: Callable[..., Lab]) -> None:
        lab = make("")
        lab.tick(BEYOND)
        lab.receive("a", "pre_vote", term=4, **self.ASK)
        lab.receive("a", "request_vote", term=4, is_transfer=False, **self.ASK)
        lab.tick()
        assert not lab.sent("pre_vote_reply")[0]["is_granted"]
        assert lab.sent("response_vote") == lab.sent("pre_vote") == lab.sent("request_vote") == []

    def test_who_learns_of_a_leader_has_given_it_its_vote(self, make: Callable[..., Lab]) -> None:
        """So a member that was emptied can't vote again in a term that has a leader."""
        lab = make("")
        lab.append("a", 4, (1, 0), [(configuration_entry(Configuration.of_voters("g", {"a": "a:1"})), 2, 4)])
        lab.tick(Timing().election_min + 0.01)
        lab.receive("c", "request_vote", term=4, is_transfer=False, **self.ASK)
        lab.tick()
        assert lab.sent("response_vote") == []
        assert lab.journal.voted_for == "a"


class TestTransfer:
    def test_a_leader_hands_over_once_its_successor_has_everything(self, lab: Lab) -> None:
        lab.lead()
        lab.propose()
        lab.tick()
        lab.acknowledge("c", lab.journal.last_index)  # all but the last entry
        lab.member.changing.submit(Handover("c"), lab.now + 9, lab.answers.append)
        lab.propose(b"y")
        lab.tick()
        lab.tick()
        assert lab.sent("timeout_now") == []
        lab.acknowledge("c", lab.journal.last_index + 1)
        lab.tick()
        assert lab.sent("timeout_now", "c") == [{"type": "timeout_now", "term": lab.core.term}]

    def test_no_command_is_taken_meanwhile_and_a_failed_transfer_is_given_up(self, lab: Lab) -> None:
        lab.lead()
        lab.member.changing.submit(Handover("c"), lab.now + 0.1, lab.answers.append)
        lab.tick()
        before = lab.journal.last_index
        lab.propose()
        lab.receive("a", "apply_command", command=command_entry(b"z"), request_id=5)
        lab.tick(0.2)
        assert lab.journal.last_index == before
        assert lab.sent("apply_command_response", "a")[0]["error"] == 4
        assert isinstance(lab.answers[0], NoLeader)
        for _ in range(20):
            lab.acknowledge("a", before + 1)
            lab.tick(0.1)
        assert lab.journal.last_index == before + 1
        assert lab.core.is_leader

    def test_who_is_asked_to_runs_at_once_without_a_pre_vote(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.receive("a", "timeout_now", term=3)
        lab.tick()
        assert lab.sent("pre_vote") == []
        assert [message["is_transfer"] for message in lab.sent("request_vote")] == [True, True]

    def test_only_the_leader_may_ask_for_that(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.receive("c", "timeout_now", term=3)
        lab.receive("a", "timeout_now", term=2)
        lab.tick()
        assert lab.sent("request_vote") == []


class TestReads:
    def test_a_leader_asks_a_majority_before_it_answers(self, lab: Lab) -> None:
        term = lab.lead()
        lab.read()
        lab.tick()
        (round_,) = lab.sent("read_round", "a")[-1:]
        lab.tick()
        assert lab.read_indexes == []
        lab.receive("a", "read_round_reply", term=term, round=round_["round"])
        lab.tick()
        assert lab.read_indexes == [lab.journal.last_index]

    def test_an_answer_to_an_earlier_round_or_of_another_term_is_none(self, lab: Lab) -> None:
        term = lab.lead()
        lab.tick(0.2)
        earlier = lab.sent("read_round", "a")[-1]["round"]
        lab.read()
        lab.tick()
        newest = lab.sent("read_round", "a")[-1]["round"]
        assert newest > earlier
        lab.receive("a", "read_round_reply", term=term, round=earlier)
        lab.receive("a", "read_round_reply", term=term - 1, round=newest)
        lab.receive("stranger", "read_round_reply", term=term, round=newest)
        lab.tick()
        assert lab.read_indexes == []

    def test_a_new_leader_answers_only_once_an_entry_of_its_own_is_committed(self, lab: Lab) -> None:
        lab.tick(BEYOND)
        lab.receive("a", "pre_vote_reply", term=1, is_granted=True)
        lab.tick()
        lab.receive("a", "response_vote", term=1)
        lab.read()
        lab.tick()
        assert lab.sent("read_round") == []
        lab.acknowledge("a", lab.journal.last_index + 1)
        lab.tick()
        assert lab.sent("read_round")

    def test_a_follower_asks_the_leader_and_waits_until_it_has_applied(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), entries(2, 5, 1), commit=2)
        lab.read()
        lab.tick()
        request = lab.sent("read_request", "a")[-1]
        lab.receive("a", "read_reply", request_id=request["request_id"], index=4)
        lab.tick()
        assert lab.read_indexes == []
        lab.append("a", 1, (5, 1), [], commit=4)
        lab.tick()
        assert lab.read_indexes == [4]

    def test_a_follower_answers_the_leader_of_its_term_only(self, lab: Lab) -> None:
        lab.append("a", 3, (1, 0), [])
        lab.receive("a", "read_round", term=3, round=7)
        lab.receive("c", "read_round", term=2, round=7)
        assert lab.sent("read_round_reply") == [{"type": "read_round_reply", "term": 3, "round": 7}]
        assert lab.sent("stale_term", "c")

    def test_too_many_reads_are_refused_until_some_have_ended(self, lab: Lab) -> None:
        lab.member.reading._max_waiting = 2
        lab.read()
        lab.read()
        with pytest.raises(Overloaded):
            lab.read()
        lab.tick(BEYOND)
        assert len(lab.read_indexes) == 2
        lab.read()

    def test_a_leader_that_was_cut_off_serves_no_read(self, lab: Lab) -> None:
        lab.lead()
        lab.read()
        for _ in range(60):
            lab.tick(0.1)
        assert [type(outcome) for outcome in lab.read_indexes] == [NoLeader]

    def test_staleness_counts_from_the_last_confirmed_question(self, lab: Lab) -> None:
        term = lab.lead()
        lab.tick(0.2)
        asked_at = lab.now
        round_ = lab.sent("read_round", "a")[-1]["round"]
        lab.now += 0.05
        lab.receive("a", "read_round_reply", term=term, round=round_)
        lab.tick()
        lab.now += 0.5
        assert lab.member.reading.freshness.staleness_s(lab.now) == pytest.approx(lab.now - asked_at)


class TestMembership:
    def test_a_configuration_is_in_force_when_it_is_appended_and_not_when_it_is_cut_off(self, lab: Lab) -> None:
        four = lab.group.with_learner("d", "d:1")
        lab.append("a", 1, (1, 0), [*entries(2, 2, 1), (configuration_entry(four), 3, 1)])
        lab.tick()
        assert lab.network.members == {"a": "a:1", "c": "c:1", "d": "d:1"}
        lab.append("c", 2, (2, 1), entries(3, 3, 2))
        lab.tick()
        assert lab.network.members == {"a": "a:1", "c": "c:1"}

    def test_a_restart_finds_the_uncommitted_configuration_in_force(self, make: Callable[..., Lab]) -> None:
        lab = make()
        lab.append("a", 1, (1, 0), [(configuration_entry(lab.group.without("c")), 2, 1)])
        lab.tick()
        lab.close()
        again = make()
        assert again.network.members == {"a": "a:1"}

    def test_one_change_at_a_time_and_each_committed_before_the_next(self, lab: Lab) -> None:
        lab.lead()
        lab.member.changing.submit(AddLearner("d", "d:1"), lab.now + 3, lab.answers.append)
        lab.tick()
        lab.member.changing.submit(Remove("c"), lab.now + 3, lab.answers.append)
        lab.tick()
        assert isinstance(lab.answers[0], ChangeRefused)
        assert lab.journal.configuration == lab.group.with_learner("d", "d:1")
        lab.acknowledge("a", lab.journal.last_index + 1)
        lab.tick()
        lab.tick()
        assert lab.answers[1:] == ["b"]

    def test_a_promoted_learner_counts_from_the_moment_of_the_append(self, make: Callable[..., Lab]) -> None:
        lab = make("ab")
        lab.lead()
        lab.member.changing.submit(AddLearner("d", "d:1"), lab.now + 9, lab.answers.append)
        lab.tick()
        for name in "ad":
            lab.acknowledge(name, lab.journal.last_index + 1)
        lab.tick()
        lab.member.changing.submit(Promote("d"), lab.now + 9, lab.answers.append)
        lab.tick()
        lab.tick()
        promotion = lab.journal.last_index
        lab.tick()
        assert lab.core.commit_index == promotion - 1  # itself is one of three
        lab.acknowledge("d", promotion + 1)
        lab.tick()
        assert lab.core.commit_index == promotion

    def test_a_removed_member_does_not_run_and_a_learner_does_not_either(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), [(configuration_entry(lab.group.without("b")), 2, 1)])
        for _ in range(5):
            lab.tick(BEYOND)
        assert lab.sent("pre_vote") == lab.sent("request_vote") == []

    def test_a_leader_that_is_to_be_removed_hands_over_and_does_not_remove_itself(self, lab: Lab) -> None:
        lab.lead()
        for name in "ac":
            lab.acknowledge(name, lab.journal.last_index + 1)
        lab.member.changing.submit(Remove("b"), lab.now + 9, lab.answers.append)
        for _ in range(3):
            lab.tick()
        assert lab.sent("timeout_now")
        assert lab.journal.configuration == lab.group

    def test_a_removed_member_is_told_of_its_removal(self, lab: Lab) -> None:
        lab.lead()
        lab.acknowledge("c", lab.journal.last_index + 1)
        lab.member.changing.submit(Remove("c"), lab.now + 9, lab.answers.append)
        lab.tick()
        removal = lab.journal.last_index
        assert [entry[1] for entry in lab.sent("append_entries", "c")[-1]["entries"]] == [removal]
        lab.acknowledge("c", removal + 1)
        lab.acknowledge("a", removal + 1)
        lab.tick()
        lab.tick(2 * TELL_AFTER_S)
        assert lab.sent("append_entries", "c")[-1]["commit_index"] == removal
        lab.tick()
        lab.acknowledge("a", removal + 1)
        lab.tick(1.1)
        assert lab.network.members == {"a": "a:1"}

    def test_a_removed_member_that_asked_for_it_learns_that_it_is_done(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), [])
        lab.member.changing.submit(Remove("b"), lab.now + 9, lab.answers.append)
        lab.tick()
        lab.append("a", 1, (1, 0), [(configuration_entry(lab.group.without("b")), 2, 1)])
        lab.tick()
        assert lab.answers == []
        lab.append("a", 1, (2, 1), [], commit=2)
        lab.tick()
        assert lab.answers == ["a"]

    def test_overlapping_majorities_in_five_steps(self, make: Callable[..., Lab]) -> None:
        """Ongaro to raft-dev, July 2015, on changes of one server at a time.

        1. a leads {a, b, c, d} in term 1 and adds e; only a and e have that entry.
        2. b is elected in term 2 by c and d, and removes a: {b, c, d}.
        3. b and c have that entry: committed, if it were in force already.
        4. a is elected in term 3 by d and e, a majority of {a, b, c, d, e}.
        5. a replicates its log, and what was committed in step 3 is gone.

        It ends in step 2: b may not change the group before an entry of its own term is on a majority of {a, b, c, d};
        so d has that one, and in step 4 it does not vote for a.
        """
        lab = make("abcd")
        lab.tick(BEYOND)
        lab.receive("d", "pre_vote_reply", term=1, is_granted=False)  # step 1 left the term at 1
        lab.tick(BEYOND)
        for name in "cd":
            lab.receive(name, "pre_vote_reply", term=2, is_granted=True)
        lab.tick()
        for name in "cd":
            lab.receive(name, "response_vote", term=2)
        assert lab.core.is_leader
        lab.member.changing.submit(Remove("a"), lab.now + 9, lab.answers.append)
        lab.tick()
        lab.acknowledge("c", lab.journal.last_index + 1)
        lab.tick()
        assert lab.journal.configuration == lab.group
        lab.acknowledge("d", lab.journal.last_index + 1)
        lab.tick()
        assert lab.journal.configuration == lab.group.without("a")
        in_the_place_of_d = make("abcd", directory="d")
        in_the_place_of_d.append("c", 2, (1, 0), [(NO_OP, 2, 2)])
        in_the_place_of_d.tick(BEYOND)
        longer = {"last_log_index": 9, "last_log_term": 1}
        in_the_place_of_d.receive("a", "request_vote", term=3, is_transfer=False, **longer)
        in_the_place_of_d.tick()
        assert in_the_place_of_d.sent("response_vote") == []

    def test_what_a_candidate_counts_with_is_what_is_in_its_log(self, make: Callable[..., Lab]) -> None:
        lab = make("abcd")
        lab.append("a", 1, (1, 0), [(configuration_entry(lab.group.without("a")), 2, 1)])
        lab.member.on_disconnected("a")
        lab.tick(BEYOND)
        assert lab.sent("pre_vote", "a") == []
        lab.receive("c", "pre_vote_reply", term=2, is_granted=True)
        lab.tick()
        lab.receive("a", "response_vote", term=2)
        assert not lab.core.is_leader
        lab.receive("d", "response_vote", term=2)
        assert lab.core.is_leader

    def test_a_change_is_asked_of_the_leader_and_again_of_the_next(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), [])
        lab.member.changing.submit(Remove("c"), lab.now + 9, lab.answers.append)
        lab.tick()
        (first,) = lab.sent("change_request", "a")
        assert (first["kind"], first["name"]) == ("remove", "c")
        lab.receive("a", "change_reply", request_id=first["request_id"], code=2, error="not the leader any more")
        lab.append("c", 2, (1, 0), [])
        lab.tick(0.1)
        (second,) = lab.sent("change_request", "c")
        lab.receive("c", "change_reply", request_id=second["request_id"], code=0, error="")
        assert lab.answers == ["c"]

    def test_a_change_that_nobody_answers_ends_in_time_with_an_open_outcome(self, lab: Lab) -> None:
        lab.append("a", 1, (1, 0), [])
        lab.member.changing.submit(Remove("c"), lab.now + 1, lab.answers.append)
        lab.tick()
        lab.tick(1.0)
        assert [type(answer) for answer in lab.answers] == [OutcomeUnknown]


class TestSnapshots:
    GROUP = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"})

    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("raft.node.background.ThreadPoolExecutor", InlineExecutor)

    def offered(self, lab: Lab, tmp_path: Path, index: int = 50) -> tuple[str, bytes]:
        """Offers a snapshot of 5 bytes; returns its id and content."""
        (tmp_path / "out" / "state").mkdir(parents=True)
        (tmp_path / "out" / "state" / "state").write_bytes(b"saved")
        manifest = snapshots.write(tmp_path / "out", index, 3, self.GROUP)
        offer = {"snapshot_id": manifest.snapshot_id, "index": index, "manifest": manifest.to_bytes()}
        lab.receive("a", "snapshot_offer", term=3, **offer)
        return manifest.snapshot_id, b"saved"

    def pump(self, lab: Lab, condition: Callable[[], bool]) -> None:
        for _ in range(20):
            lab.tick(0.001)
            if condition():
                return
        raise AssertionError(f"it did not happen: {lab.out}")

    def test_an_offered_snapshot_is_pulled_and_installed(self, lab: Lab, tmp_path: Path) -> None:
        snapshot_id, content = self.offered(lab, tmp_path)
        (pull,) = lab.sent("snapshot_pull", "a")
        assert (pull["file"], pull["offset"]) == ("state", 0)
        lab.receive("a", "snapshot_chunk", snapshot_id=snapshot_id, file="state", offset=0, data=content)
        self.pump(lab, lambda: bool(lab.sent("snapshot_installed", "a")))
        assert lab.machine.applied == [b"saved"]
        assert (lab.journal.first_index, lab.journal.last_index, lab.journal.last_term) == (50, 50, 3)
        assert (lab.core.commit_index, lab.core.applied_index) == (50, 50)
        lab.append("a", 3, (50, 3), entries(51, 51, 3), commit=51)
        lab.tick()
        assert lab.machine.applied == [b"saved", b"51"]

    def test_t8_a_damaged_snapshot_acknowledges_nothing(self, lab: Lab, tmp_path: Path) -> None:
        snapshot_id, _ = self.offered(lab, tmp_path)
        lab.receive("a", "snapshot_chunk", snapshot_id=snapshot_id, file="state", offset=0, data=b"forge")
        self.pump(lab, lambda: bool(lab.sent("snapshot_refused", "a")))
        assert (lab.sent("snapshot_installed"), lab.sent("next_node_idx")) == ([], [])
        assert (lab.journal.last_index, lab.core.commit_index, lab.machine.applied) == (1, 1, [])

    def test_a_snapshot_of_what_is_committed_is_not_needed(self, lab: Lab, tmp_path: Path) -> None:
        lab.append("a", 3, (1, 0), entries(2, 60, 3), commit=60)
        lab.tick()
        lab.out.clear()
        self.offered(lab, tmp_path)
        lab.tick()
        assert lab.sent("snapshot_pull") == []
        assert lab.sent("next_node_idx", "a")[0]["next_node_idx"] == 61

    def test_a_snapshot_does_not_cut_off_what_the_log_holds_after_it(self, lab: Lab, tmp_path: Path) -> None:
        lab.append("a", 3, (1, 0), entries(2, 60, 3))  # acknowledged, so perhaps committed with this copy
        lab.tick()
        lab.out.clear()
        self.offered(lab, tmp_path)
        lab.tick()
        assert lab.sent("snapshot_pull") == []
        assert lab.sent("next_node_idx", "a")[0]["next_node_idx"] == 51
        assert (lab.journal.last_index, lab.core.commit_index) == (60, 50)

    def test_entries_that_arrive_while_a_snapshot_is_pulled_are_kept(self, lab: Lab, tmp_path: Path) -> None:
        snapshot_id, content = self.offered(lab, tmp_path)
        lab.append("a", 3, (1, 0), entries(2, 60, 3))
        lab.receive("a", "snapshot_chunk", snapshot_id=snapshot_id, file="state", offset=0, data=content)
        for _ in range(20):
            lab.tick(0.01)
        assert (lab.journal.first_index, lab.journal.last_index) == (1, 60)
        assert lab.machine.applied[-1] == b"50"

    def test_a_snapshot_that_another_member_takes_outlives_a_refusal(self, lab: Lab) -> None:
        lab.lead()
        lab.propose()
        lab.tick()
        lab.acknowledge("a", lab.journal.last_index + 1)
        lab.tick()
        lab.journal.reset(lab.journal.last_index, lab.core.term, lab.group)
        rejected = {"next_node_idx": 2, "reset": True, "success": False, "has_space": True}
        for name in "ac":
            lab.receive(name, "next_node_idx", term=lab.core.term, **rejected)
        self.pump(lab, lambda: bool(lab.sent("snapshot_offer", "c")))
        snapshot_id = lab.sent("snapshot_offer", "c")[0]["snapshot_id"]
        lab.receive("a", "snapshot_pull", snapshot_id=snapshot_id, file="state", offset=0)
        lab.receive("c", "snapshot_refused", snapshot_id=snapshot_id, reason="no space")
        lab.receive("a", "snapshot_pull", snapshot_id=snapshot_id, file="state", offset=0)
        self.pump(lab, lambda: len(lab.sent("snapshot_chunk", "a")) == 2)
        assert lab.sent("snapshot_refused", "a") == []

    def test_a_snapshot_of_an_older_leader_is_not_taken(self, lab: Lab, tmp_path: Path) -> None:
        lab.append("c", 4, (1, 0), [])
        self.offered(lab, tmp_path)
        assert lab.sent("snapshot_pull") == []
        assert lab.sent("stale_term", "a")

    def test_a_member_that_needs_what_is_trimmed_is_offered_a_snapshot(self, lab: Lab) -> None:
        lab.lead()
        lab.propose()
        lab.tick()
        lab.acknowledge("a", lab.journal.last_index + 1)
        lab.tick()
        lab.journal.reset(lab.journal.last_index, lab.core.term, lab.group)  # as if all before were trimmed
        rejected = {"next_node_idx": 2, "reset": True, "success": False, "has_space": True}
        lab.receive("c", "next_node_idx", term=lab.core.term, **rejected)
        self.pump(lab, lambda: bool(lab.sent("snapshot_offer", "c")))
        (offer,) = lab.sent("snapshot_offer", "c")
        assert offer["index"] == lab.journal.first_index
        lab.receive("c", "snapshot_pull", snapshot_id=offer["snapshot_id"], file="state", offset=0)
        self.pump(lab, lambda: bool(lab.sent("snapshot_chunk", "c")))
        lab.receive("c", "snapshot_installed", term=lab.core.term, index=offer["index"])
        lab.propose()
        lab.tick()
        assert [entry[1] for entry in lab.sent("append_entries", "c")[-1]["entries"]] == [lab.journal.last_index]

    @pytest.mark.parametrize("applied", [0, 50])
    @pytest.mark.parametrize("is_reset", [False, True])
    def test_t5_a_crash_between_install_and_reset_is_repaired(
        self, tmp_path: Path, applied: int, is_reset: bool
    ) -> None:
        journal = Journal(tmp_path, self.GROUP)
        journal.set_vote(3, None)
        for entry in entries(2, 10, 1):
            journal.append(*entry)
        write_note(tmp_path, PendingInstall(50, 3, self.GROUP))
        if is_reset and applied:
            journal.reset(50, 3, self.GROUP)
        repair(tmp_path, applied, journal)
        assert journal.last_index == (50 if applied else 10)
        repair(tmp_path, applied, journal)
        journal.close()

    def test_t5_a_state_without_its_log_does_not_start(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path, self.GROUP)
        with pytest.raises(CannotStart, match="has applied index 9 but the raft log ends at 1"):
            repair(tmp_path, 9, journal)
        journal.reset(50, 3, self.GROUP)
        with pytest.raises(CannotStart, match="has applied index 9 but the raft log begins at 50"):
            repair(tmp_path, 9, journal)
        journal.close()


def test_a_first_entry_is_the_anchor(lab: Lab) -> None:
    assert lab.journal[0] == (NO_OP, 1, 0)
