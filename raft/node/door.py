"""Whose messages a member takes (the rules: raft.rules.trust), and how a member that lags learns of newer members.

    lagging member ── introduction_request ─▶ voters and peers that it knows
                   ◀── introduction ────────  the names in their newest configuration, if the asker is among them

A member may have missed the configuration that brought the present leader. The leader's connection is refused then,
until somebody whom the member trusts has named it. What is refused changes nothing, is counted, and ends no process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from raft.network import frames
from raft.network.refusal_log import RefusalLog
from raft.node.campaigning import Campaigning
from raft.node.library import Message
from raft.node.seat import Seat
from raft.rules.trust import Circle, Part, is_plausible_term

_logger = logging.getLogger(__name__)

_PARTS = {
    frames.APPEND_ENTRIES: Part.LEADER,
    frames.REQUEST_VOTE: Part.LEADER,
    frames.PRE_VOTE: Part.LEADER,
    frames.TIMEOUT_NOW: Part.LEADER,
    frames.READ_ROUND: Part.LEADER,
    frames.SNAPSHOT_OFFER: Part.LEADER,
    frames.SNAPSHOT_CHUNK: Part.LEADER,
    frames.APPLY_COMMAND_RESPONSE: Part.LEADER,
    frames.READ_REPLY: Part.LEADER,
    frames.CHANGE_REPLY: Part.LEADER,
    frames.RESPONSE_VOTE: Part.VOTER,
    frames.PRE_VOTE_REPLY: Part.VOTER,
    frames.READ_ROUND_REPLY: Part.VOTER,
    frames.DIVERGED: Part.VOTER,
    frames.VITALS: Part.MEMBER,
    frames.LAST_WORDS: Part.MEMBER,
    frames.NEXT_NODE_IDX: Part.MEMBER,
    frames.STALE_TERM: Part.MEMBER,
    frames.APPLY_COMMAND: Part.MEMBER,
    frames.READ_REQUEST: Part.MEMBER,
    frames.CHANGE_REQUEST: Part.MEMBER,
    frames.SNAPSHOT_PULL: Part.MEMBER,
    frames.SNAPSHOT_INSTALLED: Part.MEMBER,
    frames.INTRODUCTION_REQUEST: Part.MEMBER,
    frames.SNAPSHOT_REFUSED: Part.EITHER,
    frames.INTRODUCTION: Part.VOUCHER,
}


class Door:
    """The tick thread's. Times are of one monotonic clock."""

    def __init__(self, seat: Seat, campaigning: Campaigning, peers: Iterable[str], now: float) -> None:
        """`peers`: whom this member's own file names."""
        self._seat = seat
        self._campaigning = campaigning
        self._circle = Circle(None, peers=frozenset(peers) - {seat.name})
        self._admitted = self._circle.admitted
        self._introduced: dict[str, frozenset[str]] = {}  # by who named them
        self._refusal_log = RefusalLog(_logger, seat.counters)
        self._settled_at = self._ask_at = now

    def admits(self, name: str) -> bool:
        """Return whether somebody of this name may connect."""
        return name in self._admitted

    def takes(self, sender: str, message: Message, now: float) -> bool:
        """Return whether the message may be acted upon, and count one that may not."""
        kind = message["type"]
        if not self._circle.may_play(_PARTS[kind], sender, is_settled=self.is_settled(now)):
            self._refuse(sender, f"{kind} from {sender!r}, who is not {_PARTS[kind].value} to {self._seat.name}", now)
            return False
        term = message.get("term", 0)
        if not is_plausible_term(term, self._seat.core.term, is_new=self._circle.configuration is None):
            detail = (
                f"{kind} from {sender!r} is of term {term}, and {self._seat.name} is in term {self._seat.core.term}"
            )
            self._refusal_log.refuse("refused_terms", detail, now)
            return False
        return True

    def may_stop(self, leader: str) -> bool:
        """Return whether this leader's contradiction to what is committed here ends the member: only a voter's does."""
        return leader in self._circle.voters

    def refuse_contradiction(self, leader: str, detail: object, now: float) -> None:
        """Counts that of somebody who is no voter."""
        self._refusal_log.refuse("refused_contradictions", f"entries of {leader!r}, who is no voter: {detail}", now)

    def is_settled(self, now: float) -> bool:
        """Return whether this member knows who leads, so that its configuration is no old one."""
        core = self._seat.core
        return core.is_leader or (core.leader in self._circle.voters and self._campaigning.is_bound(now))

    def follow(self, members: Iterable[str], leaving: Iterable[str]) -> None:
        """The other members of the newest configuration, and those that are still told of their removal."""
        configuration = self._seat.configuration
        self._set(Circle(configuration, frozenset(members), frozenset(leaving), self._circle.peers))

    def work(self, now: float) -> None:
        """Now and then: asks who else there is, once nobody known has led for a while."""
        if self.is_settled(now):
            self._settled_at = now
            if self._introduced:
                self._introduced.clear()
                self._set(self._circle)
            return
        if now - self._settled_at < self._seat.timing.election_min or now < self._ask_at:
            return
        self._ask_at = now + self._seat.timing.election_min
        for name in sorted(self._circle.vouchers - {self._seat.name}):
            self._seat.links.send(name, {"type": frames.INTRODUCTION_REQUEST})

    def introduction_request(self, sender: str, _message: Message) -> None:
        configuration = self._seat.configuration
        if configuration is not None and configuration.member(sender) is not None:
            members = [member.name for member in configuration.members]
            self._seat.links.send(sender, {"type": frames.INTRODUCTION, "members": members})

    def introduction(self, sender: str, message: Message) -> None:
        """The newest word of each who may introduce others counts."""
        self._introduced[sender] = frozenset(message["members"]) - {self._seat.name}
        self._set(self._circle)

    def _set(self, circle: Circle) -> None:
        named = (names for voucher, names in self._introduced.items() if voucher in circle.vouchers)
        introduced = frozenset[str]().union(*named)
        self._circle = Circle(circle.configuration, circle.members, circle.leaving, circle.peers, introduced)
        self._admitted = self._circle.admitted

    def _refuse(self, sender: str, detail: str, now: float) -> None:
        """One that a change of the group, or of leaders, has overtaken is a member's all the same: no stranger's."""
        if sender in self._circle.served:
            self._seat.counters["out_of_role"] += 1
            _logger.debug("out of role: %s", detail)
        else:
            self._refusal_log.refuse("refused_strangers", detail, now)
