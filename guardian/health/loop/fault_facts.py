"""Asks Kafka now for what faults are predicted by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from guardian.health.loop.durability_facts import durability_facts
from guardian.kafka.admin import BROKER, KafkaAdmin
from guardian.model.faults.cluster import UNKNOWN_QUORUM, Cluster, brokers_hit
from guardian.model.faults.fault import Fault
from guardian.model.faults.times import SETTINGS, Times
from guardian.model.topology import Cluster as Registered
from guardian.model.topology import TopicPartition

_METADATA_DIR, _LOG_DIRS, _LOG_DIR = "metadata.log.dir", "log.dirs", "log.dir"


def cluster_now(admin: KafkaAdmin, cluster: Registered, patterns: Iterable[str], client: Mapping[str, str]) -> Cluster:
    """Return the topics that are wanted (none: all), brokers, controllers and times. Raises ClusterUnavailable, and
    Undecided while no controller answers."""
    topics, brokers = durability_facts(admin, cluster, patterns)
    alive = [(BROKER, str(broker)) for broker, place in brokers.items() if place.is_alive]
    slowest: dict[str, str] = {}
    for values in admin.effective_configs(alive, SETTINGS).values():
        for key, value in values.items():
            slowest[key] = max(slowest.get(key, value), value, key=int)
    quorum = admin.describe_quorum()
    controllers = (quorum.leader, *sorted(quorum.voters - {quorum.leader})) if quorum is not None else UNKNOWN_QUORUM
    is_kept = admin.eligible_leaders(()).is_kept
    return Cluster(topics, brokers, is_kept, controllers, Times.of_config(slowest, client))


def with_log_dirs(admin: KafkaAdmin, now: Cluster, fault: Fault) -> Cluster:
    """Return the cluster with the log dirs of the brokers that the fault hits, if it is about some. Raises
    ClusterUnavailable, and InvalidInput for a broker, a rack or an IDC that is not there."""
    if not fault.log_dirs:
        return now
    hit = brokers_hit(now, fault)
    names = [TopicPartition(topic, number) for topic, facts in now.topics.items() for number in facts.partitions]
    alive = [(BROKER, str(each)) for each in sorted(hit) if now.brokers[each].is_alive]
    configs = admin.effective_configs(alive, {_METADATA_DIR, _LOG_DIRS, _LOG_DIR})
    metadata_dirs = {int(broker): metadata_dir(values) for (_, broker), values in configs.items()}
    return replace(now, log_dirs=admin.describe_log_dirs(hit, names), metadata_dirs=metadata_dirs)


def metadata_dir(config: Mapping[str, str]) -> str:
    """Return the log dir that has a broker's metadata log: Kafka takes the first one unless it is told; empty if
    unknown."""
    first, *_ = (config.get(_METADATA_DIR) or config.get(_LOG_DIRS) or config.get(_LOG_DIR) or "").split(",")
    return str(PurePosixPath(first.strip())) if first.strip() else ""
