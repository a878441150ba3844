"""Asks Kafka now for what faults are predicted by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guardian.health.loop.durability_facts import durability_facts
from guardian.kafka.admin import BROKER, KafkaAdmin
from guardian.model.faults.cluster import UNKNOWN_QUORUM, Cluster
from guardian.model.faults.times import SETTINGS, Times
from guardian.model.topology import Cluster as Registered


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
