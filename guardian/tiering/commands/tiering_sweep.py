"""`guardian tiering orphans --sweep`: what deleted topics and broken copies have left, and its deletion.

    metadata ─▶ files of the store ─▶ metadata again ─▶ which topics the cluster has ─▶ rules.reclaiming
         │ --yes
         └▶ DELETE_SEGMENT_STARTED ─▶ delete the files ─▶ DELETE_SEGMENT_FINISHED ─▶ DeletePartitions (audited)

Each step may be the last: the next sweep goes on where this one ended. A deleted topic has no leader that could claim
its partitions, so a sweep appends under the token of the last one that did, which it read before it asked the cluster.
If anybody has claimed the partition since, the store refuses the sweep, and nothing of the partition is touched. What
the topic's last leader may still do itself are the same steps, and repeating them is no error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guardian.cli.options import now_ms
from guardian.cli.printing import echo
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.units import human_bytes
from guardian.tiering.commands.tiering_gone import batches, by_topic, find_gone, print_gone
from guardian.tiering.commands.tiering_options import counted, partition_json
from guardian.tiering.commands.tiering_seen import Seen, print_strays, strays_json
from guardian.tiering.model import LiveSegment, StoredFile
from guardian.tiering.remote_storage.stores import RemoteStore
from guardian.tiering.rules.reclaiming import GonePartition, Leftovers, leftovers
from guardian.tiering.wire import partition_to_proto
from protos.guardian.v1 import tiering_pb2

NO_BROKER = -1  # who told of a state, where it was no broker
_EVENTS = 5_000  # in one request
_PARTITIONS = 1_000


def find(client: GuardianClient, seen: Seen, store: RemoteStore, older_than_ms: int) -> Leftovers:
    """Find what may be swept, and what not. Changes nothing.

    Raises NotFound, ClusterUnavailable and InvalidInput when the cluster or the store can't be asked.
    """
    before = seen.metadata
    files = list(store.files())
    after = seen.again()
    summaries = seen.summaries()
    held = {file.segment for file in files if file.segment is not None}
    _require_its_store(seen, store, {name.segment_id for name in held})
    with_files = {name.topic_id for name in held}
    asked = {one.partition.topic_id for one in summaries if not one.is_deleted or one.partition.topic_id in with_files}
    gone = find_gone(client, seen.cluster_id, asked)
    scope = seen.scope(store.parts, seen.since_ms)
    return leftovers((before, after), files, scope, summaries, gone, now_ms(), older_than_ms)


def _require_its_store(seen: Seen, store: RemoteStore, held: set[bytes]) -> None:
    finished = [one.id for segments in seen.metadata.values() for one in segments if one.is_finished]
    if finished and held.isdisjoint(finished):
        raise InvalidInput(
            f"--remote is {store.url}, where no file of the {counted(len(finished), 'finished segment')} of cluster "
            f"{seen.cluster} lies: give the root folder of this cluster's store"
        )


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has done. `refused` are partitions that it could not take, each with the reason; with a `fault` the
    store failed in the middle, and what is left is still known."""

    files: tuple[StoredFile, ...] = ()
    segments: int = 0
    partitions: int = 0
    refused: tuple[tuple[GonePartition, str], ...] = ()
    fault: str = ""

    @property
    def reclaimed_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def is_complete(self) -> bool:
        return not self.refused and not self.fault


@dataclass(slots=True)
class _Work:
    """A sweep under way: partitions leave `taken` when the store refuses them."""

    client: GuardianClient
    taken: list[GonePartition]
    refused: list[tuple[GonePartition, str]] = field(default_factory=list)

    def tell(self, state: tiering_pb2.RemoteLogSegmentState) -> None:
        """Puts all segments of what is taken into the state."""
        told = [(one, _tell(self.client, one, state)) for one in self.taken]
        self.taken = [one for one, fault in told if not fault]
        self.refused += [(one, fault) for one, fault in told if fault]


def carry_out(client: GuardianClient, store: RemoteStore, found: Leftovers) -> Swept:
    """Sweeps what may be swept."""
    work = _Work(client, list(found.partitions))
    work.tell(tiering_pb2.DELETE_SEGMENT_STARTED)
    doomed = [file for one in work.taken for file in one.files]
    doomed += [file for one in found.strays for file in one.files]
    deleted: list[StoredFile] = []
    try:
        for file in store.delete(doomed):
            deleted.append(file)
    except InvalidInput as error:
        return Swept(tuple(deleted), refused=tuple(work.refused), fault=str(error))
    work.tell(tiering_pb2.DELETE_SEGMENT_FINISHED)
    heads = [partition_to_proto(one.partition) for one in work.taken if one.has_head]
    for batch in batches(heads, _PARTITIONS):
        client.delete_partitions(batch)
    segments = sum(len(one.segments) for one in work.taken)
    return Swept(tuple(deleted), segments, len(heads), tuple(work.refused))


def _tell(client: GuardianClient, gone: GonePartition, state: tiering_pb2.RemoteLogSegmentState) -> str:
    """Tell the store the state of the segments. Return why it refuses, in one sentence; empty when it does not."""
    for segments in batches(gone.segments, _EVENTS):
        part = tiering_pb2.PartitionEvents(
            partition=partition_to_proto(gone.partition),
            events=[_event(segment, state) for segment in segments],
            fencing_token=gone.fencing_token,
        )
        [result] = client.append_segment_events([part])
        if result.error:
            return result.error
    return ""


def _event(segment: LiveSegment, state: tiering_pb2.RemoteLogSegmentState) -> tiering_pb2.SegmentEvent:
    return tiering_pb2.SegmentEvent(
        segment_id=segment.id, state=state, broker_id=NO_BROKER, event_timestamp_ms=now_ms()
    )


def print_found(found: Leftovers, seen: Seen, store: RemoteStore, older_than: str, limit: int) -> None:
    """All that is left over, as people read it."""
    echo(
        f"Left over of cluster {seen.cluster} in {store.url}: {counted(len(found.files), 'file')} "
        f"({human_bytes(found.file_bytes)}), and {counted(found.segments, 'live segment')} and "
        f"{counted(len(found.partitions), 'partition')} of deleted topics"
    )
    if found.partitions:
        echo()
        print_gone(by_topic(found.partitions, seen.cluster, seen.name))
    if found.strays:
        echo()
        echo("Files that no live segment knows:")
        print_strays(found.strays, seen, limit)
    if found.has_many_strays:
        echo(f"MANY: {found.stray_segments} segments, beside {found.finished} that are known; was Guardian restored?")
    if found.young or found.young_files:
        files = found.young_files + sum(len(one.files) for one in found.young)
        size = human_bytes(found.young_bytes + sum(one.file_bytes for one in found.young))
        partitions = counted(len(found.young), "partition")
        echo()
        echo(f"Left alone, not older than {older_than}: {counted(files, 'file')} ({size}), {partitions}")
    if found.kept:
        echo()
        echo("Never swept; find out whose they are:")
        print_strays(found.kept, seen, limit)


def as_json(found: Leftovers, seen: Seen) -> dict[str, Any]:
    return {
        "deleted_topics": [one.as_json() for one in by_topic(found.partitions, seen.cluster, seen.name)],
        "strays": [strays_json(one, seen) for one in found.strays],
        "files": len(found.files),
        "bytes": found.file_bytes,
        "young_partitions": len(found.young),
        "young_files": found.young_files + sum(len(one.files) for one in found.young),
        "never_swept": [strays_json(one, seen) for one in found.kept],
    }


def print_swept(swept: Swept, seen: Seen) -> None:
    """Print what was done, and what was not."""
    echo()
    echo(
        f"Reclaimed {human_bytes(swept.reclaimed_bytes)}: {counted(len(swept.files), 'file')} deleted, "
        f"{counted(swept.segments, 'segment')} ended, {counted(swept.partitions, 'partition')} of deleted topics "
        "forgotten"
    )
    for one, reason in swept.refused:
        echo(f"Not swept: {seen.name(one.partition.topic_id)}-{one.partition.partition}: {reason}")
    if swept.fault:
        echo(f"Not finished: {swept.fault}; sweep again when that is mended")


def swept_json(swept: Swept, seen: Seen) -> dict[str, Any]:
    return {
        "reclaimed_bytes": swept.reclaimed_bytes,
        "files": len(swept.files),
        "segments": swept.segments,
        "partitions": swept.partitions,
        "refused": [
            {**partition_json(seen.cluster, seen.name(one.partition.topic_id), one.partition), "reason": reason}
            for one, reason in swept.refused
        ],
        "fault": swept.fault,
    }
