"""Whether who answers under a cluster's address is the cluster that was registered: addresses are given out again."""

from __future__ import annotations

from guardian.errors import ClusterUnavailable
from guardian.model.topology import Cluster


def require_registered(cluster: Cluster, cluster_id: str) -> None:
    """Raises ClusterUnavailable when another cluster answers."""
    if cluster_id != cluster.cluster_id:
        raise ClusterUnavailable(
            f"cluster {cluster.name} is registered with cluster.id {cluster.cluster_id}, but {cluster.bootstrap} "
            f"answers with {cluster_id}: register it again with `guardian cluster add`"
        )
