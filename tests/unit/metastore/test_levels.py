"""Feature levels: nothing is proposed that an older member would carry out in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import Conflict
from guardian.server.store import ReplicatedStore
from metastore import levels
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreError
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tickets_pb2
from raft.inmem import InMemoryReplica
from tests.unit.metastore.proposing import Group

LEVEL_0 = Path(__file__).with_name("level_0.txt").read_text().split()


@pytest.fixture
def group() -> Group:
    return Group()


def test_every_field_that_level_0_did_not_have_says_since_which_level_it_is_there() -> None:
    """A failure? Add the field to SINCE in metastore/levels.py, and raise LEVEL if that was released already."""
    new = set(levels.fields_of(pb.Command())) - set(LEVEL_0)
    of_new_messages = {
        field for field in new if field.rpartition(".")[0] not in {each.rpartition(".")[0] for each in LEVEL_0}
    }
    assert new - of_new_messages == set(levels.SINCE) - of_new_messages
    assert set(levels.SINCE) <= new
    assert set(levels.SINCE.values()) == set(range(1, levels.LEVEL + 1))


def test_no_field_of_level_0_is_gone() -> None:
    assert set(LEVEL_0) <= set(levels.fields_of(pb.Command()))


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
    monkeypatch.setattr(levels, "LEVEL", levels.LEVEL + 1)
    group.propose(raise_level=pb.RaiseLevel(level=levels.LEVEL))
    monkeypatch.undo()
    with pytest.raises(StoreError, match="start a newer version here"):
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
    levels.require_level(pb.Command(open_session=pb.OpenSession(window=1)), 0, since)


def test_the_store_asks_before_it_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1)
    asked: list[int] = []
    monkeypatch.setattr(levels, "require_level", lambda _command, level: asked.append(level))
    open_one = pb.Command(open_session=pb.OpenSession(window=1))
    store.propose(open_one)
    store.raise_level(1)
    store.propose(open_one)
    assert asked == [0, 0], "from its own level on there is nothing to ask"
    assert store.level() == 1
