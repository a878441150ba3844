"""Changes of membership and transfers of leadership, asked of any member and carried out by the leader.

Each is a goal: a member asks whoever leads, again after each change of leader, until the goal is reached, refused, or
its time is up. So a leader that shall be removed can hand over first, and its successor is asked to remove it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum

from raft.configuration import Configuration
from raft.entries import configuration_entry
from raft.errors import ChangeRefused, NoLeader, OutcomeUnknown, RaftError
from raft.network import frames
from raft.node.campaigning import Campaigning
from raft.node.feeding import Feeder
from raft.node.library import Message
from raft.node.seat import Seat
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.rules import elections, membership
from raft.rules.membership import LeaderView

_ASK_AGAIN_S = 1.0
_PAUSE_S = 0.05  # after an answer that is none
_REMOTE_S = 10.0  # how long a leader works on what another member asks for

Answer = Callable[[str | RaftError], None]
"""Called once with the leader's name, or why not."""


class _Code(IntEnum):
    DONE = 0
    REFUSED = 1
    ASK_AGAIN = 2  # the answerer does not lead, or not for long


@dataclass(frozen=True, slots=True)
class Handover:
    """Another member shall lead: `to`, or any."""

    to: str | None


@dataclass(slots=True, eq=False)
class Job:
    goal: Change | Handover
    deadline: float
    answer: Answer
    is_unknown: bool = False  # it was handed to a leader, who may have carried it out
    leader_at_start: str | None = None  # of a handover
    asked_again_at: float = 0.0
    request_id: int | None = None


@dataclass(slots=True, eq=False)
class _Remote:
    """What another member asked this leader for."""

    member: str
    request_id: int
    goal: Change | Handover
    deadline: float


@dataclass(slots=True)
class Changing:
    """Any thread submits; all else is the tick thread's."""

    seat: Seat
    feeder: Feeder
    campaigning: Campaigning
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _submitted: list[Job] = field(default_factory=list)
    _jobs: list[Job] = field(default_factory=list)
    _remote: list[_Remote] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _is_closed: bool = False

    def submit(self, goal: Change | Handover, deadline: float, answer: Answer) -> None:
        """Raises NoLeader when the member is closed."""
        with self._lock:
            if self._is_closed:
                raise NoLeader(f"member {self.seat.name} is stopping: ask another one")
            self._submitted.append(Job(goal, deadline, answer))

    def work(self, now: float) -> None:
        """Once a tick."""
        if self._submitted:
            with self._lock:
                submitted, self._submitted = self._submitted, []
            self._jobs += submitted
        self._found()
        transfer = self.campaigning.transfer
        if transfer is not None:
            self.campaigning.transfer_tick(self.feeder.match_indexes().get(transfer.to, 0), now)
        for job in list(self._jobs):
            self._work_on(job, now)
        for remote in list(self._remote):
            self._work_on_remote(remote, now)

    def resign(self, now: float) -> None:
        """Once a tick of a leader that stops: hands over to whoever has the most, as soon as somebody can take it."""
        transfer = self.campaigning.transfer
        if transfer is not None:
            self.campaigning.transfer_tick(self.feeder.match_indexes().get(transfer.to, 0), now)
        with suppress(ChangeRefused):
            self._hand_over(None, now)

    def stopped_leading(self) -> None:
        """Others are told to ask the next leader."""
        remote, self._remote = self._remote, []
        for request in remote:
            self._reply(request, _Code.ASK_AGAIN, f"member {self.seat.name} does not lead any more")

    def change_request(self, sender: str, message: Message, now: float) -> None:
        goal = _goal(message)
        request = _Remote(sender, message["request_id"], goal, now + _REMOTE_S)
        if self.seat.core.is_leader:
            self._remote.append(request)
        else:
            self._reply(request, _Code.ASK_AGAIN, f"member {self.seat.name} does not lead")

    def change_reply(self, message: Message, now: float) -> None:
        job = next((job for job in self._jobs if job.request_id == message["request_id"]), None)
        if job is None:
            return
        job.request_id = None
        if message["code"] == _Code.REFUSED:
            self._end(job, ChangeRefused(message["error"]))
        elif message["code"] == _Code.ASK_AGAIN:
            job.asked_again_at = now + _PAUSE_S
        elif not isinstance(job.goal, Handover):
            self._end(job, self.seat.core.leader or "")

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            jobs = [*self._jobs, *self._submitted]
        for job in jobs:
            job.answer(NoLeader(f"member {self.seat.name} is stopping: ask another one"))

    def _work_on(self, job: Job, now: float) -> None:
        leader = self.seat.core.leader
        if isinstance(job.goal, Handover) and _is_handed_over(job, job.goal, leader):
            self._end(job, leader or "")
        elif now >= job.deadline:
            self._end(job, self._too_late(job))
        elif self.seat.core.is_leader:
            job.request_id = None
            self._try(job, now)
        elif self._is_removed(job.goal):
            self._end(job, leader or "")
        elif now >= job.asked_again_at:
            self._ask(job, now)

    def _is_removed(self, goal: Change | Handover) -> bool:
        """Return whether this member was to be removed, and is: no leader talks to it any more then."""
        seat, configuration = self.seat, self.seat.configuration
        if goal != Remove(seat.name) or configuration is None or seat.name in configuration.voters:
            return False
        is_committed = seat.journal.configuration_index <= seat.core.commit_index
        return is_committed and configuration.member(seat.name) is None

    def _try(self, job: Job, now: float) -> None:
        try:
            is_done = self._carry_out(job.goal, now)
        except ChangeRefused as refused:
            self._end(job, refused)
            return
        job.is_unknown = True
        if is_done and not isinstance(job.goal, Handover):
            self._end(job, self.seat.name)

    def _ask(self, job: Job, now: float) -> None:
        leader = self.seat.leader_to_ask()
        if leader is None:
            return
        job.request_id = next(self._numbers)
        job.asked_again_at = now + _ASK_AGAIN_S
        if self.seat.links.send(leader, _request(job.request_id, job.goal)):
            job.is_unknown = True

    def _work_on_remote(self, request: _Remote, now: float) -> None:
        if now >= request.deadline:
            self._remote.remove(request)  # its asker has asked again or given up
            return
        try:
            is_done = self._carry_out(request.goal, now)
        except ChangeRefused as refused:
            self._remote.remove(request)
            self._reply(request, _Code.REFUSED, str(refused))
            return
        if is_done:
            self._remote.remove(request)
            self._reply(request, _Code.DONE, "")

    def _carry_out(self, goal: Change | Handover, now: float) -> bool:
        """The leader's next step, if there is one now. Returns whether nothing is left to do. Raises ChangeRefused."""
        seat, configuration = self.seat, self.seat.configuration
        if isinstance(goal, Handover):
            self._hand_over(goal.to, now)
            return True
        if configuration is None or not seat.is_settled_leader or self.campaigning.transfer is not None:
            return False
        is_committed = seat.journal.configuration_index <= seat.core.commit_index
        if membership.is_in_force(goal, configuration):
            return is_committed
        view = LeaderView(
            seat.name,
            configuration,
            is_committed,
            seat.journal.last_index,
            self.feeder.match_indexes(),
            seat.incarnations(),
        )
        if membership.must_hand_over(goal, view):
            self._hand_over(None, now)
            return False
        self._append(membership.next_configuration(goal, view))
        return False

    def _found(self) -> None:
        """Records who the first members are, before anything else is: from then on one that forgot is known."""
        seat, configuration = self.seat, self.seat.configuration
        if configuration is None or configuration.is_founded or not seat.is_settled_leader:
            return
        founded = configuration.founded(seat.incarnations())
        if founded.is_founded:
            self._append(founded)

    def _append(self, configuration: Configuration) -> None:
        seat = self.seat
        seat.journal.append(configuration_entry(configuration), seat.journal.last_index + 1, seat.core.term)
        seat.counters["configurations"] += 1

    def _hand_over(self, to: str | None, now: float) -> None:
        """Begins, unless it is under way. Raises ChangeRefused."""
        seat, configuration = self.seat, self.seat.configuration
        if to == seat.name or configuration is None or self.campaigning.transfer is not None:
            return
        least = seat.core.commit_index - membership.MAX_PROMOTION_LAG
        match = self.feeder.match_indexes()
        self.campaigning.start_transfer(elections.choose_successor(seat.name, to, configuration, match, least), now)

    def _too_late(self, job: Job) -> RaftError:
        if job.is_unknown and not isinstance(job.goal, Handover):
            return OutcomeUnknown(f"{_described(job.goal)} was not confirmed in time: look at the members, then retry")
        return NoLeader(f"{_described(job.goal)} did not come about in time: retry when there is a leader")

    def _end(self, job: Job, outcome: str | RaftError) -> None:
        self._jobs.remove(job)
        job.answer(outcome)

    def _reply(self, request: _Remote, code: _Code, error: str) -> None:
        reply = {"type": frames.CHANGE_REPLY, "request_id": request.request_id, "code": int(code), "error": error}
        self.seat.links.send(request.member, reply)


def _is_handed_over(job: Job, goal: Handover, leader: str | None) -> bool:
    if leader is None:
        return False
    if goal.to is not None:
        return leader == goal.to
    job.leader_at_start = job.leader_at_start or leader
    return leader != job.leader_at_start


def _request(request_id: int, goal: Change | Handover) -> Message:
    match goal:
        case AddLearner(name, address):
            kind = "add"
        case Promote(name):
            kind, address = "promote", ""
        case Remove(name):
            kind, address = "remove", ""
        case Handover(to):
            kind, name, address = "transfer", to or "", ""
    request = {"type": frames.CHANGE_REQUEST, "request_id": request_id, "kind": kind}
    return {**request, "name": name, "address": address}


def _goal(message: Message) -> Change | Handover:
    name = message["name"]
    match message["kind"]:
        case "add":
            return AddLearner(name, message["address"])
        case "promote":
            return Promote(name)
        case "remove":
            return Remove(name)
    return Handover(name or None)


def _described(goal: Change | Handover) -> str:
    match goal:
        case AddLearner(name, _):
            return f"adding {name}"
        case Promote(name):
            return f"promoting {name}"
        case Remove(name):
            return f"removing {name}"
    return f"the transfer of leadership to {goal.to or 'another member'}"
