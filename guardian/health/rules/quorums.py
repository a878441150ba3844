"""What the controllers' quorum tells of itself, as troubles. Pure.

What DescribeQuorum tells is all there is to know from outside: controllers describe neither their log dirs nor their
disks to anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.model.operation import Quorum, VoterLag
from guardian.model.units import human_duration

BUSY_PER_S = 100.0
"""Records of metadata a second; a cluster at rest has two (metadata.max.idle.interval.ms)."""

_QUORUM = "controllers"
_LEAST_VOTERS = 2  # a single one is a choice, and no trouble


@dataclass(frozen=True, slots=True)
class Committed:
    """Hold how far the metadata log had come at a moment of the wall clock; -1: not known."""

    at_ms: int
    offset: int


def at_risk(cluster: str, quorum: Quorum) -> Iterator[Sighting]:
    """Tell of a quorum that the loss of one more voter leaves without a majority."""
    left = len(quorum.caught_up)
    if len(quorum.voters) < _LEAST_VOTERS or left > quorum.majority:
        return
    missing = sorted(quorum.voters - quorum.caught_up)
    why = f"controllers {_named(missing)} are behind or away" if missing else "two voters stand no loss at all"
    yield Sighting(
        Subject(FindingKind.CONTROLLERS_AT_RISK, cluster, _QUORUM),
        f"{left} of {len(quorum.voters)} voters have caught up and {quorum.majority} must: {why}; with one less no "
        "leader is elected, no topic made and no replica leaves or joins an ISR",
        f"guardian findings --cluster {cluster}",
    )


def behind(cluster: str, quorum: Quorum) -> Iterator[Sighting]:
    """Tell of voters that lack what the active controller has."""
    for voter, lag in sorted(quorum.behind.items()):
        yield Sighting(
            Subject(FindingKind.CONTROLLER_BEHIND, cluster, f"controller {voter}"),
            f"controller {voter} {_lag_text(lag)} of controller {quorum.leader}, which is active",
            f"guardian findings --cluster {cluster}",
        )


def grows(cluster: str, before: Committed | None, now: Committed) -> Iterator[Sighting]:
    """Tell of a metadata log that has grown far faster than at rest since the look before."""
    if before is None or before.offset < 0 or now.at_ms <= before.at_ms:
        return
    per_s = (now.offset - before.offset) / ((now.at_ms - before.at_ms) / 1000)
    if per_s <= BUSY_PER_S:
        return
    yield Sighting(
        Subject(FindingKind.METADATA_GROWS, cluster, _QUORUM),
        f"the controllers decide {per_s:,.0f} records a second, where a cluster at rest has two: each is replicated to "
        "all voters and brokers, kept until the next snapshot and read again at each start",
        f"guardian findings --cluster {cluster}",
    )


def _lag_text(lag: VoterLag) -> str:
    records = f"lacks {lag.records:,} records"
    return records if lag.ms is None else f"{records}, and last had all {human_duration(lag.ms)} ago,"


def _named(controllers: list[int]) -> str:
    return ", ".join(map(str, controllers))
