"""Which members have another history than the majority, by running checksums of what they applied.

Each member compares the others' checksums with its own at the same index. A checksum covers everything before it, so
one that is equal proves a common past, and one that differs stays different (compare etcd's corruption check).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
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
    """`wrong`: members whose history is not the majority's, to which this member belongs. `is_outvoted`: some voter
    differs from this member, and no majority is known to agree with it; it must not lead. It still votes, acknowledges
    and counts: what it lacks is no entry of the log."""

    wrong: frozenset[str] = frozenset()
    is_outvoted: bool = False


def judge(
    name: str,
    configuration: Configuration,
    comparisons: Mapping[str, Comparison],
    awaited: Set[str] = frozenset(),
) -> Verdict:
    """Return what member `name` may conclude from its comparisons with the others. `awaited`: members that will be
    compared in a moment, so they may agree; one that is silent is not believed to."""
    none = Comparison()
    others = [member.name for member in configuration.members if member.name != name]
    found = {other: index for other in others if (index := comparisons.get(other, none).differs_at) is not None}
    wrong = {
        member
        for member, index in found.items()
        if len(_agreeing(name, configuration, comparisons, index)) >= configuration.majority
    }
    differing = found.keys() & configuration.voters
    if not differing:
        return Verdict(frozenset(wrong))
    agreeing = _agreeing(name, configuration, comparisons, min(found[voter] for voter in differing))
    possible = agreeing | (configuration.voters & awaited) - differing
    return Verdict(frozenset(wrong), len(possible) < configuration.majority)


def _agreeing(
    name: str, configuration: Configuration, comparisons: Mapping[str, Comparison], index: int
) -> frozenset[str]:
    """Return the voters, this member among them, that are known to agree with it up to `index`."""
    none = Comparison()
    return frozenset(
        voter
        for voter in configuration.voters
        if voter == name or ((known := comparisons.get(voter, none)).differs_at is None and known.agrees_at >= index)
    )
