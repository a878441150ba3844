"""Any changes of the federation: all of a set or nothing, the same again is nothing, and it always holds together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.federation import DOCUMENTS, Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic, document_of
from guardian.model.wire.entries import entry_from_proto, entry_to_proto
from metastore import keys
from metastore.keys import Table
from protos.guardian.v1 import federation_pb2 as fed
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group

pytestmark = pytest.mark.slow

# Small pools, so that entries meet one another.
CLUSTERS = st.sampled_from(["live", "bulk"])
TENANTS = st.sampled_from(["t1", "t2"])
POLICIES = st.sampled_from(["p1", "p2"])
LABELS = st.sampled_from(["", "gold", "hot"])
UUIDS = st.sampled_from([b"", b"\x01" * 16, b"\x02" * 16])
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Machine, st.sampled_from(["m1", "m2"]), cluster=st.sampled_from(["", "live"])),
    st.builds(
        Tenant, TENANTS, labels=st.lists(LABELS.filter(bool), unique=True, max_size=2).map(tuple), owner=st.just("o")
    ),
    st.builds(
        Topic,
        CLUSTERS,
        st.sampled_from(["a", "b"]),
        UUIDS,
        tenant=TENANTS | st.just(""),
        label=LABELS,
        idc_policy=POLICIES | st.just(""),
    ),
    st.builds(IdcPolicy, POLICIES, st.just((("sh", 2),))),
    st.builds(document_of, st.sampled_from(DOCUMENTS), st.dictionaries(st.sampled_from(["a", "b"]), st.none())),
    st.builds(Exclusion, CLUSTERS, st.integers(0, 1), st.just("ann"), st.sampled_from(["x", "y"])),
)
names = st.one_of(
    st.builds(fed.FederationKey, machine=st.sampled_from(["m1", "m2"])),
    st.builds(fed.FederationKey, tenant=TENANTS),
    st.builds(fed.FederationKey, idc_policy=POLICIES),
    st.builds(fed.FederationKey, topic=st.builds(fed.TopicKey, cluster=CLUSTERS, name=st.sampled_from(["a", "b"]))),
    st.builds(fed.FederationKey, document=st.sampled_from(DOCUMENTS)),
    st.builds(fed.FederationKey, exclusion=st.builds(fed.ExclusionKey, cluster=CLUSTERS, broker_id=st.integers(0, 1))),
)
revisions = st.none() | st.integers(0, 6)
changes = st.builds(fed.FederationChange, put=entries.map(entry_to_proto), expected_revision=revisions) | st.builds(
    fed.FederationChange, drop=names, expected_revision=revisions
)
requests = st.lists(changes, min_size=1, max_size=4)
steps = st.lists(requests | CLUSTERS, max_size=15)


def state(group: Group) -> list[tuple[bytes, bytes]]:
    return [row for row in group.content() if row[0][0] != Table.AUDIT]


def stored(group: Group) -> list[Entry]:
    tables = (Table.MACHINE, Table.TENANT, Table.TOPIC, Table.IDC_POLICY, Table.EXCLUSION, Table.DOCUMENT)
    rows = [row for table in tables for row in group.store.scan(table.prefix)]
    return [entry_from_proto(fed.FederationEntry.FromString(value)) for _, value in rows]


def require_sound(group: Group) -> None:
    """The rules once more, over all entries, as they are said and not as they are kept."""
    every = stored(group)
    clusters = {cluster.name: cluster.cluster_id for cluster in group.machine.read().clusters()}
    tenants = {entry.name: entry for entry in every if isinstance(entry, Tenant)}
    policies = {entry.name for entry in every if isinstance(entry, IdcPolicy)}
    topics = [entry for entry in every if isinstance(entry, Topic)]
    references = 0
    for entry in every:
        if isinstance(entry, Machine | Topic | Exclusion) and entry.cluster:
            assert entry.cluster in clusters
        references += isinstance(entry, Machine | Topic | Exclusion)
    for topic in topics:
        assert not topic.tenant or tenants[topic.tenant].may_use(topic.label)
        assert not topic.idc_policy or topic.idc_policy in policies
        if topic.topic_id:
            assert group.store.get(keys.topic_owner(topic.topic_id)) == clusters[topic.cluster].encode()
        references += bool(topic.tenant) + bool(topic.tenant and topic.label) + bool(topic.idc_policy)
        references += bool(topic.topic_id)
    known = [topic.topic_id for topic in topics if topic.topic_id]
    assert len(known) == len(set(known))
    assert len(group.store.scan(Table.REFERENCE.prefix)) == references


@settings(max_examples=150)
@given(steps)
def test_a_set_is_carried_out_whole_or_not_at_all_and_the_federation_holds_together(
    log: list[list[fed.FederationChange] | str],
) -> None:
    group = Group()
    group.register("live", "id-1")
    group.register("bulk", "id-2")
    for step in log:
        before = state(group)
        if isinstance(step, str):
            reply = group.propose(drop_cluster=pb.DropCluster(name=step))
        else:
            request = fed.ChangeFederationRequest(changes=step)
            dry = group.propose(change_federation=fed.ChangeFederationRequest(changes=step, dry_run=True))
            assert state(group) == before
            reply = group.propose(change_federation=request)
            assert (dry.error_kind, dry.error) == (reply.error_kind, reply.error)
        assert "bug" not in reply.error
        if reply.error:
            assert state(group) == before
        require_sound(group)


@settings(max_examples=100)
@given(st.lists(requests, max_size=10))
def test_the_same_puts_again_change_nothing(log: list[list[fed.FederationChange]]) -> None:
    group = Group()
    group.register("live", "id-1")
    group.register("bulk", "id-2")
    for step in log:
        for change in step:
            change.ClearField("expected_revision")
        request = fed.ChangeFederationRequest(changes=[change for change in step if change.HasField("put")])
        reply = group.propose(change_federation=request)
        if not reply.error:
            before = group.content()
            again = group.propose(change_federation=request)
            assert again == reply
            assert group.content() == before
