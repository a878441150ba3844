"""Which members have another history than the majority, by running checksums of what they applied.

Each member compares the others' checksums with its own at the same index. A checksum covers everything before it, so
one that is equal proves a common past, and one that differs stays different (compare etcd's corruption check).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raft.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of another member's history beside one's own. `agrees_at`: the highest index at which both had the
    same checksum, 0 for none. `differs_at`: the lowest one at which they had not; None for none."""

    agrees_at: int = 0
    differs_at: int | None = None

    def with_result(self, index: int, *, is_equal: bool) -> Comparison:
        """Return what is known after one more comparison. An equal one ends a difference: a snapshot was installed."""
        if is_equal:
            return Comparison(max(self.agrees_at, index))
        return Comparison(self.agrees_at, index if self.differs_at is None else min(index, self.differs_at))


@dataclass(frozen=True, slots=True)
class Verdict:
    """`wrong`: members whose history is not the majority's, to which this member belongs. `is_outvoted`: so many voters
    differ from this member that no majority can agree with it; it must neither lead nor vouch for anything."""

    wrong: frozenset[str] = frozenset()
    is_outvoted: bool = False


def judge(name: str, configuration: Configuration, comparisons: Mapping[str, Comparison]) -> Verdict:
    """Return what member `name` may conclude from its comparisons with the others."""
    differing = {
        member.name: comparisons[member.name].differs_at
        for member in configuration.members
        if member.name != name and member.name in comparisons
    }
    found = {member: index for member, index in differing.items() if index is not None}
    voters = configuration.voters
    wrong = {
        member
        for member, index in found.items()
        if _agreeing(name, configuration, comparisons, index) >= configuration.majority
    }
    return Verdict(frozenset(wrong), len(voters) - len(found.keys() & voters) < configuration.majority)


def _agreeing(name: str, configuration: Configuration, comparisons: Mapping[str, Comparison], index: int) -> int:
    """Count the voters, this member among them, that are known to agree with it up to `index`."""
    none = Comparison()
    return sum(
        1
        for voter in configuration.voters
        if voter == name or ((known := comparisons.get(voter, none)).differs_at is None and known.agrees_at >= index)
    )
