"""Commands on their way into the log: a leader appends them, all others hand them to it.

own proposals ─┬─ this member leads ──▶ the log
               └─ another one does ───▶ APPLY_COMMAND ─▶ its log ─▶ index and term, or why not ─▶ proposals
"""

from __future__ import annotations

from collections.abc import Callable

from raft.entries import command_entry
from raft.network import frames
from raft.node.campaigning import Campaigning
from raft.node.library import Message
from raft.node.parting import Parting
from raft.node.proposals import Proposals, Refusal
from raft.node.seat import Seat

_PAUSE_S = 0.02  # after a leader's refusal
_MAX_UNCOMMITTED = 20_000


class Commands:
    """The tick thread's."""

    def __init__(
        self,
        seat: Seat,
        proposals: Proposals,
        campaigning: Campaigning,
        parting: Parting,
        awaits: Callable[[str, int], None],
    ) -> None:
        """`awaits(member, index)`: another member waits until it has applied up to there."""
        self._seat = seat
        self._proposals = proposals
        self._campaigning = campaigning
        self._parting = parting
        self._awaits = awaits
        self._handed: list[tuple[str, Message]] = []  # commands of others, for this leader
        self._pause_until = 0.0

    def handed(self, sender: str, message: Message) -> None:
        """Take a command that another member wants appended; the next round of work answers it."""
        self._handed.append((sender, message))

    def replied(self, message: Message, now: float) -> None:
        """Take the leader's answer: where it appended a command of this member, or why it did not."""
        request_id = message["request_id"]
        if "error" not in message:
            applied_index = self._seat.core.applied_index
            self._proposals.accepted(request_id, message["log_idx"], message["log_term"], applied_index)
        elif self._proposals.refused(request_id, message["error"]):
            self._pause_until = now + _PAUSE_S

    def work(self, now: float) -> None:
        """Append what may be appended here, and hand the rest to the leader."""
        self.answer_handed()
        if not self._proposals.is_any_waiting:
            return
        if not self._seat.core.is_leader:
            self._forward(now)
        elif self._takes_proposals:
            journal, term = self._seat.journal, self._seat.core.term
            for proposal in self._proposals.take():
                index = journal.last_index + 1
                journal.append(command_entry(proposal.command), index, term)
                self._proposals.placed(index, term, proposal)

    def answer_handed(self) -> None:
        """Append the commands of others, or say why not."""
        if self._handed:
            handed, self._handed = self._handed, []
            for sender, message in handed:
                self._answer(sender, message)

    @property
    def _takes_proposals(self) -> bool:
        core, journal = self._seat.core, self._seat.journal
        is_behind = journal.last_index - core.commit_index >= _MAX_UNCOMMITTED
        is_founded = journal.configuration is not None and journal.configuration.is_founded
        return core.is_leader and self._campaigning.transfer is None and not is_behind and is_founded

    def _answer(self, sender: str, message: Message) -> None:
        core, journal = self._seat.core, self._seat.journal
        reply: Message = {"type": frames.APPLY_COMMAND_RESPONSE, "request_id": message["request_id"]}
        is_leaving = self._campaigning.transfer is not None or self._parting.is_under_way
        if not core.is_leader or is_leaving:
            reply["error"] = int(Refusal.NOT_LEADER)
        elif self._proposals.disk_fault:
            reply["error"] = int(Refusal.LOW_DISK)
        elif not self._takes_proposals:
            reply["error"] = int(Refusal.OVERLOADED)
        else:
            index, term = journal.last_index + 1, core.term
            journal.append(message["command"], index, term)
            self._awaits(sender, index)
            reply |= {"log_idx": index, "log_term": term}
        self._seat.links.send(sender, reply)

    def _forward(self, now: float) -> None:
        leader = self._seat.leader_to_ask()
        if leader is None or now < self._pause_until:
            return
        taken = self._proposals.take()
        for position, proposal in enumerate(taken):
            request_id = self._proposals.forwarded(proposal)
            message = {"type": frames.APPLY_COMMAND, "command": command_entry(proposal.command)}
            if not self._seat.links.send(leader, {**message, "request_id": request_id}):
                self._proposals.refused(request_id, Refusal.NOT_LEADER)
                self._proposals.put_back(taken[position + 1 :])
                return
