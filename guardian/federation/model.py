"""A federation as somebody wants it: what a federation.yaml names, and where it names it.

What it does not name is left alone: entries, and fields of entries. `sections` are the parts that it has, of which a
prune takes out what is not named there: ("topics", "live"), ("machines", ""), ("clusters", ""), ("labels", ""). A
document ("roles", "approval_policy") is one entry and a section of its own: its fields are its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, SharedDocument, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import BrokerState, Cluster


class EntryKey(NamedTuple):
    """`kind` is the section of the file; `cluster` is empty where an entry is of none."""

    kind: str
    cluster: str
    name: str


MACHINES, TENANTS, IDC_POLICIES, TOPICS, EXCLUSIONS = "machines", "tenants", "idc_policies", "topics", "exclusions"
CLUSTERS, LABELS = "clusters", "labels"


@dataclass(frozen=True, slots=True)
class DeclaredEntry:
    """`fields` are those of the model's class that are named. `where` is file:line, `path` the name in the file."""

    key: EntryKey
    fields: Mapping[str, Any]
    where: str
    path: str


@dataclass(frozen=True, slots=True)
class DeclaredBroker:
    """None is what is not named."""

    where: str
    path: str
    label: str | None = None
    state: BrokerState | None = None
    idc: str | None = None
    reporter: str | None = None


@dataclass(frozen=True, slots=True)
class DeclaredCluster:
    """`bootstrap` is empty where it is not named, `bootstrap_controllers` is None then; `security` are the fields of it
    that are named. `idc_of_rack` wins over that of the whole file."""

    name: str
    where: str
    path: str
    bootstrap: str = ""
    security: Mapping[str, Any] = field(default_factory=dict)
    idc_of_rack: Mapping[str, str] = field(default_factory=dict)
    brokers: Mapping[int, DeclaredBroker] = field(default_factory=dict)
    bootstrap_controllers: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """`links` is None where the file says nothing of lines and networks."""

    clusters: tuple[DeclaredCluster, ...] = ()
    entries: tuple[DeclaredEntry, ...] = ()
    idc_of_rack: Mapping[str, str] = field(default_factory=dict)
    links: LinkSettings | None = None
    sections: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry and the revision of its last change."""

    entry: Entry
    revision: int


@dataclass(frozen=True, slots=True)
class KnownFederation:
    """What is stored now."""

    clusters: tuple[Cluster, ...] = ()
    entries: Mapping[EntryKey, Stored] = field(default_factory=dict)

    def cluster(self, name: str) -> Cluster | None:
        return next((cluster for cluster in self.clusters if cluster.name == name), None)


def key_of(entry: Entry) -> EntryKey:
    match entry:
        case Machine():
            return EntryKey(MACHINES, "", entry.host)
        case Tenant():
            return EntryKey(TENANTS, "", entry.name)
        case Topic():
            return EntryKey(TOPICS, entry.cluster, entry.name)
        case IdcPolicy():
            return EntryKey(IDC_POLICIES, "", entry.name)
        case Exclusion():
            return EntryKey(EXCLUSIONS, entry.cluster, str(entry.broker_id))
        case SharedDocument():
            return EntryKey(entry.name, "", "")
