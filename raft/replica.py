"""A Raft member on pysyncobj, with the library's weak parts taken out. The one module that imports pysyncobj.

    propose ──▶ waiting ──▶ the library's log and votes ──▶ FileJournal (fdatasync)
       ▲                            │      ▲
       └──────── result ◀── StateMachine   └── SafeTransport ◀── other members

One thread, the tick thread, runs the library, writes the journal and applies commands. What is not the library's own:

- **Journal.** Ours (raft.journal). A tick's appends are one fdatasync; acknowledgements and votes leave after it.
- **Messages.** A command is opaque bytes, never a pickled call; frames are plain values, checked (raft.messages).
- **Acknowledgements carry the term**, so a stale one commits nothing; **voters are a set**, so nobody votes twice; a
  follower **truncates only what conflicts**, so a re-send drops nothing.
- **No dumps, no log compaction**: a restart goes on from the state machine's applied index.
- **A failing state machine or disk ends the process**: retrying would skip or repeat what others did once.

README.md in this folder says what is still missing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

import pysyncobj.syncobj as library
import pysyncobj.tcp_connection as library_frames
from pysyncobj import FAIL_REASON, SyncObj, SyncObjConf, SyncObjException, replicated
from pysyncobj.dns_resolver import globalDnsResolver
from pysyncobj.node import TCPNode
from pysyncobj.poller import POLL_EVENT_TYPE
from pysyncobj.tcp_connection import TcpConnection
from pysyncobj.transport import TCPTransport, Transport

from raft import messages
from raft.errors import CannotStart, NoLeader, OutcomeUnknown
from raft.journal import Entry, FileJournal
from raft.protocol import ReplicaStatus, StateMachine

MAX_COMMAND_BYTES = 3 << 20
"""A larger command is refused."""

_BATCH_BYTES = 4 << 20  # above the largest command: one that the library has to cut up never arrives (RAFT.md, T6)
_SOCKET_BUFFER_BYTES = 1 << 18
_TICK_S = 0.02  # how long a tick waits for something to happen; messages and proposals wake it at once
_LEADER_FALLBACK_S = 2.0
_EXIT_CODE = 70  # EX_SOFTWARE
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. A follower that hears nothing for a random time between the election bounds starts an election."""

    heartbeat: float = 0.1
    election_min: float = 0.8
    election_max: float = 1.6


_ALONE = Timing(heartbeat=0.01, election_min=0.04, election_max=0.06)


class SyncObjReplica:
    """One member of a group; satisfies raft.protocol.Replica. Without peers it leads itself and opens no port."""

    def __init__(
        self,
        name: str,
        listen: str,
        peers: Mapping[str, str],
        state_machine: StateMachine,
        journal_dir: Path,
        timing: Timing | None = None,
    ) -> None:
        """Starts the member; it takes part once it reaches a majority.

        `listen` and the values of `peers` are host:port; `peers` leaves this member out. Every member must know the
        same names. The state machine is closed with the replica.
        Raises CannotStart when the address is taken or can't be resolved, or when what is stored is damaged.
        """
        self._name = name
        self._state_machine = state_machine
        self._lock = threading.Lock()
        self._waiting: deque[_Proposal] = deque()
        self._sent: set[_Proposal] = set()
        self._is_closing = False
        self._waker = _Waker()
        me = _Member(name, listen)
        others = [_Member(peer, address) for peer, address in sorted(peers.items())]
        if others and me.ip is None:
            raise CannotStart(f"raft can't resolve {listen}: use an address of this host")
        journal = FileJournal(journal_dir)
        try:
            _require_complete(journal, state_machine.applied_index)
            self._node = _Node(me, others, journal, self, self._waker, timing or (Timing() if peers else _ALONE))
        except SyncObjException as error:
            journal.close()
            raise CannotStart(f"raft can't listen on {listen}: use an address of this host and a free port") from error
        except CannotStart:
            journal.close()
            raise
        self._thread = threading.Thread(target=self._run, name=f"raft-{name}", daemon=True)
        self._thread.start()

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        """See raft.protocol.Replica. Raises ValueError when the command is larger than MAX_COMMAND_BYTES."""
        if len(command) > MAX_COMMAND_BYTES:
            raise ValueError(f"command has {len(command)} bytes: the log takes at most {MAX_COMMAND_BYTES}")
        proposal = _Proposal(command)
        with self._lock:
            if self._is_closing:
                raise NoLeader(f"member {self._name} is stopping: ask another one")
            self._waiting.append(proposal)
        self._waker.wake()
        proposal.ended.wait(timeout_s)
        with self._lock:
            self._sent.discard(proposal)
            if proposal.state is _ProposalState.WAITING:
                proposal.state = _ProposalState.WITHDRAWN
                self._waiting.remove(proposal)
        return proposal.outcome(self._name, timeout_s)

    def status(self) -> ReplicaStatus:
        return self._node.status()

    def is_leader(self) -> bool:
        return bool(self._node._isLeader()) and not self._is_closing

    def close(self) -> None:
        with self._lock:
            if self._is_closing:
                return
            self._is_closing = True
        self._waker.wake()
        self._thread.join()
        self._state_machine.close()

    # What follows is called by the tick thread.

    def apply(self, index: int, command: bytes) -> bytes:
        return self._state_machine.apply(index, command)

    @property
    def state_machine_index(self) -> int:
        return self._state_machine.applied_index

    def take_waiting(self) -> list[_Proposal]:
        """The waiting proposals; from here on their outcome depends on the group."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
            for proposal in taken:
                proposal.state = _ProposalState.SENT
            self._sent.update(taken)
        return taken

    def ended(self, proposal: _Proposal, result: bytes | None, reason: int) -> None:
        """The library's verdict. A command that surely was not appended goes back to wait for a leader."""
        with self._lock:
            if reason in _SURELY_NOT_APPLIED and proposal in self._sent:
                self._sent.discard(proposal)
                proposal.state = _ProposalState.WAITING
                self._waiting.append(proposal)
                return
            self._sent.discard(proposal)
            if reason == FAIL_REASON.SUCCESS:
                proposal.state, proposal.result = _ProposalState.APPLIED, result
        proposal.ended.set()

    def _run(self) -> None:
        try:
            while not self._is_closing:
                self._node.tick()
            self._node.stop()
            self._waker.close()
        except Exception:
            # Whatever it is, going on would let this member's state drift from the others' (RAFT.md, T7).
            _logger.critical("member %s stops: its log or its state machine failed", self._name, exc_info=True)
            os._exit(_EXIT_CODE)
        with self._lock:
            abandoned = [*self._waiting, *self._sent]
        for proposal in abandoned:
            proposal.ended.set()


class _ProposalState(Enum):
    WAITING = 1  # here, for a leader
    SENT = 2  # in some member's hands
    APPLIED = 3
    WITHDRAWN = 4  # its proposer gave up before it was sent


class _Proposal:
    """A command on its way; its state is guarded by the replica's lock."""

    __slots__ = ("command", "ended", "result", "state")

    def __init__(self, command: bytes) -> None:
        self.command = command
        self.state = _ProposalState.WAITING
        self.result: bytes | None = None
        self.ended = threading.Event()

    def outcome(self, member: str, timeout_s: float) -> bytes:
        if self.state is _ProposalState.APPLIED:
            return self.result or b""
        if self.state is _ProposalState.WITHDRAWN:
            raise NoLeader(f"member {member} knew no leader that it could reach for {timeout_s:g} s: retry")
        raise OutcomeUnknown(
            f"the command was not confirmed within {timeout_s:g} s or before the leader changed: "
            f"it may still be applied, so read before you retry"
        )


# NOT_LEADER: who was asked did not lead. DISCARDED: another leader's entry took its place in the log.
_SURELY_NOT_APPLIED = (
    FAIL_REASON.QUEUE_FULL,
    FAIL_REASON.MISSING_LEADER,
    FAIL_REASON.NOT_LEADER,
    FAIL_REASON.DISCARDED,
    FAIL_REASON.REQUEST_DENIED,
)


class _Waker:
    """Wakes the tick thread. At most one byte is in the pipe, so that it never fills up (RAFT.md, T9)."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lock = threading.Lock()
        self._is_pending = False

    def wake(self) -> None:
        with self._lock:
            if not self._is_pending and self._writer >= 0:
                self._is_pending = True
                os.write(self._writer, b"!")

    def rearm(self) -> None:
        with self._lock:
            if self._is_pending:
                self._is_pending = False
                os.read(self._reader, 1)

    def subscribe(self, poller: Any) -> None:
        poller.subscribe(self._reader, lambda _descriptor, _events: None, POLL_EVENT_TYPE.READ)

    def close(self) -> None:
        with self._lock:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1


class _Member(TCPNode):  # type: ignore[misc]  # the library ships no types
    """A member is known by its name, so that its vote and its log survive a change of address."""

    def __init__(self, name: str, endpoint: str) -> None:
        host, _, port = endpoint.rpartition(":")
        super().__init__(f"{name}:{port}")
        self._id = name
        self._host, self._port = host.strip("[]"), int(port)

    @property
    def address(self) -> str:
        return str(self._id)

    @property
    def host(self) -> str:
        return self._host

    @property
    def port(self) -> int:
        return self._port

    @property
    def ip(self) -> str | None:
        return globalDnsResolver().resolve(self._host)  # type: ignore[no-any-return]


class _LibraryJournal:
    """The journal by the names that the library calls it by."""

    def __init__(self, journal: FileJournal, applied_index: int) -> None:
        self._journal = journal
        self._applied_index = applied_index

    def __len__(self) -> int:
        return len(self._journal)

    def __getitem__(self, position: Any) -> Any:
        return self._journal[position]

    def add(self, command: bytes, idx: int, term: int) -> None:
        self._journal.append(command, idx, term)

    def deleteEntriesFrom(self, entryFrom: int) -> None:  # noqa: N802, N803  the library's names, here and below
        self._journal.truncate(entryFrom)

    def setCurrentTerm(self, term: int, votedForNodeId: str | None) -> None:  # noqa: N802, N803
        self._journal.set_vote(term, votedForNodeId)

    def getCurrentTerm(self) -> int:  # noqa: N802
        return self._journal.term

    def getVotedForNodeId(self) -> str | None:  # noqa: N802
        return self._journal.voted_for

    def setRaftCommitIndex(self, raftCommitIndex: int) -> None:  # noqa: N802, N803
        """Not stored: what is applied is committed, and the leader tells the rest."""

    def getRaftCommitIndex(self) -> int:  # noqa: N802
        return max(1, self._applied_index)

    def onOneSecondTimer(self) -> None:  # noqa: N802
        """Nothing is written late."""

    def _destroy(self) -> None:
        self._journal.close()


class _NoTransport(Transport):  # type: ignore[misc]  # the library ships no types
    """For a group of one: there is nobody to talk to."""

    def send(self, _node: object, _message: object) -> bool:
        return False


class _SafeTransport(TCPTransport):  # type: ignore[misc]  # the library ships no types
    """The library's sockets, with our rules on what goes out when and what comes in at all."""

    def __init__(self, node: _Node, me: _Member, others: set[_Member]) -> None:
        super().__init__(node, me, others)
        self._node = node
        self._held: list[tuple[_Member, dict[str, Any]]] = []
        self._voters: tuple[int, set[str]] = (0, set())

    def send(self, node: _Member, message: dict[str, Any]) -> bool:
        """Promises (acknowledgements and votes) wait for `release`, after the journal's fdatasync."""
        if message["type"] == messages.NEXT_NODE_IDX:
            message["term"] = self._node.raftCurrentTerm
        if message["type"] in (messages.NEXT_NODE_IDX, messages.RESPONSE_VOTE):
            self._held.append((node, message))
            return True
        return self._send_now(node, message)

    def release(self) -> None:
        held, self._held = self._held, []
        for node, message in held:
            self._send_now(node, message)

    def _send_now(self, node: _Member, message: dict[str, Any]) -> bool:
        is_sent = bool(super().send(node, message))
        connection = self._connections.get(node)
        if connection is not None and connection.getSendBufferSize():
            # The library would send the rest of a large message with the next one, a heartbeat later.
            self._node._poller.subscribe(
                connection.fileno(),
                getattr(connection, _PROCESS_CONNECTION),
                POLL_EVENT_TYPE.READ | POLL_EVENT_TYPE.WRITE | POLL_EVENT_TYPE.ERROR,
            )
        return is_sent

    def _onIncomingMessageReceived(self, conn: TcpConnection, message: object) -> None:  # noqa: N802
        """The first message names the sender: a member that connects to us, not we to it. No commands, no observers."""
        member = self._nodeAddrToNode.get(message) if isinstance(message, str) else None
        if member is None or self._shouldConnect(member):
            _logger.warning("refused a connection: its sender is no member that connects to this one")
            conn.disconnect()
            return
        super()._onIncomingMessageReceived(conn, message)

    def _onMessageReceived(self, node: _Member, message: object) -> None:  # noqa: N802
        try:
            checked = messages.check(message)
        except messages.RefusedMessage as refused:
            _logger.warning("disconnected from %s: %s", node.address, refused)
            self._connections[node].disconnect()
            return
        kind = checked["type"]
        if kind == messages.NEXT_NODE_IDX:
            self._receive_acknowledgement(node, checked)
        elif kind == messages.APPEND_ENTRIES:
            self._receive_entries(node, checked)
        elif kind != messages.RESPONSE_VOTE or self._is_new_voter(node, checked["term"]):
            super()._onMessageReceived(node, checked)

    def _receive_acknowledgement(self, node: _Member, message: dict[str, Any]) -> None:
        if message["term"] != self._node.raftCurrentTerm:
            return  # T2: it is about another leader's log
        known = self._node.next_index(node)
        super()._onMessageReceived(node, message)
        if not message["reset"] and known is not None and (self._node.next_index(node) or 0) < known:
            self._node.set_next_index(node, known)  # later entries are on their way: don't send them twice

    def _is_new_voter(self, node: _Member, term: int) -> bool:
        """T3: the library counts votes, not voters."""
        if self._voters[0] != term:
            self._voters = (term, set())
        is_new = node.address not in self._voters[1]
        self._voters[1].add(node.address)
        return is_new

    def _receive_entries(self, node: _Member, message: dict[str, Any]) -> None:
        """T1: the library drops everything after prevLogIdx, so it is shown only what is new or in conflict."""
        journal, previous = self._node.journal, message["prevLogIdx"]
        if message["term"] < self._node.raftCurrentTerm:
            return
        if journal.term_at(previous) == message["prevLogTerm"]:
            message = _without_known_entries(message, journal)
            if not message["entries"] and journal.last_index > message["prevLogIdx"]:
                self._keep_tail(node, message)
                return
        super()._onMessageReceived(node, message)

    def _keep_tail(self, node: _Member, message: dict[str, Any]) -> None:
        """Nothing new and nothing in conflict: a heartbeat. What follows prevLogIdx here is kept but not vouched for,
        so neither the commit index nor the acknowledgement goes beyond prevLogIdx."""
        matched = message["prevLogIdx"]
        heartbeat = {
            "type": messages.APPEND_ENTRIES,
            "term": message["term"],
            "commit_index": min(message["commit_index"], max(matched, self._node.raftCommitIndex)),
        }
        super()._onMessageReceived(node, heartbeat)
        self.send(node, {"type": messages.NEXT_NODE_IDX, "next_node_idx": matched + 1, "reset": False, "success": True})


def _without_known_entries(message: dict[str, Any], journal: FileJournal) -> dict[str, Any]:
    """The same message as if sent for the first entry that this log lacks or has from another term."""
    entries: list[Entry] = message["entries"]
    known = 0
    while known < len(entries) and journal.term_at(entries[known][1]) == entries[known][2]:
        known += 1
    if not known:
        return message
    _, index, term = entries[known - 1]
    return message | {"prevLogIdx": index, "prevLogTerm": term, "entries": entries[known:]}


class _Node(SyncObj):  # type: ignore[misc]  # the library ships no types
    """The library's node, ticked by us, with one replicated method that takes bytes."""

    def __init__(
        self,
        me: _Member,
        others: list[_Member],
        journal: FileJournal,
        replica: SyncObjReplica,
        waker: _Waker,
        timing: Timing,
    ) -> None:
        self.journal = journal
        self._replica = replica
        self._waker = waker
        self._announced_commit = 0
        applied = replica.state_machine_index
        super().__init__(
            me,
            others,
            SyncObjConf(
                autoTick=False,
                bindAddress=f"{me.host}:{me.port}",
                maxBindRetries=1,
                journalFile=_LibraryJournal(journal, applied),
                appendEntriesUseBatch=True,  # else a pipe notification per command (T9); we broadcast ourselves
                appendEntriesPeriod=timing.heartbeat,
                appendEntriesBatchSizeBytes=_BATCH_BYTES,
                sendBufferSize=_SOCKET_BUFFER_BYTES,
                recvBufferSize=_SOCKET_BUFFER_BYTES,
                raftMinTimeout=timing.election_min,
                raftMaxTimeout=timing.election_max,
                leaderFallbackTimeout=_LEADER_FALLBACK_S,
                connectionTimeout=max(3.5, timing.election_max),
                connectionRetryTime=0.3,
                dnsCacheTime=30.0,
                dnsFailCacheTime=1.0,
                logCompactionMinEntries=1 << 62,  # never: a dump loses what is acknowledged (T5)
                logCompactionMinTime=1 << 62,
                dynamicMembershipChange=False,
            ),
            nodeClass=_Member,
            transportClass=_SafeTransport if others else _NoTransport,
        )
        self._transport = getattr(self, _TRANSPORT)
        setattr(self, _LAST_APPLIED, max(1, applied))
        waker.subscribe(self._poller)

    @replicated  # type: ignore[untyped-decorator]
    def replicate(self, command: bytes) -> bytes:
        return self._replica.apply(self.raftLastApplied + 1, command)

    def tick(self) -> None:
        """One round: count, apply, append, send, sync, then wait for messages and proposals."""
        self.doTick(_TICK_S)
        self._keep_promises()

    def stop(self) -> None:
        self._doDestroy()

    def status(self) -> ReplicaStatus:
        leader = self._getLeader()
        live = [self.selfNode, *(member for member in self.otherNodes if self.isNodeConnected(member))]
        return ReplicaStatus(
            name=self.selfNode.address,
            leader=leader.address if leader is not None else None,
            term=self.raftCurrentTerm,
            # The library also counts its own entries, which the state machine never sees.
            applied_index=max(self.raftLastApplied, self._replica.state_machine_index),
            live_members=tuple(sorted(member.address for member in live)),
        )

    def next_index(self, member: _Member) -> int | None:
        return getattr(self, _NEXT_INDEX).get(member)  # type: ignore[no-any-return]

    def set_next_index(self, member: _Member, index: int) -> None:
        getattr(self, _NEXT_INDEX)[member] = index

    def _checkCommandsToApply(self) -> None:  # noqa: N802
        """The library calls this once a tick, after it counted acknowledgements and applied what is committed."""
        self._waker.rearm()
        if self._can_send():
            for proposal in self._replica.take_waiting():
                self.replicate(proposal.command, callback=_callback(self._replica, proposal))
        last = self.journal.last_index
        super()._checkCommandsToApply()
        is_news = self.journal.last_index > last or self.raftCommitIndex > self._announced_commit
        if self._isLeader() and is_news:
            self._announced_commit = self.raftCommitIndex
            getattr(self, _SEND_APPEND_ENTRIES)()  # the others sync while we do
            if not self.otherNodes and self.raftCommitIndex < self.journal.last_index:
                self._waker.wake()  # no acknowledgement will: the next tick commits
        self._keep_promises()

    def _can_send(self) -> bool:
        leader = self._getLeader()
        return leader is not None and (leader == self.selfNode or self.isNodeConnected(leader))

    def _keep_promises(self) -> None:
        self.journal.sync()
        if self.otherNodes:
            self._transport.release()


def _callback(replica: SyncObjReplica, proposal: _Proposal) -> Callable[[bytes | None, int], None]:
    return lambda result, reason: replica.ended(proposal, result, reason)


def _require_complete(journal: FileJournal, applied_index: int) -> None:
    if applied_index > max(1, journal.last_index):
        raise CannotStart(
            f"the state machine has applied index {applied_index} but the raft log ends at {journal.last_index}: "
            f"restore both from the same copy (raft/README.md says how)"
        )


class _CommandCodec:
    """In the library's place for pickling calls: the one replicated method's one argument is the command's bytes."""

    @staticmethod
    def dumps(call: tuple[int, tuple[bytes]]) -> bytes:
        return call[1][0]

    @staticmethod
    def loads(command: bytes) -> tuple[int, tuple[bytes]]:
        return 0, (command,)


class _FrameCodec:
    """In the library's place for pickling messages."""

    dumps = staticmethod(messages.dumps)

    @staticmethod
    def loads(data: bytes) -> Any:
        try:
            return messages.loads(data)
        except messages.RefusedMessage as refused:
            _logger.warning("disconnected from a sender: %s", refused)
            raise


class _NoCompression:
    """In the library's place for zlib: no frame can unpack to more than was sent, and loopback has no shortage."""

    @staticmethod
    def compress(data: bytes, _level: int) -> bytes:
        return data

    @staticmethod
    def decompress(data: bytes) -> bytes:
        return data


_VERSION = "0.3.17"
_SEND_APPEND_ENTRIES = "_SyncObj__sendAppendEntries"
_NEXT_INDEX = "_SyncObj__raftNextIndex"
_LAST_APPLIED = "_SyncObj__raftLastApplied"
_TRANSPORT = "_SyncObj__transport"
_PROCESS_CONNECTION = "_TcpConnection__processConnection"


def _refuse(what: str) -> NoReturn:
    raise ImportError(f"raft.replica is written for pysyncobj {_VERSION}: {what}")


def _inject() -> None:
    """Puts our journal and codecs in the library's place; refuses a library that is not the one we know."""
    if library.VERSION != _VERSION:
        _refuse(f"found {library.VERSION}")
    for module, names in ((library, ("createJournal", "pickle")), (library_frames, ("pickle", "zlib"))):
        for name in names:
            if not hasattr(module, name):
                _refuse(f"{module.__name__} has no {name}")
    for owner, name in ((SyncObj, _SEND_APPEND_ENTRIES), (TcpConnection, _PROCESS_CONNECTION)):
        if not hasattr(owner, name):
            _refuse(f"{owner.__name__} has no {name}")
    library.createJournal = lambda journal: journal
    library.pickle = _CommandCodec
    library_frames.pickle = _FrameCodec
    library_frames.zlib = _NoCompression


_inject()
