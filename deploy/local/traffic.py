"""What the workload writes where: uneven on purpose, yet balanceable. Pure: the same seed gives the same traffic.

Rates are heavy-tailed (log-normal), cut off where one partition would dominate. Placement piles up:

    broker 1   leads and holds nearly all traffic            (of RF 2 on n brokers it takes half of all writes)
    others     share the followers, the first of them the larger part
    first log dir of each broker   holds nearly all of the broker's traffic

Replicas of a partition stand in different racks, so that a rack-aware planner has nothing to repair but the skew.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.topology import TopicPartition

TOPICS = {"orders": 16, "clicks": 16, "payments": 12}
RATE = 2_000_000.0
# The most that one partition takes of the whole. A fair share of nine log dirs is 2/9 of the leaders' traffic.
LARGEST_SHARE = 0.06
# What is led by brokers other than the first.
_ELSEWHERE_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class PartitionTraffic:
    """A partition's write rate in bytes/s, its replicas (leader first), and whether they go to the first log dirs."""

    partition: TopicPartition
    rate: float
    replicas: tuple[int, ...]
    first_log_dir: bool


def plan_traffic(
    racks: Mapping[int, str], *, seed: int, rate: float = RATE, topics: Mapping[str, int] | None = None
) -> tuple[PartitionTraffic, ...]:
    """Rates and replicas for brokers (id to rack), sorted by partition. `rate` is the sum over partitions, bytes/s."""
    if not racks:
        raise InvalidInput("brokers is empty: a workload needs at least one broker")
    names = [
        TopicPartition(topic, number) for topic, count in sorted((topics or TOPICS).items()) for number in range(count)
    ]
    rates = dict(zip(names, heavy_tailed(len(names), rate, seed), strict=True))
    brokers = sorted(racks)
    planned: list[PartitionTraffic] = []
    cold = 0.0
    for index, partition in enumerate(sorted(names, key=lambda name: (rates[name], name))):
        cold += rates[partition]
        is_cold = cold <= _ELSEWHERE_SHARE * rate and len(brokers) > 1
        leader = brokers[1 + index % (len(brokers) - 1)] if is_cold else brokers[0]
        replicas = (leader, *_follower(leader, racks, index))
        planned.append(PartitionTraffic(partition, rates[partition], replicas, first_log_dir=not is_cold))
    return tuple(sorted(planned, key=lambda traffic: traffic.partition))


def heavy_tailed(count: int, total: float, seed: int) -> list[float]:
    """`count` log-normal rates whose sum is `total`, none above LARGEST_SHARE of it (or twice the mean, if larger)."""
    chooser = random.Random(seed)
    weights = [chooser.lognormvariate(0.0, 1.0) for _ in range(count)]
    limit = max(LARGEST_SHARE, 2 / count) if count > 2 else 1.0
    for _ in range(count):
        scale = sum(weights)
        if max(weights) <= limit * scale * 1.000001:
            break
        weights = [min(weight, limit * scale) for weight in weights]
    scale = sum(weights)
    return [total * weight / scale for weight in weights]


def _follower(leader: int, racks: Mapping[int, str], index: int) -> tuple[int, ...]:
    """One broker in another rack where there is one; of every three, two go to the first and one to the rest."""
    others = [broker for broker in sorted(racks) if broker != leader and racks[broker] != racks[leader]]
    others = others or [broker for broker in sorted(racks) if broker != leader]
    if not others:
        return ()
    if index % 3 or len(others) == 1:
        return (others[0],)
    return (others[1 + index // 3 % (len(others) - 1)],)
