"""The federation's directory as one value, from this member's own store: for plans that the leader makes itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings, load_links
from guardian.model.topology import TopicPartition
from guardian.wire.entries import entry_from_proto
from metastore.views import Views
from protos.guardian.v1 import federation_pb2 as pb

_PAGE = 1000
_PAGE_BYTES = 4 << 20
_TABLES = (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)


def directory_of(views: Views, links_file: Path | None) -> Directory:
    """All of it at one moment; without the lines between IDCs where their file is wrong: little depends on them."""
    entries = [entry for table in _TABLES for entry in _entries(views, table)]
    return Directory(
        clusters=views.clusters(),
        machines=tuple(entry for entry in entries if isinstance(entry, Machine)),
        tenants=tuple(entry for entry in entries if isinstance(entry, Tenant)),
        topics=tuple(entry for entry in entries if isinstance(entry, Topic)),
        policies=tuple(entry for entry in entries if isinstance(entry, IdcPolicy)),
        exclusions=tuple(entry for entry in entries if isinstance(entry, Exclusion)),
        links=_links(links_file),
    )


def topics_of(views: Views, cluster: str) -> tuple[Topic, ...]:
    """What the directory says of the cluster's topics."""
    return tuple(entry for entry in _entries(views, pb.TOPICS, cluster) if isinstance(entry, Topic))


def tenants_of(views: Views) -> tuple[Tenant, ...]:
    """All of them: a tenant is not of one cluster."""
    return tuple(entry for entry in _entries(views, pb.TENANTS) if isinstance(entry, Tenant))


def exclusions_of(views: Views, cluster: str) -> dict[int, Exclusion]:
    """The cluster's exclusions by broker, those that are over included."""
    found = _entries(views, pb.EXCLUSIONS, cluster)
    return {entry.broker_id: entry for entry in found if isinstance(entry, Exclusion)}


def expected_writes(views: Views, cluster: str, partitions: Iterable[TopicPartition]) -> dict[str, float]:
    """By topic, the bytes/s that the topic directory expects in one partition; topics of which it says nothing are
    left out."""
    counts = Counter(partition.topic for partition in partitions)
    expected = {
        entry.name: entry.expected_bytes_in_per_s
        for entry in _entries(views, pb.TOPICS, cluster)
        if isinstance(entry, Topic) and entry.expected_bytes_in_per_s
    }
    return {topic: expected[topic] / count for topic, count in counts.items() if topic in expected}


def _entries(views: Views, table: int, cluster: str = "") -> list[Entry]:
    found: list[Entry] = []
    after = b""
    while True:
        entries, after = views.federation_page(table, cluster, "", after, _PAGE, _PAGE_BYTES)
        found += [entry_from_proto(entry) for entry in entries]
        if not after:
            return found


def _links(links_file: Path | None) -> LinkSettings:
    try:
        return load_links(links_file) if links_file else LinkSettings()
    except InvalidInput:
        return LinkSettings()
