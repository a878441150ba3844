"""A cluster is registered as Kafka says it is."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.cluster_state import BrokerNode, ClusterDescription
from guardian.model.topology import Broker, Cluster
from guardian.server.federation import confirm

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
