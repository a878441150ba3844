"""What somebody may be shown of a federation of which he sees some clusters: one answer for each kind of thing.

    of a cluster        it, and what names it (brokers, topics, tickets, findings, machines in it)
    an IDC              where a broker of such a cluster is
    a link              where one of its ends is such an IDC; the name of the other one is withheld where it is none
    a tenant            who has a topic on such a cluster
    an IDC policy       of such a topic, or about such IDCs only
    a free machine      in such an IDC, or in none
    a sink, a rule      of such clusters only, or of all of them: then a rule is shown, and a sink is not

What is of Guardian's own group belongs to no cluster, and is shown to whoever sees any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Protocol

from guardian.errors import NotFound
from guardian.replication.store.state import Shown, Views
from guardian.security.model.identity import Identity
from protos.guardian.v1 import federation_pb2

ELSEWHERE = "another IDC"  # instead of the name of one that is not shown


class Seer(Protocol):
    """Who is shown something; guardian.security.model.identity.Identity is one."""

    def sees(self, cluster: str) -> bool:
        """Return whether what is said of the cluster may be shown to him; empty: of every cluster."""


class Sight:
    """What an identity may be shown (None: all of it, security is off), by what `read` gives when it is first needed.
    For one answer."""

    def __init__(self, identity: Identity | None, read: Callable[[], Views]) -> None:
        self._identity = identity
        self._read = read

    @property
    def is_whole(self) -> bool:
        """Return whether he sees every cluster, also those that are not registered yet."""
        return self._identity is None or self._identity.sees("")

    def sees(self, cluster: str) -> bool:
        """Return whether what is said of the cluster may be shown; an empty name stands for all clusters."""
        return self._identity is None or self._identity.sees(cluster)

    @cached_property
    def _views(self) -> Views:
        return self._read()

    @cached_property
    def clusters(self) -> frozenset[str]:
        """Return the names of the registered clusters that he sees."""
        return frozenset(each.name for each in self._views.clusters() if self.sees(each.name))

    @cached_property
    def idcs(self) -> frozenset[str]:
        """Return the IDCs whose names he is shown."""
        seen = (each for each in self._views.clusters() if self.sees(each.name))
        return frozenset(broker.idc for each in seen for broker in each.brokers if broker.idc)

    def idc(self, name: str) -> str:
        """Return the IDC's name, or what stands for it."""
        return name if self.is_whole or name in self.idcs else ELSEWHERE

    def has_end(self, *ends: str) -> bool:
        """Return whether a link with these ends is shown at all: he knows one of them."""
        return self.is_whole or not self.idcs.isdisjoint(ends)

    def shows(self, entry: federation_pb2.FederationEntry) -> bool:
        """Return whether the federation's entry is shown."""
        which = entry.WhichOneof("entry")
        if self.is_whole or which is None:
            return True
        match which:
            case "tenant":
                return self._views.has_topic_of_tenant(entry.tenant.name, self._ascending)
            case "idc_policy":
                policy = entry.idc_policy
                named = {*policy.replicas, *(idc for each in policy.other_factors for idc in each.replicas)}
                return self.idcs.issuperset(named) or self._views.has_topic_of_policy(policy.name, self._ascending)
            case "document":
                return False  # of all clusters: whom it names, he need not know
            case "machine" if not entry.machine.cluster:
                return entry.machine.idc in {"", *self.idcs}
        return self.sees(getattr(entry, which).cluster)

    def patterns(self, clusters: Collection[str]) -> list[str]:
        """Return those of the patterns of clusters that are shown: `*`, and what fits a cluster that he sees."""
        if self.is_whole:
            return list(clusters)
        return [
            pattern
            for pattern in clusters
            if pattern == "*" or any(fnmatchcase(cluster, pattern) for cluster in self.clusters)
        ]

    @cached_property
    def shown(self) -> Shown | None:
        """Return what lists of the federation are narrowed down to; None: nothing is left out."""
        return None if self.is_whole else Shown(self._ascending, self.idcs, self.shows)

    @cached_property
    def _ascending(self) -> list[str]:
        return sorted(self.clusters)


def shows_sink(seer: Seer, clusters: Collection[str]) -> bool:
    """Return whether a sink that gets events of these clusters (none: of all) is shown."""
    return seer.sees("") or (bool(clusters) and all(map(seer.sees, clusters)))


def no_ticket(ticket_id: str) -> NotFound:
    """Return what is raised where there is no such ticket, and where it is of a cluster that the caller can't see."""
    return NotFound(f"ticket {ticket_id!r} does not exist: see `guardian ticket list`")


def no_plan(plan_hash: str) -> NotFound:
    """Return what is raised where there is no such plan, and where it is of a cluster that the caller can't see."""
    return NotFound(f"plan {plan_hash!r} is not stored")
