"""Tells which brokers serve now, for the lists of clusters and brokers: as the leader's detectors saw them last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.topology import Cluster

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Serving:
    """Hold, by cluster, the brokers that serve, and how many findings there are; a cluster that nobody looked at, or
    that did not answer, is left out of `alive`."""

    alive: Mapping[str, frozenset[int]] = field(default_factory=dict)
    findings: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def seen(client: GuardianClient) -> Serving:
        """Ask the leader; where none answers nothing is known."""
        try:
            report = client.findings()
        except GuardianError:
            return Serving()
        return Serving(
            {seen.cluster: frozenset(seen.alive) for seen in report.brokers},
            Counter(finding.cluster for finding in report.findings),
        )

    def ids(self, cluster: str) -> list[int] | None:
        """Return the brokers that serve; None: not known."""
        alive = self.alive.get(cluster)
        return None if alive is None else sorted(alive)

    def of_broker(self, cluster: str, broker: int) -> str:
        """Return whether a broker serves, in words."""
        alive = self.alive.get(cluster)
        return UNKNOWN if alive is None else "yes" if broker in alive else "NO"

    def of_cluster(self, cluster: Cluster) -> str:
        """Return how many of a cluster's brokers serve, in words; those that are not registered count too."""
        alive = self.alive.get(cluster.name)
        if alive is None:
            return UNKNOWN
        known = alive | {broker.id for broker in cluster.brokers}
        return str(len(alive)) if len(alive) == len(known) else f"{len(alive)} of {len(known)}"

    def findings_of(self, cluster: str) -> str:
        """Return how many findings a cluster has, in words."""
        if cluster not in self.alive and cluster not in self.findings:
            return UNKNOWN
        return str(self.findings.get(cluster, 0))
