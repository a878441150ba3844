"""Clusters that no planner was tuned on: sizes, racks, replication factors and skews drawn from a seed.

Sizes and rates have heavy tails, old brokers hold more than new ones, a share of the hardware is of half size; racks
may be uneven, and one partition may be as large as most of a broker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import BrokerFacts, LogDirFacts, ReplicaColumns, TopicFacts

_GB = 1e9
_CAPACITY = np.array([1600.0, 1.25e9, 1.25e9, 4000 * _GB])
_USED = 0.45

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shape:
    """`heavy` is the size of one partition as a share of a mean broker's bytes; 0: none stands out."""

    seed: int
    brokers: int = 100
    replicas: int = 20_000
    racks: int = 10
    rf: int = 3
    topics: int = 0
    disks: int = 1
    uneven_racks: bool = False
    half_size: float = 0.0
    heavy: float = 0.0
    fresh_brokers: float = 0.0
    dead_brokers: float = 0.0

    @property
    def name(self) -> str:
        extras = [
            f"{self.disks} disks" * (self.disks > 1),
            "uneven racks" * self.uneven_racks,
            "mixed" * (self.half_size > 0),
            f"heavy {self.heavy:g}" * (self.heavy > 0),
            "expand" * (self.fresh_brokers > 0),
            "drain" * (self.dead_brokers > 0),
        ]
        size = f"{self.brokers} brokers {self.replicas} replicas {self.racks} racks rf {self.rf} seed {self.seed}"
        return ", ".join([size, *filter(None, extras)])


def model_of(shape: Shape) -> ClusterModel:
    dice = np.random.default_rng(shape.seed)
    rack = _racks(shape)
    small = dice.random(shape.brokers) < shape.half_size
    capacity = np.where(small[:, None], _CAPACITY / 2, _CAPACITY)
    fresh = np.arange(shape.brokers) >= round(shape.brokers * (1 - shape.fresh_brokers))
    dead = np.zeros(shape.brokers, dtype=np.bool_)
    dead[dice.permutation(shape.brokers)[: round(shape.brokers * shape.dead_brokers)]] = True
    weight = np.linspace(2.0, 1.0, shape.brokers) * np.where(small, 0.5, 1.0) * ~fresh
    topic, number = _partitions(shape, dice)
    held = _place(shape, dice, rack, weight, len(topic))
    load, leader_load = _loads(shape, dice, topic, capacity[~dead])
    return _model(shape, dice, rack, capacity, dead, fresh, topic, number, held, load, leader_load)


def _racks(shape: Shape) -> Ints:
    if not shape.uneven_racks:
        return np.arange(shape.brokers) % shape.racks
    share = np.linspace(0.8, 1.2, shape.racks)
    ends = np.round(np.cumsum(share) / share.sum() * shape.brokers)
    return np.searchsorted(ends, np.arange(shape.brokers), side="right").astype(np.int64)


def _partitions(shape: Shape, dice: np.random.Generator) -> tuple[Ints, Ints]:
    """A few topics have most of the partitions."""
    topics = shape.topics or max(10, shape.replicas // 50)
    share = dice.pareto(1.1, topics) + 1
    count = np.maximum(1, (shape.replicas / shape.rf * share / share.sum()).astype(np.int64))
    topic = np.repeat(np.arange(topics), count)
    return topic, np.arange(len(topic)) - np.repeat(np.cumsum(count) - count, count)


def _place(shape: Shape, dice: np.random.Generator, rack: Ints, weight: Floats, partitions: int) -> Ints:
    """[partitions, rf] brokers in different racks, drawn by weight."""
    by_rack = np.bincount(rack, weight, shape.racks)
    key = dice.exponential(size=(partitions, shape.racks)) / np.maximum(by_rack, 1e-12)
    racks = np.argsort(key, axis=1)[:, : shape.rf]
    held = np.empty((partitions, shape.rf), dtype=np.int64)
    for k in range(shape.racks):
        inside = np.flatnonzero(rack == k)
        chance = weight[inside] / max(weight[inside].sum(), 1e-12)
        where = racks == k
        held[where] = dice.choice(inside, int(where.sum()), p=chance) if where.any() else 0
    return held


def _loads(shape: Shape, dice: np.random.Generator, topic: Ints, capacity: Floats) -> tuple[Floats, Floats]:
    """[partitions, 4] each: of a follower, and what leading adds; scaled to the capacity of brokers that live."""
    topics = int(topic.max()) + 1
    rate = dice.lognormal(0, 1.2, topics)[topic] * dice.lognormal(0, 0.3, len(topic))
    fan_out = dice.choice([0.5, 1, 1, 2, 3], topics)[topic]
    size = rate * dice.choice([4, 12, 24, 72], topics)[topic]
    if shape.heavy:
        size[dice.integers(len(size))] = shape.heavy * shape.rf * size.sum() / len(capacity)
    total = _USED * capacity.sum(axis=0)
    written = rate * total[1] / (shape.rf * rate.sum())
    sent = written * (fan_out + shape.rf - 1)
    sent *= total[2] / sent.sum()
    cpu, follower_cpu = 0.6 * written + 0.1 * sent, 0.3 * written
    scale = 0.8 * total[0] / (cpu + (shape.rf - 1) * follower_cpu).sum()
    stored = size * total[3] / (shape.rf * size.sum())
    zero = np.zeros(len(topic))
    load = np.column_stack([follower_cpu * scale, written, zero, stored])
    return load, np.column_stack([(cpu - follower_cpu) * scale, zero, sent, zero])


def _model(
    shape: Shape,
    dice: np.random.Generator,
    rack: Ints,
    capacity: Floats,
    dead: npt.NDArray[np.bool_],
    fresh: npt.NDArray[np.bool_],
    topic: Ints,
    number: Ints,
    held: Ints,
    load: Floats,
    leader_load: Floats,
) -> ClusterModel:
    rf = shape.rf
    broker = held.ravel()
    skew = np.linspace(2.0, 1.0, shape.disks)
    log_dir = broker * shape.disks + dice.choice(shape.disks, len(broker), p=skew / skew.sum())
    used = np.bincount(log_dir, np.repeat(load[:, 3], rf), shape.brokers * shape.disks)
    brokers = [
        BrokerFacts(
            b,
            f"r{rack[b]:02d}",
            alive=not dead[b],
            new=bool(fresh[b]),
            capacity=(float(capacity[b, 0]), float(capacity[b, 1]), float(capacity[b, 2]), float(capacity[b, 3])),
        )
        for b in range(shape.brokers)
    ]
    log_dirs = []
    for b in range(shape.brokers):
        total = float(capacity[b, 3]) / shape.disks
        for d in range(shape.disks):
            free = max(total - float(used[b * shape.disks + d]), 0.0)
            log_dirs.append(LogDirFacts(b, f"/d{d:02d}", total, free))
    write = np.repeat(load[:, 1], rf)
    return ClusterModel.from_arrays(
        shape.name,
        brokers,
        log_dirs,
        [TopicFacts(f"t{t:05d}") for t in range(int(topic.max()) + 1)],
        ReplicaColumns(
            topic=np.repeat(topic, rf),
            partition=np.repeat(number, rf),
            log_dir=log_dir,
            leads=np.tile(np.arange(rf) == 0, len(topic)),
            load=np.repeat(load, rf, axis=0),
            leader_load=np.repeat(leader_load, rf, axis=0),
            io=write,
        ),
    )
