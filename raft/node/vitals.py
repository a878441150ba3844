"""What members tell each other once a second: how far they have applied, a checksum of it, their clock.

vitals ──▶ compared with one's own checksum at that index (raft.rules.agreement)
           ├ a majority agrees with this member: who differs is told, and stops
           └ some voter differs, and no majority is known to agree with this one: it does not lead, so without a
             majority of one history nothing is written
vitals of the leader ──▶ what each voter has confirmed (raft.storage.confirmed)
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping

from raft.configuration import Configuration
from raft.errors import REJOIN, Diverged
from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Seat
from raft.protocol import StateMachine
from raft.rules.agreement import Comparison, Verdict, judge
from raft.storage.confirmed import ConfirmedIndexes

TELL_EVERY_S = 1.0
CLOCK_KNOWN_S = 10.0
"""So long what a member told of its clock counts."""

_COMPARED_S = 3.0
"""So long a voter that is connected may take to be compared, once that counts: three times that it tells, or an
election and what it is fed then."""

_logger = logging.getLogger(__name__)


class Vitals:
    """The tick thread's; the properties may be read by any."""

    def __init__(
        self,
        seat: Seat,
        state_machine: StateMachine,
        confirmed: ConfirmedIndexes,
        match_indexes: Callable[[], Mapping[str, int]],
        wall_clock_ms: Callable[[], int],
    ) -> None:
        """`match_indexes` gives what a leader knows of the members that are connected."""
        self._seat = seat
        self._state_machine = state_machine
        self._confirmed = confirmed
        self._match_indexes = match_indexes
        self._wall_clock_ms = wall_clock_ms
        self._tell_at = 0.0
        self._told: dict[str, tuple[int, bytes]] = {}  # by member: index and checksum that were not compared yet
        self._comparisons: dict[str, Comparison] = {}
        self._differing_at: dict[str, tuple[int, bytes]] = {}  # by member: an index, and the own checksum there
        self._clocks: dict[str, tuple[int, float]] = {}  # by member: what it told, and when by the monotonic clock
        self._told_up_to: dict[str, int] = {}  # by member: the highest index
        self._moved_at: dict[str, float] = {}  # by member: when it connected, or told of a higher index
        self._in_doubt_since: float | None = None  # some voter differs from this member
        self._verdict = Verdict()

    @property
    def verdict(self) -> Verdict:
        """Return the verdict that follows from the last comparisons."""
        return self._verdict

    def clock_ms(self, member: str, now: float) -> int | None:
        """Return what the member's wall clock says now, by what it told last; None: nothing for some seconds. What has
        passed since is by the monotonic clock, so that a jump of one's own clock moves no other's."""
        if member == self._seat.name:
            return self._wall_clock_ms()
        told_ms, at = self._clocks.get(member, (0, -math.inf))
        return told_ms + int((now - at) * 1000) if now - at <= CLOCK_KNOWN_S else None

    def work(self, now: float) -> None:
        """Once a second tells, compares and judges. Raises OSError."""
        configuration = self._seat.configuration
        if now < self._tell_at or configuration is None:
            return
        self._tell_at = now + TELL_EVERY_S
        self._tell()
        self._confirmed.save({member.incarnation for member in configuration.members})
        members = {member.name for member in configuration.members}
        for name in self._comparisons.keys() - members:
            del self._comparisons[name]
        for name in list(self._told):
            self._compare(name)
        self._conclude(judge(self._seat.name, configuration, self._comparisons, self._awaited(configuration, now)))

    def connected(self, member: str, now: float) -> None:
        """Give the member a moment to say where it is, and to catch up: what it said before may be old."""
        self._told_up_to.pop(member, None)
        self._moved_at[member] = now

    def received(self, sender: str, message: Message, now: float) -> None:
        """Take in what a member tells about itself."""
        self._told[sender] = message["index"], message["checksum"]
        if message["index"] > self._told_up_to.get(sender, 0):
            self._told_up_to[sender] = message["index"]
            self._moved_at[sender] = now
        self._clocks[sender] = message["clock_ms"], now
        if sender == self._seat.core.leader and message["term"] == self._seat.core.term:
            self._confirmed.raise_to(dict(message["confirmed"]))

    def accused(self, sender: str, message: Message) -> None:
        """A member of the majority says what its checksum was at an index. Raises Diverged when it was another here."""
        own = self._state_machine.checksum_at(message["index"])
        if message["index"] <= self._seat.core.applied_index and own not in (None, message["checksum"]):
            raise Diverged(
                f"member {self._seat.name}: its history differs from the majority's at index {message['index']} "
                f"(told by {sender}); {REJOIN}"
            )

    def _tell(self) -> None:
        core = self._seat.core
        index = core.applied_index
        checksum = self._state_machine.checksum_at(index)
        if checksum is None:
            return
        message = {
            "type": frames.VITALS,
            "term": core.term,
            "index": index,
            "checksum": checksum,
            "clock_ms": self._wall_clock_ms(),
            "confirmed": self._confirmed_now() if self._seat.is_settled_leader else (),
        }
        for name in self._seat.other_members():
            self._seat.links.send(name, message)

    def _confirmed_now(self) -> tuple[tuple[str, int], ...]:
        """Return what each voter, this leader among them, holds of what is committed: pairs of incarnation and
        index.
        """
        configuration, commit_index = self._seat.configuration, self._seat.core.commit_index
        if configuration is None:
            return ()
        match = {**self._match_indexes(), self._seat.name: commit_index}
        found = {
            member.incarnation: min(match[member.name], commit_index)
            for member in configuration.members
            if member.incarnation and match.get(member.name)
        }
        self._confirmed.raise_to(found)
        return tuple(found.items())[: frames.MAX_CONFIRMED]

    def _compare(self, name: str) -> None:
        """Compare the member's checksum with this one's. What was told of an index that this member has not applied yet
        waits.
        """
        index, checksum = self._told[name]
        if index > self._seat.core.applied_index:
            return
        del self._told[name]
        own = self._state_machine.checksum_at(index)
        if own is None:
            return
        before = self._comparisons.get(name, Comparison())
        after = self._comparisons[name] = before.with_result(index, is_equal=own == checksum)
        if after.differs_at is not None:
            if before.differs_at is None:
                _logger.critical(
                    "member %s has another history than member %s at index %d", name, self._seat.name, index
                )
            self._differing_at[name] = index, own

    def _awaited(self, configuration: Configuration, now: float) -> set[str]:
        """Return the voters that will be compared in a moment: they are connected, and have just come, move on, or it
        has just begun to count."""
        if all(self._comparisons.get(name, Comparison()).differs_at is None for name in configuration.voters):
            self._in_doubt_since = None
            return set()
        if self._in_doubt_since is None:
            self._in_doubt_since = now
        return {
            name
            for name in self._seat.other_voters()
            if self._seat.links.is_connected(name)
            and now - max(self._in_doubt_since, self._moved_at.get(name, -math.inf)) < _COMPARED_S
        }

    def _conclude(self, verdict: Verdict) -> None:
        if verdict.is_outvoted and not self._verdict.is_outvoted:
            _logger.critical(
                "member %s: no majority is known to have its history, so it does not lead", self._seat.name
            )
        self._verdict = verdict
        self._seat.is_outvoted = verdict.is_outvoted
        for name in verdict.wrong:
            index, checksum = self._differing_at[name]
            self._seat.links.send(name, {"type": frames.DIVERGED, "index": index, "checksum": checksum})
        if verdict.is_outvoted and self._seat.core.is_leader:
            self._seat.core.step_down(self._seat.core.term)
