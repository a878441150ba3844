"""The topic in which Kafka's own manager keeps segments, read whole by this process itself."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from guardian.cli.waiting import Progress
from guardian.errors import InvalidInput
from guardian.federation.rules.recognizing import require_registered
from guardian.model.topology import Cluster
from guardian.tiering.commands.tiering_gone import connect_kafka
from guardian.tiering.rules.topic_folding import MetadataFold, Place

TOPIC = "__remote_log_metadata"
_NO_CLIENT = "confluent-kafka is not installed, which reads the topic: pip install confluent-kafka where this runs"


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """All that the topic held when it was asked. `lost_records` is how many were removed from its partitions' starts
    before."""

    fold: MetadataFold
    lost_records: int = 0


def read_topic(cluster: Cluster) -> ReadTopic:
    """Reads the topic from its beginning to where it ends now.

    Raises NotFound when the cluster does not have it, ClusterUnavailable when it can't be read or another cluster
    answers, InvalidInput where the client is not installed or the login can't be read.
    """
    try:
        from guardian.kafka import data
    except ImportError:
        raise InvalidInput(_NO_CLIENT) from None
    with closing(connect_kafka(cluster)) as admin:
        require_registered(cluster, admin.describe_cluster().cluster_id)
    starts, ends = data.start_offsets(cluster, [TOPIC]), data.end_offsets(cluster, [TOPIC])
    progress = Progress(f"Read {{done}} of {{total}} records of {TOPIC}", sum(ends.values()) - sum(starts.values()))
    fold = MetadataFold(cluster.cluster_id)
    for record in data.records_between(cluster, starts, ends):
        fold.add(Place(record.partition, record.offset), record.value)
        progress.at(fold.records)
    return ReadTopic(fold, sum(starts.values()))
