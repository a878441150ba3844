"""What the records of __remote_log_metadata say of each segment in the end, as Kafka's own brokers understand them.

A record counts when its state may follow the segment's; others are passed over, as are changes of segments that are
unknown: so does Kafka's RemoteLogMetadataCache. One case is told, since a segment would be lost in silence: a copy
that is finished and whose first record is not there, as where the topic's retention has removed it.

One difference: an update that names no custom metadata leaves what was known, as in Guardian's store. Kafka's brokers
always repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.segment import RemoteLogSegmentState, is_valid_transition
from guardian.model.text import uuid_text
from guardian.tiering.model import LiveSegment, SegmentChange, SegmentName, TopicIdPartition
from guardian.tiering.rules.topic_records import CopyStarted, PartitionDeleted, StateChanged, decode

_FINISHED = RemoteLogSegmentState.COPY_SEGMENT_FINISHED
_GONE = RemoteLogSegmentState.DELETE_SEGMENT_FINISHED


class Place(NamedTuple):
    """Where a record is in the topic."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that can't be taken, or a segment whose first record is missing."""

    place: Place
    reason: str


@dataclass(frozen=True, slots=True)
class TopicSegment:
    """A segment that is not deleted: `first` as its copy began, and its later states in their order."""

    first: LiveSegment
    changes: tuple[SegmentChange, ...] = ()

    @property
    def state(self) -> RemoteLogSegmentState:
        return self.changes[-1].state if self.changes else self.first.state

    @property
    def newest(self) -> LiveSegment:
        """The segment as it is by now."""
        if not self.changes:
            return self.first
        last = self.changes[-1]
        custom = next((one.custom_metadata for one in reversed(self.changes) if one.custom_metadata), b"")
        return replace(
            self.first,
            state=last.state,
            broker_id=last.broker_id,
            at_ms=last.at_ms,
            custom_metadata=custom or self.first.custom_metadata,
        )


@dataclass(slots=True)
class TopicPartitionSegments:
    """One partition's: segments that are not deleted, and by id how those were that are."""

    segments: dict[bytes, TopicSegment] = field(default_factory=dict)
    gone: dict[bytes, SegmentChange] = field(default_factory=dict)


class MetadataFold:
    """The state that the records add up to, which are added in the order of their offsets."""

    def __init__(self, cluster_id: str) -> None:
        self._cluster_id = cluster_id
        self._partitions: dict[TopicIdPartition, TopicPartitionSegments] = {}
        self._headless: dict[SegmentName, Place] = {}
        self._unreadable: list[Unreadable] = []
        self.topics: dict[bytes, str] = {}
        """Names by topic id."""
        self.records = 0
        self.passed_over = 0
        """Records that Kafka's brokers pass over too: of unknown segments, or out of order."""

    @property
    def partitions(self) -> Mapping[TopicIdPartition, TopicPartitionSegments]:
        return self._partitions

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """All that can't be taken, by place."""
        headless = [
            Unreadable(place, f"segment {uuid_text(name.segment_id)} was copied, but its first record is not there")
            for name, place in self._headless.items()
        ]
        return tuple(sorted([*self._unreadable, *headless], key=lambda one: one.place))

    def add(self, place: Place, value: bytes | None) -> None:
        """Takes one record. What can't be read is noted."""
        self.records += 1
        try:
            record = decode(value)
        except InvalidInput as error:
            self._unreadable.append(Unreadable(place, str(error)))
            return
        if isinstance(record, PartitionDeleted):
            self._delete(record)
            return
        self.topics[record.name.topic_id] = record.topic
        partition = TopicIdPartition(self._cluster_id, record.name.topic_id, record.name.partition)
        found = self._partitions.setdefault(partition, TopicPartitionSegments())
        if isinstance(record, CopyStarted):
            self._begin(record, found)
        else:
            self._change(record, found, place)

    def _begin(self, record: CopyStarted, found: TopicPartitionSegments) -> None:
        known = found.segments.get(record.name.segment_id)
        if known is not None and known.changes:
            self.passed_over += 1
            return
        found.gone.pop(record.name.segment_id, None)
        found.segments[record.name.segment_id] = TopicSegment(record.segment)

    def _change(self, record: StateChanged, found: TopicPartitionSegments, place: Place) -> None:
        segment_id, change = record.name.segment_id, record.change
        known = found.segments.get(segment_id)
        if known is None:
            self.passed_over += 1
            self._note_headless(record, found, place)
        elif known.state is change.state:
            repeated = replace(change, custom_metadata=change.custom_metadata or known.changes[-1].custom_metadata)
            found.segments[segment_id] = TopicSegment(known.first, (*known.changes[:-1], repeated))
        elif not is_valid_transition(known.state, change.state):
            self.passed_over += 1
        elif change.state is _GONE:
            del found.segments[segment_id]
            found.gone[segment_id] = change
        else:
            found.segments[segment_id] = TopicSegment(known.first, (*known.changes, change))

    def _note_headless(self, record: StateChanged, found: TopicPartitionSegments, place: Place) -> None:
        """What is being deleted is missed by nobody."""
        if record.name.segment_id in found.gone:
            return
        if record.change.state is _FINISHED:
            self._headless.setdefault(record.name, place)
        else:
            self._headless.pop(record.name, None)

    def _delete(self, record: PartitionDeleted) -> None:
        if not record.is_finished:
            return
        self._partitions.pop(TopicIdPartition(self._cluster_id, record.topic_id, record.partition), None)
        for name in [one for one in self._headless if one[:2] == (record.topic_id, record.partition)]:
            del self._headless[name]
