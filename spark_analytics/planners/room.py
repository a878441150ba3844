"""Have these brokers room for these replicas? Sums that every placement must keep, so a "no" is a proof.

    count     a partition needs as many brokers as it has replicas, in its data centres too
    capacity  the brokers together carry all replicas and leaders, below their limits
              and no more of its replicas may share a rack than must with all brokers there
    racks     a rack takes at most m replicas of a partition, so no more than m times the partitions' size, however
              large it is; and no more than its own brokers carry. Racks can take the sum of the smaller of the two

Replicas are taken to be divisible, so a "yes" is none: the search has the last word. A broker above its limit, or one
that takes nothing, may keep what it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from guardian.model.units import human_bytes
from spark_analytics.explaining.no_place import limited
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import load_now, sums
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.planners.arrays import distinct, nothing
from spark_analytics.planners.rules import rack_share
from spark_analytics.search.rules import Rules

_COLUMNS = list(WITH_CAPACITY)
_ROUNDING = 1 + 1e-9
_WORDS = {Resource.CPU: "CPU", Resource.NW_IN: "traffic in", Resource.NW_OUT: "traffic out", Resource.DISK: "disk"}


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """What partitions need: a row for each class of the rules and replication factor; columns are WITH_CAPACITY's."""

    places: Bools  # [needs, brokers] may take replicas, or hold some that may stay
    idc_min: Ints  # [needs, idcs]
    replicas: Ints  # [needs]
    total: Floats  # [needs, 4] all replicas and leaders
    leading: Floats  # [needs, 4] what leaders have on top
    single: Floats  # [needs, 4] the heaviest replica of each partition
    capacity: Floats  # [brokers, 4] that may be used
    rack_share: Ints  # [needs] the most replicas of a partition that a rack must take while all places are there
    in_rack: Ints  # [racks] brokers that are places of any
    limited: tuple[str, ...]  # [needs] which goals of other packages leave fewer places

    @classmethod
    def of(cls, model: ClusterModel, rules: Rules, partitions: Bools | None = None) -> Needs:
        """Compute the needs of these partitions, or of all."""
        inside = ~nothing(model.partitions) if partitions is None else partitions
        replicas = np.diff(model.slot_start)
        width = int(replicas.max(initial=0)) + 1
        keys, need = distinct(np.where(inside, rules.class_of * width + replicas, -1))
        classes, load = keys // width, model.slot_load[:, _COLUMNS]
        heaviest = np.maximum.reduceat(load, model.slot_start[:-1], axis=0) if model.partitions else load
        leading = _summed(model.leader_load[:, _COLUMNS], need, len(keys))
        places = rules.may_take[classes] | (rules.may_stay[classes] & _holders(model, need, len(keys)))
        takes = np.asarray(rules.may_take.any(axis=0)).reshape(-1, 1)
        return cls(
            places=places,
            idc_min=rules.idc_min[classes],
            replicas=keys % width,
            total=_summed(load, need[model.slot_partition], len(keys)) + leading,
            leading=leading,
            single=_summed(heaviest, need, len(keys)),
            capacity=np.maximum(
                np.where(takes, model.capacity * rules.capacity_limit, 0.0), load_now(model).broker[:, _COLUMNS]
            ),
            rack_share=np.array(
                [_rack_share(model, on, int(key % width)) for on, key in zip(places, keys, strict=True)], dtype=np.int64
            ),
            in_rack=np.bincount(model.rack[places.any(axis=0)], minlength=len(model.rack_names)),
            limited=tuple([limited(rules, each) for each in classes.tolist()]),
        )

    def times(self, factor: float) -> Needs:
        """The same with so many times the load."""
        return replace(self, total=self.total * factor, leading=self.leading * factor, single=self.single * factor)


def _summed(values: Floats, row: Ints, rows: int) -> Floats:
    inside = row >= 0
    columns = [sums(row[inside], column[inside], rows) for column in values.T]
    return np.column_stack(columns).reshape(rows, values.shape[1])


def _holders(model: ClusterModel, need: Ints, needs: int) -> Bools:
    of_slot, broker = need[model.slot_partition], model.slot_broker
    counts = (of_slot >= 0) & (broker >= 0)
    holds = nothing(needs * model.brokers).reshape(needs, model.brokers)
    holds[of_slot[counts], broker[counts]] = True
    return holds


def shortage(model: ClusterModel, needs: Needs, remaining: Bools) -> str | None:
    """Explain why what is needed can't stand on the `remaining` brokers; None where the sums say nothing against it."""
    return next(_shortages(model, needs, remaining), None)


def _shortages(model: ClusterModel, needs: Needs, remaining: Bools) -> Iterator[str]:
    for row, replicas in enumerate(needs.replicas.tolist()):
        left = needs.places[row] & remaining
        if left.sum() < replicas:
            yield f"{_brokers(left)} would be left for topics of replication factor {replicas}{needs.limited[row]}"
        elif _rack_share(model, left, replicas) > needs.rack_share[row]:
            racks = len(np.unique(model.rack[left]))
            yield (
                f"{racks} rack{'s' if racks > 1 else ''} with {_brokers(left)} would be left for topics of replication "
                f"factor {replicas}, so that more of their replicas would share a rack{needs.limited[row]}"
            )
        for idc in np.flatnonzero(needs.idc_min[row]).tolist():
            there = left & (model.idc == idc)
            if there.sum() < needs.idc_min[row, idc]:
                yield (
                    f"{_brokers(there)} would be left in {model.idc_names[idc]}, "
                    f"where the IDC policy wants {needs.idc_min[row, idc]} replicas"
                )
    for rows in _sets(needs):
        yield from _too_little(model, needs, rows, remaining)


def _rack_share(model: ClusterModel, brokers: Bools, replicas: int) -> int:
    return rack_share(np.bincount(model.rack[brokers], minlength=1), replicas)


def _sets(needs: Needs) -> Iterator[Ints]:
    """Rows that share their brokers; and all of them, which share those of all."""
    if not len(needs.replicas):
        return
    _, group = np.unique(np.packbits(needs.places, axis=1), axis=0, return_inverse=True)
    group = group.reshape(-1)
    for number in range(int(group.max()) + 1):
        yield np.flatnonzero(group == number)
    if group.max() > 0:
        yield np.arange(len(group))


def _too_little(model: ClusterModel, needs: Needs, rows: Ints, remaining: Bools) -> Iterator[str]:
    brokers = needs.places[rows].any(axis=0) & remaining
    total, capacity = needs.total[rows].sum(axis=0), needs.capacity[brokers].sum(axis=0)
    for column, resource in enumerate(_COLUMNS):
        if total[column] > capacity[column] * _ROUNDING:
            yield (
                f"{_brokers(brokers)} would be left with room for {_amount(resource, capacity[column])} of "
                f"{_WORDS[resource]} below the limit, and {_amount(resource, total[column])} is needed"
            )
    racks = len(model.rack_names)
    may_hold = np.zeros(len(_COLUMNS))
    for row in rows.tolist():
        share = _rack_share(model, needs.places[row] & remaining, int(needs.replicas[row]))
        may_hold += needs.leading[row] + share * needs.single[row]
    for column, resource in enumerate(_COLUMNS):
        room = np.bincount(model.rack[brokers], needs.capacity[brokers, column], racks)
        taken = np.minimum(room, may_hold[column])
        if total[column] > taken.sum() * _ROUNDING:
            left = np.bincount(model.rack[brokers], minlength=racks)
            lost = np.where(room < may_hold[column], 1 - left / np.maximum(needs.in_rack, 1), -1.0)
            rack = int(lost.argmax())
            needed = total[column] - (taken.sum() - taken[rack])
            yield (
                f"rack {model.rack_names[rack]} would hold {left[rack]} of its {needs.in_rack[rack]} brokers' "
                f"capacity, room for {_amount(resource, room[rack])} of {_WORDS[resource]}, "
                f"and {_amount(resource, needed)} can stand in no other rack"
            )


def _brokers(flags: Bools) -> str:
    count = int(flags.sum())
    return f"{count} broker" if count == 1 else f"{count} brokers"


def _amount(resource: Resource, amount: float) -> str:
    if resource is Resource.CPU:
        return f"{amount / 100:.1f} cores"
    return human_bytes(amount) if resource is Resource.DISK else f"{human_bytes(amount)}/s"
