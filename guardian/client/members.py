"""Which member to ask: the leader for changes, all in turn for reads, those that failed of late last.

Pure: the clock comes in as `now`, in seconds of any monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FIRST_PENALTY_S = 1.0
MAX_PENALTY_S = 30.0


@dataclass(slots=True)
class _Standing:
    failures: int = 0
    shunned_until: float = 0.0


class Members:
    """Not thread-safe. Endpoints are host:port of gRPC; `given` are never forgotten."""

    def __init__(self, given: Sequence[str], turn: int = 0) -> None:
        """`turn` says whose turn it is first, so that many clients do not all begin with the same member."""
        self._given = tuple(dict.fromkeys(given))
        self._standing = {endpoint: _Standing() for endpoint in self._given}
        self._turn = turn
        self.leader: str | None = None

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All that are known, those that were given first."""
        return tuple(self._standing)

    def learn(self, endpoints: Iterable[str], leader: str | None) -> None:
        """Take in what a member said of the group; None: it knows no leader."""
        known = dict.fromkeys((*self._given, *endpoints, *([leader] if leader else [])))
        self._standing = {endpoint: self._standing.get(endpoint, _Standing()) for endpoint in known}
        self.leader = leader

    def failed(self, endpoint: str, now: float) -> None:
        """Asked last for a while, twice as long each time."""
        if self.leader == endpoint:
            self.leader = None
        standing = self._standing.get(endpoint)
        if standing is not None:
            standing.failures += 1
            standing.shunned_until = now + min(FIRST_PENALTY_S * 2 ** (standing.failures - 1), MAX_PENALTY_S)

    def answered(self, endpoint: str) -> None:
        if endpoint in self._standing:
            self._standing[endpoint] = _Standing()

    def for_change(self, now: float) -> list[str]:
        """The leader saves the way through another member; any other one passes a change on."""
        others = self.for_read(now)
        if self.leader is None:
            return others
        return [self.leader, *(endpoint for endpoint in others if endpoint != self.leader)]

    def for_read(self, now: float) -> list[str]:
        """Every member once, beginning with the next one in turn; those that are shunned come last."""
        known = list(self._standing)
        start = self._turn % len(known)
        self._turn += 1
        in_turn = known[start:] + known[:start]
        return sorted(in_turn, key=lambda endpoint: self._standing[endpoint].shunned_until > now)
