"""Which voters have forgotten what they promised: decided when a process connects, by what it says of its folder.

A voter's votes and acknowledgements are promises on its disk. They are gone when the disk was emptied (another
incarnation), and when the folder was replaced by an older copy (a log that ends before what it confirmed).
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.configuration import Configuration, Role
from raft.errors import REJOIN

DOUBT_S = 15.0
DOUBT_PAUSE_S = 5.0  # without a refusal: what was refused before is another matter


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a process says of itself when it connects. `last_index` is where its log ends, `configuration_index` the
    entry there that tells it who belongs to the group; 0: it knows only what a group begins with."""

    name: str
    incarnation: str
    last_index: int
    configuration_index: int


@dataclass(frozen=True, slots=True)
class Lapse:
    """What a peer has forgotten. `confirmed_index`: where its log should end at least; 0: it has forgotten all."""

    sentence: str
    confirmed_index: int = 0

    def is_outdated(self, last_index: int) -> bool:
        """Return whether a log that ends at `last_index` has all that was confirmed: its introduction was on its way
        for a while.
        """
        return 0 < self.confirmed_index <= last_index

    @property
    def is_proven(self) -> bool:
        """Return whether it follows from what this very folder had confirmed. That a folder is a new one is said by a
        configuration, which may be an old one: the member may have been removed and let in anew since."""
        return self.confirmed_index > 0


@dataclass(frozen=True, slots=True)
class Doubt:
    """Holds since when others tell a member that its folder is a new one, while no leader feeds it. Seconds of a
    monotonic clock."""

    since: float
    last_at: float

    @property
    def is_over(self) -> bool:
        """Return whether they are right: a group that had let the folder in would have a leader by now."""
        return self.last_at - self.since >= DOUBT_S


def doubt(before: Doubt | None, now: float, *, is_fed: bool) -> Doubt | None:
    """Return what a member makes of one more refusal. `is_fed`: it hears from a leader, who knows the newest
    configuration, so it is the other one that lags."""
    if is_fed:
        return None
    if before is None or now - before.last_at > DOUBT_PAUSE_S:
        return Doubt(now, now)
    return Doubt(before.since, now)


def find_lapse(
    peer: Introduction, configuration: Configuration | None, configuration_index: int, confirmed_index: int
) -> Lapse | None:
    """Return what the peer has forgotten; None: it may be heard.

    `configuration_index` is that of the configuration. A peer that knows a newer one has been let in anew meanwhile:
    whoever lags must still hear it. `confirmed_index` is the highest index that this incarnation is known to have
    confirmed.
    """
    known = configuration.member(peer.name) if configuration is not None else None
    if known is None or known.role is not Role.VOTER:
        return None
    if known.incarnation and known.incarnation != peer.incarnation:
        if peer.configuration_index > configuration_index:
            return None
        return Lapse(
            f"member {peer.name}: its data folder is a new one (incarnation {peer.incarnation[:8]}, the group knows "
            f"{known.incarnation[:8]}), so it has forgotten its votes; {REJOIN}"
        )
    if peer.last_index < confirmed_index:
        return Lapse(
            f"member {peer.name}: its log ends at {peer.last_index}, and it had confirmed index {confirmed_index}, so "
            f"its data folder is an older copy; {REJOIN}",
            confirmed_index,
        )
    return None
