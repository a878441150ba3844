"""The metadata of a cluster's partitions against what its remote store really holds.

The two can't be read at one moment, so the metadata is read twice, before and after the store is listed. A file must be
there when its segment was finished before *and* after; a file is a stray when its segment was known neither before nor
after. What began or ended in between is no difference; what did both in between is told by its files' youth.

    metadata says            the store must hold      and if not
    COPY_SEGMENT_FINISHED    all parts, exact size    a fault: consumers of these offsets fail
    COPY_SEGMENT_STARTED     anything                 under way; a fault when it is old
    DELETE_SEGMENT_STARTED   anything                 waits for its deletion; a fault when it is old
    nothing                  nothing                  a stray: space that nobody will ever free
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import FileKind, LiveSegment, SegmentName, StoredFile, TopicIdPartition

Metadata = Mapping[TopicIdPartition, Sequence[LiveSegment]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A finished segment that can't be read. `found_bytes` is set when its log is there in another size."""

    partition: TopicIdPartition
    segment: LiveSegment
    missing: tuple[FileKind, ...] = ()
    found_bytes: int | None = None


class StrayReason(Enum):
    """Values are said to people."""

    NOT_OURS = "no file of a segment"
    UNKNOWN_TOPIC = "of a topic or partition that no metadata knows"
    DELETED_PARTITION = "of a deleted partition"
    UNKNOWN_SEGMENT = "of segments that are deleted or were never known"
    LEFT_BEHIND = "pieces of a copy, beside the finished segment"


@dataclass(frozen=True, slots=True)
class Strays:
    """Files of one place (a partition, or the folder of files that are no segment's), for one reason."""

    reason: StrayReason
    topic_id: bytes
    topic: str
    partition: int
    files: tuple[StoredFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def newest_ms(self) -> int:
        return max(file.modified_ms for file in self.files)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A copy or a deletion under way; `is_old` makes it a difference."""

    partition: TopicIdPartition
    segment: LiveSegment
    is_old: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`elsewhere_*` are files of topics of other clusters that share the store; `young_*` would be strays, but are too
    young to tell."""

    finished: int
    finished_bytes: int
    files: int
    file_bytes: int
    faults: tuple[Fault, ...] = ()
    strays: tuple[Strays, ...] = ()
    copies: tuple[Waiting, ...] = ()
    deletions: tuple[Waiting, ...] = ()
    elsewhere_files: int = 0
    elsewhere_bytes: int = 0
    young_files: int = 0
    young_bytes: int = 0

    @property
    def differs(self) -> bool:
        return bool(self.faults or self.strays or any(one.is_old for one in (*self.copies, *self.deletions)))


@dataclass(frozen=True, slots=True)
class Scope:
    """What the metadata is of, besides its live segments."""

    cluster_id: str
    parts: frozenset[FileKind]  # what the store holds of every finished segment
    partitions: frozenset[TopicIdPartition] = frozenset()  # those that exist, with segments or without
    deleted: frozenset[TopicIdPartition] = frozenset()
    elsewhere: Collection[bytes] = field(default_factory=frozenset)  # topic ids of other clusters
    young_since_ms: int | None = None  # a file that was written since may be of a segment that came and went meanwhile


def compare(
    before: Metadata, files: Iterable[StoredFile], after: Metadata, scope: Scope, now_ms: int, older_than_ms: int
) -> Comparison:
    """Compare the metadata, as read before and after the listing, with the files."""
    held, foreign, elsewhere = _sorted_out(files, scope)
    finished = _finished_throughout(before, after)
    old_ms = now_ms - older_than_ms
    ours = [*foreign, *(file for parts in held.values() for file in parts)]
    strays, young = _strays(foreign, held, finished, _known(before, after), scope)
    return Comparison(
        finished=len(finished),
        finished_bytes=sum(segment.size_bytes for segment in finished.values()),
        files=len(ours),
        file_bytes=sum(file.size_bytes for file in ours),
        faults=tuple(_faults(finished, held, scope)),
        strays=strays,
        copies=_waiting(after, RemoteLogSegmentState.COPY_SEGMENT_STARTED, old_ms),
        deletions=_waiting(after, RemoteLogSegmentState.DELETE_SEGMENT_STARTED, old_ms),
        elsewhere_files=len(elsewhere),
        elsewhere_bytes=sum(file.size_bytes for file in elsewhere),
        young_files=len(young),
        young_bytes=sum(file.size_bytes for file in young),
    )


_Held = dict[SegmentName, list[StoredFile]]
_Finished = dict[SegmentName, LiveSegment]


def _sorted_out(files: Iterable[StoredFile], scope: Scope) -> tuple[_Held, list[StoredFile], list[StoredFile]]:
    """Sort the files: by segment; those that are no segment's; those of other clusters."""
    held: _Held = {}
    foreign: list[StoredFile] = []
    elsewhere: list[StoredFile] = []
    for file in files:
        if file.segment is None:
            foreign.append(file)
        elif file.segment.topic_id in scope.elsewhere:
            elsewhere.append(file)
        else:
            held.setdefault(file.segment, []).append(file)
    return held, foreign, elsewhere


def _finished_throughout(before: Metadata, after: Metadata) -> _Finished:
    finished = {}
    for partition, segments in after.items():
        were_finished = {segment.id for segment in before.get(partition, ()) if segment.is_finished}
        for segment in segments:
            if segment.is_finished and segment.id in were_finished:
                finished[_name(partition, segment)] = segment
    return finished


def _known(before: Metadata, after: Metadata) -> frozenset[SegmentName]:
    return frozenset(
        _name(partition, segment)
        for metadata in (before, after)
        for partition, segments in metadata.items()
        for segment in segments
    )


def _faults(finished: _Finished, held: _Held, scope: Scope) -> Iterator[Fault]:
    for name, segment in sorted(finished.items(), key=lambda item: (item[0][:2], item[1].start_offset)):
        files = held.get(name, ())
        kinds = {file.kind for file in files}
        missing = tuple(sorted(scope.parts - kinds, key=lambda kind: kind.value))
        sizes = [file.size_bytes for file in files if file.kind is FileKind.LOG]
        found_bytes = sizes[0] if sizes and segment.size_bytes not in sizes else None
        if missing or found_bytes is not None:
            partition = TopicIdPartition(scope.cluster_id, name.topic_id, name.partition)
            yield Fault(partition, segment, missing, found_bytes)


def _strays(
    foreign: Sequence[StoredFile], held: _Held, finished: _Finished, known: frozenset[SegmentName], scope: Scope
) -> tuple[tuple[Strays, ...], list[StoredFile]]:
    """Return the strays by place, and the files that are too young to tell."""
    partitions = {name[:2] for name in known} | {one[1:] for one in scope.partitions}
    deleted = {one[1:] for one in scope.deleted}
    places: dict[tuple[bytes, int, StrayReason], list[StoredFile]] = {}
    young: list[StoredFile] = []
    for file, reason in _out_of_place(foreign, held, finished, known):
        if scope.young_since_ms is not None and file.modified_ms >= scope.young_since_ms:
            young.append(file)
            continue
        place = file.segment[:2] if file.segment else (b"", -1)
        more = StrayReason.DELETED_PARTITION if place in deleted else StrayReason.UNKNOWN_TOPIC
        is_more = reason is StrayReason.UNKNOWN_SEGMENT and (place in deleted or place not in partitions)
        places.setdefault((*place, more if is_more else reason), []).append(file)
    return tuple(
        Strays(reason, topic_id, next((file.topic for file in files if file.topic), ""), partition, tuple(files))
        for (topic_id, partition, reason), files in sorted(places.items(), key=lambda item: item[0][:2])
    ), young


def _out_of_place(
    foreign: Sequence[StoredFile], held: _Held, finished: _Finished, known: frozenset[SegmentName]
) -> Iterator[tuple[StoredFile, StrayReason]]:
    for file in foreign:
        yield file, StrayReason.NOT_OURS
    for name, files in held.items():
        for file in files:
            if name not in known:
                yield file, StrayReason.UNKNOWN_SEGMENT
            elif name in finished and file.kind is FileKind.PARTIAL:
                yield file, StrayReason.LEFT_BEHIND


def _waiting(metadata: Metadata, state: RemoteLogSegmentState, old_ms: int) -> tuple[Waiting, ...]:
    found = [
        Waiting(partition, segment, segment.at_ms < old_ms)
        for partition, segments in metadata.items()
        for segment in segments
        if segment.state is state
    ]
    return tuple(sorted(found, key=lambda waiting: waiting.segment.at_ms))


def _name(partition: TopicIdPartition, segment: LiveSegment) -> SegmentName:
    return SegmentName(partition.topic_id, partition.partition, segment.id)
