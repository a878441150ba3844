"""What of a cluster's capacity a plan may count on: less than its median load leaves free.

peaks    limits of cpu and network hold at the window's 95th percentile: a share of a broker's capacity is divided by
         how much higher that is than the median, over the cluster's load. Where not even all brokers together could
         keep that, the limit is as near to it as leaves room to move
rates    a partition of which too few samples are there moves only where a rule asks for it
reserve  a disk of which less is usable than disk_reserve takes nothing, whatever fills it
growth   a disk keeps room for what the replicas on it grow by in growth_days
slow     a disk whose requests take far longer than the median disk's is failing: it takes nothing new
io       a disk that does all that it can takes nothing new either

Where one of them decides, the plan has a note of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.text import some
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import IO, load_now, sums
from spark_analytics.model.resources import RESOURCES, WITH_CAPACITY, Resource
from spark_analytics.search.disks import usable_share

_DAY_S = 86_400
_LEAST_DISKS = 3  # with fewer, the median disk is no measure of the others
_LEAST_AWAIT_MS = 50.0  # a healthy disk under load is no slower, whatever the median is
_ROOMY = 0.8  # of a limit: brokers that are so full on average can still be made even below it
_NOTHING = 1e-9  # load of all brokers together below which there is none
_NEAR = 0.9  # of a limit: what is nearer to it was decided by it
_WITH_PEAKS = (Resource.CPU, Resource.NW_IN, Resource.NW_OUT)


def capacity_limit(model: ClusterModel, settings: PlannerSettings) -> Floats:
    """[4] the share of a broker's capacity that its median load may use."""
    return np.array(settings.limits) / _kept_peaks(model, settings)


def peaks(model: ClusterModel) -> Floats:
    """[4] the 95th percentile of all load over its median, as if all partitions were busy at once; 1 for the disk."""
    load = model.leader_load + sum_of_slots(model)
    total = load.sum(axis=0)[list(WITH_CAPACITY)]
    high = (load * model.peak[:, None]).sum(axis=0)[list(WITH_CAPACITY)]
    found = np.where(total > 0, high / np.maximum(total, 1e-300), 1.0)
    found[Resource.DISK] = 1.0
    return found


def sum_of_slots(model: ClusterModel) -> Floats:
    """[partitions, RESOURCES] of all replicas, as followers."""
    columns = [sums(model.slot_partition, model.slot_load[:, each], model.partitions) for each in range(RESOURCES)]
    return np.column_stack(columns)


def _kept_peaks(model: ClusterModel, settings: PlannerSettings) -> Floats:
    """[4] those that the brokers that live can keep, all together."""
    if not settings.peak_limits:
        return np.ones(len(WITH_CAPACITY))
    used = load_now(model).broker[:, list(WITH_CAPACITY)].sum(axis=0)
    allowed = _ROOMY * np.array(settings.limits) * model.capacity[model.alive].sum(axis=0)
    possible: Floats = np.full(len(used), np.inf)
    np.divide(allowed, used, out=possible, where=used > _NOTHING)
    return np.clip(possible, 1.0, peaks(model))


def disk_spare(model: ClusterModel, settings: PlannerSettings) -> Floats:
    """[disks] bytes that what each holds grows by."""
    placed = model.slot_log_dir >= 0
    growth = np.maximum(model.growth_bytes_per_s, 0.0)[model.slot_partition[placed]]
    disk = model.log_dir_disk[model.slot_log_dir[placed]]
    return sums(disk, growth * settings.growth_days * _DAY_S, len(model.disk_total_bytes))


def slow(model: ClusterModel, settings: PlannerSettings) -> Bools:
    """[disks] those that are far slower than the median disk."""
    return np.asarray(model.disk_await_ms > _slow_from_ms(model, settings))


def _slow_from_ms(model: ClusterModel, settings: PlannerSettings) -> float:
    known = model.disk_await_ms[np.isfinite(model.disk_await_ms)]
    if len(known) < _LEAST_DISKS:
        return float("inf")
    return max(_LEAST_AWAIT_MS, settings.slow_disk * float(np.median(known)))


def busy(model: ClusterModel, settings: PlannerSettings) -> Bools:
    """[disks] those that do more than the limit of what they can."""
    return np.asarray(_io(model) > settings.disk_io_limit * model.disk_io_capacity)


def _io(model: ClusterModel) -> Floats:
    return sums(model.log_dir_disk, load_now(model).log_dir[:, IO], len(model.disk_total_bytes))


def notes(model: ClusterModel, settings: PlannerSettings, plan: Plan) -> Iterator[str]:
    """Yield each limit here that decided a plan which copies something, or leaves something undone."""
    if not plan.bytes_to_copy and not plan.unmet and not any(move.is_new for move in plan.moves):
        return
    yield from _peak_notes(model, settings, plan)
    yield from _rate_notes(model)
    yield from _reserve_notes(model, settings)
    yield from _growth_notes(model, settings)
    yield from _disk_notes(model, settings)


def _peak_notes(model: ClusterModel, settings: PlannerSettings, plan: Plan) -> Iterator[str]:
    kept, found, limits = _kept_peaks(model, settings), peaks(model), capacity_limit(model, settings)
    for resource in _WITH_PEAKS:
        name, limit = resource.name.lower(), float(limits[resource])
        of_limit = [
            max(row.before, row.after) / row.capacity
            for row in plan.loads
            if row.resource == name and not row.log_dir and row.capacity > 0 and not row.is_leaving
        ]
        if kept[resource] < 1.005 or max(of_limit, default=0.0) < _NEAR * limit:
            continue
        setting = "cpu_limit" if resource is Resource.CPU else "network_limit"
        share = settings.limits[resource]
        yield (
            f"the 95th percentile of {name} is {found[resource]:.1f}x its median, so {setting} {share:.0%} holds at "
            f"{limit:.0%} of the median"
            + ("" if kept[resource] == found[resource] else ", as all brokers together can keep no more of it")
        )


def _rate_notes(model: ClusterModel) -> Iterator[str]:
    new: Ints = np.flatnonzero(model.whole & ~model.movable)
    if len(new):
        names = some([str(model.partition(index)) for index in new.tolist()])
        count = "1 partition stays" if len(new) == 1 else f"{len(new)} partitions stay"
        yield f"{count} where no rule moves them ({names}): too few samples of their rates yet, plan again in a while"


def _reserve_notes(model: ClusterModel, settings: PlannerSettings) -> Iterator[str]:
    share = usable_share(model)
    if (full := share <= settings.disk_reserve).any():
        yield (
            f"{_names(model, full)} {_takes(full)} nothing: {share[full].max():.1%} of a disk is usable at most, "
            f"whatever fills it, and disk_reserve keeps {settings.disk_reserve:.1%}"
        )


def _growth_notes(model: ClusterModel, settings: PlannerSettings) -> Iterator[str]:
    spare, total = disk_spare(model, settings), model.disk_total_bytes
    held = sums(model.log_dir_disk, load_now(model).log_dir[:, 0], len(total))
    room = np.minimum(settings.disk_limit * total - held, model.disk_usable_bytes - settings.disk_reserve * total)
    full = (room > 0) & (room <= spare)
    if full.any():
        yield (
            f"{_names(model, full)} {_takes(full)} nothing: what is there grows beyond the limit "
            f"within {settings.growth_days:g} days"
        )


def _disk_notes(model: ClusterModel, settings: PlannerSettings) -> Iterator[str]:
    if (found := slow(model, settings)).any():
        longest = float(model.disk_await_ms[found].max())
        yield (
            f"{_names(model, found)} {_takes(found)} nothing: a request waits up to {longest:.0f} ms there, "
            f"and {np.nanmedian(model.disk_await_ms):.1f} ms at the median disk"
        )
    if (found := busy(model, settings)).any():
        most = float((_io(model)[found] / model.disk_io_capacity[found]).max())
        yield (
            f"{_names(model, found)} {_takes(found)} nothing: up to {most:.0%} of what the disk can read and write is "
            f"used, above {settings.disk_io_limit:.0%}"
        )


def _takes(disks: Bools) -> str:
    return "takes" if disks.sum() == 1 else "take"


def _names(model: ClusterModel, disks: Bools) -> str:
    """Each disk by its first log dir."""
    first = [int(np.flatnonzero(model.log_dir_disk == disk)[0]) for disk in np.flatnonzero(disks).tolist()]
    return some([f"disk {place.broker}:{place.log_dir}" for place in map(model.placement, first)])
