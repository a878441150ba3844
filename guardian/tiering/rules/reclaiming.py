"""What deleted topics and broken copies have left behind, and what of it may be swept.

Kafka tries the remote deletion of a topic once. When Guardian or the remote store is away at that moment, the topic's
files stay. Its segments stay live in the store, and so do its partitions' heads, which no broker ever deletes. A leader
that was replaced in the middle of a copy leaves files that no segment knows.

    left over                                                     swept when
    all of a topic that no broker of the cluster knows            its last sign of life is old
    a file of a known partition that no live segment knows        it is old
    a passing file beside a finished copy                         it is old
    files of topics that this Guardian never heard of             never: another cluster's, or Guardian lost its store
    files of a deleted partition whose topic exists               never: somebody deleted metadata, not the topic
    what is no file of the store's layout                         never

A topic is gone when every broker that lives says that it does not know its id, and they are more than half of those
that are known. A broker may be behind, so it may know a deleted topic still, which only delays; or not know a new one
yet, which the age keeps from harm. Kafka never gives a topic's id again.

A copy under way is safe whatever its age: brokers store COPY_SEGMENT_STARTED before they write a file, and the metadata
is read once more after the files are listed. The age is a second line, for what that order does not cover: a leader
that still writes and does not know that it was replaced, and clocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from guardian.errors import ClusterUnavailable
from guardian.model.cluster_state import BrokerView
from guardian.tiering.model import LiveSegment, PartitionSummary, StoredFile, TopicIdPartition
from guardian.tiering.rules.comparing import Metadata, Scope, StrayReason, Strays, compare

_FEW_STRAYS = 10  # segments
_SWEPT_REASONS = frozenset({StrayReason.UNKNOWN_SEGMENT, StrayReason.LEFT_BEHIND})


def gone_topics(
    asked: Collection[bytes], seen: Mapping[int, BrokerView], known_brokers: Collection[int], cluster: str
) -> frozenset[bytes]:
    """Those of the topics asked for that the cluster no longer has; `seen` is what each broker said that answered.

    Raises ClusterUnavailable when too few did to be sure.
    """
    alive = frozenset[int]().union(*(view.brokers for view in seen.values()))
    everyone = alive | set(known_brokers)
    silent = sorted(everyone - seen.keys())
    if alive - seen.keys() or 2 * len(seen) <= len(everyone):
        said = f"{len(seen)} of {len(everyone)} brokers of cluster {cluster} said which topics exist"
        raise ClusterUnavailable(
            f"{said}, and brokers {', '.join(map(str, silent))} did not: ask again when all that live answer"
        )
    existing = {topic for view in seen.values() for topic, _ in view.leaders}
    return frozenset(asked) - existing


@dataclass(frozen=True, slots=True)
class GonePartition:
    """Of a topic that the cluster no longer has. `summary` is None where only files tell of it."""

    partition: TopicIdPartition
    summary: PartitionSummary | None
    segments: tuple[LiveSegment, ...]
    files: tuple[StoredFile, ...] = ()

    @property
    def last_sign_ms(self) -> int:
        """Return when it was last claimed, changed or written to, in ms; 0: never."""
        claim = self.summary.claim if self.summary is not None else None
        signs = [segment.at_ms for segment in self.segments] + [file.modified_ms for file in self.files]
        return max([*signs, claim.claimed_at_ms if claim is not None else 0])

    @property
    def fencing_token(self) -> int:
        """Under which its last claimant appends; 0 when nobody ever claimed it."""
        claim = self.summary.claim if self.summary is not None else None
        return claim.fencing_token if claim is not None else 0

    @property
    def has_head(self) -> bool:
        """Return whether it can still be deleted from the store."""
        return self.summary is not None and not self.summary.is_deleted

    @property
    def file_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """`partitions` and `strays` may be swept; `young` partitions and files may be, later; `kept` never. `finished` is
    how many segments the metadata has that were copied whole."""

    partitions: tuple[GonePartition, ...] = ()
    strays: tuple[Strays, ...] = ()
    young: tuple[GonePartition, ...] = ()
    young_files: int = 0
    young_bytes: int = 0
    kept: tuple[Strays, ...] = ()
    finished: int = 0

    @property
    def stray_segments(self) -> int:
        """Return how many segments there are of which there are files, but no metadata."""
        unknown = (one for one in self.strays if one.reason is StrayReason.UNKNOWN_SEGMENT)
        return len({file.segment for one in unknown for file in one.files})

    @property
    def has_many_strays(self) -> bool:
        """More than broken copies leave: so it looks when Guardian was restored from an older snapshot, and the files
        are all that is left of what was copied since."""
        return self.stray_segments > max(_FEW_STRAYS, self.finished // 10)

    @property
    def segments(self) -> int:
        return sum(len(one.segments) for one in self.partitions)

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """All that may be deleted."""
        of_strays = [file for one in self.strays for file in one.files]
        return (*(file for one in self.partitions for file in one.files), *of_strays)

    @property
    def file_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def is_empty(self) -> bool:
        return not (self.partitions or self.strays)


def gone_partitions(
    summaries: Iterable[PartitionSummary],
    metadata: Metadata,
    gone: Collection[bytes],
    files: Iterable[StoredFile] = (),
    cluster_id: str = "",
) -> tuple[GonePartition, ...]:
    """The partitions of gone topics of which anything is left: metadata, or files of the store of `cluster_id`."""
    left: dict[TopicIdPartition, list[StoredFile]] = {}
    known = {one.partition: one for one in summaries if one.partition.topic_id in gone}
    left.update((partition, []) for partition, one in known.items() if not one.is_deleted)
    for file in files:
        if file.segment is not None and file.segment.topic_id in gone:
            left.setdefault(TopicIdPartition(cluster_id, *file.segment[:2]), []).append(file)
    return tuple(
        GonePartition(partition, known.get(partition), tuple(metadata.get(partition, ())), tuple(left[partition]))
        for partition in sorted(left)
    )


def leftovers(
    metadata: tuple[Metadata, Metadata],
    files: Sequence[StoredFile],
    scope: Scope,
    summaries: Iterable[PartitionSummary],
    gone: Collection[bytes],
    now_ms: int,
    older_than_ms: int,
) -> Leftovers:
    """Decide what may be swept of one cluster and its store. `metadata` was read before and after the files were
    listed; `scope` and `summaries` are as of the second time, and `gone` was asked after that.
    """
    before, after = metadata
    old_ms = now_ms - older_than_ms
    found = gone_partitions(summaries, after, gone, files, scope.cluster_id)
    others = [file for file in files if file.segment is None or file.segment.topic_id not in gone]
    aged = replace(scope, young_since_ms=old_ms)
    compared = compare(before, others, after, aged, now_ms, older_than_ms)
    return Leftovers(
        partitions=tuple(one for one in found if one.last_sign_ms < old_ms),
        strays=tuple(one for one in compared.strays if one.reason in _SWEPT_REASONS),
        young=tuple(one for one in found if one.last_sign_ms >= old_ms),
        young_files=compared.young_files,
        young_bytes=compared.young_bytes,
        kept=tuple(one for one in compared.strays if one.reason not in _SWEPT_REASONS),
        finished=compared.finished,
    )
