"""Which copies will never be finished: their broker died, or was replaced as the leader, in the middle of the copy.

After a claim nobody but the claimant can finish a copy (the leader fence), so one that another broker began before the
partition's newest claim is an orphan for certain. The times come from two clocks, the broker's and Guardian's: within
CLOCK_MARGIN_MS nothing is certain. A copy of the claimant's own is only suspected, when it takes longer than copies do.
A leader claims again while it leads, and goes on with what it has begun.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guardian.tiering.model import LiveSegment, PartitionClaim, TopicIdPartition

CLOCK_MARGIN_MS = 10_000


@dataclass(frozen=True, slots=True)
class Orphan:
    partition: TopicIdPartition
    segment: LiveSegment
    is_certain: bool


def orphans(
    partition: TopicIdPartition,
    segments: Iterable[LiveSegment],
    claim: PartitionClaim | None,
    now_ms: int,
    older_than_ms: int,
) -> tuple[Orphan, ...]:
    """The copies of one partition that are certainly or probably orphans, oldest first."""
    found = []
    for segment in segments:
        if segment.is_copying:
            is_certain = (
                claim is not None
                and segment.broker_id != claim.broker_id
                and segment.at_ms < claim.claimed_at_ms - CLOCK_MARGIN_MS
            )
            if is_certain or segment.at_ms < now_ms - older_than_ms:
                found.append(Orphan(partition, segment, is_certain))
    return tuple(sorted(found, key=lambda orphan: orphan.segment.at_ms))
