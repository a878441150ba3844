"""Effects become admin calls; what Kafka refused comes back as data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from guardian.errors import ClusterUnavailable
from guardian.kafka.admin import TOPIC, ConfigResource, KafkaAdmin
from guardian.model.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    Effect,
    ElectLeaders,
    RequestEffect,
    SettleDebts,
    about,
    was_never_set,
)
from guardian.model.quota import QuotaEntity
from guardian.model.topology import TopicPartition
from guardian.settings.rules import CLIENT, name_of, quota_configs

MIN_INSYNC = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Refusals by partition, for the tasks' details, sentences about configurations that were not changed, and what a
    controller says it has put back on brokers that are down."""

    refusals: Mapping[TopicPartition, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settled: frozenset[ConfigKey] = frozenset()


def send(admin: KafkaAdmin, effect: Effect) -> Outcome:
    """Carries out one effect. Raises ClusterUnavailable; then it may or may not have reached Kafka."""
    match effect:
        case AlterConfigs(changes):
            return Outcome(notes=_alter_configs(admin, changes))
        case AlterReassignments(targets, changes_replication_factor):
            return Outcome(_reassign(admin, targets, changes_replication_factor))
        case SettleDebts(values):
            return _settle(admin, values)
        case CreateTopics() | CreatePartitions():
            return Outcome(_create(admin, effect))
        case AlterReplicaLogDirs(moved, ahead):
            not_moved = admin.alter_replica_log_dirs(moved)
            return Outcome({} if ahead else {partition: why for (partition, _), why in not_moved.items()})
        case ElectLeaders(partitions):
            return Outcome(admin.elect_preferred_leaders(partitions))


def send_request(admin: KafkaAdmin, effect: RequestEffect) -> tuple[str, ...]:
    """Send what a ticket without moves asks for, and return what Kafka refused, in words.

    Raises InvalidInput for access rules when the cluster has no authorizer.
    """
    refused: Mapping[Any, str]
    match effect:
        case CreateAcls(acls):
            refused = admin.create_acls(acls)
        case DeleteAcls(acls):
            refused = admin.delete_acls(acls)
        case DeleteTopics(ids):
            refused = admin.delete_topics(ids)
        case CreateTopics(topics):
            refused = admin.create_topics(topics)
        case AlterConfigs(changes):
            return _alter_configs(admin, changes)
    return tuple(about(each, why) for each, why in sorted(refused.items()))


def _create(admin: KafkaAdmin, effect: CreateTopics | CreatePartitions) -> Mapping[TopicPartition, str]:
    if isinstance(effect, CreatePartitions):
        refused = admin.create_partitions(effect.assignments)
        return {each: refused[each.topic] for each in effect.assignments if each.topic in refused}
    refused = admin.create_topics(effect.topics)
    made = (TopicPartition(name, number) for name in refused for number in effect.topics[name].assignments)
    return {partition: refused[partition.topic] for partition in made}


def _reassign(
    admin: KafkaAdmin,
    targets: Mapping[TopicPartition, tuple[int, ...] | None],
    changes_replication_factor: bool,
) -> Mapping[TopicPartition, str]:
    """A replication factor never goes below what acks=all needs: that is read once more, right before."""
    if not changes_replication_factor:
        return admin.alter_reassignments(targets)
    least = min_insync(admin, {partition.topic for partition in targets})
    refused = {
        partition: f"{len(brokers)} replicas are fewer than {MIN_INSYNC} {least.get(partition.topic, 'that it has')}"
        for partition, brokers in targets.items()
        if brokers is not None and len(brokers) < least.get(partition.topic, len(brokers) + 1)
    }
    allowed = {partition: brokers for partition, brokers in targets.items() if partition not in refused}
    if not allowed:
        return refused
    return refused | admin.alter_reassignments(allowed, True)


def min_insync(admin: KafkaAdmin, topics: Collection[str]) -> dict[str, int]:
    """min.insync.replicas of these topics, as in force; one that can't be read is left out."""
    found = admin.effective_configs([(TOPIC, topic) for topic in sorted(topics)], [MIN_INSYNC])
    return {name: int(values[MIN_INSYNC]) for (_, name), values in found.items() if MIN_INSYNC in values}


def _settle(admin: KafkaAdmin, values: Mapping[ConfigKey, str | None]) -> Outcome:
    """A broker that is down costs nobody anything while no controller can be reached: that stops nothing else. One that
    was unregistered will never read its configuration, which any broker can tell."""
    registered = admin.registered_brokers()
    gone = frozenset(key for key in values if registered is not None and int(key.resource_name) not in registered)
    writes: dict[ConfigResource, dict[str, str | None]] = {}
    for key, value in values.items():
        if key not in gone:
            writes.setdefault((key.resource_type, key.resource_name), {})[key.key] = value
    if not writes:
        return Outcome(settled=gone)
    brokers = ", ".join(sorted(name for _, name in writes))
    try:
        refused = admin.alter_configs_through_controller(writes)
    except ClusterUnavailable as error:
        waits = f"the configuration of {brokers} waits for a controller, or its broker: {error}"
        return Outcome(notes=(waits,), settled=gone)
    refused = {
        resource: why
        for resource, why in refused.items()
        if not all(was_never_set(key, value, why) for key, value in writes[resource].items())
    }
    notes = [f"a controller refused to configure broker {name}: {why}" for (_, name), why in refused.items()]
    settled = frozenset(key for key in values if (key.resource_type, key.resource_name) not in refused)
    return Outcome(notes=tuple(notes), settled=settled)


def _alter_configs(admin: KafkaAdmin, changes: Mapping[ConfigKey, ConfigChange]) -> tuple[str, ...]:
    """Kafka has no compare-and-set, so the present values are read once more, right before."""
    resources = {key[:2] for key in changes if key.resource_type != CLIENT}
    present = admin.describe_configs(resources, {key.key for key in changes}) if resources else {}
    if any(key.resource_type == CLIENT for key in changes):
        present |= quota_configs(admin.describe_client_quotas(), changes)
    notes: list[str] = []
    writes: dict[ConfigResource, dict[str, str | None]] = {}
    for key, change in changes.items():
        if key[:2] in present and present[key[:2]].get(key.key) == change.expected:
            writes.setdefault(key[:2], {})[key.key] = change.value
        else:
            notes.append(f"{key.key} of {name_of(key)} changed meanwhile and is looked at again")
    quotas = {
        QuotaEntity.of_name(name): {key: None if value is None else float(value) for key, value in values.items()}
        for (kind, name), values in writes.items()
        if kind == CLIENT
    }
    configs = {resource: values for resource, values in writes.items() if resource[0] != CLIENT}
    refused = {str(entity): why for entity, why in admin.alter_client_quotas(quotas).items()} if quotas else {}
    answers = admin.alter_configs(configs) if configs else {}
    refused |= {f"{kind.lower()} {name}": why for (kind, name), why in answers.items()}
    return (*notes, *(about(f"Kafka refused to configure {name}", why) for name, why in refused.items()))
