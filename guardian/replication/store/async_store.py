"""The replicated store for asynchronous callers: the same as ReplicatedStore, and nobody holds a thread.

    propose ─▶ Replica.propose_async ─▶ ... ─▶ done, on the tick thread ─▶ a queue ─▶ one wake-up of the loop for many
    read    ─▶ Replica.read_index_async ─▶ the same way back              ─▶ this member's own RocksDB

What is under way is bounded in number and bytes, over all callers: beyond, a caller is told when to come again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from guardian.errors import GuardianError, InvalidInput, Overloaded
from guardian.replication.store.store import DEFAULT_TIMEOUT_S, OVERLOADED_RETRY_MS, from_raft, reply_of
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Look, Views
from protos.guardian.v1.raw_pb2 import RawCommandReply
from raft.errors import RaftError
from raft.protocol import Replica

_Result = TypeVar("_Result", bytes, int)


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """What may be under way on one member."""

    proposals: int = 8192
    proposal_bytes: int = 64 << 20
    reads: int = 8192


class AsyncStore:
    """Made and used on one event loop. Every method raises Unavailable when the group has no leader within the timeout.
    It raises OutcomeUnknown when a change may have been made all the same, and Overloaded when it was refused for now.
    """

    def __init__(
        self, replica: Replica, state_machine: MetastoreStateMachine, limits: StoreLimits | None = None
    ) -> None:
        self._replica = replica
        self._state_machine = state_machine
        self._limits = limits or StoreLimits()
        self._loop = asyncio.get_running_loop()
        self._arrived: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._proposals = self._proposal_bytes = self._reads = 0

    def submit(self, command: bytes, timeout_s: float, done: Callable[[bytes | GuardianError], None]) -> None:
        """Proposes a serialised command; `done` is called once, on the event loop, with the serialised CommandReply or
        with the reason why there is none. It must be quick and must not raise.

        Commands are appended in the order of the calls. Raises Overloaded and InvalidInput at once.
        """
        limits, size = self._limits, len(command)
        if self._proposals >= limits.proposals or self._proposal_bytes + size > limits.proposal_bytes:
            raise Overloaded(
                f"{self._proposals} changes of {self._proposal_bytes} bytes are under way on this member: retry later",
                OVERLOADED_RETRY_MS,
            )

        def finish(outcome: bytes | RaftError) -> None:
            self._proposals -= 1
            self._proposal_bytes -= size
            done(_answer(outcome, timeout_s))

        self._proposals += 1
        self._proposal_bytes += size
        try:
            self._replica.propose_async(command, timeout_s, lambda outcome: self._arrive(lambda: finish(outcome)))
        except (RaftError, ValueError) as error:
            self._proposals -= 1
            self._proposal_bytes -= size
            if isinstance(error, RaftError):
                raise from_raft(error, timeout_s) from None
            raise InvalidInput(f"the request is too large to be stored: {error}") from None

    async def propose(self, command: bytes, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
        """Carries a serialised command out and returns its serialised CommandReply; raises its refusal."""
        future: asyncio.Future[bytes] = self._loop.create_future()
        self.submit(command, timeout_s, lambda answer: _settle(future, answer))
        return await future

    async def look(self, timeout_s: float = DEFAULT_TIMEOUT_S, max_staleness_s: float | None = None) -> Look:
        """Read what is stored: all that was acknowledged before the call, or, where a staleness is allowed, before
        that.
        """
        if max_staleness_s is not None:
            staleness_s = self._replica.staleness_s()
            if staleness_s is not None and staleness_s <= max_staleness_s:
                return Look(self._state_machine.read(), staleness_s)
        await self._read_index(timeout_s)
        return Look(self._state_machine.read(), 0.0)

    async def read(self, timeout_s: float = DEFAULT_TIMEOUT_S, max_staleness_s: float | None = None) -> Views:
        """Read as `look` does, without how old it may be."""
        return (await self.look(timeout_s, max_staleness_s)).views

    def read_local(self) -> Views:
        """This member as it is, possibly behind."""
        return self._state_machine.read()

    async def _read_index(self, timeout_s: float) -> int:
        if self._reads >= self._limits.reads:
            raise Overloaded(f"{self._reads} reads are under way on this member: retry later", OVERLOADED_RETRY_MS)
        future: asyncio.Future[int] = self._loop.create_future()

        def finish(outcome: int | RaftError) -> None:
            self._reads -= 1
            _settle(future, from_raft(outcome, timeout_s) if isinstance(outcome, RaftError) else outcome)

        self._reads += 1
        try:
            self._replica.read_index_async(timeout_s, lambda outcome: self._arrive(lambda: finish(outcome)))
        except RaftError as error:
            self._reads -= 1
            raise from_raft(error, timeout_s) from None
        return await future

    def _arrive(self, finish: Callable[[], None]) -> None:
        """Hand over the outcome, on the tick thread. The flag is put down before the queue is emptied, so nothing is
        left behind.
        """
        self._arrived.append(finish)
        if self._is_woken:
            return
        self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._finish_all)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._arrived.clear()

    def _finish_all(self) -> None:
        self._is_woken = False
        arrived = self._arrived
        while arrived:
            arrived.popleft()()


def _settle(future: asyncio.Future[_Result], answer: _Result | GuardianError) -> None:
    """Nothing when the caller has gone."""
    if future.done():
        return
    if isinstance(answer, GuardianError):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def _answer(outcome: bytes | RaftError, timeout_s: float) -> bytes | GuardianError:
    """A reply that refuses the command is an error."""
    if isinstance(outcome, RaftError):
        return from_raft(outcome, timeout_s)
    if RawCommandReply.FromString(outcome).error_kind:
        try:
            reply_of(outcome)
        except GuardianError as error:
            return error
    return outcome
