"""What people have told Guardian about the federation, as one value: for who decides far from the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from guardian.errors import InvalidInput
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import Broker, Cluster


@dataclass(frozen=True, slots=True)
class Directory:
    """Clusters with their brokers' IDCs, racks and labels; machines, tenants, topics, policies, exclusions; lines."""

    clusters: tuple[Cluster, ...] = ()
    machines: tuple[Machine, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    topics: tuple[Topic, ...] = ()
    policies: tuple[IdcPolicy, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    links: LinkSettings = field(default_factory=LinkSettings)

    def cluster(self, name: str) -> Cluster | None:
        return next((cluster for cluster in self.clusters if cluster.name == name), None)

    def policy(self, name: str) -> IdcPolicy:
        """Raises InvalidInput when there is no such policy."""
        for policy in self.policies:
            if policy.name == name:
                return policy
        known = ", ".join(sorted(policy.name for policy in self.policies)) or "none yet"
        raise InvalidInput(
            f"policy is {name!r}, which is not known: use one of {known}, or add it (guardian idc-policy)"
        )

    def topic(self, cluster: str, name: str) -> Topic | None:
        return next((topic for topic in self.topics if (topic.cluster, topic.name) == (cluster, name)), None)

    def topics_of(self, cluster: str) -> list[Topic]:
        return [topic for topic in self.topics if topic.cluster == cluster]

    def free_machines(self) -> tuple[Machine, ...]:
        return tuple(machine for machine in self.machines if not machine.cluster)

    def brokers_of(self, name: str) -> dict[int, Broker]:
        """Return the placed brokers of one cluster, as `placed_brokers`."""
        cluster = self.cluster(name)
        return placed_brokers(name, cluster.brokers if cluster is not None else (), self.machines)

    def of_cluster(self, name: str) -> Directory:
        """Return the directory without what belongs to other clusters; machines that are free stay."""
        return Directory(
            clusters=tuple(cluster for cluster in self.clusters if cluster.name == name),
            machines=tuple(machine for machine in self.machines if machine.cluster in ("", name)),
            tenants=self.tenants,
            topics=tuple(topic for topic in self.topics if topic.cluster == name),
            policies=self.policies,
            exclusions=tuple(exclusion for exclusion in self.exclusions if exclusion.cluster == name),
            links=self.links,
        )


def placed(broker: Broker, machine: Machine | None) -> Broker:
    """The broker with the label and the IDC that count for it: its own, else those of its machine."""
    if machine is None:
        return broker
    return replace(broker, label=broker.label or machine.label, idc=broker.idc or machine.idc)


def placed_brokers(cluster: str, brokers: Iterable[Broker], machines: Iterable[Machine]) -> dict[int, Broker]:
    """The cluster's brokers by id, each with the label and the IDC that count for it; those that only a machine names
    are there too. `machines` may be those of other clusters as well."""
    on = {machine.broker_id: machine for machine in machines if machine.cluster == cluster}
    known = {broker: Broker(broker) for broker in on} | {broker.id: broker for broker in brokers}
    return {number: placed(broker, on.get(number)) for number, broker in known.items()}
