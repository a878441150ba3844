"""The federation's directory as one value, from this member's own store: for plans that the leader makes itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, Machine, Tenant, Topic
from guardian.model.links import LinkSettings, load_links
from guardian.model.topology import TopicPartition
from guardian.model.wire.entries import DIRECTORY_TABLES, directory_of_entries, entry_from_proto
from metastore.tables.federation import Shown
from metastore.views import Views
from protos.guardian.v1 import federation_pb2 as pb

_PAGE = 1000
_PAGE_BYTES = 4 << 20


class Seen(Protocol):
    """What somebody may be shown, as guardian.serving.sight.Sight tells it."""

    @property
    def shown(self) -> Shown | None:
        """Return what lists are narrowed down to; None: nothing is left out."""

    def sees(self, cluster: str) -> bool:
        """Return whether the cluster may be shown."""


def directory_of(views: Views, links_file: Path | None) -> Directory:
    """All of it at one moment; without the lines between IDCs where their file is wrong: little depends on them."""
    entries = (entry for table in DIRECTORY_TABLES for entry in stored_entries(views, table))
    return directory_of_entries(views.clusters(), entries, _links(links_file))


def directory_seen(views: Views, sight: Seen) -> Directory:
    """Return as much of it as somebody may see, without the lines between IDCs."""
    entries = (entry for table in DIRECTORY_TABLES for entry in stored_entries(views, table, shown=sight.shown))
    clusters = tuple(cluster for cluster in views.clusters() if sight.sees(cluster.name))
    return directory_of_entries(clusters, entries, LinkSettings())


def topics_of(views: Views, cluster: str) -> tuple[Topic, ...]:
    """Return what the directory says of the cluster's topics."""
    return tuple(entry for entry in _entries(views, pb.TOPICS, cluster) if isinstance(entry, Topic))


def tenants_of(views: Views) -> tuple[Tenant, ...]:
    """All of them: a tenant is not of one cluster."""
    return tuple(entry for entry in _entries(views, pb.TENANTS) if isinstance(entry, Tenant))


def machines_of(views: Views, cluster: str) -> tuple[Machine, ...]:
    """Those that are in the cluster."""
    return tuple(entry for entry in map(entry_from_proto, views.machines_of(cluster)) if isinstance(entry, Machine))


def exclusions_of(views: Views, cluster: str) -> dict[int, Exclusion]:
    """The cluster's exclusions by broker, those that are over included."""
    found = _entries(views, pb.EXCLUSIONS, cluster)
    return {entry.broker_id: entry for entry in found if isinstance(entry, Exclusion)}


def expected_writes(views: Views, cluster: str, partitions: Iterable[TopicPartition]) -> dict[str, float]:
    """Return by topic the bytes/s that the topic directory expects in one partition; topics of which it says nothing
    are left out.
    """
    counts = Counter(partition.topic for partition in partitions)
    expected = {
        entry.name: entry.expected_bytes_in_per_s
        for entry in _entries(views, pb.TOPICS, cluster)
        if isinstance(entry, Topic) and entry.expected_bytes_in_per_s
    }
    return {topic: expected[topic] / count for topic, count in counts.items() if topic in expected}


def stored_entries(
    views: Views, table: pb.FederationTable, cluster: str = "", shown: Shown | None = None
) -> Iterator[pb.FederationEntry]:
    """A table, with revisions; of one cluster where it is named; narrowed down to what is shown, None: all of it."""
    after = b""
    while True:
        entries, after = views.federation_page(table, cluster, "", after, _PAGE, _PAGE_BYTES, shown)
        yield from entries
        if not after:
            return


def _entries(views: Views, table: pb.FederationTable, cluster: str = "") -> Iterator[Entry]:
    return map(entry_from_proto, stored_entries(views, table, cluster))


def _links(links_file: Path | None) -> LinkSettings:
    try:
        return load_links(links_file) if links_file else LinkSettings()
    except InvalidInput:
        return LinkSettings()
