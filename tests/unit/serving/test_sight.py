"""What of a federation is shown to who sees one of its clusters: one answer for each kind of entry."""

from __future__ import annotations

import pytest

from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import Grant, Identity, Role
from guardian.serving.sight import ELSEWHERE, Sight, shows_sink
from metastore import keys
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import federation
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import records_pb2
from raft.inmem import InMemoryReplica
from tests.counting_view import CountingView

VIC = Identity("vic", (Grant(Role.VIEWER, ("mine",)),))
ENTRIES = [
    pb.FederationEntry(tenant=pb.Tenant(name="tenant-of-mine")),
    pb.FederationEntry(tenant=pb.Tenant(name="tenant-of-theirs")),
    pb.FederationEntry(tenant=pb.Tenant(name="tenant-of-nobody")),
    pb.FederationEntry(idc_policy=pb.IdcPolicy(name="policy-of-mine", replicas={"east": 1, "west": 1})),
    pb.FederationEntry(idc_policy=pb.IdcPolicy(name="policy-in-mine", replicas={"east": 2})),
    pb.FederationEntry(idc_policy=pb.IdcPolicy(name="policy-of-theirs", replicas={"east": 1, "west": 1})),
    pb.FederationEntry(topic=pb.Topic(cluster="mine", name="a", tenant="tenant-of-mine", idc_policy="policy-of-mine")),
    pb.FederationEntry(topic=pb.Topic(cluster="theirs", name="b", tenant="tenant-of-theirs")),
    pb.FederationEntry(machine=pb.Machine(host="machine-in-mine", cluster="mine", broker_id=1)),
    pb.FederationEntry(machine=pb.Machine(host="machine-in-theirs", cluster="theirs", broker_id=1, idc="east")),
    pb.FederationEntry(machine=pb.Machine(host="free-in-east", idc="east")),
    pb.FederationEntry(machine=pb.Machine(host="free-in-west", idc="west")),
    pb.FederationEntry(machine=pb.Machine(host="free-anywhere")),
    pb.FederationEntry(exclusion=pb.Exclusion(cluster="mine", broker_id=1, who="ann", why="of-mine")),
    pb.FederationEntry(exclusion=pb.Exclusion(cluster="theirs", broker_id=1, who="ann", why="of-theirs")),
]
SHOWN = {
    pb.TENANTS: {"tenant-of-mine"},
    pb.IDC_POLICIES: {"policy-of-mine", "policy-in-mine"},
    pb.TOPICS: {"a"},
    pb.MACHINES: {"machine-in-mine", "free-in-east", "free-anywhere"},
    pb.EXCLUSIONS: {"of-mine"},
}


@pytest.fixture
def store() -> ReplicatedStore:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1000)
    for name, idc in (("mine", "east"), ("theirs", "west")):
        store.put_cluster(pb.Cluster(name=name, cluster_id=name, bootstrap="h:1", brokers=[pb.Broker(id=1, idc=idc)]))
    changes = [pb.FederationChange(put=entry) for entry in ENTRIES]
    store.propose(records_pb2.Command(change_federation=pb.ChangeFederationRequest(changes=changes)))
    return store


def name_of(entry: pb.FederationEntry) -> str:
    which = getattr(entry, str(entry.WhichOneof("entry")))
    return str(getattr(which, "host", "") or getattr(which, "name", "") or which.why)


@pytest.mark.parametrize("table", SHOWN)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_pages_are_full_of_what_is_shown_and_go_on_behind_that(
    store: ReplicatedStore, table: pb.FederationTable, size: int
) -> None:
    views, pages, after = store.read(), [], b""
    shown = Sight(VIC, lambda: views).shown
    while True:
        entries, after = views.federation_page(table, "", "", after, size, 1 << 20, shown)
        pages.append([name_of(entry) for entry in entries])
        if not after:
            break
        assert b"theirs" not in after
        assert b"west" not in after
        assert b"nobody" not in after
    assert {name for page in pages for name in page} == SHOWN[table]
    assert all(len(page) == size for page in pages[:-1])
    assert pages[-1]


def test_a_page_reads_nothing_of_clusters_that_are_not_shown(store: ReplicatedStore) -> None:
    """Behind his topic, machine and exclusion come hundreds of others."""
    for names in (range(300), range(300, 600)):
        entries = [
            *(pb.FederationEntry(topic=pb.Topic(cluster="theirs", name=f"t{number}")) for number in names),
            *(pb.FederationEntry(machine=pb.Machine(host=f"n{number}", idc="west")) for number in names),
        ]
        changes = [pb.FederationChange(put=entry) for entry in entries]
        store.propose(records_pb2.Command(change_federation=pb.ChangeFederationRequest(changes=changes)))
    views = store.read_local()
    shown = Sight(VIC, lambda: views).shown
    assert shown is not None
    for table, most in ((pb.TOPICS, 1), (pb.EXCLUSIONS, 1), (pb.MACHINES, 6)):
        view = CountingView(views.snapshot)
        entries, after = federation.page(view, federation.prefix_of(table, "", ""), b"", 500, 1 << 20, shown)
        assert ({name_of(entry) for entry in entries}, after) == (SHOWN[table], b"")
        assert view.rows <= most
    view = CountingView(views.snapshot)
    for each in ("tenant-of-mine", "tenant-of-theirs", "tenant-of-nobody"):
        assert federation.is_named_by_topic_of(view, keys.tenant(each), ["mine"]) == (each == "tenant-of-mine")
    assert view.rows == 2


def test_pages_of_clusters_name_no_other_cluster_in_their_tokens(store: ReplicatedStore) -> None:
    views = store.read_local()
    both = Identity("both", (Grant(Role.VIEWER, ("mine", "theirs")),))
    for identity, expected in ((VIC, ["mine"]), (both, ["mine", "theirs"])):
        after, found = b"", []
        while True:
            page, after = views.cluster_page(after, 1, 1 << 20, Sight(identity, lambda: views).shown)
            found += [each.name for each in page]
            assert len(page) == 1
            if not after:
                break
            assert identity is both
        assert found == expected


def test_who_sees_all_clusters_or_asks_without_security_is_shown_everything(store: ReplicatedStore) -> None:
    for identity in (
        None,
        Identity("root", (Grant(Role.ADMIN),)),
        Identity("tess", (Grant(Role.VIEWER, ("*",), ("x",)),)),
    ):
        sight = Sight(identity, store.read_local)
        assert sight.is_whole
        assert all(map(sight.shows, ENTRIES))
        assert sight.idc("west") == "west"
        assert sight.patterns(["theirs"]) == ["theirs"]


def test_idcs_rules_and_sinks(store: ReplicatedStore) -> None:
    sight = Sight(VIC, store.read_local)
    assert (sight.idc("east"), sight.idc("west")) == ("east", ELSEWHERE)
    assert sight.has_end("west", "east")
    assert not sight.has_end("west", "north")
    assert sight.patterns(["*", "m*", "mine", "theirs", "t*"]) == ["*", "m*", "mine"]
    assert shows_sink(VIC, {"mine"})
    for clusters in ((), ("theirs",), ("mine", "theirs")):
        assert not shows_sink(VIC, clusters)
