"""Which brokers are on one host, whatever cluster they are in: each of them sees all of its host's CPU and disks.

A broker's id says nothing outside its cluster, so hosts are looked up in the directory of the whole federation, before
what belongs to other clusters is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from guardian.model.directory import Directory


@dataclass(frozen=True, slots=True)
class Host:
    """`brokers`: how many there are on it, of all clusters."""

    name: str
    brokers: int = 1


Hosts = Mapping[int, Host]
"""By broker of one cluster; those of which nothing is known are left out."""


def hosts_of(directory: Directory) -> dict[str, Hosts]:
    """Return by cluster which brokers are on one host. A machine's entry is right about its host, else the endpoint of
    its reporter tells.
    """
    names = {(machine.cluster, machine.broker_id): machine.host for machine in directory.machines if machine.cluster}
    for cluster in directory.clusters:
        for broker in cluster.brokers:
            names.setdefault((cluster.name, broker.id), broker.reporter_endpoint.rpartition(":")[0])
    counts = Counter(names.values())
    found: dict[str, dict[int, Host]] = {}
    for (name, broker_id), host in names.items():
        if host:
            found.setdefault(name, {})[broker_id] = Host(host, counts[host])
    return dict(found)


def brokers_on(hosts: Hosts, broker_id: int) -> int:
    host = hosts.get(broker_id)
    return host.brokers if host else 1
