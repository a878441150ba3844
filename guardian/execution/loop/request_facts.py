"""Read what a ticket without moves is decided from: access rules, topics, and who uses them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka.admin import TOPIC, KafkaAdmin
from guardian.model.acl import AclBinding
from guardian.model.cluster_state import PartitionState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.requested import Facts, Query, TopicForm, TopicUse


class Uses(NamedTuple):
    """Report who used topics, as all brokers have counted it up to `until_ms`; `gap` says what is missing, empty:
    nothing."""

    by_topic: Mapping[str, TopicUse]
    gap: str = ""
    until_ms: int = 0


# (cluster, topics, brokers, since in ms) -> when clients last used the topics since then, as the brokers have counted
# them. Raises GuardianError.
TopicUses = Callable[[str, Collection[str], Collection[int], int], Uses]


def read_facts(admin: KafkaAdmin, cluster: str, query: Query, uses: TopicUses | None) -> Facts:
    """Return the cluster as it is now. Raises ClusterUnavailable, and InvalidInput without an authorizer."""
    brokers = frozenset(admin.describe_cluster().brokers) if query.brokers else frozenset()
    acls = _acls(admin, query)
    topics = _topics(admin, query.topics) if query.topics else {}
    if not query.used_since_ms:
        return Facts(brokers, acls, topics)
    hosts = {broker for topic in topics.values() for replicas in topic.replicas for broker in replicas}
    telling = brokers | (admin.registered_brokers() or {}).keys() | hosts
    found = _uses(admin, cluster, query, telling, uses)
    return Facts(brokers, acls, topics, found.by_topic, not found.gap, found.until_ms, found.gap)


def _acls(admin: KafkaAdmin, query: Query) -> tuple[AclBinding, ...]:
    if not (query.acls or query.acls_if_any):
        return ()
    try:
        return admin.describe_acls()
    except InvalidInput:  # without an authorizer there are none
        if query.acls_if_any:
            return ()
        raise


def _topics(admin: KafkaAdmin, names: Collection[str]) -> dict[str, TopicForm]:
    """Return the topics that exist, each whole: its id, every partition, its configuration."""
    ids = admin.topic_ids(names)
    partitions = admin.describe_partitions(names)
    configs = admin.describe_configs([(TOPIC, name) for name in names])
    silent = [name for name in ids if (TOPIC, name) not in configs or not _replicas(name, partitions)]
    if silent:  # what is not told must not be taken for a topic that is gone
        raise ClusterUnavailable(f"topic {silent[0]} is known, and no broker tells all of it: it is looked at again")
    return {name: TopicForm(ids[name], _replicas(name, partitions), configs[TOPIC, name]) for name in ids}


def _replicas(topic: str, partitions: Mapping[TopicPartition, PartitionState]) -> tuple[tuple[int, ...], ...]:
    numbers = sorted(each.partition for each in partitions if each.topic == topic)
    return tuple(partitions[TopicPartition(topic, number)].replicas for number in numbers)


def _uses(admin: KafkaAdmin, cluster: str, query: Query, brokers: Collection[int], uses: TopicUses | None) -> Uses:
    if uses is None:
        return Uses({}, "no client activity is kept (audit.url)")
    try:
        found = uses(cluster, query.topics, brokers, query.used_since_ms)
    except InvalidInput as error:
        return Uses({}, str(error))
    members = admin.group_members()
    silent = "" if not members.silent else f"coordinators {sorted(members.silent)} did not tell their consumer groups"
    groups: dict[str, set[str]] = {}
    for member in members.members:
        for topic, _ in member.partitions:
            groups.setdefault(topic, set()).add(member.group)
    by_topic = {
        topic: replace(found.by_topic.get(topic, TopicUse()), groups=tuple(sorted(groups.get(topic, ()))))
        for topic in query.topics
    }
    return Uses(by_topic, "; ".join(filter(None, (found.gap, silent))), found.until_ms)
