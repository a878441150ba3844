"""New brokers in a new zone take their share: what moves must not land with its fellows in one rack.

cruise-control #2136, #881. Two zones, replication factor 2: partitions were carried from zone a to zone b whole, and
the plan said that the hard goal rack was kept, 0 before and 0 after.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from guardian.model.plan import ReplicaPlacement
from guardian.model.tasks import Add
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import BrokerFacts, LogDirFacts, PartitionFacts
from spark_analytics.planners.planning import make

GB = 10**9
PARTITIONS = 36
_DRAWN = random.Random(4)  # noqa: S311  the same inputs each time
OF_TWO, OF_THREE = ([_DRAWN.sample([1, 2, 3], factor) for _ in range(PARTITIONS)] for factor in (2, 3))


def name(number: int) -> TopicPartition:
    return TopicPartition(f"t{number % 3}", number // 3)


@pytest.mark.parametrize(
    ("racks", "replicas"),
    [
        pytest.param({n: "ab"[(n - 1) // 3] for n in range(1, 7)}, OF_TWO, id="a second zone, RF 2"),
        pytest.param({n: "abc"[(n - 1) // 3] for n in range(1, 10)}, OF_THREE, id="a second and a third, RF 3"),
    ],
)
def test_no_two_replicas_of_a_partition_land_in_one_new_rack(
    racks: Mapping[int, str], replicas: list[list[int]]
) -> None:
    new = tuple(sorted(racks.keys() - {1, 2, 3}))
    used = Counter(broker for each in replicas for broker in each)
    model = ClusterModel.of(
        "live",
        [BrokerFacts(broker, rack=rack) for broker, rack in racks.items()],
        [LogDirFacts(broker, "/d", 4000.0 * GB, 4000.0 * GB - GB * used[broker]) for broker in racks],
        [
            PartitionFacts(
                name(number),
                tuple(ReplicaPlacement(broker, "/d") for broker in each),
                write_rate=1e6,
                read_rate=1e6,
                size_bytes=GB,
            )
            for number, each in enumerate(replicas)
        ],
    )
    plan = make(model, Add(new))
    together = [
        move.partition
        for move in plan.moves
        if max(Counter(racks[b] for b in move.target_brokers if b in new).values(), default=0) > 1
    ]
    assert together == []
