"""This process's seat among the collectors: it joins, says what it has let go of, and knows when it may not collect.

A process may not while another one of its name has joined after it (it is fenced). Nor may it when it has heard nothing
from the group for as long as the delay after which its brokers go to others.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Protocol

import structlog

from guardian.errors import Conflict, GuardianError
from guardian.model.collection import BrokerKey, CollectionAssignment

_LOG = structlog.get_logger(__name__)
_LOOK_S = 0.5


class CollectionGroup(Protocol):
    """The replicated assignment, as this member reaches it. Each method raises GuardianError when it can't."""

    def assignment(self) -> CollectionAssignment:
        """Return the assignment as far as this member knows it."""

    def staleness_s(self) -> float | None:
        """Return how long ago that was certainly true, in s; None: unknown."""

    def join(self, member: str, incarnation: str) -> None:
        """Takes the seat, from whoever sits there."""

    def ack(self, member: str, incarnation: str, generation: int) -> None:
        """Raises Conflict when the seat has been taken."""


class CollectorMembership:
    """From `start()` to `stop()` a seat is held, or tried for."""

    def __init__(self, group: CollectionGroup, member: str, incarnation: str, delay_s: float) -> None:
        self._group = group
        self._member = member
        self._incarnation = incarnation
        self._delay_s = delay_s
        self._has_joined = False
        self._is_fenced = False
        self._given = 0  # the generation of the share that was asked for last
        self._acted_on = 0  # the one before: by the next time it asks, a collector has let go
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="collector-membership", daemon=True)

    @property
    def is_fenced(self) -> bool:
        """Another process of this name has taken the seat: this one collects nothing any more."""
        return self._is_fenced

    def start(self) -> None:
        """Starts the thread; once in its life."""
        self._thread.start()

    def stop(self) -> None:
        """The seat is kept: a restart within the delay finds its brokers. Safe to call twice."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def mine(self, brokers: Collection[BrokerKey]) -> frozenset[BrokerKey]:
        """Return which of these brokers this process may call now. By asking again it says that it has let go of all
        others.

        Raises GuardianError when this member's store can't be read.
        """
        # In this order: what is read next is at least as new as what was certain then, and may not pass for newer.
        staleness_s = self._group.staleness_s()
        assignment = self._group.assignment()
        self._acted_on, self._given = self._given, assignment.generation
        if self._is_fenced or staleness_s is None or staleness_s >= self._delay_s:
            return frozenset()
        return assignment.share_of(self._member, self._incarnation) & frozenset(brokers)

    def look(self) -> None:
        """Does what is due: joins, or acknowledges. Raises GuardianError when the group does not answer."""
        assignment = self._group.assignment()
        seat = assignment.seats.get(self._member)
        if self._is_fenced:
            return
        if seat is not None and seat.incarnation == self._incarnation:
            self._has_joined = True
            self._acknowledge(assignment, seat.acked)
        elif seat is not None and self._has_joined:
            self._is_fenced = True
            _LOG.error(
                "another process of this member's name collects now: this one stops, give each a name of its own",
                member=self._member,
            )
        else:
            self._group.join(self._member, self._incarnation)

    def _acknowledge(self, assignment: CollectionAssignment, acked: int) -> None:
        asked = [move.since for key, move in assignment.moves.items() if assignment.owners[key] == self._member]
        if any(acked < since <= self._acted_on for since in asked):
            self._group.ack(self._member, self._incarnation, self._acted_on)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.look()
            except Conflict as error:
                _LOG.warning("the collectors' seat has changed", error=str(error))
            except GuardianError as error:
                _LOG.debug("the collectors' group can't be reached", error=str(error))
            self._stopping.wait(_LOOK_S)
