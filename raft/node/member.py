"""One member on its tick thread: messages in, one round of work a tick, promises out after the sync.

    tick:  run for election? ─▶ commit ─▶ apply ─▶ work ─▶ sync ─▶ handle messages, wait for more ─▶ sync ─▶ promises
    work:  proposals ─▶ the log or the leader, changes of the group, reads, entries to the others

An acknowledgement or a vote leaves only after the journal's sync. What this member appended as a leader counts for the
majority only in the next tick, so after its sync too.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from raft.configuration import Configuration
from raft.entries import command_in
from raft.errors import LowDisk
from raft.network import frames
from raft.node.campaigning import Campaigning
from raft.node.changing import Changing
from raft.node.commands import Commands
from raft.node.door import Door
from raft.node.feeding import Feeder
from raft.node.installing import Installing
from raft.node.lacking import Lacking
from raft.node.library import Core, Hooks, Message, Timing
from raft.node.maintenance import Maintenance
from raft.node.matching import Contradiction, Mismatch, NewEntries, NothingNew, compare
from raft.node.parting import Parting
from raft.node.promises import Promises
from raft.node.proposals import Proposals
from raft.node.reading import Reading
from raft.node.seat import Links, Seat
from raft.node.vitals import Vitals
from raft.node.waker import Waker
from raft.protocol import LastWords, StateMachine
from raft.rules.admission import Doubt, Introduction, Lapse, doubt, find_lapse
from raft.snapshotting.sink import SnapshotSink
from raft.snapshotting.source import SnapshotSource
from raft.storage.confirmed import ConfirmedIndexes
from raft.storage.disk_space import DiskProbe, can_commit
from raft.storage.identity import FolderIdentity
from raft.storage.journal import Journal

_TICK_S = 0.02  # how long a tick waits for something to happen; messages and callers wake it at once
_UPKEEP_S = 0.005
_LOOK_EVERY_S = 0.05  # at what has become too late, and at the disk
_LEAVING_S = 10.0  # how long a removed member is told of its removal,
_LETTING_GO_S = 1.0  # and how long once it has been
_SNAPSHOTS_OUT, _SNAPSHOTS_IN = "outgoing", "incoming"
_logger = logging.getLogger(__name__)


class Network(Links, Protocol):
    """The part of raft.network.transport.Network that a member uses."""

    def set_members(self, members: Mapping[str, str]) -> None: ...
    def tick(self, now_monotonic: float) -> None: ...
    def close(self) -> None: ...


Connect = Callable[["Member", Any], Network]
"""Makes the network for a member, given the poller to use."""


class Member:
    """All but `call` is for the tick thread."""

    def __init__(
        self,
        identity: FolderIdentity,
        journal: Journal,
        state_machine: StateMachine,
        directory: Path,
        connect: Connect,
        *,
        peers: Iterable[str] = (),
        disk_reserve_bytes: int,
        timing: Timing,
        clock: Callable[[], float] = time.monotonic,
        wall_clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """Build a member of its parts; `peers` are those that its own file names. Raises CannotStart when the network
        can't be had or what is stored is damaged, and OSError."""
        self._clock = clock
        now = clock()
        self.name = name = identity.name
        self.incarnation = identity.incarnation
        self.journal = journal
        self._confirmed = ConfirmedIndexes(directory)
        self.waker = Waker()
        self.disk = DiskProbe(directory, disk_reserve_bytes)
        hooks = Hooks(self.send, self.apply, self.began_term, self.work, self.became)
        self.core = Core(name, journal, max(1, state_machine.applied_index), hooks, timing)
        self.network = connect(self, self.core.poller)
        self.parting = Parting(self.network)
        self.seat = Seat(name, identity.incarnation, journal, self.core, self.network, timing, self.waker.wake)
        self.promises = Promises(self.seat)
        self.proposals = Proposals(name)
        self.campaigning = Campaigning(self.seat, now)
        self.door = Door(self.seat, self.campaigning, peers, now)
        self.pins = 0  # while there are any, the log is not cut; guarded by the replica
        self._state_machine = state_machine
        self._source = SnapshotSource(directory / _SNAPSHOTS_OUT, state_machine, self.describe, wake=self.waker.wake)
        sink = SnapshotSink(directory / _SNAPSHOTS_IN, wake=self.waker.wake, reserve_bytes=disk_reserve_bytes)
        self._installing = Installing(self.seat, directory, sink, state_machine)
        self.feeder = Feeder(self.seat, self._source)
        self.vitals = Vitals(self.seat, state_machine, self._confirmed, self.feeder.match_indexes, wall_clock_ms)
        self.commands = Commands(self.seat, self.proposals, self.campaigning, self.parting, self.feeder.awaits)
        self.reading = Reading(self.seat, self.feeder.awaits)
        self.lacking = Lacking(name, journal, state_machine, self.proposals, self.reading, clock)
        self.changing = Changing(self.seat, self.feeder, self.campaigning)
        self._maintenance = Maintenance(
            journal, state_machine, self._held_index, self.waker.wake, now, self.lacking.stick
        )
        self._calls: deque[Callable[[], None]] = deque()
        self._configuration: Configuration | None = None
        self._leaving: dict[str, tuple[str, float]] = {}  # removed members: address, until when they are fed
        self._doubt: Doubt | None = None  # whether this folder is a new one
        self._known_leader: str | None = None
        self._fed = (0, 0)  # last index and commit index that the others were told
        self._upkeep_at = self._looked_at = self._beat_at = 0.0
        self._has_space = self.disk.has_space(now)
        self._must_work = False  # the next tick must not wait
        self._now = now
        self._handlers = self._message_handlers()
        self.waker.subscribe(self.core.poller)
        self._follow_configuration()

    def _message_handlers(self) -> dict[str, Callable[[str, Message], None]]:
        return {
            frames.APPEND_ENTRIES: self._on_entries,
            frames.NEXT_NODE_IDX: self._on_acknowledgement,
            frames.REQUEST_VOTE: lambda sender, message: self.campaigning.request_vote(sender, message, self._now),
            frames.RESPONSE_VOTE: self.campaigning.response_vote,
            frames.PRE_VOTE: lambda sender, message: self.campaigning.pre_vote(sender, message, self._now),
            frames.PRE_VOTE_REPLY: lambda sender, message: self.campaigning.pre_vote_reply(sender, message, self._now),
            frames.STALE_TERM: lambda _, message: self.campaigning.stale_term(message["term"], self._now),
            frames.TIMEOUT_NOW: self.campaigning.timeout_now,
            frames.APPLY_COMMAND: self.commands.handed,
            frames.APPLY_COMMAND_RESPONSE: lambda _, message: self.commands.replied(message, self._now),
            frames.READ_ROUND: self._on_read_round,
            frames.READ_ROUND_REPLY: self.reading.read_round_reply,
            frames.READ_REQUEST: self.reading.read_request,
            frames.READ_REPLY: lambda sender, message: self.reading.read_reply(sender, message, self._now),
            frames.CHANGE_REQUEST: lambda sender, message: self.changing.change_request(sender, message, self._now),
            frames.CHANGE_REPLY: lambda _, message: self.changing.change_reply(message, self._now),
            frames.SNAPSHOT_OFFER: self._on_snapshot_offer,
            frames.SNAPSHOT_PULL: lambda sender, message: self.feeder.pulled(sender, message, self._now),
            frames.SNAPSHOT_CHUNK: lambda sender, message: self._installing.chunk(sender, message, self._now),
            frames.SNAPSHOT_INSTALLED: self._on_snapshot_installed,
            frames.SNAPSHOT_REFUSED: self._on_snapshot_refused,
            frames.VITALS: lambda sender, message: self.vitals.received(sender, message, self._now),
            frames.DIVERGED: self._on_diverged,
            frames.LAST_WORDS: self.parting.heard,
            frames.INTRODUCTION_REQUEST: self.door.introduction_request,
            frames.INTRODUCTION: self.door.introduction,
        }

    # The loop.

    def tick(self, wait_s: float = _TICK_S) -> None:
        """One round. Raises what the journal or the state machine raised: then the member must stop."""
        self._now = self._clock()
        self._follow_configuration()
        is_running = self.campaigning.tick(self._now) and not self.parting.is_under_way
        self._must_work = False
        self.core.tick(campaign=is_running)
        until = self._now + wait_s
        while not self._must_work and not self.waker.is_pending:
            remaining = min(until, self.feeder.tell_at or until) - self._clock()
            if remaining <= 0:
                break
            self.core.wait(remaining)
        self.promises.keep()

    def call(self, function: Callable[[], None]) -> None:
        """Has the tick thread run it. Any thread may call."""
        self._calls.append(function)
        self.waker.wake()

    def close(self) -> None:
        """Ends everything; whoever waits is told."""
        self.proposals.close()
        self.reading.close()
        self.changing.close()
        self._source.close()
        self._installing.close()
        self._maintenance.close()
        self.network.close()
        self.journal.close()
        self.waker.close()

    def stop_taking_part(self, words: LastWords) -> None:
        """Begin to stop: from now on nothing is applied and nobody is served, and each tick hands over what leadership
        this member has. Whoever waits is told, and so are the others, those too that connect later.
        """
        self.parting.begin(words, self._others())
        self.proposals.close()
        self.reading.close()
        self.changing.close()

    def describe(self, index: int) -> tuple[int, Configuration]:
        """The log's term and configuration there. Raises LookupError when it does not reach there."""
        term, configuration = self.journal.term_at(index), self.journal.configuration_at(index)
        if term is None or configuration is None:
            raise LookupError(f"member {self.name} has no log at index {index}: save a snapshot later")
        return term, configuration

    def introduce(self) -> Introduction:
        """Return what this member says of itself when it connects."""
        journal = self.journal
        return Introduction(self.name, self.incarnation, journal.last_index, journal.configuration_index)

    def find_lapse(self, peer: Introduction, *, is_new: bool = True) -> Lapse | None:
        """Return what a member that has introduced itself has forgotten, or None. Its log is judged only when it has
        just connected (`is_new`): it grows since."""
        confirmed = self._confirmed.get(peer.incarnation) if is_new else 0
        return find_lapse(peer, self.journal.configuration, self.journal.configuration_index, confirmed)

    def believes(self, lapse: Lapse) -> bool:
        """Return whether this member has the lapse that another one has found, so that it has to end."""
        is_fed = self.core.leader is not None and self.campaigning.is_bound(self._now)
        self._doubt = doubt(self._doubt, self._now, is_fed=is_fed)
        return lapse.is_proven or (self._doubt is not None and self._doubt.is_over)

    # What the core calls.

    def send(self, member: str, message: Message) -> bool:
        match message["type"]:
            case frames.NEXT_NODE_IDX:
                self._acknowledge(member, message["next_node_idx"], is_match=message["success"])
                return True
            case frames.RESPONSE_VOTE:
                self.promises.hold(member, message)
                return True
            case frames.REQUEST_VOTE:
                message = self.campaigning.vote_request(message)
        return self.network.send(member, message)

    def apply(self, index: int, entry: bytes) -> None:
        command = command_in(entry)
        if command is None or self.parting.is_under_way:
            return
        result = self.lacking.apply(index, command)
        if self.proposals.is_any_placed:
            self.proposals.applied(index, self.journal.term_at(index) or 0, result)

    def began_term(self) -> None:
        self._beat_at = self._now + self.seat.timing.heartbeat
        self.feeder.feed(self._now, is_heartbeat=True)

    def work(self) -> None:
        self.waker.rearm()
        now = self._now = self._clock()
        core = self.core
        if self.parting.is_under_way:
            self._hand_over(now)
            return
        while self._calls:
            self._calls.popleft()()
        self.proposals.passed(core.applied_index)
        if now >= self._upkeep_at:
            self._upkeep_at = now + _UPKEEP_S
            self._keep_up(now)
        self.commands.work(now)
        self.changing.work(now)
        self._follow_configuration()
        self.reading.work(now)
        if core.is_leader:
            self._feed_others(now)
        self._must_work = core.applied_index < core.commit_index or self._commits_alone()
        self.promises.keep()

    def _hand_over(self, now: float) -> None:
        """All that a member does which stops by itself. It never touches the state machine."""
        self.commands.answer_handed()
        if self.core.is_leader:
            self.changing.resign(now)
            self._feed_others(now)
        self._must_work = False
        self.network.tick(now)
        self.promises.keep()

    def _keep_up(self, now: float) -> None:
        """Do the work that need not be done in every tick."""
        installed = self._installing.work(now)
        if installed is not None:
            self.proposals.skipped(installed)
        self.door.work(now)
        self._source.poll(now)
        self._maintenance.work(now)
        self.vitals.work(now)
        if now - self._looked_at >= _LOOK_EVERY_S:
            self._looked_at = now
            self._look_at_disk(now)
            self.proposals.expire(now)
        self.network.tick(now)

    def became(self, is_leader: bool) -> None:
        now = self._now
        if is_leader:
            self.seat.counters["terms_led"] += 1
            self.seat.own_term_index = self.journal.last_index + 1
            self.feeder.begin(self._others())
            self._installing.abandon()
            self.proposals.leader_lost()
            self._known_leader = self.name
            self._fed = (0, 0)
        else:
            self.changing.stopped_leading()
        self.campaigning.became(now, is_leader=is_leader)
        self.reading.became()

    # What the network calls.

    def admits(self, name: str) -> bool:
        """Return whether somebody of this name may connect."""
        return self.door.admits(name)

    def on_message(self, sender: str, message: Message) -> None:
        kind = message["type"]
        if not self.door.takes(sender, message, self._now):
            return
        if kind != frames.NEXT_NODE_IDX:  # most of those change nothing: the majority was there before
            self._must_work = True
        self._handlers[kind](sender, message)

    def on_connected(self, member: str) -> None:
        """The next heartbeat finds it. What it holds counts once it has said so anew."""
        self.parting.connected(member)
        self.vitals.connected(member, self._now)
        if self.core.is_leader:
            self.feeder.connected(member)
            self._count_match(member)

    def on_disconnected(self, member: str) -> None:
        self._must_work = True
        self.promises.forget()
        if self.core.is_leader:
            self.feeder.disconnected(member)
        if member == self._known_leader:
            self._known_leader = None
            self.proposals.leader_lost()
            self.reading.leader_changed()
        if member == self.core.leader:
            self.core.forget_leader()
            self.campaigning.lost_leader(self._now)

    # Messages.

    def _hears_leader(self, sender: str, term: int) -> bool:
        """Follows a leader of this or a newer term; one of an older term is told."""
        core = self.core
        if term < core.term:
            self.seat.counters["stale_leaders"] += 1
            self.network.send(sender, {"type": frames.STALE_TERM, "term": core.term})
            return False
        if term == core.term and core.is_leader:
            self.seat.counters["refused_second_leader"] += 1
            _logger.critical("member %s claims to lead term %d, which member %s leads", sender, term, self.name)
            return False
        if term > core.term or core.leader != sender or core.is_candidate:
            core.follow(sender, term)
        if self._known_leader != sender:
            self._known_leader = sender
            self.proposals.leader_lost()
            self.reading.leader_changed()
        self.campaigning.heard_from_leader(self._now)
        return True

    def _on_entries(self, sender: str, message: Message) -> None:
        if not self._hears_leader(sender, message["term"]):
            return
        if message["entries"] and not self._has_space:
            message = self._without_new_commands(message)
        try:
            found = compare(message, self.journal, self._kept_index)
        except Contradiction as contradiction:
            if self.parting.is_under_way:
                return
            if self.door.may_stop(sender):
                raise
            self.door.refuse_contradiction(sender, contradiction.what, self._now)
            return
        match found:
            case Mismatch(hint):
                self._acknowledge(sender, hint, is_match=False)
            case NothingNew(matched):
                self.core.set_commit_index(min(message["commit_index"], matched))
                self._acknowledge(sender, matched + 1, is_match=True)
            case NewEntries(new):
                self.core.receive(sender, new)

    @property
    def _kept_index(self) -> int:
        """Return up to where the log is never cut: what is committed, also what was known to be before a start. Nothing
        is applied for that; after a start `commit_index` is what the state machine has on disk, which may be older."""
        return max(self.core.commit_index, self._confirmed.get(self.incarnation))

    def _without_new_commands(self, message: Message) -> Message:
        """Cut the message down to what may go into the disk's reserve. A new leader must be able to commit the first
        entry of its term, and so all that is before it.
        """
        term, entries = message["term"], message["entries"]
        new = next(
            (at for at, entry in enumerate(entries) if entry[2] == term and command_in(entry[0]) is not None), None
        )
        if new is None:
            return message
        self.seat.counters["entries_without_space"] += len(entries) - new
        return {**message, "entries": entries[:new]}

    def _on_acknowledgement(self, sender: str, message: Message) -> None:
        core = self.core
        if message["term"] != core.term or not core.is_leader:
            self.seat.counters["stale_acknowledgements"] += 1  # it is about another leader's log (T2)
            return
        self.campaigning.heard_from_follower(sender, self._now)
        self.feeder.acknowledged(sender, message)
        self._count_match(sender)
        self._must_work = self._must_work or core.can_commit or self.campaigning.transfer is not None

    def _on_read_round(self, sender: str, message: Message) -> None:
        if self._hears_leader(sender, message["term"]):
            self.reading.read_round(sender, message)

    def _on_snapshot_offer(self, sender: str, message: Message) -> None:
        if self._hears_leader(sender, message["term"]) and not self._installing.offer(sender, message, self._now):
            self.promises.forget()
            self._acknowledge(sender, self.core.commit_index + 1, is_match=True)

    def _on_diverged(self, sender: str, message: Message) -> None:
        if not self.parting.is_under_way:
            self.vitals.accused(sender, message)

    def _on_snapshot_installed(self, sender: str, message: Message) -> None:
        if self.core.is_leader and message["term"] == self.core.term:
            self.feeder.installed(sender, message["index"])
            self._count_match(sender)

    def _on_snapshot_refused(self, sender: str, message: Message) -> None:
        if self.core.is_leader:
            self.feeder.refused(sender, message, self._now)
        else:
            self._installing.refused(sender, message)

    def _acknowledge(self, leader: str, next_index: int, *, is_match: bool) -> None:
        self.promises.acknowledge(leader, next_index, self._now, is_match=is_match, has_space=self._has_space)

    # Work.

    def _feed_others(self, now: float) -> None:
        news = (self.journal.last_index, self.core.commit_index)
        if now >= self._beat_at:
            self._beat_at = now + self.seat.timing.heartbeat
            self._fed = news
            self.feeder.feed(now, is_heartbeat=True)
            self.reading.beat()
        elif news != self._fed or (self.feeder.tell_at is not None and now >= self.feeder.tell_at):
            self._fed = news
            self.feeder.feed(now)  # the others sync while this member does
        self.feeder.offer_snapshots(now)

    def _commits_alone(self) -> bool:
        """Nobody's acknowledgement will wake this leader: it is the only voter."""
        return self.core.is_leader and self.core.commit_index < self.journal.last_index and not self.seat.other_voters()

    def _look_at_disk(self, now: float) -> None:
        self._has_space = self.disk.has_space(now)
        own = self.lacking.fault(now, self.core.applied_index) or self.disk.fault()
        fault = self.reading.disk_fault = f"member {self.name} can't take entries: {own}" if own else ""
        if not fault and self.core.is_leader and self._configuration is not None:
            short = {name for name, has_space in self.feeder.space_known().items() if not has_space}
            if not can_commit(self.name, self._configuration.voters, short):
                fault = f"too little disk is left on members {', '.join(sorted(short))}: make space there and retry"
        self.proposals.disk_fault = fault
        if fault and self.proposals.is_any_waiting:
            self.proposals.refuse_waiting(LowDisk(fault))

    def _count_match(self, member: str) -> None:
        progress = self.feeder.progress(member)
        if progress is not None and self._configuration is not None and member in self._configuration.voters:
            self.core.set_match_index(member, progress.match_index)

    # Who belongs to the group.

    def _follow_configuration(self) -> None:
        """Puts the newest configuration of the log in force, committed or not, also when a truncation brought back an
        older one."""
        configuration = self.journal.configuration
        if self._leaving:
            self._let_go()
        if configuration is self._configuration:
            return
        former, self._configuration = self._configuration, configuration
        if self.core.is_leader and former is not None and configuration is not None:
            for member in former.members:
                if configuration.member(member.name) is None:
                    self._leaving[member.name] = (member.address, self._now + _LEAVING_S)
            for back in [name for name in self._leaving if configuration.member(name) is not None]:
                del self._leaving[back]
                self.feeder.forget(back)
        self._connect_to_members()
        self.campaigning.configuration_changed(self._now)

    def _connect_to_members(self) -> None:
        configuration = self._configuration
        if configuration is None:
            return
        addresses = {member.name: member.address for member in configuration.members if member.name != self.name}
        leaving = {name: address for name, (address, _) in self._leaving.items() if configuration.member(name) is None}
        self.door.follow(addresses, leaving)
        self.core.set_voters(configuration.voters - {self.name})
        self.network.set_members({**leaving, **addresses})
        if self.core.is_leader:
            self.feeder.set_members(self._others())
            for voter in configuration.voters:
                self._count_match(voter)  # a promoted learner's copies count from now on

    def _let_go(self) -> None:
        """Removed members need no more once they know that they are, and no leader can wait for ever."""
        removal = self.journal.configuration_index
        for name, (address, latest) in list(self._leaving.items()):
            progress = self.feeder.progress(name)
            is_told = progress is not None and min(progress.match_index, progress.commit_told) >= removal
            until = min(latest, self._now + _LETTING_GO_S) if is_told else latest
            self._leaving[name] = address, until
            if self._now >= until or not self.core.is_leader:
                del self._leaving[name]
                self._connect_to_members()

    def _others(self) -> set[str]:
        """Return the names of the members that a leader feeds."""
        configuration = self._configuration
        members = {member.name for member in configuration.members} if configuration is not None else set()
        return (members | self._leaving.keys()) - {self.name}

    def _held_index(self) -> int | None:
        return 0 if self.pins else self._source.held_index
