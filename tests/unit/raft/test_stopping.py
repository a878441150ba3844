"""A member that finds damage, in a real group on loopback: leadership goes over, the others hear why, nothing is served
by it any more, and its process gets the exit code of the cause."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.local import ports
from raft import farewell
from raft.errors import DamagedData, NoLeader
from raft.network import frames
from raft.network.frames import MAX_TEXT
from raft.protocol import LastWords, MemberStatus, StopCause
from raft.replica import EXIT_CODES, EXIT_FAILED, RaftReplica
from tests.contract.test_replica import RecordingMachine
from tests.integration.faults.damage import flip
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

WORDS = LastWords(StopCause.DAMAGED, "its store is damaged: a checksum is wrong")


class FragileMachine(RecordingMachine):
    """Refuses to apply once it is damaged, as a store does."""

    def __init__(self) -> None:
        super().__init__()
        self.damage = ""
        self.fails = False

    def apply(self, index: int, command: bytes) -> bytes:
        if command == b"damage":
            self.damage = "a file of the store is damaged"
        if self.damage or self.fails:
            raise OSError(self.damage or "the disk failed")
        return super().apply(index, command)


@dataclass
class Lab:
    """Three members on threads; what would end a process is put into `ends`."""

    home: Path
    addresses: dict[str, str]
    machines: dict[str, FragileMachine] = field(default_factory=dict)
    replicas: dict[str, RaftReplica] = field(default_factory=dict)
    ends: dict[str, queue.SimpleQueue[int]] = field(default_factory=dict)

    def start(self, name: str) -> RaftReplica:
        machine = self.machines[name] = FragileMachine()
        self.ends[name] = queue.SimpleQueue()
        self.replicas[name] = RaftReplica(
            name,
            self.addresses[name],
            {other: address for other, address in self.addresses.items() if other != name},
            machine,
            self.home / name,
            disk_reserve_bytes=0,
            damage=lambda: machine.damage,
            end=self.ends[name].put,
        )
        return self.replicas[name]

    def leader(self) -> str:
        found: list[str] = []

        def is_found() -> bool:
            found[:] = [name for name, replica in self.replicas.items() if replica.is_leader()]
            return len(found) == 1

        until(is_found)
        return found[0]

    def seen(self, by: str, name: str) -> MemberStatus:
        return next(member for member in self.replicas[by].status().members if member.name == name)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    listen = [f"127.0.0.1:{port}" for port in ports.pick(3)]
    lab = Lab(tmp_path, dict(zip("abc", listen, strict=True)))
    for name in lab.addresses:
        lab.start(name)
    lab.replicas[lab.leader()].propose(b"first", PATIENCE_S)
    yield lab
    for replica in lab.replicas.values():
        replica.close()


def require_stopped(lab: Lab, name: str, reason: str, cause: StopCause = StopCause.DAMAGED) -> None:
    """It has ended with the code of damage, and the others know why and go on."""
    assert lab.ends[name].get(timeout=PATIENCE_S) == EXIT_CODES[cause] == 65
    others = [other for other in lab.replicas if other != name]
    for other in others:
        until(lambda other=other: lab.seen(other, name).last_words is not None)  # type: ignore[misc]
        words = lab.seen(other, name).last_words
        assert words is not None
        assert words.cause is cause
        assert reason in words.reason
        until(lambda other=other: not lab.seen(other, name).is_connected)  # type: ignore[misc]
    assert lab.replicas[others[0]].propose(b"after", PATIENCE_S)
    stopped = lab.replicas[name]
    assert not stopped.is_leader()
    assert stopped.staleness_s() is None
    with pytest.raises(NoLeader):
        stopped.read_index(1.0)
    with pytest.raises(NoLeader):
        stopped.propose(b"never", 1.0)
    assert b"never" not in lab.machines[others[0]].commands


@pytest.mark.parametrize("is_leader", [True, False], ids=["the leader", "a follower"])
def test_a_member_that_is_told_to_stop_hands_over_and_says_why(lab: Lab, is_leader: bool) -> None:
    leader = lab.leader()
    term = lab.replicas[leader].status().term
    name = leader if is_leader else next(other for other in lab.replicas if other != leader)
    lab.replicas[name].stop(WORDS)
    lab.replicas[name].stop(LastWords(StopCause.DAMAGED, "the first words count"))
    require_stopped(lab, name, WORDS.reason)
    new = next(replica for other, replica in lab.replicas.items() if other != name).status()
    assert new.term == term + is_leader, "one election, and only where a leader went"
    assert lab.replicas[name].status().counters.get("transfers", 0) == is_leader


def test_a_leader_whose_store_a_reader_found_damaged_hands_over(lab: Lab) -> None:
    leader = lab.leader()
    lab.machines[leader].damage = "found by a reader's scan"
    require_stopped(lab, leader, "found by a reader's scan")


def test_damage_met_by_applying_is_damage_and_any_other_failure_is_not(tmp_path: Path) -> None:
    for command, fails, code in ((b"damage", False, 65), (b"x", True, EXIT_FAILED)):
        home = tmp_path / str(code)
        alone = Lab(home, {"a": f"127.0.0.1:{ports.pick(1)[0]}"})
        replica = alone.start("a")
        alone.leader()
        alone.machines["a"].fails = fails
        replica.propose_async(command, PATIENCE_S, lambda _: None)
        assert alone.ends["a"].get(timeout=PATIENCE_S) == code


def test_a_member_that_a_voter_s_log_contradicts_stops_as_one_with_another_history(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of a voter in the next term have another one at an index that is committed; they come on and on."""
    leader = lab.leader()
    name, other = (each for each in lab.replicas if each != leader)
    member = lab.replicas[name]._member
    until(lambda: member.core.commit_index > 1)

    def deliver() -> None:
        fields = {"commit_index": 0, "prevLogIdx": member.core.commit_index, "prevLogTerm": 0, "entries": []}
        term = member.core.term + (not member.parting.is_under_way)
        member.on_message(other, {"type": frames.APPEND_ENTRIES, "term": term, **fields})

    def deliver_again_and_again() -> None:
        its_own = member.network.tick

        def tick(now: float) -> None:
            its_own(now)
            deliver()

        monkeypatch.setattr(member.network, "tick", tick)

    member.call(deliver_again_and_again)
    require_stopped(lab, name, "which is committed here in term", StopCause.DIVERGED)
    assert "guardian raft remove" in (lab.seen(leader, name).last_words or WORDS).reason


def test_a_member_that_is_back_has_no_last_words(lab: Lab) -> None:
    name = next(other for other in lab.replicas if other != lab.leader())
    others = [other for other in lab.replicas if other != name]
    lab.replicas[name].stop(WORDS)
    require_stopped(lab, name, WORDS.reason)
    lab.replicas[name].close()
    lab.start(name)
    for other in others:
        until(lambda other=other: lab.seen(other, name).is_connected)  # type: ignore[misc]
        assert lab.seen(other, name).last_words is None


@pytest.mark.parametrize("what", ["log", "vote"])
def test_damage_in_the_log_or_the_vote_is_found_by_reading_them_back(lab: Lab, what: str) -> None:
    name = lab.leader()
    shares: list[float] = []
    lab.replicas[name].verify(shares.append)
    assert shares[-1] == 1.0
    assert lab.ends[name].empty()
    path = next((lab.home / name).glob("log-*")) if what == "log" else lab.home / name / "vote.json"
    for _ in range(5):  # an election on a busy machine writes the vote anew, between the damage and the look
        flip(path)
        damaged = path.read_bytes()
        lab.replicas[name].verify(shares.append)
        if path.read_bytes() == damaged:
            break
    require_stopped(lab, name, str(path))


@pytest.mark.parametrize("what", ["log", "vote"])
def test_a_member_that_can_not_start_tells_the_others_why(lab: Lab, what: str) -> None:
    name = next(other for other in lab.replicas if other != lab.leader())
    others = {other: address for other, address in lab.addresses.items() if other != name}
    lab.replicas[name].close()
    path = next((lab.home / name).glob("log-*")) if what == "log" else lab.home / name / "vote.json"
    flip(path)
    with pytest.raises(DamagedData, match=str(path)) as refused:
        lab.start(name)
    words = LastWords(StopCause.DAMAGED, str(refused.value) + "x" * MAX_TEXT)
    told = farewell.tell_others(name, lab.addresses[name], others, lab.home / name, words)
    assert told == others.keys()
    for other in others:
        until(lambda other=other: lab.seen(other, name).last_words is not None)  # type: ignore[misc]
    flip(path)
    del lab.replicas[name]


def test_nobody_is_told_where_the_address_is_taken(lab: Lab, tmp_path: Path) -> None:
    assert farewell.tell_others("z", lab.addresses["a"], lab.addresses, tmp_path / "none", WORDS) == frozenset()
