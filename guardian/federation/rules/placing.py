"""Where a topic's replicas may stand, by labels alone: the same rule as the planners', without their arrays.

the topic has a label               brokers with that label
its tenant has labels               brokers with one of those
neither                             brokers without a label, or with a shared one
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from guardian.model.federation import Tenant, Topic


def labels_by_topic(topics: Iterable[Topic], tenants: Iterable[Tenant]) -> dict[str, tuple[str, ...]]:
    """Return by name the labels of those topics of one cluster that live on labelled brokers."""
    labels_of = {tenant.name: tenant.labels for tenant in tenants}
    found = {topic.name: (topic.label,) if topic.label else labels_of.get(topic.tenant, ()) for topic in topics}
    return {name: labels for name, labels in found.items() if labels}


def suits(broker_label: str, topic_labels: Collection[str], shared: Collection[str]) -> bool:
    """Return whether a broker with this label may hold a topic with those; none: the topic has no place of its own."""
    if topic_labels:
        return broker_label in topic_labels
    return not broker_label or broker_label in shared
