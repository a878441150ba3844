"""What Kafka shows of clusters now, as a member reads it: the one who says which brokers live, whoever plans."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.cluster_state import LiveFacts


def shown_by_kafka(
    client: GuardianClient, clusters: Sequence[str]
) -> tuple[dict[str, LiveFacts], dict[str, GuardianError]]:
    """Return what Kafka shows of each cluster, and why it is not known of the others: nobody plans for those, since the
    lake alone would take a broker that died since the last sample for alive."""
    found: dict[str, LiveFacts] = {}
    unknown: dict[str, GuardianError] = {}
    for cluster in clusters:
        try:
            found[cluster] = client.live_facts(cluster)
        except GuardianError as error:
            unknown[cluster] = error
    return found, unknown
