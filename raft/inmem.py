"""A group of one without network or disk: the same protocol for tests and for a server that runs alone."""

from __future__ import annotations

import threading

from raft.errors import NoLeader
from raft.protocol import ReplicaStatus, StateMachine


class InMemoryReplica:
    """Satisfies raft.protocol.Replica: every proposal is applied at once, in the order of the calls.

    Its log is the state machine's: nothing else is kept, so what survives a restart is what the state machine stores.
    """

    def __init__(self, name: str, state_machine: StateMachine) -> None:
        self._name = name
        self._state_machine = state_machine
        self._lock = threading.Lock()
        self._is_closed = False

    def propose(self, command: bytes, timeout_s: float) -> bytes:  # noqa: ARG002  it never waits for others
        with self._lock:
            if self._is_closed:
                raise NoLeader(f"member {self._name} is stopping: ask another one")
            return self._state_machine.apply(self._state_machine.applied_index + 1, command)

    def status(self) -> ReplicaStatus:
        return ReplicaStatus(
            name=self._name,
            leader=None if self._is_closed else self._name,
            term=1,
            applied_index=self._state_machine.applied_index,
            live_members=(self._name,),
        )

    def is_leader(self) -> bool:
        return not self._is_closed

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._state_machine.close()
