"""Feature levels: nothing is proposed that an older member would carry out in another way."""

from __future__ import annotations

from typing import cast

import pytest

from guardian.errors import Conflict
from guardian.replication.store.store import ReplicatedStore
from metastore import levels
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreError
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tickets_pb2
from raft.inmem import InMemoryReplica
from tests.unit.metastore.proposing import Group


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Group:
    """Members of a version that knows level 1."""
    monkeypatch.setattr(levels, "LEVEL", 1)
    return Group()


def test_each_level_brings_fields_that_are_there() -> None:
    assert set(levels.SINCE) <= set(levels.fields_of(pb.Command()))
    assert set(levels.SINCE.values()) == set(range(1, levels.LEVEL + 1))


def test_the_level_is_raised_once_and_never_goes_down(group: Group) -> None:
    assert group.machine.read().level == 0
    for _ in range(2):
        assert not group.propose(raise_level=pb.RaiseLevel(level=1)).error
    assert group.machine.read().level == 1
    refused = group.propose(raise_level=pb.RaiseLevel(level=0))
    assert (refused.error_kind, "levels never go down" in refused.error) == (pb.INVALID, True)
    assert group.machine.read().level == 1


def test_raising_it_is_audited(group: Group) -> None:
    group.propose(raise_level=pb.RaiseLevel(level=1), actor="ann")
    (record,) = group.machine.read().audit_page(0, 0, "", b"", 10)[0]
    assert (record.actor, record.subject, record.detail) == ("ann", "feature level", "1")


def test_a_member_that_does_not_know_the_new_level_stops(group: Group) -> None:
    before = group.machine.applied_index
    with pytest.raises(
        StoreError, match=f"feature level {levels.LEVEL + 1}, .*levels up to {levels.LEVEL}: start a newer"
    ):
        group.propose(raise_level=pb.RaiseLevel(level=levels.LEVEL + 1))
    assert group.machine.applied_index == before, "it applies the entry once a newer version runs there"


def test_a_member_does_not_start_on_a_store_of_a_later_version(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    group.propose(raise_level=pb.RaiseLevel(level=1))
    monkeypatch.setattr(levels, "LEVEL", 0)
    with pytest.raises(StoreError, match=r"at feature level 1, .*levels up to 0: start a newer version here"):
        MetastoreStateMachine(group.store)


def test_a_field_waits_for_its_level_at_any_depth() -> None:
    since = {"guardian.v1.ForeignWork.partition": 2, "guardian.v1.AdvanceTicket.expected_ask_revision": 1}
    execution = tickets_pb2.Execution(foreign=[tickets_pb2.ForeignWork(topic="t", partition=3)])
    nested = pb.Command(advance_ticket=pb.AdvanceTicket(ticket_id="t-1", execution=execution))
    levels.require_level(nested, 2, since)
    with pytest.raises(
        Conflict, match=r"ForeignWork.partition needs feature level 2, and the group is at 1: bring all"
    ):
        levels.require_level(nested, 1, since)
    compared = pb.Command(advance_ticket=pb.AdvanceTicket(ticket_id="t-1", expected_ask_revision=0))
    levels.require_level(compared, 1, since)
    with pytest.raises(Conflict, match=r"AdvanceTicket.expected_ask_revision needs feature level 1"):
        levels.require_level(compared, 0, since)
    levels.require_level(pb.Command(open_session=pb.OpenSession(window=1, session_id=5)), 0, since)


def test_a_message_tells_its_fields_at_any_depth() -> None:
    fields = set(levels.fields_of(pb.Command(put_cluster=pb.PutCluster())))
    assert {"guardian.v1.Command.put_cluster", "guardian.v1.PutCluster.cluster", "guardian.v1.Cluster.name"} <= fields
    assert "guardian.v1.RaftStatus.name" not in fields


def test_the_store_asks_before_it_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "LEVEL", 1)
    monkeypatch.setitem(cast("dict[str, int]", levels.SINCE), "guardian.v1.OpenSession.owner", 1)
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1)
    open_one = pb.Command(open_session=pb.OpenSession(window=1, session_id=5, owner="broker-1"))
    with pytest.raises(Conflict, match=r"OpenSession.owner needs feature level 1, and the group is at 0"):
        store.propose(open_one)
    store.raise_level(1)
    assert store.propose(open_one).session_id
    assert store.level() == 1
