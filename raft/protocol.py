"""The two sides of replication: a StateMachine below, a Replica above.

caller ── propose(command) ─▶ Replica ── the Raft log, on a majority ─▶ StateMachine.apply(index, command) ─▶ result
caller ── read_index() ─────▶ Replica ── a round with a majority ─────▶ the caller reads the StateMachine itself
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from raft.configuration import Role
from raft.errors import RaftError


class StateMachine(Protocol):
    """What is replicated. One thread applies, in the order of the log."""

    @property
    def applied_index(self) -> int:
        """The index of the last command that is part of the stored state; 0 when none is."""

    def apply(self, index: int, command: bytes) -> bytes:
        """Applies a command and returns the result for whoever proposed it.

        Must be deterministic: no clock, no random values, no IO but the store's own. Skips (returning b"") an index
        that is already applied. A bad command is a result, never an exception: an exception ends the process.
        """

    def checksum_at(self, index: int) -> bytes | None:
        """Return a running checksum of what all commands up to `index` changed; None when that is too far back.

        The same on all members that have applied the same. Called by the applying thread."""

    def sync(self) -> int:
        """Makes what is applied durable and returns the index up to which it is. Any thread may call it."""

    def save(self, directory: Path) -> int:
        """Writes a copy of the state as of one index during the call into `directory` and returns that index. The
        directory must not exist yet and is on the store's file system. Any thread may call it; applying goes on
        meanwhile.
        """

    def install(self, directory: Path) -> None:
        """Replaces the whole state by a saved copy and takes the directory over. Called by the applying thread.

        Atomic: after a crash in the middle either the old or the new state is there, whole.
        """

    def reopen(self) -> None:
        """Opens the store anew after `apply` or `sync` found no room (an OSError, raft.storage.room): what was not
        durable is gone, and `applied_index` lower. Raises OSError while there is no room. Called by the applying
        thread."""

    def close(self) -> None:
        """Closes the store."""


class StopCause(StrEnum):
    """Why a member stops by itself; told to the others by these values."""

    DAMAGED = "damaged"  # what it stored is not what it wrote
    DIVERGED = "diverged"  # it has another history than the majority


@dataclass(frozen=True, slots=True)
class LastWords:
    """What a member tells the others before it stops by itself; `reason` is for people."""

    cause: StopCause
    reason: str


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """`client_address` is what the member told of itself ("" until it has been connected); `match_index` is known to
    the leader only. `clock_ms` is its wall clock now, by what it told last; None: not for some seconds. `last_words`
    are those of a member that has stopped by itself and has not come back since."""

    name: str
    address: str
    role: Role
    is_connected: bool
    client_address: str = ""
    match_index: int | None = None
    clock_ms: int | None = None
    last_words: LastWords | None = None


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """As one member sees it. `leader` is a member's name, or None. `live_members` are those that this member is
    connected to, and itself. `staleness_s` bounds how old the local state is; None when it is unknown.
    `is_outvoted`: some have another history, and no majority is known to have this member's. `last_words` are its own,
    while it stops by itself."""

    name: str
    leader: str | None
    term: int
    applied_index: int
    live_members: tuple[str, ...]
    group_id: str = ""
    state: str = "follower"  # leader, follower, candidate, learner
    first_index: int = 0
    last_index: int = 0
    commit_index: int = 0
    staleness_s: float | None = None
    members: tuple[MemberStatus, ...] = ()
    disk_free_bytes: int = 0
    disk_reserve_bytes: int = 0
    is_refusing_writes: bool = False
    is_outvoted: bool = False
    last_words: LastWords | None = None
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddLearner:
    """A new member that is fed and does not count."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Promote:
    """A learner that has caught up becomes a voter."""

    name: str


@dataclass(frozen=True, slots=True)
class Remove:
    """A member leaves; a leader hands its leadership over first."""

    name: str


Change = AddLearner | Promote | Remove
Outcome = bytes | RaftError


class Replica(Protocol):
    """One member of the group. Every method works on every member: a follower asks the leader."""

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        """Appends a command on a majority, waits until it is applied **here**, and returns its result.

        Raises NoLeader when there is no leader within the timeout (the command was not and will not be applied). Raises
        OutcomeUnknown when the command may or may not be applied later: retry with an idempotent command. Raises
        Overloaded and LowDisk when it was refused; ValueError when the command is too large.
        """

    def propose_async(self, command: bytes, timeout_s: float, done: Callable[[Outcome], None]) -> None:
        """The same without waiting: `done` is called once, on the tick thread, and must be quick. Commands of one
        thread are appended in the order of its calls. Raises Overloaded, LowDisk and ValueError at once."""

    def read_index(self, timeout_s: float) -> int:
        """Returns once this member has applied all that was acknowledged anywhere before the call (ReadIndex), and the
        index up to which it has. Writes nothing.

        Raises NoLeader when that can't be confirmed in time, LowDisk when this member lacks the space for what it
        would have to apply, Overloaded.
        """

    def read_index_async(self, timeout_s: float, done: Callable[[int | RaftError], None]) -> None:
        """The same without waiting; `done` is called once, on the tick thread, and must be quick."""

    def staleness_s(self) -> float | None:
        """Return how old the local state is at most, in s by this host's monotonic clock. None: unknown."""

    def status(self) -> ReplicaStatus:
        """Return the status as this member sees it, without asking others."""

    def is_leader(self) -> bool:
        """Return whether this member believes that it leads. It may be wrong for up to an election time-out."""

    def transfer_leadership(self, to: str | None, timeout_s: float) -> str:
        """Hands leadership over to a voter that has caught up (None: the one that has the most) and returns its name.

        Raises ChangeRefused when there is none or `to` is no such voter, NoLeader when it did not come about in time.
        """

    def change_membership(self, change: Change, timeout_s: float) -> None:
        """Returns once the new configuration is committed. One that is in force already is a success.

        Raises ChangeRefused when it does not fit (another change is under way, an unknown name, a learner that lags,
        the last voter), NoLeader and OutcomeUnknown as `propose`.
        """

    def save_snapshot(self, directory: Path) -> None:
        """Writes a snapshot with its manifest (raft.snapshotting.snapshots) into `directory`, which must not exist yet.

        Any thread may call it; the member goes on meanwhile.
        """

    def close(self) -> None:
        """Leaves the group's network and closes the state machine."""
