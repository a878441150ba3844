"""Effects become admin calls; what Kafka refused comes back as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.core.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    Effect,
    ElectLeaders,
)
from guardian.kafka.admin import ConfigResource, KafkaAdmin
from guardian.model.topology import TopicPartition


@dataclass(frozen=True, slots=True)
class Outcome:
    """Refusals by partition, for the tasks' details, and sentences about configurations that were not changed."""

    refusals: Mapping[TopicPartition, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def send(admin: KafkaAdmin, effect: Effect) -> Outcome:
    """Carries out one effect. Raises ClusterUnavailable; then it may or may not have reached Kafka."""
    match effect:
        case AlterConfigs(changes):
            return Outcome(notes=_alter_configs(admin, changes))
        case AlterReassignments(targets):
            return Outcome(admin.alter_reassignments(targets))
        case AlterReplicaLogDirs(moved, ahead):
            refused = admin.alter_replica_log_dirs(moved)
            return Outcome({} if ahead else {partition: why for (partition, _), why in refused.items()})
        case ElectLeaders(partitions):
            return Outcome(admin.elect_preferred_leaders(partitions))


def _alter_configs(admin: KafkaAdmin, changes: Mapping[ConfigKey, ConfigChange]) -> tuple[str, ...]:
    """Kafka has no compare-and-set, so the present values are read once more, right before."""
    present = admin.describe_configs({(key.resource_type, key.resource_name) for key in changes})
    notes: list[str] = []
    writes: dict[ConfigResource, dict[str, str | None]] = {}
    for key, change in changes.items():
        resource = (key.resource_type, key.resource_name)
        value = present.get(resource, {}).get(key.key)
        if resource in present and value == change.expected:
            writes.setdefault(resource, {})[key.key] = change.value
        else:
            notes.append(f"{key.key} of {' '.join(resource).lower()} changed meanwhile and is looked at again")
    refused = admin.alter_configs(writes) if writes else {}
    notes += [f"Kafka refused to configure {' '.join(resource).lower()}: {why}" for resource, why in refused.items()]
    return tuple(notes)
