"""The federation over gRPC: changes, pages, the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.model.federation import Entry, Exclusion, Tenant, Topic
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.model.wire.entries import entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.serving import paging
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import federation_pb2_grpc, placement_pb2, records_pb2, sessions_pb2_grpc
from protos.guardian.v1.sessions_pb2 import OpenSessionRequest, SessionRef
from tests.patience import CALL_S
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=CALL_S, actor="ann") as client:
        yield client


@pytest.fixture
def stub(member: Member) -> Iterator[federation_pb2_grpc.FederationStub]:
    with grpc.insecure_channel(member.endpoint) as channel:
        yield federation_pb2_grpc.FederationStub(channel)


def put(entry: Entry, expected: int | None = None) -> pb.FederationChange:
    return pb.FederationChange(put=entry_to_proto(entry), expected_revision=expected)


def request(*entries: Entry) -> pb.ChangeFederationRequest:
    return pb.ChangeFederationRequest(changes=map(put, entries))


def test_a_set_is_stored_and_listed_and_audited(client: GuardianClient) -> None:
    revisions = client.change_federation([put(Tenant("pay")), put(Topic("live", "orders", tenant="pay"))])
    assert len(set(revisions)) == 1
    (entry,) = client.federation(pb.TOPICS, cluster="live")
    assert (entry.topic.name, entry.revision) == ("orders", revisions[0])
    record = next(iter(client.audit()))
    assert (record.actor, record.action, record.subject) == (
        "ann",
        "change_federation",
        "put tenant pay, put topic live/orders",
    )


def test_refusals_have_their_codes(client: GuardianClient) -> None:
    key = pb.ExclusionKey(cluster="live", broker_id=3)
    with pytest.raises(NotFound, match="exclusion of broker 3 of cluster live does not exist"):
        client.change_federation([pb.FederationChange(drop=pb.FederationKey(exclusion=key))])
    with pytest.raises(Conflict, match="does not exist"):
        client.change_federation([put(Tenant("pay"), expected=9)])
    with pytest.raises(InvalidInput, match="changes has 0"):
        client.change_federation([])
    assert list(client.federation(pb.TENANTS)) == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_machine_of_a_cluster_needs_its_broker(client: GuardianClient, dry_run: bool) -> None:
    left_out = pb.FederationChange(put=pb.FederationEntry(machine=pb.Machine(host="m1", cluster="live")))
    with pytest.raises(InvalidInput, match=r"broker_id of machine m1: missing, .* \(got 'live'\); give the id"):
        client.change_federation([put(Tenant("pay")), left_out], dry_run=dry_run)
    assert not [*client.federation(pb.MACHINES), *client.federation(pb.TENANTS)]


def test_broker_0_of_a_machine_is_told_to_whoever_lists(client: GuardianClient) -> None:
    change = pb.FederationChange(put=pb.FederationEntry(machine=pb.Machine(host="m1", cluster="live", broker_id=0)))
    client.change_federation([change])
    (entry,) = client.federation(pb.MACHINES)
    assert (entry.machine.HasField("broker_id"), entry.machine.broker_id) == (True, 0)


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_a_ticket_says_that_an_exclusion_is_a_tickets(client: GuardianClient, dry_run: bool) -> None:
    claimed = put(Exclusion("live", 3, "ann", "fan", by_ticket="t-1"))
    with pytest.raises(InvalidInput, match=r"by_ticket of the exclusion of broker 3: .* \(got 't-1'\); leave it out"):
        client.change_federation([claimed], dry_run=dry_run)


def test_a_dry_run_answers_and_writes_nothing(client: GuardianClient, member: Member) -> None:
    before = member.machine.applied_index
    assert client.change_federation([put(Tenant("pay"))], dry_run=True) == [0]
    with pytest.raises(NotFound):
        client.change_federation([put(Topic("live", "t", tenant="nope"))], dry_run=True)
    assert member.machine.applied_index == before


def test_pages_are_bounded_and_follow_one_another(
    client: GuardianClient, stub: federation_pb2_grpc.FederationStub
) -> None:
    client.change_federation([put(Exclusion("live", broker, "ann", "x")) for broker in range(600)])
    first = stub.ListFederation(pb.ListFederationRequest(table=pb.EXCLUSIONS))
    assert len(first.entries) == 500
    few = stub.ListFederation(pb.ListFederationRequest(table=pb.EXCLUSIONS, page_size=7))
    assert len(few.entries) == 7
    everything = stub.ListFederation(pb.ListFederationRequest(table=pb.EXCLUSIONS, page_size=100_000))
    assert (len(everything.entries), everything.next_page_token) == (600, "")
    listed = [entry.exclusion.broker_id for entry in client.federation(pb.EXCLUSIONS)]
    assert listed == list(range(600))


def test_clusters_and_cordons_come_in_pages(
    member: Member, client: GuardianClient, stub: federation_pb2_grpc.FederationStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = len(client.list_clusters())
    for number in range(3):
        member.store.put_cluster(cluster_to_proto(Cluster(f"new-{number}", "h:1", f"id-{number}")))
    cordons = [placement_pb2.Cordon(cluster="new-1", broker_id=broker) for broker in range(3)]
    command = records_pb2.Command(put_cordons=placement_pb2.PutCordons(cluster="new-1", cordons=cordons))
    member.store.propose(command)
    few = stub.ListClusters(pb.ListClustersRequest(page_size=2))
    assert (len(few.clusters), bool(few.next_page_token)) == (2, True)
    monkeypatch.setattr(paging, "MAX_PAGE", 1)
    assert len(stub.ListClusters(pb.ListClustersRequest()).clusters) == 1
    listed = [cluster.name for cluster in client.list_clusters()]
    assert (len(listed), listed) == (known + 3, sorted(listed))
    assert [each.broker_id for each in client.cordons("new-1")] == [0, 1, 2]
    assert [each.broker_id for each in client.cordons()] == [0, 1, 2]
    with pytest.raises(grpc.RpcError, match="page_token is another list's"):
        stub.ListClusters(pb.ListClustersRequest(page_token="dC05"))


def test_the_audit_comes_in_pages(client: GuardianClient, stub: federation_pb2_grpc.FederationStub) -> None:
    for number in range(5):
        client.change_federation([put(Tenant(f"t{number}"))])
    page = stub.ListAudit(pb.ListAuditRequest(page_size=2, actor="ann"))
    assert [record.subject for record in page.records] == ["put tenant t4", "put tenant t3"]
    rest = stub.ListAudit(pb.ListAuditRequest(page_size=10, actor="ann", page_token=page.next_page_token))
    assert [record.subject for record in rest.records] == [f"put tenant t{number}" for number in (2, 1, 0)]


@pytest.mark.parametrize("token", ["?", "AAAA", "x" * 3000])
def test_a_token_that_is_none_is_refused(stub: federation_pb2_grpc.FederationStub, token: str) -> None:
    for call in (
        lambda: stub.ListFederation(pb.ListFederationRequest(table=pb.TENANTS, page_token=token)),
        lambda: stub.ListAudit(pb.ListAuditRequest(page_token=token)),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "page_token" in str(caught.value.details())


def test_times_before_the_epoch_are_refused(stub: federation_pb2_grpc.FederationStub) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.ListAudit(pb.ListAuditRequest(from_ms=-1))
    assert "from_ms is -1" in str(caught.value.details())


def test_whoever_gives_no_name_is_unknown_and_a_bad_name_is_refused(
    member: Member, stub: federation_pb2_grpc.FederationStub
) -> None:
    stub.ChangeFederation(request(Tenant("pay")))
    (record,) = stub.ListAudit(pb.ListAuditRequest(page_size=1)).records
    assert record.actor == "unknown"
    with pytest.raises(grpc.RpcError, match="guardian-actor"):
        stub.ChangeFederation(request(Tenant("pay2")), metadata=(("guardian-actor", "x" * 500),))


def test_a_change_with_a_session_is_made_once(
    member: Member, client: GuardianClient, stub: federation_pb2_grpc.FederationStub
) -> None:
    with grpc.insecure_channel(member.endpoint) as channel:
        opened = sessions_pb2_grpc.SessionsStub(channel).OpenSession(OpenSessionRequest(window=1))
    header = SessionRef(id=opened.session_id, sequence=1, answered_below=1).SerializeToString()
    metadata = (("guardian-session-bin", header),)
    first = stub.ChangeFederation(request(Tenant("pay")), metadata=metadata)
    stub.ChangeFederation(
        pb.ChangeFederationRequest(changes=[pb.FederationChange(drop=pb.FederationKey(tenant="pay"))])
    )
    assert stub.ChangeFederation(request(Tenant("pay")), metadata=metadata) == first
    assert list(client.federation(pb.TENANTS)) == []


def test_registering_again_keeps_labels_and_states_and_what_is_given_replaces_them(client: GuardianClient) -> None:
    cluster = Cluster("live", "h:9092")
    client.register_cluster(cluster, labels={1: "gold", 2: "gold"}, states={1: BrokerState.DRAINING})
    again = client.register_cluster(Cluster("live", "h:9093", brokers=(Broker(1, reporter="h:1"),)))
    assert [(b.id, b.label, b.state) for b in again.brokers] == [
        (1, "gold", BrokerState.DRAINING),
        (2, "gold", BrokerState.ACTIVE),
        (3, "", BrokerState.ACTIVE),
    ]
    client.register_cluster(cluster, labels={1: ""}, states={1: BrokerState.ACTIVE})
    (listed,) = client.list_clusters()
    assert [(b.label, b.state) for b in listed.brokers] == [
        ("", BrokerState.ACTIVE),
        ("gold", BrokerState.ACTIVE),
        ("", BrokerState.ACTIVE),
    ]
    with pytest.raises(InvalidInput, match="state_of_broker names broker 9 of cluster live: its brokers are 1, 2, 3"):
        client.register_cluster(cluster, states={9: BrokerState.ACTIVE})


def test_what_changes_while_a_cluster_is_registered_again_is_not_undone(
    client: GuardianClient, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster("live", "h:9092")
    client.register_cluster(cluster, labels={1: "gold"})
    put_cluster = member.store.put_cluster

    def overtaken(registered: pb.Cluster, **more: Any) -> None:
        (now,) = client.list_clusters()
        meanwhile = replace(now, brokers=tuple(replace(broker, label="silver") for broker in now.brokers))
        put_cluster(cluster_to_proto(meanwhile))
        put_cluster(registered, **more)

    monkeypatch.setattr(member.store, "put_cluster", overtaken)
    with pytest.raises(Conflict, match="cluster live is no longer registered as it was read: look at it again"):
        client.register_cluster(cluster, labels={2: "gold"})
    (listed,) = client.list_clusters()
    assert [broker.label for broker in listed.brokers] == ["silver"] * 3


def test_whoever_compared_with_an_entry_changes_only_that_one(client: GuardianClient) -> None:
    cluster = Cluster("live", "h:9092")
    read = client.register_cluster(cluster)
    made = client.register_cluster(cluster, labels={1: "gold"}, expected=read)
    assert made.brokers[0].label == "gold"
    again = client.register_cluster(cluster, labels={1: "gold"}, expected=read)  # sent twice: it finds its own result
    assert again == made
    with pytest.raises(Conflict, match="cluster live is no longer registered as it was read: look at it again"):
        client.register_cluster(cluster, labels={1: "silver"}, expected=read)
    assert client.list_clusters() == (made,)


def test_a_plugin_that_repeats_itself_costs_no_entry_of_the_log(
    client: GuardianClient, stub: federation_pb2_grpc.FederationStub, member: Member
) -> None:
    said = pb.RegisterReporterRequest(cluster_id="id-live", broker_id=1, reporter="h:9")
    member.store.put_cluster(cluster_to_proto(Cluster("bulk", "b:9092", "id-live", brokers=(Broker(1),))))
    assert stub.RegisterReporter(said) == pb.RegisterReporterReply(cluster="bulk", reporter="h:9")
    index = member.store.read_index()
    assert stub.RegisterReporter(said) == pb.RegisterReporterReply(cluster="bulk", reporter="h:9")
    for cluster_id in ("id-other", "id-live"):
        with pytest.raises(grpc.RpcError, match="which is not registered") as refused:
            stub.RegisterReporter(pb.RegisterReporterRequest(cluster_id=cluster_id, broker_id=2, reporter="h:9"))
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert member.store.read_index() == index
    assert [record.action for record in client.audit()][:2] == ["register_reporter", "put_cluster"]
