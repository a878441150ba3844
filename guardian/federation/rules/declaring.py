"""From a federation as it is to one as it is declared: which changes, in which order.

    1. clusters that are new or another than declared   entries name them; Guardian speaks to Kafka before it stores one
    2. entries                                          one set, whole or not at all, each only if it is as it was read
    3. clusters that are declared no longer             (prune) last, since nothing may name them by then

What the declaration does not name is left alone: entries, fields of entries, brokers. A prune takes out what a section
that it has does not name. The same declaration again changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from guardian.errors import InvalidInput
from guardian.federation.model import (
    CLUSTERS,
    EXCLUSIONS,
    IDC_POLICIES,
    LABELS,
    MACHINES,
    TENANTS,
    TOPICS,
    Declaration,
    DeclaredBroker,
    DeclaredCluster,
    DeclaredEntry,
    EntryKey,
    KnownFederation,
    key_of,
)
from guardian.federation.rules.documents import require_usable
from guardian.model.federation import (
    DOCUMENTS,
    Entry,
    Exclusion,
    IdcPolicy,
    Machine,
    SharedDocument,
    Tenant,
    Topic,
    document_changes,
    document_of,
    name_of,
)
from guardian.model.topology import Broker, BrokerState, Cluster, ClusterSecurity

# Entries after those that they name; drops the other way round.
_ORDER = (IDC_POLICIES, TENANTS, MACHINES, TOPICS, EXCLUSIONS, *DOCUMENTS)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field before and after, as people read it; None where there was, or will be, nothing."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class PutCluster:
    """`cluster` as it shall be, of its brokers those that are named or known; `before` None: it is new.

    `labels` and `states` are those that change. `where` is the place in the file.
    """

    cluster: Cluster
    before: Cluster | None
    idc_of_rack: Mapping[str, str]
    labels: Mapping[int, str]
    states: Mapping[int, BrokerState]
    where: str
    differences: tuple[Difference, ...]

    @property
    def name(self) -> str:
        return f"cluster {self.cluster.name}"


@dataclass(frozen=True, slots=True)
class PutEntry:
    """`revision` is that of the entry as it was read, 0: it is new."""

    entry: Entry
    before: Entry | None
    revision: int
    where: str
    differences: tuple[Difference, ...]

    @property
    def name(self) -> str:
        return name_of(self.entry)


@dataclass(frozen=True, slots=True)
class DropEntry:
    entry: Entry
    revision: int

    @property
    def name(self) -> str:
        return name_of(self.entry)


@dataclass(frozen=True, slots=True)
class DropCluster:
    cluster: Cluster

    @property
    def name(self) -> str:
        return f"cluster {self.cluster.name}"


EntryChange = PutEntry | DropEntry
Change = PutCluster | PutEntry | DropEntry | DropCluster


@dataclass(frozen=True, slots=True)
class Changes:
    """In the order in which they are to be made."""

    clusters: tuple[PutCluster, ...] = ()
    entries: tuple[EntryChange, ...] = ()
    dropped_clusters: tuple[DropCluster, ...] = field(default=())

    def __iter__(self) -> Iterator[Change]:
        yield from self.clusters
        yield from self.entries
        yield from self.dropped_clusters

    @property
    def drops(self) -> tuple[DropEntry | DropCluster, ...]:
        return (*(each for each in self.entries if isinstance(each, DropEntry)), *self.dropped_clusters)


def changes(declared: Declaration, known: KnownFederation, actor: str, *, prune: bool = False) -> Changes:
    """`actor` answers for exclusions that name nobody. Raises InvalidInput with the place in the file."""
    clusters = tuple(_put_clusters(declared, known, prune=prune))
    puts = [each for entry in declared.entries if (each := _put_entry(entry, known, actor)) is not None]
    puts.sort(key=lambda each: _ORDER.index(key_of(each.entry).kind))  # stable: within a kind as in the file
    drops = list(_drops(declared, known)) if prune else []
    drops.sort(key=lambda each: -_ORDER.index(key_of(each.entry).kind))
    gone = tuple(_dropped_clusters(declared, known)) if prune else ()
    return Changes(clusters, (*puts, *drops), gone)


def differences(before: Any, after: Any) -> tuple[Difference, ...]:
    """Return the differences of two values of one class, or, where there was none, what the new one says."""
    if isinstance(after, SharedDocument):
        return _document_differences(before, after)
    found = []
    for each in dataclasses.fields(after):
        new = getattr(after, each.name)
        old = getattr(before, each.name) if before is not None else None
        if new != old and (before is not None or new not in ("", 0, (), b"")):
            found.append(Difference(each.name, None if before is None else _text(old), _text(new)))
    return tuple(found)


def _document_differences(before: SharedDocument | None, after: SharedDocument) -> tuple[Difference, ...]:
    told = document_changes(before.table if before is not None else {}, after.table)
    return tuple(
        Difference(each.setting, each.text, "") if each.sign == "-" else Difference(each.setting, None, each.text)
        for each in told
    )


def _put_entry(declared: DeclaredEntry, known: KnownFederation, actor: str) -> PutEntry | None:
    stored = known.entries.get(declared.key)
    before = stored.entry if stored is not None else None
    given = dict(declared.fields)
    try:
        if declared.key.kind == MACHINES:
            _require_broker_id(declared.key.name, given, before)
        after = _made(declared.key, given, actor) if before is None else _merged(before, given)
        if isinstance(after, SharedDocument):
            require_usable(after)
    except InvalidInput as error:
        raise InvalidInput(f"{declared.where}: {declared.path}: {error}") from None
    if after == before:
        return None
    revision = stored.revision if stored is not None else 0
    return PutEntry(after, before, revision, declared.where, differences(before, after))


def _require_broker_id(host: str, given: dict[str, Any], before: Entry | None) -> None:
    """Take out a broker id that says none, and refuse a machine that comes into a cluster without one."""
    known = before.cluster if isinstance(before, Machine) else ""
    cluster = given.get("cluster", known)
    says_none = "broker_id" in given and given["broker_id"] is None
    if says_none:
        del given["broker_id"]
    if cluster and "broker_id" not in given and (says_none or cluster != known):
        raise InvalidInput(
            f"broker of machine {host}: missing, though it is in a cluster (got {cluster!r}); give the id of the "
            "broker on it, also where that is 0"
        )


def _made(key: EntryKey, given: dict[str, Any], actor: str) -> Entry:
    match key.kind:
        case "machines":
            return Machine(key.name, **given)
        case "tenants":
            return Tenant(key.name, **given)
        case "idc_policies":
            return IdcPolicy(key.name, **{"replicas": (), **given})
        case "topics":
            return Topic(key.cluster, key.name, **given)
        case "roles" | "approval_policy":
            return document_of(key.kind, _without_none(given))
    return Exclusion(key.cluster, int(key.name), **{"who": actor, "why": "", **given})


def _merged(before: Entry, given: dict[str, Any]) -> Entry:
    if isinstance(before, Machine) and given.get("cluster") == "":
        given.setdefault("broker_id", 0)  # who frees a machine need not say so twice
    if isinstance(before, SharedDocument):
        return document_of(before.name, _without_none({**before.table, **given}))
    after = replace(before, **given)
    # Who changes a ticket's exclusion answers for it from then on.
    return replace(after, by_ticket="") if isinstance(after, Exclusion) and after != before else after


def _without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _drops(declared: Declaration, known: KnownFederation) -> Iterator[DropEntry]:
    named = {entry.key for entry in declared.entries}
    for key, stored in known.entries.items():
        if (key.kind, key.cluster) in declared.sections and key not in named:
            yield DropEntry(stored.entry, stored.revision)


def _dropped_clusters(declared: Declaration, known: KnownFederation) -> Iterator[DropCluster]:
    if (CLUSTERS, "") in declared.sections:
        named = {cluster.name for cluster in declared.clusters}
        yield from (DropCluster(cluster) for cluster in known.clusters if cluster.name not in named)


def _put_clusters(declared: Declaration, known: KnownFederation, *, prune: bool) -> Iterator[PutCluster]:
    prunes_labels = prune and (LABELS, "") in declared.sections
    for wanted in declared.clusters:
        before = known.cluster(wanted.name)
        idc_of_rack = {**declared.idc_of_rack, **wanted.idc_of_rack}
        try:
            if before is None:
                yield _new_cluster(wanted, idc_of_rack)
                continue
            put = _changed_cluster(wanted, before, idc_of_rack, prunes_labels=prunes_labels)
        except InvalidInput as error:
            raise _placed(error, wanted.where, wanted.path) from None
        if put is not None:
            yield put


def _new_cluster(wanted: DeclaredCluster, idc_of_rack: Mapping[str, str]) -> PutCluster:
    if not wanted.bootstrap:
        raise InvalidInput("it is not registered and bootstrap is missing: give host:port of one or more brokers")
    brokers = tuple(
        Broker(broker, idc=given.idc or "", reporter=given.reporter or "")
        for broker, given in sorted(wanted.brokers.items())
        if given.idc or given.reporter
    )
    cluster = Cluster(
        wanted.name,
        wanted.bootstrap,
        security=ClusterSecurity(**wanted.security),
        brokers=brokers,
        bootstrap_controllers=wanted.bootstrap_controllers or "",
    )
    labels = {broker: given.label for broker, given in sorted(wanted.brokers.items()) if given.label}
    states = {broker: given.state for broker, given in sorted(wanted.brokers.items()) if given.state is not None}
    told = [Difference("bootstrap", None, cluster.bootstrap)]
    if cluster.bootstrap_controllers:
        told.append(Difference("bootstrap_controllers", None, cluster.bootstrap_controllers))
    if cluster.security != ClusterSecurity():
        told.append(Difference("security.protocol", None, str(cluster.security.protocol)))
    for broker, given in sorted(wanted.brokers.items()):
        told += [
            Difference(f"broker {broker} {name}", None, _text(value))
            for name, value in (
                ("label", given.label), ("state", given.state), ("idc", given.idc), ("reporter", given.reporter)
            )
            if value
        ]  # fmt: skip
    return PutCluster(cluster, None, dict(idc_of_rack), labels, states, wanted.where, tuple(told))


def _changed_cluster(
    wanted: DeclaredCluster, before: Cluster, idc_of_rack: Mapping[str, str], *, prunes_labels: bool
) -> PutCluster | None:
    for broker_id, given in wanted.brokers.items():
        if before.broker(broker_id) is None:
            known = ", ".join(str(broker.id) for broker in before.brokers) or "none"
            raise _Placed(
                f"{given.where}: {given.path}: broker {broker_id} is not in cluster {before.name}, whose brokers are "
                f"{known}: name one of them, or register the cluster again (guardian cluster add)"
            )
    brokers = tuple(
        _changed_broker(broker, wanted.brokers.get(broker.id), idc_of_rack, prunes_labels=prunes_labels)
        for broker in before.brokers
    )
    cluster = replace(
        before,
        bootstrap=wanted.bootstrap or before.bootstrap,
        bootstrap_controllers=(
            before.bootstrap_controllers if wanted.bootstrap_controllers is None else wanted.bootstrap_controllers
        ),
        security=replace(before.security, **wanted.security) if wanted.security else before.security,
        brokers=brokers,
    )
    if cluster == before:
        return None
    pairs = list(zip(before.brokers, brokers, strict=True))
    told = [each for each in differences(before, replace(cluster, brokers=before.brokers)) if each.field != "security"]
    told += [replace(each, field=f"security.{each.field}") for each in differences(before.security, cluster.security)]
    for old, new in pairs:
        told += [replace(each, field=f"broker {new.id} {each.field}") for each in differences(old, new)]
    return PutCluster(
        cluster,
        before,
        {},  # each broker has its own by now
        {new.id: new.label for old, new in pairs if old.label != new.label},
        {new.id: new.state for old, new in pairs if old.state is not new.state},
        wanted.where,
        tuple(told),
    )


def _changed_broker(
    broker: Broker, given: DeclaredBroker | None, idc_of_rack: Mapping[str, str], *, prunes_labels: bool
) -> Broker:
    idc = idc_of_rack.get(broker.rack, broker.idc) if broker.rack else broker.idc
    label = "" if prunes_labels else broker.label
    if given is None:
        return replace(broker, idc=idc, label=label)
    try:
        return replace(
            broker,
            idc=idc if given.idc is None else given.idc,
            label=label if given.label is None else given.label,
            state=broker.state if given.state is None else given.state,
            reporter=broker.reporter if given.reporter is None else given.reporter,
        )
    except InvalidInput as error:
        raise _Placed(f"{given.where}: {given.path}: {error}") from None


class _Placed(InvalidInput):
    """It says its place in the file already."""


def _placed(error: InvalidInput, where: str, path: str) -> InvalidInput:
    return InvalidInput(str(error) if isinstance(error, _Placed) else f"{where}: {path}: {error}")


def _text(value: object) -> str:
    if isinstance(value, Enum):
        return value.name.lower() if isinstance(value, BrokerState) else str(value.value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return ", ".join(_text(item) if not isinstance(item, tuple) else "=".join(map(str, item)) for item in value)
    return str(value)
