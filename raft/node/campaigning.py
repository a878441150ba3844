"""When this member runs for election and what it answers to others that do; the rules are in raft.rules.elections."""

from __future__ import annotations

import logging
import random

from raft.configuration import Configuration
from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Seat
from raft.rules import elections
from raft.rules.elections import Ballot, LogEnd, Transfer

_HASTE_HEARTBEATS = 3.0
_TELL_MISSING_EVERY_S = 10.0
_logger = logging.getLogger(__name__)


class Campaigning:
    """Times are of one monotonic clock."""

    def __init__(self, seat: Seat, now: float) -> None:
        self._seat = seat
        self._deadline = 0.0
        self._heard_from_leader_at: float | None = None
        self._pre_votes: Ballot | None = None
        self._votes = Ballot(0)
        self._is_running = False  # at the next tick
        self._is_transfer = False  # the leader asked for this candidacy
        self._heard_at: dict[str, float] = {}  # as a leader: acknowledgements
        self._ticked_at = now
        self._lenient_until = self._look_at = now
        self._tell_missing_at = 0.0
        self.transfer: Transfer | None = None
        self._wait_again(now)

    # Once a tick.

    def tick(self, now: float) -> bool:
        """Advance the clock to `now` and return whether to run for election now."""
        if now - self._ticked_at > self._seat.timing.election_min / 2:
            # It was this member that stood still: what the others said meanwhile is still to be read.
            self._lenient_until = now + 2 * self._seat.timing.heartbeat
        self._ticked_at = now
        if self._seat.core.is_leader:
            self._lead(now)
            return False
        if now >= self._deadline and not self._is_running:
            self._start_pre_vote(now)
        is_running, self._is_running = self._is_running, False
        if is_running:
            self._seat.counters["elections"] += 1
            self._votes = Ballot(self._seat.core.term + 1).with_vote(self._seat.name)
            self._wait_again(now)
        else:
            self._is_transfer = False
        return is_running

    def vote_request(self, message: Message) -> Message:
        """The library's request for votes, as it leaves."""
        return {**message, "is_transfer": self._is_transfer}

    def became(self, now: float, *, is_leader: bool) -> None:
        self.transfer = None
        self._pre_votes = None
        self._heard_at = dict.fromkeys(self._seat.other_voters(), now) if is_leader else {}
        if not is_leader:
            self._wait_again(now)

    def configuration_changed(self, now: float) -> None:
        """A voter that is new has not been silent yet."""
        if self._seat.core.is_leader:
            for voter in self._seat.other_voters():
                self._heard_at.setdefault(voter, now)

    # What others say.

    def heard_from_leader(self, now: float) -> None:
        self._heard_from_leader_at = now
        self._pre_votes = None
        self._is_running = self._is_running and self._is_transfer  # a pre-vote that was won is void now
        self._wait_again(now)

    def heard_from_follower(self, member: str, now: float) -> None:
        self._heard_at[member] = now

    def lost_leader(self, now: float) -> None:
        """The connection to the leader broke: as good as silence, and quicker. Should it live, the others refuse."""
        self._heard_from_leader_at = None
        haste = now + random.uniform(0, _HASTE_HEARTBEATS) * self._seat.timing.heartbeat  # noqa: S311  no secret
        self._deadline = min(self._deadline, haste)

    def pre_vote(self, sender: str, message: Message, now: float) -> None:
        core = self._seat.core
        is_granted = self._seat.configuration is not None and elections.grants_pre_vote(
            message["term"],
            LogEnd(message["last_log_term"], message["last_log_index"]),
            term=core.term,
            log=self._seat.log_end,
            is_bound=self.is_bound(now),
        )
        if not is_granted:
            self._seat.counters["pre_votes_refused"] += 1
        reply = {"type": frames.PRE_VOTE_REPLY, "term": message["term"] if is_granted else core.term}
        self._seat.links.send(sender, {**reply, "is_granted": is_granted})

    def pre_vote_reply(self, sender: str, message: Message, now: float) -> None:
        core, configuration = self._seat.core, self._seat.configuration
        if sender not in self._seat.other_voters():
            return  # nobody else was asked
        if not message["is_granted"]:
            self.stale_term(message["term"], now)
            return
        if self._pre_votes is None or message["term"] != self._pre_votes.term or core.term + 1 != message["term"]:
            return
        self._pre_votes = self._pre_votes.with_vote(sender)
        if configuration is not None and self._pre_votes.is_won(configuration):
            self._run(is_transfer=False)

    def request_vote(self, sender: str, message: Message, now: float) -> None:
        core = self._seat.core
        if message["term"] < core.term:
            self._seat.counters["stale_candidates"] += 1
            self._seat.links.send(sender, {"type": frames.STALE_TERM, "term": core.term})
            return
        is_transfer = message["is_transfer"] and sender in self._seat.other_voters()  # a leader asks voters only
        is_heard = elections.hears_candidate(is_bound=self.is_bound(now), is_transfer=is_transfer)
        if self._seat.configuration is None or not is_heard:
            self._seat.counters["votes_refused"] += 1
            return
        self._pre_votes = None
        core.receive(sender, message)
        if core.voted_for == sender and core.term == message["term"]:
            self._wait_again(now)

    def response_vote(self, sender: str, message: Message) -> None:
        """The library counts votes, so each voter's first one is all that it sees; and before the group is founded, it
        sees them only once all are there."""
        configuration = self._seat.configuration
        if configuration is None or message["term"] != self._votes.term or sender in self._votes.voters:
            return
        if sender not in self._seat.other_voters():
            return
        self._votes = self._votes.with_vote(sender)
        if configuration.is_founded:
            self._seat.core.receive(sender, message)
        elif self._votes.is_won(configuration):
            for voter in sorted(self._votes.voters - {self._seat.name}):
                self._seat.core.receive(voter, message)

    def stale_term(self, term: int, now: float) -> None:
        """Somebody is in a newer term."""
        if term > self._seat.core.term:
            self._seat.core.step_down(term)
            self._pre_votes = None
            self._wait_again(now)

    def timeout_now(self, sender: str, message: Message) -> None:
        """The leader hands over to this member."""
        core = self._seat.core
        if message["term"] == core.term and sender == core.leader:
            self._run(is_transfer=True)

    # Leading.

    def start_transfer(self, to: str, now: float) -> None:
        """The leader stops taking proposals; once `to` has its whole log it is told to run."""
        self.transfer = Transfer(to, now + self._seat.timing.election_max)

    def transfer_tick(self, match_index: int, now: float) -> None:
        """`match_index` is that of the successor, 0 when it is not connected."""
        transfer, core = self.transfer, self._seat.core
        if transfer is None:
            return
        if now >= transfer.deadline:
            self._seat.counters["transfers_failed"] += 1
            self.transfer = None
        elif not transfer.is_asked and match_index == self._seat.journal.last_index:
            self._seat.counters["transfers"] += 1
            self._seat.links.send(transfer.to, {"type": frames.TIMEOUT_NOW, "term": core.term})
            self.transfer = transfer.asked()

    def _lead(self, now: float) -> None:
        configuration = self._seat.configuration
        since = now - self._seat.timing.election_max
        if configuration is None or now < max(self._lenient_until, self._look_at):
            return
        self._look_at = now + self._seat.timing.heartbeat / 2
        if not elections.has_quorum(self._seat.name, configuration, self._heard_at, since):
            self._seat.counters["quorums_lost"] += 1
            self._seat.core.step_down(self._seat.core.term)

    def is_bound(self, now: float) -> bool:
        """Return whether this member leads, or heard from a leader a moment ago."""
        core = self._seat.core
        return core.is_leader or elections.is_bound(self._heard_from_leader_at, now, self._seat.timing.election_min)

    def _start_pre_vote(self, now: float) -> None:
        core, configuration = self._seat.core, self._seat.configuration
        self._wait_again(now)
        core.forget_leader()
        if configuration is None or not self._may_campaign():
            return
        self._tell_who_is_missing(configuration, now)
        self._seat.counters["pre_votes"] += 1
        self._pre_votes = Ballot(core.term + 1).with_vote(self._seat.name)
        if self._pre_votes.is_won(configuration):
            self._run(is_transfer=False)
            return
        end = self._seat.log_end
        request = {"type": frames.PRE_VOTE, "term": core.term + 1}
        for voter in self._seat.other_voters():
            self._seat.links.send(voter, {**request, "last_log_index": end.index, "last_log_term": end.term})

    def _run(self, *, is_transfer: bool) -> None:
        self._pre_votes = None
        if self._may_campaign() and not self._seat.core.is_leader:
            self._is_running = True
            self._is_transfer = is_transfer

    def _may_campaign(self) -> bool:
        return elections.may_campaign(self._seat.name, self._seat.configuration) and not self._seat.is_outvoted

    def _tell_who_is_missing(self, configuration: Configuration, now: float) -> None:
        """A group begins only when all its first members are there: whoever starts one sees whom it waits for."""
        if configuration.is_founded or now < self._tell_missing_at:
            return
        self._tell_missing_at = now + _TELL_MISSING_EVERY_S
        missing = [name for name in self._seat.other_voters() if not self._seat.links.is_connected(name)]
        if missing:
            _logger.warning(
                "member %s waits for %s: a new group begins when all its members are there",
                self._seat.name,
                ", ".join(missing),
            )

    def _wait_again(self, now: float) -> None:
        timing, configuration = self._seat.timing, self._seat.configuration
        if configuration is not None and configuration.voters == {self._seat.name}:
            self._deadline = now  # nobody else can lead
            return
        self._deadline = now + random.uniform(timing.election_min, timing.election_max)  # noqa: S311  no secret
