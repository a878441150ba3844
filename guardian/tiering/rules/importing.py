"""Which segments of __remote_log_metadata Guardian's store lacks, and what has to be appended for each. Pure.

    in the topic      in the store                what becomes of it
    finished          not known                   taken: its events, from the first one on
    being deleted     not known                   taken: its files may be there; Guardian's leader deletes them
    finished, ...     in an earlier state         the states that are missing are appended
    finished, ...     as far, or farther          there
    finished, ...     deleted                     ended: brokers with Guardian's manager have deleted it since
    copy under way    not known                   left: see below
    deleted           live                        the deletion is appended
    any               with other facts            differs: nothing is done, and a person is told

A copy under way is not taken. Its broker may yet finish it, and tell the topic so; Guardian would hold it for an orphan
as soon as another broker leads, and have the files of a finished copy deleted. One that is never finished is nobody's
loss: its files are strays, which `guardian tiering orphans --sweep` finds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import LiveSegment, SegmentChange, TopicIdPartition
from guardian.tiering.rules.topic_folding import TopicPartitionSegments, TopicSegment

_COPYING = RemoteLogSegmentState.COPY_SEGMENT_STARTED
_DELETING = RemoteLogSegmentState.DELETE_SEGMENT_STARTED
_GONE = RemoteLogSegmentState.DELETE_SEGMENT_FINISHED
_FACTS = {
    "offsets": ("start_offset", "end_offset"),
    "size": ("size_bytes",),
    "leader epochs": ("leader_epochs",),
    "greatest timestamp": ("max_timestamp_ms",),
    "transaction index": ("txn_index_empty",),
    "custom metadata": ("custom_metadata",),
}


@dataclass(frozen=True, slots=True)
class SegmentAppend:
    """What one segment lacks: its first event, where the store does not know it, and later states."""

    segment_id: bytes
    first: LiveSegment | None
    changes: tuple[SegmentChange, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A segment of which the topic and the store tell different facts, such as its offsets."""

    segment_id: bytes
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionComparison:
    """One partition of the topic beside the store. `own` are live segments of the store that the topic does not have:
    copied by brokers with Guardian's manager. `in_topic` are those that the topic has, without copies under way."""

    partition: TopicIdPartition
    take: tuple[SegmentAppend, ...] = ()
    advance: tuple[SegmentAppend, ...] = ()
    there: int = 0
    ended: int = 0
    under_way: int = 0
    own: int = 0
    differing: tuple[Difference, ...] = ()

    @property
    def in_topic(self) -> int:
        advanced = sum(one.changes[-1].state is not _GONE for one in self.advance)
        return len(self.take) + advanced + self.there + self.ended + len(self.differing)

    @property
    def appends(self) -> tuple[SegmentAppend, ...]:
        return (*self.take, *self.advance)


def absent(found: TopicPartitionSegments, stored: Mapping[bytes, LiveSegment]) -> frozenset[bytes]:
    """Return the segments of the topic that would be taken unless the store has seen their end."""
    return frozenset(
        segment_id
        for segment_id, segment in found.segments.items()
        if segment_id not in stored and segment.state is not _COPYING
    )


def compare_partition(
    partition: TopicIdPartition,
    found: TopicPartitionSegments,
    stored: Mapping[bytes, LiveSegment],
    ended: Collection[bytes] = (),
) -> PartitionComparison:
    """Return what the topic has of a partition beside what is live in the store, by segment id. `ended` are the ids of
    segments that the store has seen deleted."""
    take: list[SegmentAppend] = []
    advance: list[SegmentAppend] = []
    differing: list[Difference] = []
    there = under_way = over = 0
    for segment_id, segment in found.segments.items():
        held = stored.get(segment_id)
        if held is None:
            if segment_id in ended:
                over += 1
            elif segment.state is _COPYING:
                under_way += 1
            else:
                take.append(SegmentAppend(segment_id, segment.first, segment.changes))
        elif facts := _differing_facts(segment, held):
            differing.append(Difference(segment_id, facts))
        elif missing := _after(segment.changes, held.state):
            advance.append(SegmentAppend(segment_id, None, missing))
        else:
            there += 1
    for segment_id in found.gone.keys() & stored.keys():
        changes = _deletion(found.gone[segment_id])
        advance.append(SegmentAppend(segment_id, None, _after(changes, stored[segment_id].state)))
    own = len(stored.keys() - found.segments.keys() - found.gone.keys())
    return PartitionComparison(
        partition,
        tuple(sorted(take, key=_by_offset)),
        tuple(sorted(advance, key=lambda one: one.segment_id)),
        there,
        over,
        under_way,
        own,
        tuple(differing),
    )


def _differing_facts(segment: TopicSegment, held: LiveSegment) -> tuple[str, ...]:
    """A broker tells custom metadata when the copy is finished: before, there is none to compare."""
    told = segment.newest
    if told.is_copying or held.is_copying:
        told = replace(told, custom_metadata=held.custom_metadata)
    return tuple(
        fact for fact, names in _FACTS.items() if any(getattr(told, name) != getattr(held, name) for name in names)
    )


def _after(changes: tuple[SegmentChange, ...], state: RemoteLogSegmentState) -> tuple[SegmentChange, ...]:
    return tuple(one for one in changes if one.state.value > state.value)


def _deletion(last: SegmentChange) -> tuple[SegmentChange, ...]:
    """Both states of a deletion of which only the last is known."""
    return (replace(last, state=_DELETING), last)


def _by_offset(append: SegmentAppend) -> tuple[int, bytes]:
    return (append.first.start_offset if append.first is not None else 0, append.segment_id)
