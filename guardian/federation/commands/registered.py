"""The cluster that an option or argument names, of those that are registered."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.errors import NotFound
from guardian.model.topology import Cluster


def registered(clusters: Iterable[Cluster], name: str) -> Cluster:
    """Raises NotFound, with those that there are."""
    known = {cluster.name: cluster for cluster in clusters}
    if name not in known:
        named = ", ".join(sorted(known)) or "none yet"
        raise NotFound(f"cluster is {name!r}, which is not registered: use one of {named}")
    return known[name]
