"""A cluster is registered as Kafka says it is."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.federation.service.federation import confirm, labelled
from guardian.model.cluster_state import BrokerNode, ClusterDescription
from guardian.model.topology import Broker, BrokerState, Cluster

KAFKA = ClusterDescription("id-1", {2: BrokerNode(2, "h", 9092, "r2"), 1: BrokerNode(1, "h", 9091, "r1")})


def test_brokers_racks_and_data_centres_are_filled_in() -> None:
    asked = Cluster("live", "h:9091", brokers=(Broker(1, reporter="h:1", idc="own"),))
    assert confirm(asked, KAFKA, {"r1": "shanghai", "r2": "suzhou"}) == Cluster(
        "live", "h:9091", "id-1", brokers=(Broker(1, "r1", "own", "h:1"), Broker(2, "r2", "suzhou"))
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Cluster("live", "h:9091", cluster_id="id-2"), r"cluster_id is 'id-2', but h:9091 belongs to 'id-1'"),
        (
            Cluster("live", "h:9091", brokers=(Broker(9),)),
            r"broker 9 is not alive in cluster live: its brokers are 1, 2",
        ),
        (Cluster("live", "h:9091", brokers=(Broker(1, "r9"),)), r"rack of broker 1 is 'r9', but Kafka says 'r1'"),
    ],
)
def test_what_kafka_denies_is_refused(asked: Cluster, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        confirm(asked, KAFKA, {})


def test_a_cluster_that_is_registered_again_keeps_its_brokers_labels_and_states() -> None:
    drained = Broker(1, "r1", label="gold", state=BrokerState.DRAINING)
    known = Cluster("live", "h:1", "id-1", brokers=(drained, Broker(7, label="gone")))
    again = confirm(Cluster("live", "h:9091", brokers=(Broker(1, reporter="h:1"),)), KAFKA, {}, known)
    assert again.broker(1) == Broker(1, "r1", reporter="h:1", label="gold", state=BrokerState.DRAINING)
    assert again.broker(2) == Broker(2, "r2")
    assert again.bootstrap == "h:9091"


def test_what_is_given_replaces_a_label_and_a_state() -> None:
    known = Cluster("live", "h:1", "id-1", brokers=(Broker(1, label="gold", state=BrokerState.DRAINING),))
    asked = Cluster("live", "h:1", brokers=(Broker(1, label="silver", state=BrokerState.MAINTENANCE),))
    given = confirm(asked, KAFKA, {}, known)
    assert given.broker(1) == Broker(1, "r1", label="silver", state=BrokerState.MAINTENANCE)
    assert labelled(given, {1: ""}, {1: BrokerState.ACTIVE.value}).broker(1) == Broker(1, "r1")


def test_a_label_or_state_of_a_broker_that_is_not_there_is_refused() -> None:
    cluster = confirm(Cluster("live", "h:9091"), KAFKA, {})
    with pytest.raises(InvalidInput, match="label_of_broker names broker 9 of cluster live: its brokers are 1, 2"):
        labelled(cluster, {9: "gold"}, {})
    with pytest.raises(InvalidInput, match="state of broker 1 is 77: this version of Guardian knows ACTIVE, "):
        labelled(cluster, {}, {1: 77})
