"""Carries reads to the leader and back; which rounds count is decided in raft.rules.reads.

Each member also asks about once a heartbeat without being asked to read, so that it knows how old its state may be.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from raft.errors import LowDisk, NoLeader, Overloaded
from raft.network import frames
from raft.node.library import Message
from raft.node.proposals import tell
from raft.node.seat import Seat
from raft.rules.reads import Asker, Freshness, Read, ReadOutcome, ReadRequests, ReadRounds

MAX_WAITING = 100_000
_MAX_REQUESTS = 16  # under way at once
_MAX_ROUNDS = 8
_EXPIRE_EVERY_S = 0.05
_PAUSE_S = 0.02  # after a refusal
_NOT_LEADER = 1


class Reading:
    """Any thread submits; all else is the tick thread's."""

    def __init__(self, seat: Seat, awaits: Callable[[str, int], None], max_waiting: int = MAX_WAITING) -> None:
        """`awaits(member, index)`: another member waits until it has applied up to there."""
        self._seat = seat
        self._awaits = awaits
        self._max_waiting = max_waiting
        self._count = 0
        self._lock = threading.Lock()
        self._submitted: list[Read] = []
        self._is_closed = False
        self._requests = ReadRequests()
        self._rounds = ReadRounds()
        self._askers: list[Asker] = []  # whose requests arrived since the last round began
        self._expired_at = 0.0
        self._pause_until = 0.0
        self.disk_fault = ""  # what this member's disk lacks, so that it takes no entries; "" when it takes them
        self.freshness = Freshness()

    @property
    def count(self) -> int:
        """Reads that wait here."""
        return self._count

    def submit(self, read: Read) -> None:
        """Raises NoLeader when the member is closed, and Overloaded."""
        with self._lock:
            if self._is_closed:
                raise NoLeader(f"member {self._seat.name} is stopping: ask another one")
            if self._count >= self._max_waiting:
                raise Overloaded(f"{self._count} reads wait on member {self._seat.name}: retry a little later")
            self._count += 1
            self._submitted.append(read)

    def work(self, now: float) -> None:
        """Once a tick, after applying."""
        if self._submitted:
            with self._lock:
                submitted, self._submitted = self._submitted, []
            self._requests.add(submitted)
        if self._is_due(now):
            self._ask(now)
        if self._askers and self._seat.is_settled_leader and len(self._rounds) < _MAX_ROUNDS:
            self._begin_round()
        self._finish()
        if self.disk_fault:
            self._end(self._requests.beyond(self._seat.journal.last_index), LowDisk(self.disk_fault))
        if now - self._expired_at >= _EXPIRE_EVERY_S:
            self._expired_at = now
            self.expire(now)

    def beat(self) -> None:
        """Asks again for what was not confirmed since the last heartbeat."""
        if len(self._rounds):
            self._send_round(self._rounds.number)

    def leader_changed(self) -> None:
        """Ask again what was asked of the old leader."""
        self._requests.lost(math.inf)

    def became(self) -> None:
        self._rounds = ReadRounds()
        self._askers.clear()
        self._requests.lost(math.inf)

    # What others say.

    def read_round(self, leader: str, message: Message) -> None:
        """Answer a read round of the leader that this member follows, in its term."""
        self._seat.links.send(
            leader, {"type": frames.READ_ROUND_REPLY, "term": message["term"], "round": message["round"]}
        )

    def read_round_reply(self, sender: str, message: Message) -> None:
        if self._seat.core.is_leader and message["term"] == self._seat.core.term:
            self._rounds.answered(sender, message["round"])
            self._confirm()

    def read_request(self, sender: str, message: Message) -> None:
        if self._seat.core.is_leader:
            self._askers.append(Asker(sender, message["request_id"]))
        else:
            self._reply(sender, message["request_id"], {"error": _NOT_LEADER})

    def read_reply(self, sender: str, message: Message, now: float) -> None:
        if sender != self._seat.core.leader or "error" in message:
            self._requests.refused(message["request_id"])
            self._pause_until = now + _PAUSE_S
        else:
            self._requests.answered(message["request_id"], message["index"])

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            submitted, self._submitted = self._submitted, []
        error = NoLeader(f"member {self._seat.name} is stopping: ask another one")
        self._end([*submitted, *self._requests.all_reads()], error)

    def _is_due(self, now: float) -> bool:
        """Return whether to ask now, and somebody is there to be asked."""
        if now < self._pause_until or not (self._seat.core.is_leader or self._seat.leader_to_ask()):
            return False
        asked_at = self._requests.last_asked_at
        is_stale = asked_at is None or now - asked_at >= self._seat.timing.heartbeat
        if is_stale:
            self._requests.lost(now - self._seat.timing.election_min)
        return (is_stale or self._requests.has_new) and self._requests.asked_count < _MAX_REQUESTS

    def _ask(self, now: float) -> None:
        leader = self._seat.leader_to_ask()
        batch = self._requests.ask(now)
        if self._seat.core.is_leader:
            self._askers.append(Asker(self._seat.name, batch.request_id))
        elif leader is None or not self._seat.links.send(
            leader, {"type": frames.READ_REQUEST, "request_id": batch.request_id}
        ):
            self._requests.refused(batch.request_id)

    def _begin_round(self) -> None:
        askers, self._askers = self._askers, []
        self._send_round(self._rounds.begin(askers, self._seat.core.commit_index))
        self._confirm()

    def _send_round(self, number: int) -> None:
        message = {"type": frames.READ_ROUND, "term": self._seat.core.term, "round": number}
        for voter in self._seat.other_voters():
            self._seat.links.send(voter, message)

    def _confirm(self) -> None:
        configuration = self._seat.configuration
        if configuration is None:
            return
        for index, askers in self._rounds.confirmed(self._seat.name, configuration):
            for asker in askers:
                if asker.member == self._seat.name:
                    self._requests.answered(asker.request_id, index)
                else:
                    self._reply(asker.member, asker.request_id, {"index": index})
                    self._awaits(asker.member, index)

    def _reply(self, member: str, request_id: int, answer: Message) -> None:
        self._seat.links.send(member, {"type": frames.READ_REPLY, "request_id": request_id, **answer})

    def _finish(self) -> None:
        applied = self._seat.core.applied_index
        for batch in self._requests.ready(applied):
            self.freshness.confirmed(batch.asked_at)
            self._end(batch.reads, applied)

    def expire(self, now: float) -> None:
        late = self._requests.expired(now)
        if late:
            name = self._seat.name
            self._end(late, NoLeader(f"member {name} could not confirm in time that its state is the newest: retry"))

    def _end(self, reads: Sequence[Read], outcome: ReadOutcome) -> None:
        if reads:
            with self._lock:
                self._count -= len(reads)
        for read in reads:
            tell(read.done, outcome)
