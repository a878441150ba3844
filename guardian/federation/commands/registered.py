"""The cluster that an option or argument names, of those that are registered."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.errors import InvalidInput, NotFound
from guardian.model.topology import Cluster


def chosen_clusters(clusters: Iterable[Cluster], names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are asked for, or all by name. Raises NotFound for one that is not registered, InvalidInput
    when none is."""
    known = tuple(clusters)
    found = tuple(registered(known, name).name for name in names) or tuple(sorted(each.name for each in known))
    if not found:
        raise InvalidInput("no cluster is registered: register one with `guardian cluster add`")
    return found


def registered(clusters: Iterable[Cluster], name: str) -> Cluster:
    """Raises NotFound, with those that there are."""
    known = {cluster.name: cluster for cluster in clusters}
    if name not in known:
        named = ", ".join(sorted(known))
        use = f"use one of {named}" if named else "none is yet, register it with `guardian cluster add`"
        raise NotFound(f"cluster is {name!r}, which is not registered: {use}")
    return known[name]
