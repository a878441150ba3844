"""A cluster that stood in one zone gets zones: three old brokers hold everything, new ones are empty, racks are set.

cruise-control #881, #889, #2136; strimzi: rack awareness switched on later. The plan puts one replica in each rack and
evens out: no broker that lives is left empty beside another that keeps all it had. The same for a migration to two data
centres, replication factor 4 on two racks, and 3 on two.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from guardian.model.federation import IdcPolicy
from guardian.model.plan import ReplicaPlacement
from guardian.model.tasks import Add, Balance, MigrateIdc, Task
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import BrokerFacts, LogDirFacts, PartitionFacts
from spark_analytics.planners.planning import make

GB = 10**9
MOST_OF_MEAN = 1.2
THREE_ZONES = {broker: "abc"[(broker - 1) // 3] for broker in range(1, 10)}
TWO_ZONES = {broker: "ab"[(broker - 1) // 3] for broker in range(1, 7)}
TWO_IDCS = {broker: "shanghai" if broker < 4 else "suzhou" for broker in range(1, 7)}
MIGRATE = MigrateIdc(IdcPolicy("p", (("shanghai", 2), ("suzhou", 1))))
_DRAWN = random.Random(3)  # noqa: S311  the same inputs each time

IN_ORDER = [[1, 2, 3]] * 36
MIXED = [_DRAWN.sample([1, 2, 3], 3) for _ in range(36)]
MIXED_MIGRATION = [_DRAWN.sample([1, 2, 3], 3) for _ in range(24)]


def name(number: int) -> TopicPartition:
    return TopicPartition(f"t{number % 3}", number // 3)


def model(racks: Mapping[int, str], replicas: Sequence[Sequence[int]], *, idcs: bool) -> ClusterModel:
    brokers = [BrokerFacts(broker, rack=rack, idc=rack if idcs else "") for broker, rack in racks.items()]
    used = Counter(broker for each in replicas for broker in each)
    log_dirs = [LogDirFacts(broker, "/d", 4000.0 * GB, 4000.0 * GB - GB * used[broker]) for broker in racks]
    partitions = [
        PartitionFacts(
            name(number),
            tuple(ReplicaPlacement(broker, "/d") for broker in each),
            write_rate=1e6,
            read_rate=1e6,
            size_bytes=GB,
        )
        for number, each in enumerate(replicas)
    ]
    return ClusterModel.of("live", brokers, log_dirs, partitions)


def _fair_share(count: Counter[int], racks: Mapping[int, str], broker: int, task: Task) -> float:
    """Return the mean of all brokers; in a migration of those in its IDC, since the policy says how much each holds."""
    peers = [each for each, rack in racks.items() if task is not MIGRATE or rack == racks[broker]]
    return sum(count[each] for each in peers) / len(peers)


@pytest.mark.parametrize(
    ("racks", "replicas", "task"),
    [
        pytest.param(THREE_ZONES, IN_ORDER, Balance(), id="one zone to three, RF 3, broker 1 leads"),
        pytest.param(THREE_ZONES, MIXED, Balance(), id="one zone to three, RF 3, leaders mixed"),
        pytest.param(TWO_ZONES, IN_ORDER[:24], Balance(), id="one zone to two, RF 3"),
        pytest.param(TWO_ZONES, IN_ORDER[:24], Add((4, 5, 6)), id="one zone to two, RF 3, by add-brokers"),
        pytest.param(TWO_ZONES, [[1, 2, 3, 4]] * 24, Balance(), id="RF 4 on two racks of three"),
        pytest.param(TWO_IDCS, IN_ORDER[:24], MIGRATE, id="migration: shanghai 2, suzhou 1"),
        pytest.param(TWO_IDCS, MIXED_MIGRATION, MIGRATE, id="migration, leaders mixed"),
    ],
)
def test_no_living_broker_ends_empty_and_none_keeps_far_more_than_its_share(
    racks: Mapping[int, str], replicas: Sequence[Sequence[int]], task: Task
) -> None:
    plan = make(model(racks, replicas, idcs=task is MIGRATE), task)
    now = {name(number): tuple(each) for number, each in enumerate(replicas)}
    now |= {move.partition: move.target_brokers for move in plan.moves}
    count = Counter(broker for each in now.values() for broker in each)
    shares = {broker: count[broker] / _fair_share(count, racks, broker, task) for broker in racks}
    assert min(shares.values()) > 0, count
    assert max(shares.values()) <= MOST_OF_MEAN, count
