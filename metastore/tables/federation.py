"""The federation's entries: machines, tenants, topics, IDC policies, exclusions. A set is changed as a whole.

    each change     a put of what is stored already changes nothing, not even the revision
    all together    checked as they will be, so the order within a set does not matter: what an entry names exists,
                    nothing names what is dropped, labels are ones that the tenant may use
    exclusions      kept a broker that was emptied (DRAINING) from new replicas: it is ACTIVE again once that is lifted

An entry's revision is the log index of its last change. Whoever gives `expected_revision` compares with that, and a set
in which one comparison fails changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic, name_of
from guardian.model.topology import BrokerState
from guardian.wire.entries import entry_from_proto, entry_to_proto
from guardian.wire.federation import cluster_from_proto, cluster_to_proto
from metastore import keys
from metastore.keys import Table
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.overlay import Overlay, first_referrer
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import federation_pb2, records_pb2

MAX_CHANGES = 1000

TABLES: dict[int, Table] = {
    federation_pb2.MACHINES: Table.MACHINE,
    federation_pb2.TENANTS: Table.TENANT,
    federation_pb2.TOPICS: Table.TOPIC,
    federation_pb2.IDC_POLICIES: Table.IDC_POLICY,
    federation_pb2.EXCLUSIONS: Table.EXCLUSION,
}


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


def page(
    view: ReadView, prefix: bytes, after: bytes, limit: int, max_bytes: int
) -> tuple[list[federation_pb2.FederationEntry], bytes]:
    """The next entries under `prefix` behind the key `after`, and the last one's key; b"" when that was all."""
    rows = view.scan(prefix, after + b"\x00" if after else b"", limit + 1)
    found: list[federation_pb2.FederationEntry] = []
    size = 0
    for key, value in rows[:limit]:
        if found and size + len(value) > max_bytes:
            break
        found.append(federation_pb2.FederationEntry.FromString(value))
        size += len(value)
        after = key
    return found, after if len(found) < len(rows) else b""


def prefix_of(table: int, cluster: str, name: str) -> bytes:
    """What the keys of the entries asked for begin with (a whole key where `name` is given). Raises InvalidInput."""
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
    return {Table.MACHINE: keys.machine, Table.TENANT: keys.tenant, Table.IDC_POLICY: keys.idc_policy}[found](name)


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
    raise InvalidInput("drop is empty: name a machine, tenant, topic, idc_policy or exclusion")


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
    """What the entry names."""
    match entry:
        case Machine() if entry.cluster:
            yield keys.cluster(entry.cluster)
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
