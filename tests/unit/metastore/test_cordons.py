"""Cordons are changed only by whoever saw them last, and all of a set or none."""

from __future__ import annotations

import pytest

from guardian.model.cordon import Cordon
from guardian.model.topology import TopicPartition
from guardian.model.wire.cordons import cordon_to_proto
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import placement_pb2, records_pb2

HELD = frozenset(TopicPartition("t", number) for number in range(3))


@pytest.fixture
def machine() -> MetastoreStateMachine:
    return MetastoreStateMachine(MemoryStore())


def put(machine: MetastoreStateMachine, *cordons: Cordon, dropped: dict[int, int] | None = None) -> str:
    command = placement_pb2.PutCordons(
        cluster="live",
        cordons=[cordon_to_proto(cordon) for cordon in cordons],
        dropped=[placement_pb2.DropCordon(broker_id=b, revision=r) for b, r in (dropped or {}).items()],
    )
    entry = records_pb2.Command(put_cordons=command).SerializeToString()
    return records_pb2.CommandReply.FromString(machine.apply(machine.applied_index + 1, entry)).error


def test_a_cordon_is_kept_counted_and_dropped(machine: MetastoreStateMachine) -> None:
    assert put(machine, Cordon("live", 3, "*", "/d1", 5, HELD)) == ""
    [stored] = machine.read().cordons("live")
    assert stored == Cordon("live", 3, "*", "/d1", 5, HELD, revision=1)
    assert machine.read().cordons("other") == ()
    assert put(machine, Cordon("live", 3, "*", "/d1", 5, is_lifted=True, revision=1)) == ""
    assert machine.read().cordons()[0].revision == 2
    assert put(machine, dropped={3: 2}) == ""
    assert machine.read().cordons() == ()


def test_who_saw_an_older_one_changes_nothing(machine: MetastoreStateMachine) -> None:
    put(machine, Cordon("live", 3, "*"))
    refused = put(machine, Cordon("live", 4, "*"), Cordon("live", 3, "*", note="mine"))
    assert refused == "the cordon of broker 3 of cluster live is at revision 1 and no longer at 0: decide anew"
    assert [cordon.broker_id for cordon in machine.read().cordons()] == [3]
    assert "is at revision 0 and no longer at 7" in put(machine, dropped={9: 7})


def test_a_set_that_contradicts_itself_is_refused(machine: MetastoreStateMachine) -> None:
    assert "name a broker twice" in put(machine, Cordon("live", 3), Cordon("live", 3, "*"))
    assert "use that of the set" in put(machine, Cordon("other", 3))
    assert machine.read().cordons() == ()
