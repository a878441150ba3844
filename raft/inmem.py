"""A group of one without network or disk: the same protocol for tests and for a server that runs alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from raft.configuration import Configuration
from raft.errors import ChangeRefused, NoLeader, RaftError
from raft.protocol import AddLearner, Change, MemberStatus, Outcome, Promote, Remove, ReplicaStatus, StateMachine
from raft.snapshotting import snapshots

_TERM = 1
_GROUP_ID = "in-memory"
_ADDRESS = "127.0.0.1:0"  # nobody can reach it


class InMemoryReplica:
    """Satisfies raft.protocol.Replica: every proposal is applied at once, in the order of the calls, and `done` of the
    asynchronous calls runs before they return.

    Its log is the state machine's: nothing else is kept, so what survives a restart is what the state machine stores.
    """

    def __init__(self, name: str, state_machine: StateMachine) -> None:
        self._name = name
        self._state_machine = state_machine
        self._configuration = Configuration.of_voters(_GROUP_ID, {name: _ADDRESS})
        self._lock = threading.Lock()
        self._is_closed = False

    def propose(self, command: bytes, timeout_s: float) -> bytes:  # noqa: ARG002  it never waits for others
        with self._lock:
            self._require_open()
            return self._state_machine.apply(self._state_machine.applied_index + 1, command)

    def propose_async(self, command: bytes, timeout_s: float, done: Callable[[Outcome], None]) -> None:
        outcome: Outcome
        try:
            outcome = self.propose(command, timeout_s)
        except RaftError as error:
            outcome = error
        done(outcome)

    def read_index(self, timeout_s: float) -> int:  # noqa: ARG002  it never waits for others
        with self._lock:
            self._require_open()
            return self._state_machine.applied_index

    def read_index_async(self, timeout_s: float, done: Callable[[int | RaftError], None]) -> None:
        outcome: int | RaftError
        try:
            outcome = self.read_index(timeout_s)
        except RaftError as error:
            outcome = error
        done(outcome)

    def staleness_s(self) -> float | None:
        return None if self._is_closed else 0.0

    def status(self) -> ReplicaStatus:
        index = self._state_machine.applied_index
        return ReplicaStatus(
            name=self._name,
            leader=None if self._is_closed else self._name,
            term=_TERM,
            applied_index=index,
            live_members=(self._name,),
            group_id=_GROUP_ID,
            state="follower" if self._is_closed else "leader",
            first_index=index,
            last_index=index,
            commit_index=index,
            staleness_s=self.staleness_s(),
            members=tuple(
                MemberStatus(member.name, member.address, member.role, is_connected=True, match_index=index)
                for member in self._configuration.members
            ),
        )

    def is_leader(self) -> bool:
        return not self._is_closed

    def transfer_leadership(self, to: str | None, timeout_s: float) -> str:  # noqa: ARG002
        self._require_open()
        if to == self._name:
            return to
        raise ChangeRefused(f"member {self._name} is alone in its group: there is nobody to hand leadership to")

    def change_membership(self, change: Change, timeout_s: float) -> None:  # noqa: ARG002
        self._require_open()
        if self._after(change) != self._configuration:
            raise ChangeRefused(f"member {self._name} runs in memory, without a network: its group can't grow")

    def save_snapshot(self, directory: Path) -> None:
        directory.mkdir()
        index = self._state_machine.save(directory / snapshots.STATE)
        snapshots.write(directory, index, _TERM, self._configuration)

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._state_machine.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise NoLeader(f"member {self._name} is stopping: ask another one")

    def _after(self, change: Change) -> Configuration:
        match change:
            case AddLearner(name, address):
                return self._configuration.with_learner(name, address)
            case Promote(name):
                return self._configuration.with_promoted(name, name)
            case Remove(name):
                return self._configuration.without(name)
