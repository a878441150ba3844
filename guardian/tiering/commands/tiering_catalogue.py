"""Topics with tiered-storage metadata under the names that people have for them.

The store knows topics by their ids. Names come from the leaders' claims, else from the topic directory; a topic that
neither names goes by its id, as Kafka prints it. Clusters that are registered go by their names, others by Kafka's id.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.model.text import uuid_text
from guardian.tiering.model import LiveSegment, PartitionSummary, TopicIdPartition
from guardian.tiering.wire import live_segment_from_proto, partition_to_proto, summary_from_proto
from protos.guardian.v1 import federation_pb2

_READERS = 8  # partitions whose segments are asked for at once
_BATCH = 256

_Directory = Callable[[], Mapping[tuple[str, bytes], str]]


@dataclass(frozen=True, slots=True)
class TieredTopic:
    """One incarnation of a topic: made again, it has another id. `cluster` is what people call the cluster."""

    cluster: str
    cluster_id: str
    topic_id: bytes
    name: str
    partitions: tuple[PartitionSummary, ...]  # deleted ones too, in their order

    @property
    def existing(self) -> tuple[PartitionSummary, ...]:
        return tuple(one for one in self.partitions if not one.is_deleted)

    def partition(self, number: int) -> PartitionSummary:
        """Raises NotFound."""
        for one in self.partitions:
            if one.partition.partition == number:
                return one
        numbers = [one.partition.partition for one in self.existing]
        known = f"partitions {_ranges(numbers)} are" if numbers else "none is"
        raise NotFound(f"partition {number} of topic {self.name} has no tiered-storage metadata: {known} known")


@dataclass(frozen=True, slots=True)
class Catalogue:
    topics: tuple[TieredTopic, ...]

    def clusters(self) -> dict[str, str]:
        """Return by cluster id what people call the cluster."""
        return {topic.cluster_id: topic.cluster for topic in self.topics}

    def topic(self, text: str) -> TieredTopic:
        """The topic of this name or id; of one that was made again, the one that was claimed last.

        Raises NotFound, naming those near, and InvalidInput where several have the name.
        """
        found = [topic for topic in self.topics if text in (topic.name, uuid_text(topic.topic_id))]
        existing = [topic for topic in found if topic.existing]
        if len(existing) > 1 and len({topic.cluster_id for topic in existing}) > 1:
            clusters = ", ".join(sorted({topic.cluster for topic in existing}))
            raise InvalidInput(f"topic {text} is in several clusters: say with --cluster which one, of {clusters}")
        existing.sort(key=_last_claimed_ms, reverse=True)
        if len(existing) > 1 and _last_claimed_ms(existing[0]) == _last_claimed_ms(existing[1]):
            ids = ", ".join(uuid_text(topic.topic_id) for topic in existing)
            raise InvalidInput(f"topic {text} was made more than once: give one of its ids instead, {ids}")
        if existing or found:
            return (existing or found)[0]
        raise NotFound(
            f"topic {text} has no tiered-storage metadata{_near(text, [topic.name for topic in self.topics])}"
        )


def read_catalogue(client: GuardianClient, cluster: str = "") -> Catalogue:
    """Read the catalogue of one cluster, by name or id, or of all. Raises NotFound for a cluster that nobody has heard
    of.
    """
    names = {one.cluster_id: one.name for one in client.list_clusters() if one.cluster_id}
    cluster_id = {name: id_ for id_, name in names.items()}.get(cluster, cluster)
    summaries = [summary_from_proto(one) for one in client.list_partitions(cluster_id)]
    if cluster and not summaries and cluster_id not in names:
        others = {names.get(one.partition.cluster_id, one.partition.cluster_id) for one in client.list_partitions()}
        raise NotFound(
            f"cluster {cluster} is not registered, and has no tiered-storage metadata"
            f"{_near(cluster, {*names.values(), *others})}"
        )
    return catalogue(summaries, names, lambda: _directory(client))


def catalogue(
    summaries: Iterable[PartitionSummary],
    cluster_names: Mapping[str, str],
    directory: _Directory,
) -> Catalogue:
    """`directory` is asked only for names that the claims don't have: by cluster's name and topic id, the topic's."""
    listed: Mapping[tuple[str, bytes], str] | None = None
    topics = []
    by_topic = sorted(summaries, key=attrgetter("partition"))
    for (cluster_id, topic_id), found in itertools.groupby(by_topic, key=lambda one: one.partition[:2]):
        partitions = tuple(found)
        cluster = cluster_names.get(cluster_id, cluster_id)
        name = _claimed_name(partitions)
        if not name:
            listed = directory() if listed is None else listed
            name = listed.get((cluster, topic_id), "")
        topics.append(TieredTopic(cluster, cluster_id, topic_id, name or uuid_text(topic_id), partitions))
    return Catalogue(tuple(sorted(topics, key=lambda topic: (topic.cluster, topic.name))))


def live_segments(
    client: GuardianClient, summaries: Iterable[PartitionSummary]
) -> Iterator[tuple[PartitionSummary, tuple[LiveSegment, ...]]]:
    """The segments of each partition, in their order; of none, without asking, where there are none."""

    def ask(summary: PartitionSummary) -> tuple[LiveSegment, ...]:
        return partition_segments(client, summary.partition) if summary.live_segments else ()

    todo = iter(summaries)
    with ThreadPoolExecutor(_READERS) as readers:
        while batch := list(itertools.islice(todo, _BATCH)):
            yield from zip(batch, readers.map(ask, batch), strict=True)


def partition_segments(client: GuardianClient, partition: TopicIdPartition) -> tuple[LiveSegment, ...]:
    """None when the partition is deleted."""
    try:
        found = client.list_live_segments(partition_to_proto(partition)).segments
    except NotFound:
        return ()
    return tuple(map(live_segment_from_proto, found))


def _directory(client: GuardianClient) -> dict[tuple[str, bytes], str]:
    entries = (entry.topic for entry in client.federation(federation_pb2.TOPICS))
    return {(topic.cluster, topic.topic_id): topic.name for topic in entries if topic.topic_id}


def _claimed_name(partitions: Sequence[PartitionSummary]) -> str:
    """Return the topic's name as the newest claim has it; empty: no claim names it."""
    claims = [one.claim for one in partitions if one.claim is not None and one.claim.topic]
    return max(claims, key=attrgetter("claimed_at_ms")).topic if claims else ""


def _last_claimed_ms(topic: TieredTopic) -> int:
    return max((one.claim.claimed_at_ms for one in topic.existing if one.claim is not None), default=0)


def _near(text: str, names: Iterable[str]) -> str:
    known = sorted(set(names))
    if not known:
        return ": none has any"
    near = difflib.get_close_matches(text, known, n=5, cutoff=0.6)
    near += [name for name in known if text.lower() in name.lower() and name not in near]
    if near:
        return f": did you mean {', '.join(near[:5])}?"
    return f": known are {', '.join(known[:5])}" + (f" and {len(known) - 5} more" if len(known) > 5 else "")


def _ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 5 -> 0-2, 5"""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
