"""Which member of Guardian collects which broker, as the group has agreed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from guardian.errors import Conflict, NotFound

NOBODY = ""


class BrokerKey(NamedTuple):
    """A broker of the federation: the cluster's name and the broker's id."""

    cluster: str
    broker: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.broker}"


@dataclass(frozen=True, slots=True)
class CollectorSeat:
    """A member that collects, by its name: a restart keeps the seat, and its brokers.

    `incarnation` names the process that sits there now. `acked` is the last generation that it has acted on.
    `gone_since_ms` is when the leader missed it (ms since the epoch), 0 while it is here.
    """

    incarnation: str
    acked: int = 0
    gone_since_ms: int = 0


@dataclass(frozen=True, slots=True)
class BrokerMove:
    """Its owner is to let go of a broker, which goes to `to` once the owner has acted on generation `since`. It goes to
    NOBODY when it is not to be collected any more.
    """

    to: str
    since: int


@dataclass(frozen=True, slots=True)
class CollectionAssignment:
    """Every change has a generation. A broker that moves is its owner's until the move is over: nobody calls it."""

    generation: int = 0
    seats: Mapping[str, CollectorSeat] = field(default_factory=lambda: MappingProxyType({}))
    owners: Mapping[BrokerKey, str] = field(default_factory=lambda: MappingProxyType({}))
    moves: Mapping[BrokerKey, BrokerMove] = field(default_factory=lambda: MappingProxyType({}))

    def share_of(self, member: str, incarnation: str) -> frozenset[BrokerKey]:
        """Return what the process may collect; nothing when another one sits in its place, or while the leader misses
        it.

        A process that knows that it is missed has no time left to count on: the delay after which others get its
        brokers began before it heard of that.
        """
        seat = self.seats.get(member)
        if seat is None or seat.incarnation != incarnation or seat.gone_since_ms:
            return frozenset()
        return frozenset(key for key, owner in self.owners.items() if owner == member and key not in self.moves)

    def joined(self, member: str, incarnation: str) -> CollectionAssignment:
        """Give the process the member's seat; whoever sat there is fenced."""
        seat = self.seats.get(member)
        if seat is not None and seat.incarnation == incarnation and not seat.gone_since_ms:
            return self
        # What another process had acted on says nothing of this one, which holds nothing yet: it has let go of all.
        return self.changed(seats={**self.seats, member: CollectorSeat(incarnation, acked=self.generation + 1)})

    def acknowledged(self, member: str, incarnation: str, generation: int) -> CollectionAssignment:
        """Note that the process has let go of what `generation` takes from it.

        Raises NotFound without a seat, Conflict when another process has taken it.
        """
        seat = self.seats.get(member)
        if seat is None:
            raise NotFound(f"member is {member!r}, which has no seat among the collectors: join again")
        if seat.incarnation != incarnation:
            raise Conflict(f"another process joined the collectors as {member!r}: give each member a name of its own")
        if generation <= seat.acked:
            return self
        return self.changed(seats={**self.seats, member: replace(seat, acked=min(generation, self.generation))})

    def changed(
        self,
        seats: Mapping[str, CollectorSeat] | None = None,
        owners: Mapping[BrokerKey, str] | None = None,
        moves: Mapping[BrokerKey, BrokerMove] | None = None,
    ) -> CollectionAssignment:
        """Return the next generation, with what is given in place of what is here."""
        return CollectionAssignment(
            self.generation + 1,
            MappingProxyType(dict(self.seats if seats is None else seats)),
            MappingProxyType(dict(self.owners if owners is None else owners)),
            MappingProxyType(dict(self.moves if moves is None else moves)),
        )
