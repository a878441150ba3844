"""Topics that a live cluster no longer has, and what is left of them: this process asks the brokers themselves.

Most topics exist, which two brokers are enough to tell. All brokers are asked about the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from guardian.cli.render import human_time, print_table
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.federation.rules.recognizing import require_registered
from guardian.kafka.admin import KafkaAdmin
from guardian.model.text import uuid_text
from guardian.model.topology import Cluster
from guardian.model.units import human_bytes
from guardian.tiering.model import LiveSegment
from guardian.tiering.rules.reclaiming import GonePartition, gone_topics

T = TypeVar("T")

_TIMEOUT_S = 15.0
_ASKED_FIRST = 2
_BATCH = 500  # topics in one question: its answer has all their partitions


def find_gone(client: GuardianClient, cluster_id: str, topic_ids: Collection[bytes]) -> frozenset[bytes]:
    """Those of the topics that the registered cluster no longer has.

    Raises NotFound when it is not registered, ClusterUnavailable and InvalidInput when its brokers can't be asked, or
    too few of them answer to be sure.
    """
    cluster = next((one for one in client.list_clusters() if one.cluster_id == cluster_id), None)
    if cluster is None:
        raise NotFound(
            f"cluster {cluster_id} is not registered, so nobody can be asked which of its topics exist: register it "
            "with `guardian cluster add`"
        )
    with closing(connect_kafka(cluster)) as admin:
        return _gone(admin, cluster, topic_ids)


def connect_kafka(cluster: Cluster) -> KafkaAdmin:
    """Raises InvalidInput where only the CLI is installed."""
    try:
        from guardian.kafka.control import KafkaControl
    except ImportError:
        raise InvalidInput(
            "kafka-python is not installed, so brokers can't be asked which topics exist: run this where a member runs"
        ) from None
    return KafkaControl(cluster, _TIMEOUT_S)


def _gone(admin: KafkaAdmin, cluster: Cluster, topic_ids: Collection[bytes]) -> frozenset[bytes]:
    description = admin.describe_cluster()
    require_registered(cluster, description.cluster_id)
    brokers = sorted(description.brokers)
    suspects = set(topic_ids)
    for batch in batches(topic_ids, _BATCH):
        for view in admin.seen_by(brokers[:_ASKED_FIRST], batch).values():
            suspects -= {topic for topic, _ in view.leaders}
    known = {broker.id for broker in cluster.brokers} | set(brokers)
    gone = [
        gone_topics(batch, admin.seen_by(brokers, batch), known, cluster.name) for batch in batches(suspects, _BATCH)
    ]
    return frozenset[bytes]().union(*gone)


@dataclass(frozen=True, slots=True)
class GoneTopic:
    cluster: str
    name: str
    partitions: tuple[GonePartition, ...]

    @property
    def segments(self) -> tuple[LiveSegment, ...]:
        return tuple(segment for one in self.partitions for segment in one.segments)

    @property
    def live_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def files(self) -> int:
        return sum(len(one.files) for one in self.partitions)

    @property
    def last_sign_ms(self) -> int:
        return max(one.last_sign_ms for one in self.partitions)

    def as_json(self) -> dict[str, Any]:
        first = self.partitions[0].partition
        return {
            "cluster": self.cluster,
            "cluster_id": first.cluster_id,
            "topic": self.name,
            "topic_id": uuid_text(first.topic_id),
            "partitions": len(self.partitions),
            "live_segments": len(self.segments),
            "live_bytes": self.live_bytes,
            "files": self.files,
            "file_bytes": sum(one.file_bytes for one in self.partitions),
            "last_sign_ms": self.last_sign_ms,
        }


def by_topic(partitions: Sequence[GonePartition], cluster: str, name: Callable[[bytes], str]) -> tuple[GoneTopic, ...]:
    """`name` gives a topic's name for its id. The partitions come sorted."""
    grouped = itertools.groupby(partitions, key=lambda one: one.partition.topic_id)
    return tuple(GoneTopic(cluster, name(topic_id), tuple(found)) for topic_id, found in grouped)


def print_gone(topics: Sequence[GoneTopic]) -> None:
    numbers = ("PARTITIONS", "SEGMENTS", "SIZE", "FILES")
    print_table(
        ("CLUSTER", "DELETED TOPIC", *numbers, "LAST SIGN OF LIFE"),
        [
            (
                topic.cluster,
                topic.name,
                str(len(topic.partitions)),
                str(len(topic.segments)),
                human_bytes(topic.live_bytes),
                str(topic.files) if topic.files else "-",
                human_time(topic.last_sign_ms),
            )
            for topic in topics
        ],
        right=numbers,
    )


def batches(items: Collection[T], size: int) -> list[list[T]]:
    """Split the items into lists of `size` at most, in their order."""
    left = iter(items)
    return list(iter(lambda: list(itertools.islice(left, size)), []))
