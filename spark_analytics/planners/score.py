"""A placement in numbers, by the measures of the shared benchmark: what moves, how even it is, what it breaks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.units import spread
from spark_analytics.model.cluster_model import ClusterModel, Ints, brokers_of
from spark_analytics.model.load import load_now, load_of, scale, topic_excess
from spark_analytics.model.resources import WITH_CAPACITY, Resource


@dataclass(frozen=True, slots=True)
class ResourceScore:
    """Over alive brokers, of use relative to capacity (counts: as they are)."""

    resource: str
    spread_before: float  # max/mean - 1
    spread_after: float
    brokers_over_limit: int


@dataclass(frozen=True, slots=True)
class Score:
    """Of a placement of a model. `bytes_to_copy` go from broker to broker, others stay inside one.

    A rack violation is a partition with two replicas in one rack.
    """

    cluster: str
    brokers: int
    partitions: int
    replicas: int
    replica_moves: int
    leader_moves: int
    bytes_to_copy: int
    bytes_between_log_dirs: int
    rack_violations: int
    replicas_on_dead: int
    unplaced: int
    topic_excess_before: int
    topic_excess_after: int
    spreads: tuple[ResourceScore, ...]

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def of(model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints, settings: PlannerSettings | None = None) -> Score:
    """`slot_log_dir` [slots] and `leader_slot` [partitions] are the placement; `settings` have the limits."""
    broker = brokers_of(model, slot_log_dir)
    moved = (broker != model.slot_broker) & (broker >= 0) & (model.slot_broker >= 0)
    inside = (slot_log_dir != model.slot_log_dir) & (broker == model.slot_broker) & (broker >= 0)
    leads_elsewhere = broker[leader_slot] != model.slot_broker[model.leader_slot]
    return Score(
        cluster=model.cluster,
        brokers=model.brokers,
        partitions=model.partitions,
        replicas=model.slots,
        replica_moves=int(moved.sum()),
        leader_moves=int(leads_elsewhere.sum()),
        bytes_to_copy=round(float(model.slot_load[moved, Resource.DISK].sum())),
        bytes_between_log_dirs=round(float(model.slot_load[inside, Resource.DISK].sum())),
        rack_violations=_rack_violations(model, broker),
        replicas_on_dead=int((~model.alive[broker[broker >= 0]]).sum()),
        unplaced=int((broker < 0).sum()),
        topic_excess_before=topic_excess(model, model.slot_log_dir),
        topic_excess_after=topic_excess(model, slot_log_dir),
        spreads=_spreads(model, slot_log_dir, leader_slot, settings or PlannerSettings()),
    )


def _rack_violations(model: ClusterModel, broker: Ints) -> int:
    placed = broker >= 0
    key = model.slot_partition[placed] * len(model.rack_names) + model.rack[broker[placed]]
    kinds, counts = np.unique(key, return_counts=True)
    return len(np.unique(kinds[counts > 1] // len(model.rack_names)))


def _spreads(
    model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints, settings: PlannerSettings
) -> tuple[ResourceScore, ...]:
    load = load_of(model, slot_log_dir, leader_slot)
    before = (load_now(model).broker / scale(model))[model.alive]
    limits = dict(zip(WITH_CAPACITY, settings.limits, strict=True))
    after = (load.broker / scale(model))[model.alive]
    return tuple(
        ResourceScore(
            resource=resource.name.lower(),
            spread_before=spread(before[:, resource]),
            spread_after=spread(after[:, resource]),
            brokers_over_limit=int((after[:, resource] > limits[resource]).sum()) if resource in limits else 0,
        )
        for resource in Resource
    )
