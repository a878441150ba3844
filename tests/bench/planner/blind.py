"""Fresh clusters at the default targets: is each met, or proven out of reach, and for how much data?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.resources import Resource
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Targets
from tests.bench.planner.fresh import Shape, model_of
from tests.bench.planner.shared import moved_bytes, planned

SHAPES = (
    Shape(311, 20, 2_000, 3, 3),
    Shape(312, 50, 8_000, 5, 2),
    Shape(313, 100, 20_000, 10, 3),
    Shape(314, 100, 20_000, 20, 4),
    Shape(315, 60, 12_000, 3, 3, uneven_racks=True),
    Shape(316, 120, 20_000, 8, 3, uneven_racks=True),
    Shape(317, 100, 20_000, 10, 3, heavy=0.66),
    Shape(318, 100, 20_000, 10, 3, heavy=1.3),
    Shape(319, 30, 3_000, 6, 2, heavy=0.8),
    Shape(320, 200, 50_000, 12, 3, half_size=0.2),
    Shape(321, 300, 60_000, 15, 3, half_size=0.5),
    Shape(322, 40, 4_000, 4, 4, uneven_racks=True),
    Shape(323, 100, 10_000, 10, 3, fresh_brokers=0.1),
    Shape(324, 100, 20_000, 10, 3, dead_brokers=0.05),
    Shape(325, 150, 20_000, 5, 4, half_size=0.2, uneven_racks=True),
    Shape(326, 500, 100_000, 20, 3),
    Shape(327, 12, 1_200, 3, 2),
    Shape(328, 9, 900, 3, 3),
    Shape(329, 80, 16_000, 7, 2, half_size=0.3, heavy=0.5),
    Shape(330, 100, 4_000, 10, 3),
    Shape(331, 64, 12_000, 16, 4, fresh_brokers=0.2),
    Shape(332, 100, 20_000, 4, 3, uneven_racks=True, half_size=0.2),
    Shape(333, 40, 8_000, 5, 3, disks=4),
    Shape(334, 60, 12_000, 6, 2, disks=14, half_size=0.2),
    Shape(335, 100, 20_000, 4, 2, uneven_racks=True, heavy=0.9),
    Shape(336, 90, 18_000, 18, 4, uneven_racks=True, disks=6),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """`missed` and `proven` name resources whose target is not met, the latter because no placement can meet it."""

    name: str
    cpu_s: float
    moved: float  # of all bytes
    least: float  # of all bytes: what disk alone makes any plan move
    missed: tuple[str, ...]
    proven: tuple[str, ...]


def tried() -> Iterator[Tried]:
    targets = Targets.default()
    for shape in SHAPES:
        model = model_of(shape)
        found, cpu_s = planned(model, targets)
        beyond = (found.least_cv > targets.cv) | (found.least_max > targets.max_over_mean)
        stored = float(model.slot_load[:, Resource.DISK].sum())
        yield Tried(
            shape.name,
            cpu_s,
            moved_bytes(model, found) / stored,
            least_bytes(model, found) / stored,
            tuple(Resource(r).name for r in np.flatnonzero(~found.met & ~beyond).tolist()),
            tuple(Resource(r).name for r in np.flatnonzero(~found.met & beyond).tolist()),
        )


def least_bytes(model: ClusterModel, found: Found) -> float:
    """What must leave brokers that hold more than the highest use that was reached, and all that dead ones hold."""
    used = np.bincount(model.slot_broker, model.slot_load[:, Resource.DISK], model.brokers)
    alive, capacity = model.alive, model.capacity[:, Resource.DISK]
    mean = used.sum() / capacity[alive].sum()
    highest = float(found.max_over_mean[Resource.DISK]) * mean * capacity
    return float(np.maximum(used - highest, 0)[alive].sum() + used[~alive].sum())
