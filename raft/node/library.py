"""pysyncobj 0.3.17 as a core that we drive. The one module that imports the library.

What is the library's: the state of a member (term, vote, role, leader), running for election and voting, and appending
what a leader sends. It counts what is committed and hands it out to be applied, in order.

What is not, and where it is instead: the journal (raft.storage), sockets and messages (raft.network), when to run and
whom to hear (raft.rules.elections). Also what a leader sends to whom (raft.node.feeding), commands
(raft.node.proposals), snapshots, membership. The library's own of these lose or forge data (the design's RAFT page has
the list).

The library has no hooks for this, so a subclass overrides four of its methods and reads a dozen of its private fields,
all named below and checked at import. Another version refuses to start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import pysyncobj.syncobj as library
from pysyncobj import SyncObj, SyncObjConf
from pysyncobj.node import Node
from pysyncobj.poller import createPoller
from pysyncobj.transport import Transport

from raft.entries import NO_OP
from raft.storage.journal import Entry, Journal

Message = dict[str, Any]

_APPLIED_AT_ONCE_BYTES = 1 << 20
_APPLIED_AT_ONCE = 512
_NEVER_S = 1e15


def new_poller() -> Any:
    """Return a poller of sockets, with subscribe, unsubscribe and poll(seconds), for one thread."""
    return createPoller("auto")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. A follower that hears nothing for a random time between the election bounds runs for election."""

    heartbeat: float = 0.1
    election_min: float = 0.8
    election_max: float = 1.6


class Hooks(NamedTuple):
    """What the core calls, all from within `tick` and `receive`."""

    send: Callable[[str, Message], bool]  # to a member: votes, requests for votes, acknowledgements
    apply: Callable[[int, bytes], None]  # an entry that is committed, by its index; once for each, in order
    began_term: Callable[[], None]  # this member leads, and its first entry is in the log
    work: Callable[[], None]  # once a tick, after committing and applying, before it waits for messages
    became: Callable[[bool], None]  # the role has changed, to leader or not; before a leader's first entry is appended


class Core(SyncObj):  # type: ignore[misc]  # the library ships no types
    """One member's Raft state. Everything happens in `tick` and `receive`, on one thread."""

    def __init__(self, name: str, journal: Journal, applied_index: int, hooks: Hooks, timing: Timing) -> None:
        self._hooks = hooks
        self._journal = journal
        self._nodes: dict[str, Node] = {}
        super().__init__(
            self._node(name),
            [],
            SyncObjConf(
                autoTick=False,
                journalFile=_LibraryJournal(journal, applied_index),
                appendEntriesUseBatch=True,  # else a pipe notification per command, which may fail (T9)
                appendEntriesPeriod=timing.heartbeat,
                raftMinTimeout=timing.election_min,
                raftMaxTimeout=timing.election_max,
                connectionTimeout=timing.election_max,
                leaderFallbackTimeout=_NEVER_S,  # check-quorum is in raft.rules.elections
                onStateChanged=self._state_changed,
                dynamicMembershipChange=False,
            ),
            transport=_Bridge(hooks),
        )
        self._SyncObj__raftLastApplied = applied_index
        self._SyncObj__raftElectionDeadline = math.inf
        self._SyncObj__newAppendEntriesTime = math.inf  # heartbeats are raft.node.member's
        self._SyncObj__connectedNodes = {self.selfNode}  # or it would not run before somebody is connected

    # The state, as the library has it.

    @property
    def poller(self) -> Any:
        """Return the poller, with subscribe(descriptor, callback, mask) and unsubscribe(descriptor)."""
        return self._poller

    @property
    def term(self) -> int:
        return self._SyncObj__raftCurrentTerm  # type: ignore[no-any-return]

    @property
    def voted_for(self) -> str | None:
        return self._SyncObj__votedForNodeId  # type: ignore[no-any-return]

    @property
    def commit_index(self) -> int:
        return int(self._SyncObj__raftCommitIndex)

    @property
    def applied_index(self) -> int:
        """The library's own entries count too."""
        return int(self._SyncObj__raftLastApplied)

    @property
    def leader(self) -> str | None:
        node = self._SyncObj__raftLeader
        return None if node is None else node.id

    @property
    def is_leader(self) -> bool:
        return bool(self._SyncObj__raftState == _LEADER)

    @property
    def is_candidate(self) -> bool:
        return bool(self._SyncObj__raftState == _CANDIDATE)

    # What is done to it.

    def tick(self, *, campaign: bool = False) -> None:
        """Runs for election if asked to; commits, applies, works; then handles what messages there are."""
        self._SyncObj__raftElectionDeadline = 0 if campaign and not self.is_leader else math.inf
        self.doTick(0.0)

    def wait(self, seconds: float) -> None:
        """Wait for messages or a call of the waker, at most `seconds`, and handle them."""
        self._poller.poll(seconds)

    @property
    def can_commit(self) -> bool:
        """Return whether the next tick of this leader may find more to be committed."""
        commit_index, voters = self.commit_index, self._SyncObj__otherNodes
        match = self._SyncObj__raftMatchIndex
        ahead = sum(1 for voter in voters if match[voter] > commit_index)
        return 2 * (ahead + 1) > len(voters) + 1

    def receive(self, sender: str, message: Message) -> None:
        """A message of the library's, already found to be harmless."""
        self._SyncObj__onMessageReceived(self._node(sender), message)

    def follow(self, leader: str, term: int) -> None:
        """There is a leader in `term`, which is this member's or a newer one."""
        if term > self.term:
            # Its vote as well: nobody else can need it in a term that has a leader, and one who forgot a vote in that
            # term (an emptied member) can't give it twice.
            self._SyncObj__setCurrentTerm(term, leader)
        heartbeat = {"type": "append_entries", "term": term, "commit_index": 0}
        self.receive(leader, heartbeat)

    def step_down(self, term: int) -> None:
        """Follows nobody, in a newer term if it is one."""
        if term > self.term:
            self._SyncObj__setCurrentTerm(term, None)
        self._SyncObj__setState(_FOLLOWER)
        self._SyncObj__raftLeader = None

    def forget_leader(self) -> None:
        self._SyncObj__raftLeader = None

    def set_commit_index(self, index: int) -> None:
        """Told by the leader; never lowered."""
        self._SyncObj__raftCommitIndex = max(self.commit_index, index)

    def installed(self, index: int) -> None:
        """The state machine and the journal hold a snapshot of `index`."""
        self._SyncObj__raftCommitIndex = index
        self._SyncObj__raftLastApplied = index

    def set_voters(self, others: Set[str]) -> None:
        """The voters but for this member: whose votes and copies the library counts."""
        nodes = {self._node(name) for name in others}
        match: dict[Node, int] = getattr(self, "_SyncObj__raftMatchIndex")  # noqa: B009  assigned below, too
        self._SyncObj__otherNodes = nodes
        self._SyncObj__raftMatchIndex = {node: match.get(node, 0) for node in nodes}
        self._SyncObj__lastResponseTime = dict.fromkeys(nodes, math.inf)

    def set_match_index(self, voter: str, index: int) -> None:
        """Set how much of this leader's log a voter holds durably."""
        self._SyncObj__raftMatchIndex[self._node(voter)] = index

    # What the library calls by these names.

    def _checkCommandsToApply(self) -> None:  # noqa: N802
        self._hooks.work()

    def _SyncObj__sendAppendEntries(self) -> None:  # noqa: N802
        self._hooks.began_term()

    def _SyncObj__doApplyCommand(self, command: bytes) -> None:  # noqa: N802
        self._hooks.apply(self.applied_index + 1, command)

    def _SyncObj__tryLogCompaction(self) -> None:  # noqa: N802
        """Never: a dump loses what is acknowledged (T5)."""

    def _state_changed(self, _old: int, new: int) -> None:
        self._hooks.became(new == _LEADER)

    def _node(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = _MemberNode(name)
        return node


class _MemberNode(Node):  # type: ignore[misc]  # the library ships no types
    """There is one for each name, so identity will do; the library's compares names, all the time."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class _Bridge(Transport):  # type: ignore[misc]  # the library ships no types
    """What the library sends goes through the hooks; nothing comes back this way."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__(None, None, [])
        self._hooks = hooks

    def send(self, node: Node, message: Message) -> bool:
        return self._hooks.send(node.id, message)


class _LibraryJournal:
    """The journal by the names that the library calls it by."""

    def __init__(self, journal: Journal, applied_index: int) -> None:
        self._journal = journal
        self._applied_index = applied_index

    def __len__(self) -> int:
        return len(self._journal)

    def __getitem__(self, position: Any) -> Any:
        if not isinstance(position, slice) or position.stop is None:
            return self._journal[position]
        return self._bounded(position.start, position.stop)

    def _bounded(self, start: int, stop: int) -> list[Entry]:
        """The library applies what it gets in one go: more than this would keep the member from its heartbeats."""
        entries = self._journal[start : min(stop, start + _APPLIED_AT_ONCE)]
        if len(entries) == 1:  # mostly: the library counts copies entry by entry
            return entries
        size = 0
        for count, (entry, _, _) in enumerate(entries):
            size += len(entry)
            if size >= _APPLIED_AT_ONCE_BYTES:
                return entries[: count + 1]
        return entries

    def add(self, entry: bytes, idx: int, term: int) -> None:
        self._journal.append(entry, idx, term)

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
        return self._applied_index

    def onOneSecondTimer(self) -> None:  # noqa: N802
        """Nothing is written late."""


class _NoPickle:
    """In the library's place for pickling: nothing that is stored or sent is ever unpickled."""

    @staticmethod
    def dumps(_value: object) -> NoReturn:
        raise TypeError("raft.node.library pickles nothing")

    @staticmethod
    def loads(_data: bytes) -> NoReturn:
        raise TypeError("raft.node.library unpickles nothing")


_VERSION = "0.3.17"
_FOLLOWER, _CANDIDATE, _LEADER = 0, 1, 2
_METHODS = (
    "_checkCommandsToApply",
    "_SyncObj__sendAppendEntries",
    "_SyncObj__doApplyCommand",
    "_SyncObj__tryLogCompaction",
    "_SyncObj__onMessageReceived",
    "_SyncObj__setCurrentTerm",
    "_SyncObj__setState",
)
_FIELDS = (
    "raftCurrentTerm",
    "votedForNodeId",
    "raftCommitIndex",
    "raftLastApplied",
    "raftLeader",
    "raftState",
    "raftElectionDeadline",
    "raftMatchIndex",
    "otherNodes",
    "connectedNodes",
    "lastResponseTime",
    "newAppendEntriesTime",
)


def _refuse(what: str) -> NoReturn:
    raise ImportError(f"raft.node.library is written for pysyncobj {_VERSION}: {what}")


def _inject() -> None:
    """Puts our journal in the library's place, and nothing in pickle's. Refuses a library that we do not know."""
    if library.VERSION != _VERSION:
        _refuse(f"found {library.VERSION}")
    states = library._RAFT_STATE
    if (states.FOLLOWER, states.CANDIDATE, states.LEADER) != (_FOLLOWER, _CANDIDATE, _LEADER):
        _refuse("its states have other numbers")
    if library._bchr(library._COMMAND_TYPE.NO_OP) != NO_OP:
        _refuse("its first entry of a term is another one")
    missing = [name for name in _METHODS if not hasattr(SyncObj, name)]
    missing += [name for name in _FIELDS if f"_SyncObj__{name}" not in SyncObj.__init__.__code__.co_names]
    missing += [name for name in ("createJournal", "pickle") if not hasattr(library, name)]
    if missing:
        _refuse(f"it has no {', '.join(missing)}")
    library.createJournal = lambda journal: journal
    library.pickle = _NoPickle


_inject()
