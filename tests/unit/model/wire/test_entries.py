"""Both forms of the federation's entries say the same."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import Entry, Exclusion, IdcPlacement, IdcPolicy, Machine, Tenant, Topic
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.model.wire.entries import asked_entry, entry_from_proto, entry_to_proto, require_broker_id_given
from guardian.model.wire.federation import cluster_from_proto, cluster_to_proto
from protos.guardian.v1 import federation_pb2 as pb

ENTRIES: list[Entry] = [
    Machine("m1", "sh", "r1", 1 << 50, 12, 10**9, 64, "live", 3, "gold"),
    Tenant("pay", "ann", ("gold", "hot"), "payments"),
    Topic("live", "orders", b"\x07" * 16, "bob", "pay", "gold", "two", 1, (1 << 64) - 1),
    IdcPolicy("two", (("sh", 2), ("sz", 1)), "sh", (IdcPlacement((("sz", 1),)), IdcPlacement((("sh", 1), ("sz", 1))))),
    Exclusion("live", 3, "ann", "fan broken", 5, by_ticket="t-1"),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    message = entry_to_proto(entry, revision=9)
    assert message.revision == 9
    assert entry_from_proto(pb.FederationEntry.FromString(message.SerializeToString())) == entry
    kind = message.WhichOneof("entry")
    assert kind is not None
    inner = getattr(message, kind)
    assert len(inner.ListFields()) == len(inner.DESCRIPTOR.fields)  # the noun has all that the message has


def test_broker_0_is_given_in_a_request_and_stored_as_ever() -> None:
    machine = Machine("m1", cluster="live")
    stored, asked = entry_to_proto(machine), asked_entry(machine)
    assert stored.SerializeToString() == b"\x0a\x0a\x0a\x02m1\x42\x04live"  # the bytes of members of any version
    assert (stored.machine.HasField("broker_id"), asked.machine.HasField("broker_id")) == (False, True)
    assert entry_from_proto(stored) == entry_from_proto(asked) == machine
    require_broker_id_given(asked)
    require_broker_id_given(entry_to_proto(Machine("free")))
    with pytest.raises(InvalidInput, match=r"broker_id of machine m1: missing, .* \(got 'live'\); give the id"):
        require_broker_id_given(stored)


def test_an_empty_entry_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the entry is empty"):
        entry_from_proto(pb.FederationEntry())


def test_a_brokers_label_and_state_come_back() -> None:
    cluster = Cluster("live", "b:1", "id", brokers=(Broker(1, label="gold", state=BrokerState.DRAINING), Broker(2)))
    assert cluster_from_proto(cluster_to_proto(cluster)) == cluster


def test_an_unknown_state_of_a_broker_is_refused() -> None:
    message = cluster_to_proto(Cluster("live", "b:1", "id", brokers=(Broker(1),)))
    message.brokers[0].state = 7  # type: ignore[assignment]
    with pytest.raises(InvalidInput, match="state of Broker is 7: this version of Guardian knows ACTIVE, "):
        cluster_from_proto(message)
