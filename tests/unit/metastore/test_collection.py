"""The collectors' assignment in the store: joins, acknowledgements, and the leader's decisions by compare and set."""

from __future__ import annotations

import pytest

from guardian.collection.rules.assigning import assign
from guardian.model.collection import BrokerKey, CollectionAssignment
from guardian.model.wire.collection import assignment_from_proto, assignment_to_proto
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group

BROKERS = {BrokerKey("live", 1), BrokerKey("live", 2), BrokerKey("bulk", 1)}


def decide(group: Group, *live: str) -> pb.CommandReply:
    after = assign(group.machine.read().collection(), BROKERS, live, 1, 1000)
    return group.propose(put_collection=pb.PutCollection(assignment=assignment_to_proto(after)))


def test_what_was_decided_is_read_back() -> None:
    group = Group()
    assert group.machine.read().collection() == CollectionAssignment()
    for member in ("a", "b"):
        assert not group.propose(join_collection=pb.JoinCollection(member=member, incarnation=f"{member}1")).error
    assert not decide(group, "a", "b").error
    now = group.machine.read().collection()
    assert now.share_of("a", "a1") | now.share_of("b", "b1") == BROKERS
    assert assignment_from_proto(assignment_to_proto(now)) == now


def test_moves_come_through_the_wire() -> None:
    group = Group()
    group.propose(join_collection=pb.JoinCollection(member="a", incarnation="a1"))
    decide(group, "a")
    group.propose(join_collection=pb.JoinCollection(member="b", incarnation="b1"))
    decide(group, "a", "b")
    now = group.machine.read().collection()
    assert len(now.moves) == 1
    assert assignment_from_proto(assignment_to_proto(now)) == now
    ack = pb.AckCollection(member="a", incarnation="a1", generation=now.generation)
    assert not group.propose(ack_collection=ack).error
    decide(group, "a", "b")
    assert not group.machine.read().collection().moves


def test_a_decision_made_from_an_older_generation_is_refused() -> None:
    group = Group()
    group.propose(join_collection=pb.JoinCollection(member="a", incarnation="a1"))
    stale = assign(group.machine.read().collection(), BROKERS, ["a"], 1, 1000)
    group.propose(join_collection=pb.JoinCollection(member="b", incarnation="b1"))
    reply = group.propose(put_collection=pb.PutCollection(assignment=assignment_to_proto(stale)))
    assert (reply.error_kind, reply.error) == (pb.CONFLICT, "generation is 2, but 2 is stored: decide anew")
    assert not group.machine.read().collection().owners


@pytest.mark.parametrize(
    ("ack", "kind"),
    [
        (pb.AckCollection(member="a", incarnation="old", generation=1), pb.CONFLICT),
        (pb.AckCollection(member="x", incarnation="x1", generation=1), pb.NOT_FOUND),
    ],
)
def test_an_acknowledgement_of_nobody_or_of_a_fenced_process_changes_nothing(ack: pb.AckCollection, kind: int) -> None:
    group = Group()
    group.propose(join_collection=pb.JoinCollection(member="a", incarnation="a1"))
    before = group.machine.read().collection()
    assert group.propose(ack_collection=ack).error_kind == kind
    assert group.machine.read().collection() == before


@pytest.mark.parametrize("join", [pb.JoinCollection(member="a"), pb.JoinCollection(incarnation="a1")])
def test_a_join_without_a_name_is_refused(join: pb.JoinCollection) -> None:
    assert Group().propose(join_collection=join).error_kind == pb.INVALID
