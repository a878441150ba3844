"""The two sides of replication: a StateMachine below, a Replica above.

caller ── propose(command) ─▶ Replica ── the Raft log, on a majority ─▶ StateMachine.apply(index, command) ─▶ result
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class StateMachine(Protocol):
    """What is replicated. One thread calls it, in the order of the log."""

    @property
    def applied_index(self) -> int:
        """The index of the last command that is part of the stored state; 0 when none is."""

    def apply(self, index: int, command: bytes) -> bytes:
        """Applies a command and returns the result for whoever proposed it.

        Must be deterministic: no clock, no random values, no IO but the store's own. Skips (returning b"") an index
        that is already applied. A bad command is a result, never an exception: an exception ends the process.
        """

    def close(self) -> None:
        """Closes the store."""


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """`leader` is a member's name, or None. `live_members` are those that this member is connected to, and itself."""

    name: str
    leader: str | None
    term: int
    applied_index: int
    live_members: tuple[str, ...]


class Replica(Protocol):
    """One member of the group."""

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        """Appends a command on a majority, waits until it is applied **here**, and returns its result.

        Works on every member: a follower forwards to the leader.
        Raises NoLeader when there is no leader within the timeout (the command was not and will not be applied), and
        OutcomeUnknown when the command may or may not be applied later: retry with an idempotent command.
        """

    def status(self) -> ReplicaStatus:
        """As this member sees it, without asking others."""

    def is_leader(self) -> bool:
        """Whether this member believes that it leads. It may be wrong for up to an election time-out."""

    def close(self) -> None:
        """Leaves the group's network and closes the state machine."""
