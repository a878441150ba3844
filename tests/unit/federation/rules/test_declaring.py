"""What differs between a federation and its declaration, in which order it is changed, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.federation.model import (
    Declaration,
    DeclaredBroker,
    DeclaredCluster,
    DeclaredEntry,
    EntryKey,
    KnownFederation,
    Stored,
    key_of,
)
from guardian.federation.rules import declaring
from guardian.federation.rules.declaring import Difference, DropCluster, DropEntry, PutCluster, PutEntry
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.topology import Broker, BrokerState, Cluster, ClusterSecurity, SecurityProtocol

LIVE = Cluster("live", "h:1", "id", brokers=(Broker(1, "r1", "sh", label="gold"), Broker(2, "r2", "")))


def known(*entries: Entry, clusters: tuple[Cluster, ...] = (LIVE,)) -> KnownFederation:
    return KnownFederation(clusters, {key_of(entry): Stored(entry, 7) for entry in entries})


def entry(kind: str, name: str, cluster: str = "", **fields: object) -> DeclaredEntry:
    return DeclaredEntry(EntryKey(kind, cluster, name), fields, "f:3", f"{kind}.{name}")


def test_entries_come_after_what_they_name_and_go_before_it() -> None:
    stored = known(
        Tenant("gone"), IdcPolicy("gone", (("sh", 1),)), Topic("live", "gone", tenant="gone"), Machine("gone")
    )
    declared = Declaration(
        entries=(
            entry("topics", "orders", "live", tenant="pay"),
            entry("exclusions", "1", "live", why="fan"),
            entry("machines", "n1"),
            entry("tenants", "pay"),
            entry("idc_policies", "two", replicas=(("sh", 2),)),
        ),
        sections=frozenset({("tenants", ""), ("idc_policies", ""), ("topics", "live"), ("machines", "")}),
    )
    found = [*declaring.changes(declared, stored, "me", prune=True)]
    assert [(type(change), change.name) for change in found] == [
        (PutEntry, "IDC policy two"),
        (PutEntry, "tenant pay"),
        (PutEntry, "machine n1"),
        (PutEntry, "topic live/orders"),
        (PutEntry, "exclusion of broker 1 of cluster live"),
        (DropEntry, "topic live/gone"),
        (DropEntry, "machine gone"),
        (DropEntry, "tenant gone"),
        (DropEntry, "IDC policy gone"),
    ]
    assert all(change.revision == 7 for change in found if isinstance(change, DropEntry))
    assert not declaring.changes(declared, stored, "me").drops


def test_a_field_that_is_not_named_stays_and_an_entry_keeps_its_revision() -> None:
    before = Topic("live", "orders", bytes(range(16)), "ann", "pay", "gold", "two", 5, 6)
    declared = Declaration(entries=(entry("topics", "orders", "live", owner="bob", label=""),))
    (put,) = declaring.changes(declared, known(before), "me").entries
    assert isinstance(put, PutEntry)
    assert put.entry == replace(before, owner="bob", label="")
    assert (put.revision, put.before) == (7, before)
    assert put.differences == (Difference("owner", "ann", "bob"), Difference("label", "gold", ""))
    assert not [*declaring.changes(declared, known(put.entry), "me")]


def test_whoever_applies_answers_for_an_exclusion_that_is_new() -> None:
    declared = Declaration(entries=(entry("exclusions", "1", "live", why="fan"),))
    (put,) = declaring.changes(declared, known(), "zoe").entries
    assert put.entry == Exclusion("live", 1, "zoe", "fan")
    assert not [*declaring.changes(declared, known(Exclusion("live", 1, "ann", "fan")), "zoe")]
    with pytest.raises(InvalidInput, match=r"f:3: exclusions\.1: why of the exclusion of broker 1 is empty"):
        declaring.changes(Declaration(entries=(entry("exclusions", "1", "live"),)), known(), "zoe")


def test_whoever_changes_a_tickets_exclusion_answers_for_it() -> None:
    before = Exclusion("live", 1, "ann", "taken offline by ticket t-1", by_ticket="t-1")
    (put,) = declaring.changes(
        Declaration(entries=(entry("exclusions", "1", "live", why="fan"),)), known(before), "z"
    ).entries
    assert put.entry == Exclusion("live", 1, "ann", "fan")
    same = Declaration(entries=(entry("exclusions", "1", "live", why=before.why),))
    assert not [*declaring.changes(same, known(before), "zoe")]


def test_a_machine_that_is_freed_loses_its_broker_id() -> None:
    declared = Declaration(entries=(replace(entry("machines", "n1"), fields={"cluster": ""}),))
    (put,) = declaring.changes(declared, known(Machine("n1", cluster="live", broker_id=4)), "me").entries
    assert put.entry == Machine("n1")


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ({"cluster": "live"}, None),
        ({"cluster": "live"}, Machine("n1")),
        ({"cluster": "live"}, Machine("n1", cluster="bulk", broker_id=4)),
        ({"cluster": "live", "broker_id": None}, None),
        ({"broker_id": None}, Machine("n1", cluster="live", broker_id=4)),
    ],
)
def test_a_machine_comes_into_no_cluster_without_its_broker(fields: dict[str, object], stored: Machine | None) -> None:
    declared = Declaration(entries=(replace(entry("machines", "n1"), fields=fields),))
    before = known(*([stored] if stored else []))
    with pytest.raises(InvalidInput, match=r"^f:3: machines.n1: broker of machine n1: missing, .* \(got 'live'\)"):
        declaring.changes(declared, before, "me")


def test_a_machine_of_a_cluster_keeps_its_broker_and_broker_0_may_be_given() -> None:
    stored = known(Machine("n1", cluster="live", broker_id=4), Machine("n3"))
    declared = (
        replace(entry("machines", "n1"), fields={"cluster": "live", "rack": "r9"}),
        replace(entry("machines", "n2"), fields={"cluster": "live", "broker_id": 0}),
        replace(entry("machines", "n3"), fields={"cluster": "", "broker_id": None, "rack": "r8"}),
    )
    puts = declaring.changes(Declaration(entries=declared), stored, "me").entries
    assert {put.entry for put in puts} == {
        Machine("n1", rack="r9", cluster="live", broker_id=4), Machine("n2", cluster="live"), Machine("n3", rack="r8"),
    }  # fmt: skip


def test_of_a_cluster_only_what_is_named_changes() -> None:
    wanted = DeclaredCluster(
        "live",
        "f:1",
        "clusters.live",
        security={"protocol": SecurityProtocol.SSL},
        brokers={2: DeclaredBroker("f:2", "b", label="gold", state=BrokerState.MAINTENANCE)},
    )
    declared = Declaration(clusters=(wanted,), idc_of_rack={"r2": "sz", "r9": "x"})
    (put,) = declaring.changes(declared, known(), "me").clusters
    assert put.cluster.brokers == (
        LIVE.brokers[0],
        Broker(2, "r2", "sz", label="gold", state=BrokerState.MAINTENANCE),
    )
    assert put.cluster.security == ClusterSecurity(SecurityProtocol.SSL)
    assert (put.labels, put.states) == ({2: "gold"}, {2: BrokerState.MAINTENANCE})
    assert put.differences == (
        Difference("security.protocol", "PLAINTEXT", "SSL"),
        Difference("broker 2 idc", "", "sz"),
        Difference("broker 2 label", "", "gold"),
        Difference("broker 2 state", "active", "maintenance"),
    )
    assert not [*declaring.changes(declared, known(clusters=(put.cluster,)), "me")]


def test_clusters_that_the_file_does_not_name_are_touched_by_prune_only() -> None:
    named = DeclaredCluster("live", "f:1", "clusters.live")
    declared = Declaration(
        clusters=(named,), idc_of_rack={"r1": "sz"}, sections=frozenset({("clusters", ""), ("labels", "")})
    )
    other = replace(LIVE, name="bulk", cluster_id="other")
    found = declaring.changes(declared, known(clusters=(LIVE, other)), "me")
    assert [put.differences for put in found.clusters] == [(Difference("broker 1 idc", "sh", "sz"),)]
    pruned = declaring.changes(declared, known(clusters=(LIVE, other)), "me", prune=True)
    assert pruned.dropped_clusters == (DropCluster(other),)
    assert pruned.clusters[0].labels == {1: ""}


def test_a_new_cluster_needs_a_bootstrap_and_comes_first() -> None:
    broker = DeclaredBroker("f:2", "b", label="gold", idc="sh")
    wanted = DeclaredCluster("new", "f:1", "clusters.new", "h:1", idc_of_rack={"r": "sz"}, brokers={3: broker})
    declared = Declaration(
        clusters=(wanted,), entries=(entry("topics", "t", "new"),), idc_of_rack={"r": "sh", "q": "sh"}
    )
    put, topic = declaring.changes(declared, known(), "me")
    assert isinstance(put, PutCluster)
    assert isinstance(topic, PutEntry)
    assert (put.cluster.brokers, put.labels) == ((Broker(3, idc="sh"),), {3: "gold"})
    assert put.idc_of_rack == {"r": "sz", "q": "sh"}
    with pytest.raises(InvalidInput, match=r"f:1: clusters\.new: it is not registered and bootstrap is missing"):
        declaring.changes(Declaration(clusters=(replace(wanted, bootstrap=""),)), known(), "me")
    with pytest.raises(InvalidInput, match="f:2: b: broker 3 is not in cluster live, whose brokers are 1, 2"):
        declaring.changes(Declaration(clusters=(replace(wanted, name="live"),)), known(), "me")
