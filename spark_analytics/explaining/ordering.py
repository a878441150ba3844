"""In which order moves are carried out, so that no moment in between is worse than the rules allow.

A copy takes room on its new disk at once, and gives its old place free only when it is over. So moves go in stages:

    - whatever of a stage has begun or ended, every disk has room for all copies that the stage brings to it, and every
      broker capacity for all the load, though nothing that the stage takes away is counted yet;
    - a stage begins when the one before it is over, and may use the room that it made.

Within a stage any order is safe, so executors may run many moves at once. What fits into no stage (two full disks that
wait for one another) is left out: the plan says so.

Most plans need one stage. First what had to move, then the most relief per byte: nothing copied, first of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.explaining.changes import Changes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import BYTES, IO, sums
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.search.rules import Rules

NEVER = -1
_LIMITED = (*WITH_CAPACITY, Resource.REPLICAS)  # what a broker has a limit for: the first columns of its loads
_ROUNDS = 40  # of one stage; what is left then waits for the next one
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What items take at places while they are carried out, and free when they are over; one entry a place and item."""

    item: Ints  # [entries]
    place: Ints  # [entries]
    takes: Floats  # [entries] at least 0
    frees: Floats  # [entries] at least 0


def stages_of(changes: Changes, model: ClusterModel, rules: Rules, used: Floats, held: Floats, rank: Ints) -> Ints:
    """[items] the stage of each; NEVER: there is no safe one. `rank` [items] says who goes first where not all fit.

    `used` [brokers, RESOURCES] and `held` [log dirs, BYTES and IO] are what is there now.
    """
    demands, rooms = [_broker_demand(changes)], [_broker_room(model, rules, used)]
    for column, room in zip((BYTES, IO), _disk_rooms(model, rules, held), strict=True):
        if np.isfinite(room).any():
            demands.append(_disk_demand(changes, model, column))
            rooms.append(room)
    begins = np.cumsum([0, *map(len, rooms)])
    demand = Demand(
        item=np.concatenate([each.item for each in demands]),
        place=np.concatenate([each.place + begin for each, begin in zip(demands, begins, strict=False)]),
        takes=np.concatenate([each.takes for each in demands]),
        frees=np.concatenate([each.frees for each in demands]),
    )
    return staged(demand, np.concatenate(rooms), rank)


def staged(demand: Demand, room: Floats, rank: Ints) -> Ints:
    """The stages, where `room` [places] is what may be taken at first; below 0 where too much is taken already."""
    count = len(rank)
    stage = np.zeros(count, dtype=np.int64)
    wanted = sums(demand.place, demand.takes, len(room))
    scarce = (demand.takes > 0) & (wanted > room)[demand.place]
    waiting = np.zeros(count, dtype=np.bool_)
    waiting[demand.item[scarce]] = True
    ended = ~waiting  # what nothing holds back goes at once
    number = 0
    room = room.copy()
    while waiting.any():
        chosen = _fill(demand, scarce, room, waiting, rank)
        if not (chosen | ended).any():
            stage[waiting] = NEVER
            break
        stage[chosen] = number
        waiting &= ~chosen
        ended |= chosen
        freed = ended[demand.item]
        room += sums(demand.place[freed], (demand.frees - demand.takes * scarce)[freed], len(room))
        ended[:] = False
        number += 1
    return stage


def _fill(demand: Demand, scarce: Bools, room: Floats, waiting: Bools, rank: Ints) -> Bools:
    """[items] those of the waiting ones that go together now: by rank, as far as the room at scarce places reaches."""
    left = room.copy()
    chosen = np.zeros(len(waiting), dtype=np.bool_)
    entries = np.flatnonzero(scarce & waiting[demand.item])
    entries = entries[np.lexsort((rank[demand.item[entries]], demand.place[entries]))]
    for _ in range(_ROUNDS):
        if not len(entries):
            break
        item, place, takes = demand.item[entries], demand.place[entries], demand.takes[entries]
        too_large = _items(item[takes > left[place]], len(waiting))
        fits = ~too_large[item]
        entries, item, place, takes = entries[fits], item[fits], place[fits], takes[fits]
        behind = _items(item[_running(place, takes / left[place]) > 1 + _ROUNDING], len(waiting))
        goes = ~behind[item]
        chosen[item[goes]] = True
        left -= sums(place[goes], takes[goes], len(left))
        entries = entries[~goes]
    return chosen


def _items(some: Ints, count: int) -> Bools:
    named = np.zeros(count, dtype=np.bool_)
    named[some] = True
    return named


def _running(place: Ints, shares: Floats) -> Floats:
    """Sums up to each entry, of its place alone; entries come place by place."""
    sums = np.cumsum(shares)
    begins = np.flatnonzero(np.r_[True, place[1:] != place[:-1]]) if len(place) else np.zeros(0, dtype=np.int64)
    ahead = np.r_[0.0, sums][begins]
    return np.asarray(sums - np.repeat(ahead, np.diff(np.r_[begins, len(place)])))


def _disk_rooms(model: ClusterModel, rules: Rules, held: Floats) -> tuple[Floats, Floats]:
    """[disks] bytes, and bytes/s, that may be taken."""
    disks = len(model.disk_total_bytes)
    on_disk, at_work = (sums(model.log_dir_disk, held[:, column], disks) for column in (BYTES, IO))
    total, usable = model.disk_total_bytes, model.disk_usable_bytes
    room = np.minimum(rules.disk_limit * total - on_disk, usable - rules.disk_reserve * total)
    if rules.disk_spare is not None:
        room = room - rules.disk_spare
    return room + _ROUNDING * total, rules.disk_io_limit * model.disk_io_capacity * (1 + _ROUNDING) - at_work


def _broker_room(model: ClusterModel, rules: Rules, used: Floats) -> Floats:
    """[brokers x _LIMITED]"""
    most = np.full(model.brokers, np.inf) if rules.most_replicas is None else rules.most_replicas
    limit = np.column_stack([rules.capacity_limit * model.capacity, most])
    slack = _ROUNDING * np.where(np.isfinite(limit), limit, 0.0)
    return np.asarray(limit + slack - used[:, : len(_LIMITED)]).ravel()


def _disk_demand(changes: Changes, model: ClusterModel, column: int) -> Demand:
    comes = changes.copies
    goes = (changes.from_dir >= 0) & (changes.from_dir != changes.to_dir)
    will, was = changes.io, changes.io
    if column == BYTES:
        will, was = changes.will[:, Resource.DISK], changes.was[:, Resource.DISK]
    return _summed(
        np.concatenate([changes.item[comes], changes.item[goes]]),
        model.log_dir_disk[np.concatenate([changes.to_dir[comes], changes.from_dir[goes]])],
        np.concatenate([will[comes], np.zeros(int(goes.sum()))]),
        np.concatenate([np.zeros(int(comes.sum())), was[goes]]),
    )


def _broker_demand(changes: Changes) -> Demand:
    """A partition's replicas change together: what counts at a broker is the difference that the whole item makes."""
    width = len(_LIMITED)
    parts = []
    for broker, loads, sign in ((changes.to_broker, changes.will, 1.0), (changes.from_broker, changes.was, -1.0)):
        there = (broker >= 0) & ~changes.is_new[changes.item]
        rows = np.flatnonzero(there)
        place = broker[rows][:, None] * width + np.arange(width)
        item = np.repeat(changes.item[rows], width).reshape(place.shape)
        parts.append((item.ravel(), place.ravel(), sign * loads[rows, :width].ravel()))
    item, place, change = (np.concatenate(each) for each in zip(*parts, strict=True))
    net = _summed(item, place, change, np.zeros(len(change)))
    largest = np.zeros(width)
    np.maximum.at(largest, net.place % width, np.abs(net.takes))
    small = _ROUNDING * largest[net.place % width]  # what adding and taking away again leaves
    return Demand(
        net.item,
        net.place,
        np.where(net.takes > small, net.takes, 0.0),
        np.where(net.takes < -small, -net.takes, 0.0),
    )


def _summed(item: Ints, place: Ints, takes: Floats, frees: Floats) -> Demand:
    """One entry for each item and place."""
    width = int(place.max(initial=0)) + 1
    keys, at = np.unique(item * width + place, return_inverse=True)
    return Demand(keys // width, keys % width, sums(at, takes, len(keys)), sums(at, frees, len(keys)))


def ranked(forced: Bools, relief: Floats, copied: Floats) -> Ints:
    """[items] 0 for what goes first: what had to move, then the most relief per byte, then by name."""
    per_byte = relief / np.maximum(copied, 1.0)
    order = np.lexsort((np.arange(len(forced)), -per_byte, ~forced))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank
