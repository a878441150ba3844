"""The clusters' table: one name for one Kafka cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.model.cordon import Cordon
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import Protection
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.cordons import cordon_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.protection import protection_to_proto
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import clusters
from protos.guardian.v1 import federation_pb2, operations_pb2, placement_pb2, tickets_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests.counting_view import CountingView

Propose = Callable[..., pb.CommandReply]
LIVE = Cluster("live", "b1:9092,b2:9092", "id-1", brokers=(Broker(1, "r1", "shanghai", "h:9"), Broker(2)))


@pytest.fixture
def machine() -> MetastoreStateMachine:
    return MetastoreStateMachine(MemoryStore())


@pytest.fixture
def propose(machine: MetastoreStateMachine) -> Propose:
    def propose(**command: object) -> pb.CommandReply:
        message = pb.Command(proposed_at_ms=5, **command)  # type: ignore[arg-type]
        return pb.CommandReply.FromString(machine.apply(machine.applied_index + 1, message.SerializeToString()))

    return propose


def put(cluster: Cluster) -> pb.PutCluster:
    return pb.PutCluster(cluster=cluster_to_proto(cluster))


def test_a_registered_cluster_is_read_back(machine: MetastoreStateMachine, propose: Propose) -> None:
    assert not propose(put_cluster=put(LIVE)).error
    assert machine.read().clusters() == (LIVE,)
    assert machine.read().cluster("live") == LIVE
    assert machine.read().cluster("bulk") is None


def test_registering_again_replaces_the_entry(machine: MetastoreStateMachine, propose: Propose) -> None:
    propose(put_cluster=put(LIVE))
    moved = Cluster("live", "b9:9092", "id-1")
    assert not propose(put_cluster=put(moved)).error
    assert machine.read().clusters() == (moved,)


def test_an_entry_that_was_changed_since_it_was_read_is_not_replaced(
    machine: MetastoreStateMachine, propose: Propose
) -> None:
    newest = Cluster("live", "b9:9092", "id-1")
    command = pb.PutCluster(cluster=cluster_to_proto(newest), expected=cluster_to_proto(LIVE))
    assert propose(put_cluster=command).error_kind == pb.CONFLICT, "removed meanwhile"
    propose(put_cluster=put(LIVE))
    assert not propose(put_cluster=command).error
    reply = propose(put_cluster=command)
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == "cluster live is no longer registered as it was read: look at it again"
    assert machine.read().clusters() == (newest,)


@pytest.mark.parametrize("other", [Cluster("live", "x:1", "id-2"), Cluster("bulk", "x:1", "id-1")])
def test_a_name_or_a_cluster_id_that_is_taken_is_a_conflict(
    machine: MetastoreStateMachine, propose: Propose, other: Cluster
) -> None:
    propose(put_cluster=put(LIVE))
    reply = propose(put_cluster=put(other))
    assert (reply.error_kind, "cluster live is registered with cluster_id id-1" in reply.error) == (pb.CONFLICT, True)
    assert machine.read().clusters() == (LIVE,)


def test_a_cluster_is_found_by_kafkas_id_without_reading_the_others(
    machine: MetastoreStateMachine, propose: Propose
) -> None:
    for number in range(50):
        propose(put_cluster=put(Cluster(f"c{number}", "x:1", f"id-of-{number}")))
    view = CountingView(machine.read().snapshot)
    found = clusters.stored_cluster_by_id(view, "id-of-7")
    assert (found is not None and found.name, view.rows) == ("c7", 2)
    assert machine.read().cluster_by_id("id-of-7") == Cluster("c7", "x:1", "id-of-7")
    assert machine.read().cluster_by_id("c7") is None
    propose(drop_cluster=pb.DropCluster(name="c7"))
    assert machine.read().cluster_by_id("id-of-7") is None
    propose(put_cluster=put(Cluster("again", "x:1", "id-of-7")))
    assert machine.read().cluster_by_id("id-of-7") == Cluster("again", "x:1", "id-of-7")


def test_a_cluster_that_takes_the_name_of_one_and_the_id_of_another_is_a_conflict(
    machine: MetastoreStateMachine, propose: Propose
) -> None:
    bulk = Cluster("bulk", "x:1", "id-2")
    for known in (LIVE, bulk):
        propose(put_cluster=put(known))
    assert propose(put_cluster=put(Cluster("live", "x:1", "id-2"))).error_kind == pb.CONFLICT
    assert machine.read().clusters() == (bulk, LIVE)


def test_a_wrong_field_is_invalid(machine: MetastoreStateMachine, propose: Propose) -> None:
    for wrong in (Cluster("live", "x:1"),):
        assert propose(put_cluster=put(wrong)).error_kind == pb.INVALID
    reply = propose(put_cluster=pb.PutCluster())
    assert reply.error_kind == pb.INVALID
    assert "cluster name" in reply.error
    assert machine.read().clusters() == ()


def test_dropping_forgets_the_cluster_once(machine: MetastoreStateMachine, propose: Propose) -> None:
    propose(put_cluster=put(LIVE))
    assert not propose(drop_cluster=pb.DropCluster(name="live")).error
    assert machine.read().clusters() == ()
    assert propose(drop_cluster=pb.DropCluster(name="live")).error_kind == pb.NOT_FOUND


def test_a_cluster_with_an_open_ticket_stays(machine: MetastoreStateMachine, propose: Propose) -> None:
    propose(put_cluster=put(LIVE))
    ask = operations_pb2.Ask(kind="offline-brokers", brokers=[1])
    ticket = tickets_pb2.Ticket(id="t1", cluster="live", kind=ask.kind, ask=ask, state=tickets_pb2.PENDING)
    assert not propose(add_ticket=pb.AddTicket(ticket=ticket)).error
    reply = propose(drop_cluster=pb.DropCluster(name="live"))
    assert (reply.error_kind, "t1, which is PENDING" in reply.error) == (pb.CONFLICT, True)
    rejected = tickets_pb2.TicketTransition(state=tickets_pb2.REJECTED, actor="ann")
    advance = pb.AdvanceTicket(ticket_id="t1", expected_state=tickets_pb2.PENDING, transition=rejected)
    assert not propose(advance_ticket=advance).error
    assert not propose(drop_cluster=pb.DropCluster(name="live")).error


def test_a_cluster_in_which_something_has_to_be_taken_back_stays(
    machine: MetastoreStateMachine, propose: Propose
) -> None:
    propose(put_cluster=put(LIVE))
    owes = Protection("live", intents=(OwnedSetting("CLIENT", "client-id=etl", "consumer_byte_rate", ("5",), None),))
    propose(put_protection=pb.PutProtection(protection=protection_to_proto(owes)))
    reply = propose(drop_cluster=pb.DropCluster(name="live"))
    assert (reply.error_kind, "run `guardian disk release --cluster live`" in reply.error) == (pb.CONFLICT, True)
    free = pb.PutProtection(protection=protection_to_proto(Protection("live")), expected_revision=1)
    propose(put_protection=free)
    for cluster in ("live", "live-2"):  # another cluster's are none of its
        cordon = cordon_to_proto(Cordon(cluster, 3, "*"))
        assert not propose(put_cordons=placement_pb2.PutCordons(cluster=cluster, cordons=[cordon])).error
    reply = propose(drop_cluster=pb.DropCluster(name="live"))
    assert (reply.error_kind, "has cordons on broker 3: lift" in reply.error) == (pb.CONFLICT, True)
    gone = placement_pb2.DropCordon(broker_id=3, revision=1)
    propose(put_cordons=placement_pb2.PutCordons(cluster="live", dropped=[gone]))
    assert not propose(drop_cluster=pb.DropCluster(name="live")).error


def register(**changes: object) -> federation_pb2.RegisterReporterRequest:
    fields: dict[str, object] = {"cluster_id": "id-1", "broker_id": 2, "reporter": "h:9"} | changes
    return federation_pb2.RegisterReporterRequest(**fields)  # type: ignore[arg-type]


def test_a_plugin_registers_where_it_is_and_what_an_admin_set_wins(
    machine: MetastoreStateMachine, propose: Propose
) -> None:
    propose(put_cluster=put(LIVE))
    for broker_id in (1, 2):
        url = "http://h:80/metrics"
        assert not propose(register_reporter=register(broker_id=broker_id, reporter="new:9", metrics_url=url)).error
    cluster = machine.read().cluster("live")
    assert cluster is not None
    assert [broker.reporter_endpoint for broker in cluster.brokers] == ["h:9", "new:9"]
    assert [broker.metrics_url for broker in cluster.brokers] == [url, url]
    assert (cluster.brokers[0].rack, cluster.brokers[0].idc) == ("r1", "shanghai")


@pytest.mark.parametrize(
    ("changes", "kind", "sentence"),
    [
        ({"cluster_id": "id-9"}, pb.NOT_FOUND, "cluster_id is 'id-9', which is not registered"),
        ({"broker_id": 7}, pb.NOT_FOUND, "broker_id is 7, which is not registered in cluster live"),
        ({"reporter": "nonsense"}, pb.INVALID, "registered_reporter is 'nonsense': use host:port"),
        ({"metrics_url": "ftp://x"}, pb.INVALID, "metrics_url is 'ftp://x': use http://host:port/metrics"),
    ],
)
def test_a_registration_that_does_not_fit_changes_nothing(
    machine: MetastoreStateMachine, propose: Propose, changes: dict[str, object], kind: int, sentence: str
) -> None:
    propose(put_cluster=put(LIVE))
    reply = propose(register_reporter=register(**changes))
    assert (reply.error_kind, sentence in reply.error) == (kind, True), reply.error
    assert machine.read().clusters() == (LIVE,)
