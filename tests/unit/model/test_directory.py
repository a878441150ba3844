"""What the directory says of brokers, with their machines."""

from __future__ import annotations

from dataclasses import replace

from guardian.model.directory import Directory
from guardian.model.federation import Machine
from guardian.model.topology import Broker, BrokerState, Cluster

OWN = Broker(1, "r1", "suzhou", label="gold", state=BrokerState.DRAINING)
SILENT = Broker(2, "r2")


def test_a_broker_has_the_label_and_the_idc_of_its_machine_where_it_has_none() -> None:
    machines = (
        *(Machine(f"m{each}", "shanghai", cluster="live", broker_id=each, label="silver") for each in (1, 2, 7)),
        Machine("other", "beijing", cluster="bulk", broker_id=3, label="red"),
        Machine("free", "beijing", label="red"),
    )
    known = Directory((Cluster("live", "h:1", brokers=(OWN, SILENT, Broker(3))),), machines)
    assert known.brokers_of("live") == {
        1: OWN,
        2: replace(SILENT, idc="shanghai", label="silver"),
        3: Broker(3),
        7: Broker(7, idc="shanghai", label="silver"),
    }
    assert known.brokers_of("bulk") == {3: Broker(3, idc="beijing", label="red")}, "only a machine tells of it"
    assert known.brokers_of("nope") == {}
