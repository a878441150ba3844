"""Why a replica found no place, with numbers: what it needs, and what the brokers that may take it have left.

none of the 2 brokers left for t-0 has a disk with room for 500.0 GB: the roomiest takes 400.0 GB, all 800.0 GB
none of the 2 brokers left for t-0 has room for 40.0 MB/s of traffic in: the roomiest takes 12.0 MB/s, all 15.0 MB/s
of the 2 brokers left for t-0, 1 has no disk with room for 500.0 GB (the roomiest takes ...) and 1 has no room for ...
a rack may hold 1 of the 3 replicas of t-0, and the 2 brokers left for it are in 1 rack that holds as many

All of it is about the placement that was found: what can move in has taken its room already, and is told with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from guardian.model.units import human_bytes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, brokers_of
from spark_analytics.model.load import load_of, sums
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.search.disks import room_of, usable_share
from spark_analytics.search.found import Found, Stuck, Why
from spark_analytics.search.rules import Rules

_WORDS = {
    Resource.CPU: " of CPU",
    Resource.NW_IN: " of traffic in",
    Resource.NW_OUT: " of traffic out",
    Resource.DISK: " below the limit of its disk capacity",
    Resource.REPLICAS: "",
}


def no_place(model: ClusterModel, rules: Rules, found: Found, stuck: Stuck) -> str | None:
    """None where what was found shows no lack of racks, capacity or room: the reason is another one, or was before."""
    if stuck.why is Why.RACKS:
        return _racks(model, rules, found, stuck.slot)
    if stuck.why in (Why.CAPACITY, Why.DISK_ROOM):
        return _room(model, rules, found, stuck.slot)
    return None


def limited(rules: Rules, row_class: int) -> str:
    """Return, to stand behind a reason, the goals of other packages that leave a class fewer brokers; "" for none."""
    if rules.added is None:
        return ""
    allowed = rules.added.may_hold[:, row_class]
    told = [
        f"goal {goal.name} leaves {int(brokers.sum())} of the {len(brokers)} brokers"
        for goal, brokers in zip(rules.added.goals, allowed, strict=True)
        if not brokers.all()
    ]
    return "".join(f"; {each}" for each in told)


def _racks(model: ClusterModel, rules: Rules, found: Found, slot: int) -> str | None:
    partition = int(model.slot_partition[slot])
    most = int(rules.rack_max[rules.class_of[partition]])
    left, others = _may_take(model, rules, found, slot)
    in_rack = np.bincount(model.rack[others], minlength=len(model.rack_names))
    if not left.any() or (in_rack[model.rack[left]] < most).any():
        return None
    replicas = int(model.slot_start[partition + 1] - model.slot_start[partition])
    brokers, racks = int(left.sum()), len(np.unique(model.rack[left]))
    return (
        f"a rack may hold {most} of the {_count(replicas, 'replica')} of {model.partition(partition)}, and the "
        f"{_count(brokers, 'broker')} left for it {'is' if brokers == 1 else 'are'} in {_count(racks, 'rack')} "
        f"that {'holds' if racks == 1 else 'hold'} as many"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Need:
    """One of the things that the replica needs."""

    place: str  # in front of "room for": where all of it must be found
    what: str
    resource: Resource
    amount: float
    left: Floats  # [brokers] what each can still take

    @property
    def none(self) -> str:
        return f"has no {self.place.removeprefix('a ')}"

    def lack(self) -> Bools:
        """[brokers] those that have less than is needed."""
        return self.amount > self.left

    def numbers(self, brokers: Ints) -> str:
        left = np.maximum(self.left[brokers], 0.0)
        most, total = (_amount(self.resource, float(each)) for each in (left.max(), left.sum()))
        return f"the roomiest takes {most}, all {total}" if len(brokers) > 1 else f"it takes {most}"


def _room(model: ClusterModel, rules: Rules, found: Found, slot: int) -> str | None:
    left, others = _may_take(model, rules, found, slot)
    left &= _keeps_racks_and_idcs(model, rules, int(model.slot_partition[slot]), others)
    brokers = np.flatnonzero(left)
    needs = tuple(_needs(model, rules, found, slot))
    before = _moved_in(model, found, left)
    name, count = model.partition(int(model.slot_partition[slot])), _count(len(brokers), "broker")
    for need in needs:
        if len(brokers) and need.lack()[brokers].all():
            who, have = (
                (f"none of the {count}", f"has {need.place}") if len(brokers) > 1 else ("the only broker", need.none)
            )
            numbers = f"{need.numbers(brokers)}{before}{_reserved(model, rules, need, brokers)}"
            return f"{who} left for {name} {have}room for {need.what}: {numbers}"
    told = []
    for need in needs:  # each broker counts with the first that it lacks
        these = np.flatnonzero(left & need.lack())
        left[these] = False
        if len(these):
            who = f"{len(these)} {'has' if len(these) == 1 else 'have'}"
            told.append(f"{who} {need.none.removeprefix('has ')}room for {need.what} ({need.numbers(these)})")
    return None if left.any() or not told else f"of the {count} left for {name}, {' and '.join(told)}{before}"


def _reserved(model: ClusterModel, rules: Rules, need: _Need, brokers: Ints) -> str:
    """Explain why disks that replicas hardly fill take nothing: something else fills them. Empty when that is not
    why.
    """
    if not need.place or (need.left[brokers] > 0).any():
        return ""
    taking = np.flatnonzero(rules.log_dir_may_take & np.isin(model.log_dir_broker, brokers))
    share = usable_share(model)[model.log_dir_disk[taking]]
    if not len(share) or (share > rules.disk_reserve).any():
        return ""
    return f": {share.max():.1%} of a disk is usable at most, and disk_reserve keeps {rules.disk_reserve:.1%}"


def _moved_in(model: ClusterModel, found: Found, brokers: Bools) -> str:
    """Say how much the plan moves to these brokers, which takes their room; empty when nothing."""
    copied = (found.slot_log_dir >= 0) & (found.slot_log_dir != model.slot_log_dir)
    copied &= brokers[brokers_of(model, found.slot_log_dir)]
    size = float(model.slot_load[copied, Resource.DISK].sum())
    return f", beside {human_bytes(size)} that can move there" if size else ""


def _needs(model: ClusterModel, rules: Rules, found: Found, slot: int) -> Iterator[_Need]:
    size = float(model.slot_load[slot, Resource.DISK])
    yield _Need("a disk with ", human_bytes(size), Resource.DISK, size, _largest_room(model, rules, found))
    held = load_of(model, found.slot_log_dir, found.leader_slot).broker
    partition = int(model.slot_partition[slot])
    load = model.slot_load[slot] + (model.leader_load[partition] if found.leader_slot[partition] == slot else 0.0)
    for resource in (*WITH_CAPACITY, Resource.REPLICAS):
        if resource is not Resource.REPLICAS:
            limit = rules.capacity_limit[resource] * model.capacity[:, resource]
        elif rules.most_replicas is not None:
            limit = rules.most_replicas.astype(np.float64)
        else:
            continue
        amount = float(load[resource])
        if amount > 0:
            what = _amount(resource, amount) + _WORDS[resource]
            yield _Need("", what, resource, amount, limit - held[:, resource])


def _largest_room(model: ClusterModel, rules: Rules, found: Found) -> Floats:
    """[brokers] what the roomiest disk of each still takes; 0: nothing at all."""
    copied = (found.slot_log_dir >= 0) & (found.slot_log_dir != model.slot_log_dir)
    disk = model.log_dir_disk[found.slot_log_dir[copied]]
    room = room_of(model, rules) - sums(disk, model.slot_load[copied, Resource.DISK], len(model.disk_total_bytes))
    largest = np.zeros(model.brokers)
    taking = np.flatnonzero(rules.log_dir_may_take)
    np.maximum.at(largest, model.log_dir_broker[taking], room[model.log_dir_disk[taking]])
    return largest


def _may_take(model: ClusterModel, rules: Rules, found: Found, slot: int) -> tuple[Bools, Ints]:
    """[brokers] that may take the replica and hold none of its partition, and the brokers of its other replicas."""
    partition = int(model.slot_partition[slot])
    own = np.arange(model.slot_start[partition], model.slot_start[partition + 1])
    others = brokers_of(model, found.slot_log_dir[own[own != slot]])
    left = rules.may_take[rules.class_of[partition]].copy()
    for broker in (others, model.slot_broker[own]):
        left[broker[broker >= 0]] = False
    return left, others[others >= 0]


def _keeps_racks_and_idcs(model: ClusterModel, rules: Rules, partition: int, others: Ints) -> Bools:
    """[brokers] where one replica more breaks no rule of racks and IDCs beside those on the `others`."""
    row = rules.class_of[partition]
    in_rack = np.bincount(model.rack[others], minlength=len(model.rack_names))
    keeps: Bools = in_rack[model.rack] < rules.rack_max[row]
    idc = model.idc[others]
    in_idc = np.bincount(idc[idc >= 0], minlength=len(model.idc_names))
    placed = model.idc >= 0
    keeps[placed] &= (in_idc < rules.idc_max[row])[model.idc[placed]]
    lacks = in_idc < rules.idc_min[row]
    if lacks.any():
        keeps[~placed] = False
        keeps[placed] &= lacks[model.idc[placed]]
    return keeps


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _amount(resource: Resource, amount: float) -> str:
    if resource is Resource.CPU:
        return f"{amount / 100:.2f} cores"
    if resource is Resource.REPLICAS:
        return _count(int(amount), "replica")
    return human_bytes(amount) if resource is Resource.DISK else f"{human_bytes(amount)}/s"
