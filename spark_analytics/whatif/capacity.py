"""Who would be over a limit: use as a share of capacity, before and after, of brokers and disks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats
from spark_analytics.model.resources import WITH_CAPACITY, Resource

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Use:
    """Shares of capacity. `log_dir` is empty for a whole broker."""

    broker: int
    log_dir: str
    resource: str
    before: float
    after: float
    limit: float


def limits_of(settings: PlannerSettings) -> Floats:
    """[WITH_CAPACITY] shares of capacity that may be used."""
    return np.array(settings.limits)


def over_limits(
    model: ClusterModel, before: Floats, after: Floats, limits: Floats, capacity: Floats | None = None
) -> tuple[Use, ...]:
    """Brokers [brokers, RESOURCES] that would be over a limit, the worst first. `capacity`: another one afterwards."""
    columns = list(WITH_CAPACITY)
    then = model.capacity if capacity is None else capacity
    was, will = before[:, columns] / model.capacity, after[:, columns] / then
    excess = will / limits
    places, resources = np.nonzero((excess > 1 + _ROUNDING) & model.alive[:, None])
    order = np.lexsort((resources, places, -excess[places, resources]))
    return tuple(
        Use(
            int(model.broker_ids[place]),
            "",
            Resource(column).name.lower(),
            float(was[place, column]),
            float(will[place, column]),
            float(limits[column]),
        )
        for place, column in zip(places[order].tolist(), resources[order].tolist(), strict=True)
    )


def full_disks(model: ClusterModel, before: Floats, after: Floats, limits: Floats) -> tuple[Use, ...]:
    """Log dirs [log dirs] bytes whose disk would be over its limit, the worst first."""
    disks = len(model.disk_total_bytes)
    was, will = (np.bincount(model.log_dir_disk, held, disks) / model.disk_total_bytes for held in (before, after))
    seen: Bools = np.zeros(disks, dtype=np.bool_)
    rows = []
    for log_dir, disk in enumerate(model.log_dir_disk.tolist()):
        if not seen[disk] and will[disk] > float(limits[Resource.DISK]) * (1 + _ROUNDING):
            seen[disk] = True
            rows.append((-float(will[disk]), log_dir, disk))
    return tuple(
        Use(
            int(model.broker_ids[model.log_dir_broker[log_dir]]),
            "" if model.log_dirs[log_dir] == ANY_LOG_DIR else model.log_dirs[log_dir],
            Resource.DISK.name.lower(),
            float(was[disk]),
            float(will[disk]),
            float(limits[Resource.DISK]),
        )
        for _, log_dir, disk in sorted(rows)
    )


def head_room(model: ClusterModel, loads: Floats, limits: Floats) -> tuple[float, int, Resource]:
    """(so many times the load until the first broker is over its limit, its index, of what); inf: no capacity known."""
    columns = list(WITH_CAPACITY)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = limits * model.capacity / loads[:, columns]
    times = np.where(model.alive[:, None] & np.isfinite(times), times, np.inf)
    broker, column = np.unravel_index(int(times.argmin()), times.shape)
    return float(times[broker, column]), int(broker), Resource(int(column))


def together(model: ClusterModel, loads: Floats, limits: Floats) -> float:
    """So many times the load until even perfectly balanced brokers are over a limit."""
    columns = list(WITH_CAPACITY)
    room = (limits * model.capacity)[model.alive].sum(axis=0)
    total = loads[:, columns].sum(axis=0)
    times = np.divide(room, total, out=np.full(len(columns), np.inf), where=total > 0)
    return float(times.min(initial=np.inf))
