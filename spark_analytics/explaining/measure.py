"""How full every place is beside its fellows, before and after: the measure in which relief is told.

    deviation   use / mean use of the pool - 1; 0: just the mean
    pool        brokers that rules let hold the same partitions: a label's machines are compared with one another
    log dirs    are compared with the others of their broker

The sum of squared deviations is what a plan makes smaller. A replica that takes `share` of a mean broker's load away
changes it by (after^2 - before^2). With the deviation half way between before and after, the parts of all moves add up
to the whole. So every move gets its just share of the credit, whatever the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardian.model.units import spread
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import disk_scale, scale, sums
from spark_analytics.model.resources import RESOURCES, WITH_CAPACITY
from spark_analytics.search.pools import pools_of
from spark_analytics.search.rules import Rules

_NOTHING = 1e-12  # bytes/s, or percent of a core: no load to be uneven about


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Brokers (columns RESOURCES) or log dirs (columns bytes and io). `unit` is the load that is just the mean there.

    A place that does not count (dead, left, takes nothing) has deviation 0 and unit inf: nothing is gained by it.
    """

    before: Floats  # loads
    after: Floats  # loads
    capacity: Floats  # inf: not known
    counts: Bools  # [places]
    group: Ints  # [places] the pool, or the broker of a log dir; -1: none
    unit_before: Floats
    unit: Floats

    @property
    def deviation_before(self) -> Floats:
        return _deviation(self.before, self.unit_before)

    @property
    def deviation_after(self) -> Floats:
        return _deviation(self.after, self.unit)

    @property
    def half_way(self) -> Floats:
        return (self.deviation_before + self.deviation_after) / 2


def _deviation(loads: Floats, unit: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(unit), loads / unit - 1, 0.0)


def places_of(
    before: Floats, after: Floats, capacity: Floats, scale: Floats, counts: Bools, group: Ints, whole: bool
) -> Places:
    """Loads are compared relative to `scale`.

    `whole`: a group keeps its load but for what leaves dead places, so both sides are measured by the mean of `after`,
    with all the load there will be. Otherwise each side by its own: a log dir that is alone is never uneven.
    """
    inside = np.flatnonzero(counts)
    of = group[inside]
    used = _sums(of, scale[inside])
    units = []
    for loads in (after, after if whole else before):
        total = _sums(of, loads[inside])
        unit = np.full(before.shape, np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = scale[inside] * total[of] / used[of]
        unit[inside] = np.where(mean > _NOTHING, mean, np.inf)
        units.append(unit)
    return Places(before, after, capacity, counts, group, unit_before=units[1], unit=units[0])


def _sums(group: Ints, values: Floats) -> Floats:
    """[groups, columns]"""
    groups = int(group.max(initial=-1)) + 1
    return np.column_stack([sums(group, values[:, column], groups) for column in range(values.shape[1])])


def brokers_measured(model: ClusterModel, rules: Rules, before: Floats, after: Floats) -> Places:
    capacity = np.full((model.brokers, RESOURCES), np.inf)
    capacity[:, : len(WITH_CAPACITY)] = model.capacity
    pool = pools_of(rules, model.alive)
    return places_of(before, after, capacity, scale(model), model.alive & (pool >= 0), pool, whole=True)


def log_dirs_measured(model: ClusterModel, rules: Rules, before: Floats, after: Floats) -> Places:
    disk = model.log_dir_disk
    capacity = np.column_stack([model.disk_total_bytes[disk], model.disk_io_capacity[disk]])
    counts = rules.log_dir_may_take & ~model.log_dir_offline & model.alive[model.log_dir_broker]
    counts &= np.bincount(model.log_dir_broker[counts], minlength=model.brokers)[model.log_dir_broker] > 1
    return places_of(before, after, capacity, disk_scale(model), counts, model.log_dir_broker, whole=False)


def evenness(brokers: Places) -> Floats:
    """Return the [RESOURCES] spread of use afterwards, of the worst pool: what people asked the search for."""
    found = np.zeros(RESOURCES)
    use = brokers.deviation_after + 1
    for pool in np.unique(brokers.group[brokers.counts]).tolist():
        inside = brokers.counts & (brokers.group == pool)
        found = np.maximum(found, [spread(each) for each in use[inside].T])
    return found
