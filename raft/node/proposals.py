"""Commands on their way, and what their proposers may conclude.

submit ─▶ WAITING ─ appended here, or handed to the leader ─▶ SENT ─ applied here ─▶ its result
             ▲ time is up: NoLeader                            │ time is up, or the leader is gone: OutcomeUnknown
             └──────────── surely not appended ────────────────┘ another entry took its place in the log: NoLeader

Any thread submits; all else is the tick thread's. What waits is bounded in number and in bytes, until its outcome.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from raft.errors import LowDisk, NoLeader, OutcomeUnknown, Overloaded, RaftError
from raft.protocol import Outcome

_Outcome = TypeVar("_Outcome")
_logger = logging.getLogger(__name__)

MAX_WAITING = 20_000
MAX_WAITING_BYTES = 64 << 20


class Refusal(IntEnum):
    """Why a leader did not append what was handed to it."""

    NOT_LEADER = 4  # the library's number; also while leadership is handed over
    LOW_DISK = 100
    OVERLOADED = 101


class Proposal:
    __slots__ = ("command", "deadline", "done", "number")

    def __init__(self, command: bytes, deadline: float, done: Callable[[Outcome], None]) -> None:
        self.command = command
        self.deadline = deadline
        self.done: Callable[[Outcome], None] | None = done  # None: its proposer knows already
        self.number = 0


class Proposals:
    """The proposals of one member."""

    def __init__(self, member: str, max_waiting: int = MAX_WAITING, max_waiting_bytes: int = MAX_WAITING_BYTES) -> None:
        self._member = member
        self._max_waiting, self._max_bytes = max_waiting, max_waiting_bytes
        self._lock = threading.Lock()
        self._count = 0
        self._bytes = 0
        self._last_number = 0
        self._last_request = 0
        self._is_closed = False
        self._waiting: deque[Proposal] = deque()
        self._forwarded: dict[int, Proposal] = {}  # by request, handed to the leader, which has not answered
        self._placed: deque[tuple[int, int, Proposal]] = deque()  # index, term: in some log; indexes rise
        self.disk_fault = ""  # why nothing can be written; "" when it can. Set by the tick thread

    def submit(self, command: bytes, deadline: float, done: Callable[[Outcome], None]) -> None:
        """Raises NoLeader when the member is closed, Overloaded and LowDisk."""
        proposal = Proposal(command, deadline, done)
        with self._lock:
            if self._is_closed:
                raise NoLeader(f"member {self._member} is stopping: ask another one")
            if self.disk_fault:
                raise LowDisk(self.disk_fault)
            if self._count >= self._max_waiting or self._bytes + len(command) > self._max_bytes:
                raise Overloaded(
                    f"{self._count} commands of {self._bytes} bytes wait on member {self._member}: retry a little later"
                )
            self._count += 1
            self._bytes += len(command)
            self._last_number += 1
            proposal.number = self._last_number
            self._waiting.append(proposal)

    @property
    def count(self) -> int:
        """Those whose outcome is not known yet."""
        return self._count

    @property
    def is_any_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def is_any_placed(self) -> bool:
        return bool(self._placed)

    def take(self) -> list[Proposal]:
        """Take the proposals that wait; from here on their outcome depends on the group."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return [proposal for proposal in taken if proposal.done is not None]

    def put_back(self, proposals: list[Proposal]) -> None:
        """They were surely not appended; they wait again, in the order of their submission."""
        with self._lock:
            self._waiting = deque(sorted([*proposals, *self._waiting], key=lambda proposal: proposal.number))

    def forwarded(self, proposal: Proposal) -> int:
        """It is handed to the leader under the request id that is returned."""
        self._last_request += 1
        self._forwarded[self._last_request] = proposal
        return self._last_request

    def accepted(self, request_id: int, index: int, term: int, applied_index: int) -> None:
        """The leader has appended a forwarded one there."""
        proposal = self._forwarded.pop(request_id, None)
        if proposal is None:
            return
        if index <= applied_index:
            self._end(proposal, self._unknown())  # its result went by
        else:
            self.placed(index, term, proposal)

    def refused(self, request_id: int, reason: int) -> bool:
        """The leader has not appended a forwarded one. Returns whether it waits again, for another leader."""
        proposal = self._forwarded.pop(request_id, None)
        if proposal is None:
            return False
        if reason == Refusal.LOW_DISK:
            self._end(proposal, LowDisk("the leader can't write: too little disk is left on it or on a majority"))
        elif reason == Refusal.OVERLOADED:
            self._end(proposal, Overloaded("too much waits on the leader: retry a little later"))
        else:
            self.put_back([proposal])
            return True
        return False

    def leader_lost(self) -> None:
        """End the forwarded proposals as unknown: the leader that holds them will not tell any more."""
        lost, self._forwarded = list(self._forwarded.values()), {}
        for proposal in lost:
            self._end(proposal, self._unknown())

    def placed(self, index: int, term: int, proposal: Proposal) -> None:
        """It is in a log at this index and term."""
        while self._placed and self._placed[-1][0] >= index:
            self._end(self._placed.pop()[2], self._unknown())  # another leader's log goes another way
        self._placed.append((index, term, proposal))

    def applied(self, index: int, term: int, result: bytes) -> None:
        """The command at this index was applied here."""
        placed = self._placed
        while placed and placed[0][0] <= index:
            at, its_term, proposal = placed.popleft()
            is_it = at == index and its_term == term
            self._end(proposal, result if is_it else self._displaced())

    def passed(self, index: int) -> None:
        """All up to `index` was applied here, each command told to `applied`: what is left there was displaced."""
        while self._placed and self._placed[0][0] <= index:
            self._end(self._placed.popleft()[2], self._displaced())

    def skipped(self, index: int) -> None:
        """A snapshot brought all up to `index`, without results."""
        while self._placed and self._placed[0][0] <= index:
            self._end(self._placed.popleft()[2], self._unknown())

    def refuse_waiting(self, error: RaftError) -> None:
        for proposal in self.take():
            self._end(proposal, error)

    def expire(self, now: float) -> None:
        """Ends those whose time is up."""
        with self._lock:
            late = [proposal for proposal in self._waiting if proposal.deadline <= now]
            if late:
                self._waiting = deque(proposal for proposal in self._waiting if proposal.deadline > now)
        for proposal in late:
            self._end(proposal, NoLeader(f"member {self._member} found no leader for the command in time: retry"))
        for proposal in self._in_flight():
            if proposal.deadline <= now:
                self._end(proposal, self._unknown())
        if any(proposal.done is None for _, _, proposal in self._placed):  # a member that lags may not apply for long
            self._placed = deque(placed for placed in self._placed if placed[2].done is not None)

    def close(self) -> None:
        """Ends all: no more are taken."""
        with self._lock:
            self._is_closed = True
        self.refuse_waiting(NoLeader(f"member {self._member} is stopping: ask another one"))
        for proposal in self._in_flight():
            self._end(proposal, self._unknown())

    def _in_flight(self) -> list[Proposal]:
        return [*self._forwarded.values(), *(proposal for _, _, proposal in self._placed)]

    def _end(self, proposal: Proposal, outcome: Outcome) -> None:
        done, proposal.done = proposal.done, None
        if done is None:
            return
        with self._lock:
            self._count -= 1
            self._bytes -= len(proposal.command)
        tell(done, outcome)

    def _unknown(self) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"member {self._member} could not confirm the command in time or before the leader changed: it may still "
            f"be applied, so read before you retry"
        )

    def _displaced(self) -> NoLeader:
        return NoLeader("the leader changed before the command was replicated: it was not applied, retry")


def tell(done: Callable[[_Outcome], None], outcome: _Outcome) -> None:
    """A caller's mistake in its own function (an event loop that is closed already) must not stop the member."""
    try:
        done(outcome)
    except Exception:
        _logger.exception("whoever waited for an outcome failed over it")
