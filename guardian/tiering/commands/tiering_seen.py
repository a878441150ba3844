"""The metadata of one cluster as it is compared with its remote store, and the files that belong to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guardian.cli.options import now_ms
from guardian.cli.output_more import more_of
from guardian.cli.render import human_time, print_table
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.model.text import uuid_text
from guardian.model.units import human_bytes
from guardian.tiering.commands.tiering_catalogue import Catalogue, live_segments, read_catalogue
from guardian.tiering.commands.tiering_options import warn_of_the_rest
from guardian.tiering.model import FileKind, PartitionSummary, TopicIdPartition
from guardian.tiering.rules.comparing import Metadata, Scope, StrayReason, Strays


class Seen:
    """The metadata of one cluster, read as often as it is needed."""

    def __init__(self, client: GuardianClient, cluster: str) -> None:
        self._client = client
        self.since_ms = now_ms()
        self._all = read_catalogue(client)
        self.cluster_id, self.cluster = self._chosen(cluster)
        self.metadata = self._read(self._all)

    def again(self, doubtful: set[tuple[bytes, int]] | None = None) -> Metadata:
        """The metadata as it is now: all of it, or where it matters, of these partitions by topic id and number."""
        self._all = read_catalogue(self._client)
        if doubtful is None:
            return self._read(self._all)
        sure = {partition: held for partition, held in self.metadata.items() if partition[1:] not in doubtful}
        return {**sure, **self._read(self._all, doubtful)}

    def summaries(self) -> tuple[PartitionSummary, ...]:
        """Return the cluster's partitions, deleted ones too, as of the last time that the metadata was read."""
        topics = (topic for topic in self._all.topics if topic.cluster_id == self.cluster_id)
        return tuple(one for topic in topics for one in topic.partitions)

    def scope(self, parts: frozenset[FileKind], young_since_ms: int) -> Scope:
        """Return the scope of a comparison, as of the last time that the metadata was read."""
        ours = self.summaries()
        return Scope(
            self.cluster_id,
            parts,
            partitions=frozenset(one.partition for one in ours if not one.is_deleted),
            deleted=frozenset(one.partition for one in ours if one.is_deleted),
            elsewhere=frozenset(topic.topic_id for topic in self._all.topics if topic.cluster_id != self.cluster_id),
            young_since_ms=young_since_ms,
        )

    def name(self, topic_id: bytes, fallback: str = "") -> str:
        found = next((topic.name for topic in self._all.topics if topic.topic_id == topic_id), "")
        return found or fallback or uuid_text(topic_id)

    def _chosen(self, cluster: str) -> tuple[str, str]:
        """The cluster's id, and what people call it."""
        known = self._all.clusters()
        if cluster:
            read = {name: id_ for id_, name in known.items()}
            id_ = read.get(cluster, cluster)
            if id_ not in known:
                read_catalogue(self._client, cluster)  # says what is near, when nobody has heard of it
                raise NotFound(f"cluster {cluster} has no tiered-storage metadata: its brokers never wrote any")
            return id_, known[id_]
        if len(known) == 1:
            return next(iter(known.items()))
        if not known:
            raise NotFound("no cluster has tiered-storage metadata: no broker ever wrote any")
        names = ", ".join(sorted(known.values()))
        raise InvalidInput(
            f"--cluster is missing, and several have tiered-storage metadata: say whose store it is, of {names}"
        )

    def _read(self, found: Catalogue, only: set[tuple[bytes, int]] | None = None) -> Metadata:
        wanted = [
            one
            for topic in found.topics
            if topic.cluster_id == self.cluster_id
            for one in topic.existing
            if only is None or one.partition[1:] in only
        ]
        read: dict[TopicIdPartition, Any] = {}
        for summary, segments in live_segments(self._client, wanted):
            read[summary.partition] = segments
        return read


def print_strays(strays: Sequence[Strays], seen: Seen, limit: int) -> None:
    """A table of their places."""
    shown = strays[:limit] if limit else strays
    print_table(
        ("PARTITION", "FILES", "SIZE", "NEWEST", "WHY", "SUCH AS"),
        [
            (
                _place(one, seen),
                str(len(one.files)),
                human_bytes(one.size_bytes),
                human_time(one.newest_ms),
                one.reason.value,
                one.files[0].path,
            )
            for one in shown
        ],
        right=("FILES", "SIZE"),
        more=more_of(shown, "topic_id", "partition"),
    )
    warn_of_the_rest(len(shown), len(strays), "place", "More: --limit, or -o json")


def strays_json(strays: Strays, seen: Seen) -> dict[str, Any]:
    """The same for machines, one place."""
    return {
        "topic": seen.name(strays.topic_id, strays.topic) if strays.topic_id else None,
        "topic_id": uuid_text(strays.topic_id) or None,
        "partition": strays.partition if strays.topic_id else None,
        "reason": strays.reason.name,
        "files": len(strays.files),
        "bytes": strays.size_bytes,
        "newest_ms": strays.newest_ms,
        "example": strays.files[0].path,
    }


def _place(strays: Strays, seen: Seen) -> str:
    if strays.reason is StrayReason.NOT_OURS:
        return "-"
    return f"{seen.name(strays.topic_id, strays.topic)}-{strays.partition}"
