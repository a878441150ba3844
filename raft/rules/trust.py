"""Whom a member lets in, and whose word counts for what: decisions only, on names.

               voters    other members    peers of its file, introduced
    settled    all       what members do  nothing
    lagging    all       all but answers  what leads: entries, votes asked for, snapshots

A member is **settled** while it leads, or hears from a leader that is a voter of its configuration. Otherwise its
configuration may be an old one: the leader may be a member that it does not know, or knows as a learner (Ongaro's
thesis, section 4.1). So it also hears the peers of its own file, and whom a voter or such a peer introduces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from raft.configuration import Configuration

MAX_TERM_JUMP = 1 << 32
"""Elections that a member may have missed: one each second for a century."""


class Part(Enum):
    """The part in the group that whoever sends a message has to have."""

    LEADER = "a leader or candidate"
    VOTER = "a voter"
    MEMBER = "a member"
    EITHER = "a leader or a member"
    VOUCHER = "a voter or a peer of this member's file"


@dataclass(frozen=True, slots=True)
class Circle:
    """Whom a member knows. `leaving`: removed members that are still told of it; `peers`: those of its own file;
    `introduced`: those that others named as members of a newer configuration."""

    configuration: Configuration | None
    members: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()
    peers: frozenset[str] = frozenset()
    introduced: frozenset[str] = frozenset()

    voters: frozenset[str] = field(init=False)
    served: frozenset[str] = field(init=False)  # whose commands, reads, changes and acknowledgements count
    vouchers: frozenset[str] = field(init=False)  # who may introduce others
    admitted: frozenset[str] = field(init=False)  # who may connect

    def __post_init__(self) -> None:
        voters = self.configuration.voters if self.configuration is not None else frozenset[str]()
        served = self.members | self.leaving
        object.__setattr__(self, "voters", voters)
        object.__setattr__(self, "served", served)
        object.__setattr__(self, "vouchers", voters | self.peers)
        object.__setattr__(self, "admitted", served | self.peers | self.introduced)

    def may_play(self, part: Part, name: str, *, is_settled: bool) -> bool:
        """Return whether `name` may send what takes this part."""
        match part:
            case Part.VOTER:
                return name in self.voters
            case Part.MEMBER:
                return name in self.served
            case Part.LEADER:
                return self._may_lead(name, is_settled)
            case Part.EITHER:
                return name in self.served or self._may_lead(name, is_settled)
            case Part.VOUCHER:
                return name in self.vouchers and not is_settled

    def _may_lead(self, name: str, is_settled: bool) -> bool:
        return name in self.voters or (not is_settled and name in self.admitted)


def is_plausible_term(term: int, own_term: int, *, is_new: bool) -> bool:
    """Return whether a group may have reached this term. `is_new`: this member belongs to none yet, so it can't
    know.
    """
    return is_new or term - own_term <= MAX_TERM_JUMP
