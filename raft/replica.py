"""One member of a Raft group, for its callers: any thread may call, the tick thread does the work (raft.node.member).

propose ─▶ raft.node.proposals ─▶ the log, on a majority ─▶ StateMachine.apply ─▶ result
read_index ─▶ raft.node.reading ─▶ a round with a majority ─▶ the index that is applied here
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic, TypeVar

from raft.configuration import Configuration
from raft.errors import REJOIN, CannotStart, DamagedData, Diverged, NoLeader, RaftError
from raft.network.addresses import split
from raft.network.frames import MAX_COMMAND_BYTES
from raft.network.tls import TlsFiles
from raft.network.transport import Network
from raft.node import installing
from raft.node.changing import Handover
from raft.node.library import Timing
from raft.node.member import Member
from raft.protocol import Change, LastWords, MemberStatus, Outcome, ReplicaStatus, StateMachine, StopCause
from raft.rules.admission import Lapse
from raft.rules.reads import Read
from raft.snapshotting import snapshots
from raft.storage.identity import open_identity
from raft.storage.journal import Journal
from raft.storage.room import is_passing

__all__ = ["EXIT_CODES", "EXIT_FAILED", "MAX_COMMAND_BYTES", "RaftReplica", "Timing"]

DISK_RESERVE_BYTES = 512 << 20
EXIT_FAILED = 70
"""EX_SOFTWARE: the disk or the state machine failed, so nobody knows what is stored."""

EXIT_CODES = {StopCause.DAMAGED: 65, StopCause.DIVERGED: 65}
"""Of a process that its member ends; EX_DATAERR: never start on this folder again."""

_PARTING_S = 3.0  # a leader's, to hand over; two elections
_LEAST_PARTING_S = 0.5  # so that the others have read the last words before the connections end
_STUCK_S = 10.0  # a disk that hangs must not keep a member that is to stop
_DESCRIBE_S = 30.0
_logger = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class RaftReplica:
    """Satisfies raft.protocol.Replica."""

    def __init__(
        self,
        name: str,
        listen: str,
        peers: Mapping[str, str],
        state_machine: StateMachine,
        directory: Path,
        *,
        client_address: str = "",
        join: bool = False,
        tls: TlsFiles | None = None,
        disk_reserve_bytes: int = DISK_RESERVE_BYTES,
        timing: Timing | None = None,
        on_duplicate: Callable[[str], None] = lambda _: None,
        on_lapse: Callable[[str], None] = lambda _: None,
        damage: Callable[[], str] = str,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        """Starts the member; it takes part once it reaches a majority.

        `listen` is the host:port that it binds to and that the others reach it at. `peers` holds the other members that
        the group begins with, by name, the same on all of them. Afterwards the configuration is in the log, and `peers`
        only says whom a member that lags behind the group hears beside the members that it knows. A member that joins a
        group (`join`) is told the configuration by the leader: its `peers` are some members of the group.
        `client_address` is what the others are told of this member. With less than `disk_reserve_bytes` free it takes
        no commands. `on_duplicate` gets a sentence, on the tick thread and perhaps again and again, when another
        process of this name is a member already. This one takes no part, and is to be closed. `on_lapse` likewise, when
        this member's folder has forgotten what it promised, as others say and no leader contradicts. `damage` says what
        of the state machine's content is damaged, "" while nothing is; it is asked in every tick. The state machine is
        closed with the replica. `end` gets the exit code, on any thread, when the process must end, and does not
        return.

        Raises CannotStart when the address is taken or can't be resolved, or when a member that joins is told of nobody
        whom it may hear. Raises DamagedData, one of these, when what is stored is damaged.
        """
        self._name = name
        self._listen = listen
        self._client_address = client_address
        self._state_machine = state_machine
        self._tls = tls
        self._on_duplicate = on_duplicate
        self._on_lapse = on_lapse
        self._damage = damage
        self._end = end
        self._last_words: LastWords | None = None
        self._lock = threading.Lock()
        self._is_closing = False
        journal = _open_journal(name, listen, peers, directory, join=join)
        self._member = self._open_member(journal, directory, peers, disk_reserve_bytes, timing or Timing())
        self._member.lacking.is_ending = lambda: self._is_closing or self._last_words is not None
        self._thread = threading.Thread(target=self._run, name=f"raft-{name}", daemon=True)
        self._thread.start()

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        waiter = _Waiter[bytes]()
        self.propose_async(command, timeout_s, waiter.set)
        return waiter.wait()

    def propose_async(self, command: bytes, timeout_s: float, done: Callable[[Outcome], None]) -> None:
        if len(command) > MAX_COMMAND_BYTES:
            raise ValueError(f"command has {len(command)} bytes: the log takes at most {MAX_COMMAND_BYTES}")
        self._member.proposals.submit(command, time.monotonic() + timeout_s, done)
        self._member.waker.wake()

    def read_index(self, timeout_s: float) -> int:
        waiter = _Waiter[int]()
        self.read_index_async(timeout_s, waiter.set)
        return waiter.wait()

    def read_index_async(self, timeout_s: float, done: Callable[[int | RaftError], None]) -> None:
        self._member.reading.submit(Read(time.monotonic() + timeout_s, done))
        self._member.waker.wake()

    def staleness_s(self) -> float | None:
        if self._last_words is not None:
            return None
        return self._member.reading.freshness.staleness_s(time.monotonic())

    def is_leader(self) -> bool:
        return self._member.core.is_leader and not self._is_closing and self._last_words is None

    def stop(self, words: LastWords) -> None:
        """Ends the process with the cause's exit code, within seconds, after handing over leadership and telling the
        others. Any thread may call it; the first words count."""
        with self._lock:
            if self._last_words is not None:
                return
            self._last_words = words
        _logger.critical("member %s stops: %s", self._name, words.reason)
        watchdog = threading.Timer(_STUCK_S, self._end, (EXIT_CODES[words.cause],))
        watchdog.daemon = True
        watchdog.start()
        self._member.waker.wake()

    def verify(self, pause: Callable[[float], None]) -> None:
        """Reads log and vote back from the disk; a member whose are damaged stops. `pause` gets the share that is done,
        between pieces of the work: it may wait, and ends the work by raising. Raises OSError, and NoLeader when the
        member is closed."""
        files = self._on_tick_thread(self._member.journal.written)
        for count, file in enumerate(files, 1):
            try:
                file.verify()
            except DamagedData as damaged:
                if file.is_part_of(self._on_tick_thread(self._member.journal.written)):
                    self.stop(LastWords(StopCause.DAMAGED, str(damaged)))
                    return
            pause(count / len(files))
        try:
            self._on_tick_thread(self._member.journal.verify_vote)
        except DamagedData as damaged:
            self.stop(LastWords(StopCause.DAMAGED, str(damaged)))

    def transfer_leadership(self, to: str | None, timeout_s: float) -> str:
        return self._change(Handover(to), timeout_s)

    def change_membership(self, change: Change, timeout_s: float) -> None:
        self._change(change, timeout_s)

    def save_snapshot(self, directory: Path) -> None:
        member = self._member
        with self._lock:
            member.pins += 1
        try:
            directory.mkdir()
            index = self._state_machine.save(directory / snapshots.STATE)
            term, configuration = self._on_tick_thread(lambda: member.describe(index))
            snapshots.write(directory, index, term, configuration)
        finally:
            with self._lock:
                member.pins -= 1

    def status(self) -> ReplicaStatus:
        member = self._member
        core, journal = member.core, member.journal
        configuration = journal.configuration
        members = tuple(self._member_status(configuration)) if configuration is not None else ()
        return ReplicaStatus(
            name=self._name,
            leader=None if self._is_closing else core.leader,
            term=core.term,
            applied_index=core.applied_index,
            live_members=tuple(sorted({self._name, *(one.name for one in members if one.is_connected)})),
            group_id=configuration.group_id if configuration is not None else "",
            state=self._state(configuration),
            first_index=journal.first_index,
            last_index=journal.last_index,
            commit_index=core.commit_index,
            staleness_s=self.staleness_s(),
            members=members,
            disk_free_bytes=member.disk.free_bytes,
            disk_reserve_bytes=member.disk.reserve_bytes,
            is_refusing_writes=bool(member.proposals.disk_fault) or member.seat.is_outvoted,
            is_outvoted=member.seat.is_outvoted,
            last_words=self._last_words,
            counters={
                **self._network.counters,
                **member.seat.counters,
                "proposals_waiting": member.proposals.count,
                "reads_waiting": member.reading.count,
            },
        )

    def close(self) -> None:
        with self._lock:
            if self._is_closing:
                return
            self._is_closing = True
        self._member.waker.wake()
        self._thread.join()
        self._state_machine.close()

    def _open_member(
        self, journal: Journal, directory: Path, peers: Mapping[str, str], disk_reserve_bytes: int, timing: Timing
    ) -> Member:
        """Complete what a crash cut off, and make the member. Raises CannotStart."""
        try:
            identity = open_identity(directory, self._name, is_new=journal.is_pristine)
            installing.repair(directory, self._state_machine.applied_index, journal)
            return Member(
                identity,
                journal,
                self._state_machine,
                directory,
                self._connect,
                peers=peers,
                disk_reserve_bytes=disk_reserve_bytes,
                timing=timing,
            )
        except CannotStart:
            journal.close()
            raise
        except OSError as error:
            raise _unusable(directory, error) from error

    def _run(self) -> None:
        try:
            while not self._is_closing and not self._is_stopping():
                self._member.tick()
            if not self._is_stopping():
                self._member.close()
                return
        except Diverged as diverged:
            self.stop(LastWords(StopCause.DIVERGED, str(diverged)))
        except Exception as error:
            if self._is_closing and is_passing(error):
                _logger.warning("member %s closes while it can't write: %s", self._name, error)
                self._member.close()
                return
            if not self._is_stopping():
                # Whatever it is, going on would let this member's state drift from the others' (RAFT.md, T7).
                _logger.critical("member %s stops: its log or its state machine failed", self._name, exc_info=True)
                logging.shutdown()
                self._end(EXIT_FAILED)
                return
        self._part()

    def _is_stopping(self) -> bool:
        damage = self._damage()
        if damage and self._last_words is None:
            self.stop(LastWords(StopCause.DAMAGED, damage))
        return self._last_words is not None

    def _part(self) -> None:
        """Hands over and says the last words; then ends the process, whatever comes of it."""
        words, began = self._last_words, time.monotonic()
        if words is None:
            return
        try:
            self._member.stop_taking_part(words)
            while self._is_needed(time.monotonic() - began):
                self._member.tick()
            self._network.close()
        except Exception:
            _logger.critical("member %s could not hand over before it stopped", self._name, exc_info=True)
        logging.shutdown()
        self._end(EXIT_CODES[words.cause])

    def _is_needed(self, parting_s: float) -> bool:
        """Return whether a member that stops goes on for now: it leads others, or its last words are still on their
        way.
        """
        is_leading = self._member.core.is_leader and bool(self._member.seat.other_voters())
        return parting_s < (_PARTING_S if is_leading else _LEAST_PARTING_S)

    def _connect(self, member: Member, poller: Any) -> Network:
        self._network = Network(
            poller,
            self._name,
            self._listen,
            client_address=self._client_address,
            group_id=lambda: configuration.group_id if (configuration := member.journal.configuration) else "",
            on_message=member.on_message,
            on_connected=member.on_connected,
            on_disconnected=member.on_disconnected,
            introduce=member.introduce,
            find_lapse=lambda peer, is_new: member.find_lapse(peer, is_new=is_new),
            on_duplicate=self._on_duplicate,
            on_lapse=self._told_lapse,
            admits=member.admits,
            tls=self._tls,
        )
        return self._network

    def _told_lapse(self, by: str, lapse: Lapse) -> None:
        if self._member.believes(lapse):
            self._on_lapse(f"{by} refuses this member: {lapse.sentence}")

    def _change(self, goal: Change | Handover, timeout_s: float) -> str:
        waiter = _Waiter[str]()
        self._member.changing.submit(goal, time.monotonic() + timeout_s, waiter.set)
        self._member.waker.wake()
        return waiter.wait()

    def _on_tick_thread(self, function: Callable[[], _Answer]) -> _Answer:
        """Raises what the function raises, and NoLeader when the member is closed."""
        future: Future[_Answer] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except (LookupError, RaftError, OSError) as error:
                future.set_exception(error)

        self._member.call(run)
        try:
            return future.result(_DESCRIBE_S)
        except TimeoutError:
            raise NoLeader(f"member {self._name} is stopping: ask another one") from None

    def _state(self, configuration: Configuration | None) -> str:
        if self._is_closing:
            return "follower"
        if self._member.core.is_leader:
            return "leader"
        if configuration is None or self._name in configuration.learners:
            return "learner"
        return "candidate" if self._member.core.is_candidate else "follower"

    def _member_status(self, configuration: Configuration) -> list[MemberStatus]:
        is_leader = self.is_leader()
        return [
            MemberStatus(
                name=one.name,
                address=one.address,
                role=one.role,
                is_connected=one.name == self._name or self._network.is_connected(one.name),
                client_address=self._client_address
                if one.name == self._name
                else self._network.client_address(one.name),
                match_index=self._match_index(one.name) if is_leader else None,
                clock_ms=self._member.vitals.clock_ms(one.name, time.monotonic()),
                last_words=self._member.parting.of_others.get(one.name),
            )
            for one in configuration.members
        ]

    def _match_index(self, name: str) -> int | None:
        if name == self._name:
            return self._member.journal.last_index
        progress = self._member.feeder.progress(name)
        return None if progress is None else progress.match_index


class _Waiter(Generic[_Answer]):
    """One answer, from the tick thread to a caller. A bare lock is several times cheaper than an Event."""

    __slots__ = ("_answer", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._answer: _Answer | RaftError = NoLeader("nobody has answered")

    def set(self, answer: _Answer | RaftError) -> None:
        self._answer = answer
        self._lock.release()

    def wait(self) -> _Answer:
        """Raises the error that is the answer. It comes: what waits has a deadline on the tick thread."""
        self._lock.acquire()
        if isinstance(self._answer, RaftError):
            raise self._answer
        return self._answer


def _open_journal(name: str, listen: str, peers: Mapping[str, str], directory: Path, *, join: bool) -> Journal:
    """Open the log, or begin one. Raises CannotStart, also for a member that joins a group and is told of nobody."""
    try:
        journal = Journal(directory, None if join else first_configuration(name, listen, peers))
    except OSError as error:
        raise _unusable(directory, error) from error
    if journal.configuration is None and not peers:
        journal.close()
        raise CannotStart(f"member {name} joins a group, and peers is empty: name some members of the group")
    return journal


def _unusable(directory: Path, error: OSError) -> CannotStart:
    if error.errno == errno.EIO:
        return DamagedData(f"raft can't read {directory} back ({error}): {REJOIN}")
    return CannotStart(f"raft can't use {directory} ({error}): make it a directory of this user")


def first_configuration(name: str, listen: str, peers: Mapping[str, str]) -> Configuration:
    """Return the configuration that a group begins with. Its id follows from its members, so that they need not agree
    on one first.

    Raises CannotStart when an address is no host:port.
    """
    addresses = {**peers, name: listen}
    for member, address in addresses.items():
        try:
            split(address)
        except ValueError as error:
            raise CannotStart(f"raft address of member {member}: {error}") from error
    spelled = json.dumps(sorted(addresses.items())).encode()
    return Configuration.of_voters(hashlib.sha256(spelled).hexdigest()[:16], addresses)
