"""The federation's entries: machines, tenants, topics, IDC policies, exclusions, documents. A set changes as a whole.

    each change     a put of what is stored already changes nothing, not even the revision
    all together    checked as they will be, so the order within a set does not matter: what an entry names exists,
                    nothing names what is dropped, labels are ones that the tenant may use
    exclusions      kept a broker that was emptied (DRAINING) from new replicas: it is ACTIVE again once that is lifted

An entry's revision is the log index of its last change. Whoever gives `expected_revision` compares with that, and a set
in which one comparison fails changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, SharedDocument, Tenant, Topic, name_of
from guardian.model.topology import BrokerState
from guardian.model.wire.entries import entry_from_proto, entry_to_proto
from guardian.model.wire.federation import cluster_from_proto, cluster_to_proto
from metastore import keys
from metastore.keys import Table
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.overlay import Overlay, first_referrer
from metastore.tables.pages import narrowed, referrers_behind, rows_behind, rows_under
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import federation_pb2, records_pb2

MAX_CHANGES = 1000
_SLICE = 200

TABLES: dict[int, Table] = {
    federation_pb2.MACHINES: Table.MACHINE,
    federation_pb2.TENANTS: Table.TENANT,
    federation_pb2.TOPICS: Table.TOPIC,
    federation_pb2.IDC_POLICIES: Table.IDC_POLICY,
    federation_pb2.EXCLUSIONS: Table.EXCLUSION,
    federation_pb2.DOCUMENTS: Table.DOCUMENT,
}
_MAKES_KEYS_OF_A_CLUSTER = {Table.TOPIC.prefix: keys.topics, Table.EXCLUSION.prefix: keys.exclusions}


@dataclass(frozen=True, slots=True)
class _Step:
    """One change: the entry before and after it, None when there is none, and the revision to be answered."""

    key: bytes
    before: Entry | None
    after: Entry | None
    revision: int

    @property
    def changes_something(self) -> bool:
        return self.before != self.after


def handle_change(command: federation_pb2.ChangeFederationRequest, view: ReadView, proposal: Proposal) -> Decision:
    """Makes all of the changes or none. A dry run answers revision 0 for an entry that would be changed."""
    steps = _steps(command, view, proposal.index)
    made = [step for step in steps if step.changes_something]
    records = [record for step in made for record in _records(step)]
    records += _new_owners(made, view)
    records += _no_longer_draining(made, view)
    _require_sound(made, Overlay(view, records))
    if command.dry_run:
        records = []
    revisions = [0 if command.dry_run and step.changes_something else step.revision for step in steps]
    return records, records_pb2.CommandReply(federation=federation_pb2.ChangeFederationReply(revisions=revisions))


@dataclass(frozen=True, slots=True)
class Shown:
    """What somebody is shown who does not see every cluster: what is of these clusters, which ascend, and free machines
    in these IDCs or in none. Of the rest it is what `shows` lets pass.
    """

    clusters: Sequence[str]
    idcs: Collection[str]
    shows: Callable[[federation_pb2.FederationEntry], bool]


def page(
    view: ReadView, prefix: bytes, after: bytes, limit: int, max_bytes: int, shown: Shown | None = None
) -> tuple[list[federation_pb2.FederationEntry], bytes]:
    """Return the next entries under `prefix` behind the key `after` that are shown (None: all are), and the last one's
    key; b"" when that was all. No key of an entry that is not shown is returned.

    What is of a cluster, and machines, are read by index: of what is not shown, nothing. Tenants and IDC policies, of
    which there are few, are looked at one after another.
    """
    table = prefix[:1]
    if shown is None:
        every, last = rows_behind(view, prefix, after, limit, max_bytes)
    elif table in _MAKES_KEYS_OF_A_CLUSTER:
        within = narrowed(prefix, map(_MAKES_KEYS_OF_A_CLUSTER[table], shown.clusters))
        every, last = rows_under(view, within, after, limit, max_bytes)
    elif table == Table.DOCUMENT.prefix:
        return [], b""
    else:
        every, last = _shown_page(_shown_rows(view, prefix, after, shown), limit, max_bytes)
    return [_entry(value) for _, value in every], last


def is_named_by_topic_of(view: ReadView, target: bytes, clusters: Sequence[str]) -> bool:
    """Return whether a topic on one of the clusters, which ascend, names what has the key `target`: by references, of
    which it skips those of other clusters."""
    prefix, position = keys.references(target), 0
    while position < len(clusters):
        start = prefix + keys.topics(clusters[position])
        rows = view.scan(prefix + Table.TOPIC.prefix, start, 1)
        if not rows:
            return False
        named_on, _ = keys.read_text(rows[0][0], len(prefix) + len(Table.TOPIC.prefix))
        position = bisect_left(clusters, named_on, position)
        if position < len(clusters) and clusters[position] == named_on:
            return True
    return False


def _shown_rows(view: ReadView, prefix: bytes, after: bytes, shown: Shown) -> Iterator[tuple[bytes, bytes]]:
    if prefix == Table.MACHINE.prefix:
        targets = [*map(keys.cluster, shown.clusters), *map(keys.free_machines, {"", *shown.idcs})]
        found = referrers_behind(view, targets, Table.MACHINE.prefix, after)
        yield from ((key, value) for key in found if (value := view.get(key)) is not None)
        return
    while rows := view.scan(prefix, after + b"\x00" if after else b"", _SLICE):
        yield from ((key, value) for key, value in rows if shown.shows(_entry(value)))
        after = rows[-1][0]


def _shown_page(
    found: Iterator[tuple[bytes, bytes]], limit: int, max_bytes: int
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    rows: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in found:
        size += len(value)
        if rows and (len(rows) == limit or size > max_bytes):
            return rows, rows[-1][0]
        rows.append((key, value))
    return rows, b""


def prefix_of(table: int, cluster: str, name: str) -> bytes:
    """Return what the keys of the entries asked for begin with (a whole key where `name` is given). Raises
    InvalidInput.
    """
    found = TABLES.get(table)
    if found is None:
        known = ", ".join(federation_pb2.FederationTable.Name(number) for number in sorted(TABLES))
        raise InvalidInput(f"table is {table}: use one of {known}")
    if found in (Table.TOPIC, Table.EXCLUSION):
        if name and not cluster:
            raise InvalidInput(f"cluster is empty but name is {name!r}: give the cluster it is in")
        if found is Table.TOPIC:
            return keys.topic(cluster, name) if name else keys.topics(cluster) if cluster else found.prefix
        if name and not (name.isascii() and name.isdigit() and len(name) <= 10):
            raise InvalidInput(f"name is {name!r}: use the number of the excluded broker")
        return keys.exclusion(cluster, int(name)) if name else keys.exclusions(cluster) if cluster else found.prefix
    if cluster:
        raise InvalidInput(f"cluster is {cluster!r}, but only topics and exclusions are of a cluster: leave it out")
    if not name:
        return found.prefix
    key_of = {
        Table.MACHINE: keys.machine,
        Table.TENANT: keys.tenant,
        Table.IDC_POLICY: keys.idc_policy,
        Table.DOCUMENT: keys.document,
    }
    return key_of[found](name)


def _entry(value: bytes) -> federation_pb2.FederationEntry:
    return federation_pb2.FederationEntry.FromString(value)


def stored_document(view: Lookup, name: str) -> SharedDocument | None:
    """Return the document; None: none of that name is stored."""
    message = _document_entry(view, name)
    return SharedDocument(message.document.name, message.document.json) if message is not None else None


def document_revision(view: Lookup, name: str) -> int:
    """Return the index of the document's last change; 0: none of that name is stored."""
    message = _document_entry(view, name)
    return message.revision if message is not None else 0


def _document_entry(view: Lookup, name: str) -> federation_pb2.FederationEntry | None:
    value = view.get(keys.document(name))
    return _entry(value) if value is not None else None


def _steps(command: federation_pb2.ChangeFederationRequest, view: ReadView, index: int) -> list[_Step]:
    if not 1 <= len(command.changes) <= MAX_CHANGES:
        raise InvalidInput(f"changes has {len(command.changes)}: use 1 to {MAX_CHANGES}")
    steps = []
    seen: dict[bytes, int] = {}
    for number, change in enumerate(command.changes):
        try:
            step = _step(change, view, index)
        except GuardianError as error:
            raise type(error)(f"changes[{number}]: {error}") from None
        earlier = seen.setdefault(step.key, number)
        if earlier != number:
            raise InvalidInput(f"changes[{number}] is about the same entry as changes[{earlier}]: leave one out")
        steps.append(step)
    return steps


def _step(change: federation_pb2.FederationChange, view: ReadView, index: int) -> _Step:
    after: Entry | None = None
    match change.WhichOneof("change"):
        case "put":
            after = entry_from_proto(change.put)
            key, name = _key(after), name_of(after)
        case "drop":
            key, name = _dropped(change.drop)
        case _:
            raise InvalidInput("the change is empty: give put or drop")
    value = view.get(key)
    stored = federation_pb2.FederationEntry.FromString(value) if value is not None else None
    if after is None and stored is None:
        raise NotFound(f"{name} does not exist: nothing of the set was changed")
    revision = stored.revision if stored is not None else 0
    if change.HasField("expected_revision") and change.expected_revision != revision:
        found = f"is at revision {revision}" if stored is not None else "does not exist (revision 0)"
        raise Conflict(f"{name} {found} and not at {change.expected_revision}: look at it again")
    before = entry_from_proto(stored) if stored is not None else None
    if after is None:
        return _Step(key, before, None, 0)
    return _Step(key, before, after, revision if after == before else index)


def _key(entry: Entry) -> bytes:
    match entry:
        case Machine():
            return keys.machine(entry.host)
        case Tenant():
            return keys.tenant(entry.name)
        case Topic():
            return keys.topic(entry.cluster, entry.name)
        case IdcPolicy():
            return keys.idc_policy(entry.name)
        case Exclusion():
            return keys.exclusion(entry.cluster, entry.broker_id)
        case SharedDocument():
            return keys.document(entry.name)


def _dropped(message: federation_pb2.FederationKey) -> tuple[bytes, str]:
    """The key, and the name for people, of what is to be dropped."""
    match message.WhichOneof("key"):
        case "machine":
            return keys.machine(message.machine), f"machine {message.machine}"
        case "tenant":
            return keys.tenant(message.tenant), f"tenant {message.tenant}"
        case "topic":
            topic = message.topic
            return keys.topic(topic.cluster, topic.name), f"topic {topic.cluster}/{topic.name}"
        case "idc_policy":
            return keys.idc_policy(message.idc_policy), f"IDC policy {message.idc_policy}"
        case "exclusion":
            exclusion = message.exclusion
            name = f"exclusion of broker {exclusion.broker_id} of cluster {exclusion.cluster}"
            return keys.exclusion(exclusion.cluster, exclusion.broker_id), name
        case "document":
            return keys.document(message.document), message.document.replace("_", " ")
    raise InvalidInput("drop is empty: name a machine, tenant, topic, idc_policy, exclusion or document")


def _records(step: _Step) -> Iterator[Record]:
    """The entry's row, and the rows of what it names. (A deletion goes first: a row may be put again.)"""
    if step.after is None:
        yield Delete(step.key)
    else:
        message = entry_to_proto(step.after, step.revision)
        yield Put(step.key, message.SerializeToString(deterministic=True))
    named_before = set(_targets(step.before)) if step.before is not None else set()
    named_after = set(_targets(step.after)) if step.after is not None else set()
    for target in sorted(named_before - named_after):
        yield Delete(keys.reference(target, step.key))
    for target in sorted(named_after - named_before):
        yield Put(keys.reference(target, step.key), b"")


def _targets(entry: Entry) -> Iterator[bytes]:
    """Yield the keys of what the entry names."""
    match entry:
        case Machine():
            yield keys.cluster(entry.cluster) if entry.cluster else keys.free_machines(entry.idc)
        case Exclusion():
            yield keys.cluster(entry.cluster)
        case Topic():
            yield keys.cluster(entry.cluster)
            if entry.tenant:
                yield keys.tenant(entry.tenant)
                if entry.label:
                    yield keys.tenant_label(entry.tenant, entry.label)
            if entry.idc_policy:
                yield keys.idc_policy(entry.idc_policy)
            if entry.topic_id:
                yield keys.topic_owner(entry.topic_id)


def _new_owners(steps: list[_Step], view: Lookup) -> list[Record]:
    """A topic id is of the cluster in which it was seen first."""
    owners: dict[bytes, str] = {}
    for step in steps:
        topic = step.after
        if isinstance(topic, Topic) and topic.topic_id:
            cluster_id = _cluster_id(view, topic)
            key = keys.topic_owner(topic.topic_id)
            known = view.get(key)
            owner = owners.setdefault(key, cluster_id) if known is None else known.decode()
            if owner != cluster_id:
                raise Conflict(
                    f"topic_id {topic.topic_id.hex()} of {name_of(topic)} is of the cluster with cluster_id {owner}, "
                    f"not of {cluster_id}: check it with `kafka-topics --describe`"
                )
    return [Put(key, cluster_id.encode()) for key, cluster_id in owners.items()]


def _no_longer_draining(steps: list[_Step], view: Lookup) -> Iterator[Record]:
    """Else a broker stays without new replicas, and nobody can see on whose behalf."""
    lifted: dict[str, set[int]] = defaultdict(set)
    for step in steps:
        if isinstance(step.before, Exclusion) and step.after is None:
            lifted[step.before.cluster].add(step.before.broker_id)
    for name, brokers in sorted(lifted.items()):
        value = view.get(keys.cluster(name))
        if value is None:
            continue
        known = cluster_from_proto(federation_pb2.Cluster.FromString(value))
        active = tuple(
            replace(broker, state=BrokerState.ACTIVE)
            if broker.id in brokers and broker.state is BrokerState.DRAINING
            else broker
            for broker in known.brokers
        )
        if active != known.brokers:
            message = cluster_to_proto(replace(known, brokers=active))
            yield Put(keys.cluster(name), message.SerializeToString(deterministic=True))


def _cluster_id(view: Lookup, topic: Topic) -> str:
    value = view.get(keys.cluster(topic.cluster))
    if value is None:
        raise _missing_cluster(topic, topic.cluster)
    return federation_pb2.Cluster.FromString(value).cluster_id


def _require_sound(steps: list[_Step], after: ReadView) -> None:
    """Raises NotFound, InvalidInput or Conflict when the federation as it will be does not hold together."""
    for step in steps:
        if step.after is None:
            referrer = first_referrer(after, step.key)
            if referrer is not None and step.before is not None:
                raise Conflict(f"{name_of(step.before)} is named by {referrer}: change or drop that as well")
        elif isinstance(step.after, Machine | Exclusion):
            if step.after.cluster and after.get(keys.cluster(step.after.cluster)) is None:
                raise _missing_cluster(step.after, step.after.cluster)
        elif isinstance(step.after, Topic):
            _require_sound_topic(step.after, step.key, after)
        elif isinstance(step.after, Tenant):
            _require_labels_in_use(step.after, after)


def _require_sound_topic(topic: Topic, key: bytes, after: ReadView) -> None:
    name = name_of(topic)
    if after.get(keys.cluster(topic.cluster)) is None:
        raise _missing_cluster(topic, topic.cluster)
    if topic.idc_policy and after.get(keys.idc_policy(topic.idc_policy)) is None:
        raise NotFound(
            f"idc_policy of {name} is {topic.idc_policy!r}, which does not exist: see `guardian idc-policy list`"
        )
    if topic.tenant:
        value = after.get(keys.tenant(topic.tenant))
        if value is None:
            raise NotFound(f"tenant of {name} is {topic.tenant!r}, which does not exist: see `guardian tenant list`")
        tenant = entry_from_proto(federation_pb2.FederationEntry.FromString(value))
        if isinstance(tenant, Tenant) and not tenant.may_use(topic.label):
            raise InvalidInput(
                f"label of {name} is {topic.label!r}: tenant {tenant.name} may use {', '.join(tenant.labels)}"
            )
    if topic.topic_id:
        namesake = first_referrer(after, keys.topic_owner(topic.topic_id), other_than=key)
        if namesake is not None:
            raise Conflict(
                f"topic_id of {name} is {topic.topic_id.hex()}, which is that of {namesake}: drop that first"
            )


def _require_labels_in_use(tenant: Tenant, after: ReadView) -> None:
    """Looks at each label once, and not at each topic."""
    prefix = keys.references(keys.tenant_labels(tenant.name))
    start = prefix
    while rows := after.scan(prefix, start, 1):
        label, end = keys.read_text(rows[0][0], len(prefix))
        if not tenant.may_use(label):
            referrer = first_referrer(after, keys.tenant_label(tenant.name, label))
            raise Conflict(
                f"labels of tenant {tenant.name} leaves out {label!r}, which {referrer} has: keep it, or change that"
            )
        next_label = keys.end_of(rows[0][0][:end])
        if next_label is None:
            return
        start = next_label


def _missing_cluster(entry: Entry, cluster: str) -> NotFound:
    return NotFound(f"cluster of {name_of(entry)} is {cluster!r}, which is not registered: see `guardian cluster list`")
