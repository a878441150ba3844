"""The level of log dirs, inside each broker: arrivals go where they fit best, then the least bytes even them out.

Copies count at both ends until they are done, so a log dir gives no room back when a replica leaves it. Log dirs on one
disk share its room, and each has an equal part of its capacity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.resources import Resource
from spark_analytics.search.compiled import compiled, fixed, inner, lean, plain
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules

_BYTES, _IO = fixed(0), fixed(1)
_TAIL = 8.0
# A step within a broker must relieve this much for each mean log dir's worth of bytes, or it is not worth a copy.
_LEAST = 1e-4
_STEPS = 2000
_TURNS = 4
_NOWHERE = fixed(-1)


class Disks(NamedTuple):
    """`where` and `room` change; `unit` is of the broker at work."""

    first: Ints  # [brokers + 1] log dirs of a broker
    disk: Ints  # [log dirs]
    share: Floats  # [log dirs, 2] capacity in bytes and io
    may_take: Bools  # [log dirs]
    home: Ints  # [slots] log dir; -1: none
    returns: Bools  # [slots] may stay in its home
    fixed: Bools  # [slots] stays there unless it must go
    amount: Floats  # [slots, 2] bytes and io
    where: Ints  # [slots] log dir; -1: to be chosen
    room: Floats  # [disks] bytes that may still be copied in
    io_room: Floats  # [disks] bytes/s that replicas may still add
    owner: Ints  # [log dirs] broker
    left: Floats  # [brokers + 1] bytes that its budget leaves each to copy within; the last: all of them together


def room_of(model: ClusterModel, rules: Rules) -> Floats:
    """[disks] the bytes that may be copied onto each."""
    size = model.slot_load[:, Resource.DISK]
    placed = model.slot_log_dir >= 0
    disk = model.log_dir_disk[model.slot_log_dir[placed]]
    held = np.bincount(disk, size[placed], len(model.disk_total_bytes))
    below_limit = rules.disk_limit * model.disk_total_bytes - held
    usable = model.disk_usable_bytes - rules.disk_reserve * model.disk_total_bytes
    spare = 0.0 if rules.disk_spare is None else rules.disk_spare
    return np.maximum(np.minimum(below_limit, usable) - spare, 0.0)


def _io_room(model: ClusterModel, rules: Rules, slot_log_dir: Ints) -> Floats:
    """[disks] the io that replicas may still add to each, when these are in their log dirs."""
    placed = slot_log_dir >= 0
    disk = model.log_dir_disk[slot_log_dir[placed]]
    used = np.bincount(disk, model.slot_io[placed], len(model.disk_total_bytes))
    with np.errstate(invalid="ignore"):
        limit = rules.disk_io_limit * model.disk_io_capacity
    room: Floats = np.where(np.isfinite(limit) & (limit > 0), limit - used, np.inf)
    return room


def usable_share(model: ClusterModel) -> Floats:
    """[disks] 1 where nothing is known of the disk, as of one that is offline."""
    share: Floats = np.ones(len(model.disk_total_bytes))
    np.divide(model.disk_usable_bytes, model.disk_total_bytes, out=share, where=model.disk_total_bytes > 0)
    share[model.log_dir_disk[model.log_dir_offline]] = 1.0
    return share


def room_by_broker(model: ClusterModel, rules: Rules, room: Floats) -> tuple[Floats, Floats]:
    """[brokers] the bytes that may be copied onto its disks, and onto the roomiest of them; -1: nothing at all."""
    taking = np.flatnonzero(rules.log_dir_may_take)
    disks, at = np.unique(model.log_dir_disk[taking], return_index=True)
    broker = model.log_dir_broker[taking[at]]
    total, largest = np.zeros(model.brokers), np.full(model.brokers, -1.0)
    np.add.at(total, broker, room[disks])
    np.maximum.at(largest, broker, room[disks])
    return total, largest


def leaving(model: ClusterModel, rules: Rules, room: Floats) -> tuple[Bools, Bools]:
    """[slots] those that must leave their log dir; and of these, those for which their broker has no other room.

    What stays on its broker takes its room away.
    """
    placed = model.slot_log_dir >= 0
    must = rules.must_leave.copy()
    touched = np.asarray(rules.may_take.any(axis=1))[rules.class_of][model.slot_partition]
    must[placed] |= touched[placed] & ~rules.log_dir_may_stay[model.slot_log_dir[placed]]
    must &= placed
    away = np.zeros(model.slots, dtype=np.bool_)
    size = model.slot_load[:, Resource.DISK]
    slots = np.flatnonzero(must)
    slots = slots[np.argsort(-size[slots], kind="stable")]
    _fit_beside(
        slots,
        plain(size),
        plain(model.slot_log_dir),
        plain(model.log_dir_broker),
        _first_of_broker(model),
        plain(model.log_dir_disk),
        plain(rules.log_dir_may_take),
        room,
        away,
    )
    return must, away


@compiled
def _fit_beside(
    slots: Ints,
    size: Floats,
    log_dir: Ints,
    broker: Ints,
    first: Ints,
    disk: Ints,
    may_take: Bools,
    room: Floats,
    away: Bools,
) -> None:
    for slot in slots:
        b = broker[log_dir[slot]]
        best = _NOWHERE
        for d in range(first[b], first[b + 1]):
            if may_take[d] and d != log_dir[slot] and (best < 0 or room[disk[d]] > room[disk[best]]):
                best = d
        if best >= 0 and size[slot] <= room[disk[best]]:
            room[disk[best]] -= size[slot]
        else:
            away[slot] = True


def level(
    model: ClusterModel, rules: Rules, targets: Targets, broker: Ints, must_leave: Bools, left: Floats
) -> tuple[Ints, Floats, Ints]:
    """[slots] the log dir of each replica on its `broker`, [brokers] the level reached, and slots without a log dir."""
    stays = (broker >= 0) & (broker == model.slot_broker) & ~must_leave
    where = np.where(stays, model.slot_log_dir, -1)
    disks = Disks(
        first=_first_of_broker(model),
        disk=model.log_dir_disk.copy(),
        share=_share(model),
        may_take=rules.log_dir_may_take.copy(),
        home=model.slot_log_dir.copy(),
        returns=stays,
        fixed=stays & ~rules.free_to_move,
        amount=np.column_stack([model.slot_load[:, Resource.DISK], model.slot_io]),
        where=where,
        room=room_of(model, rules),
        io_room=_io_room(model, rules, where),
        owner=model.log_dir_broker.copy(),
        left=left.copy(),
    )
    order = np.argsort(broker, kind="stable")
    begins = np.searchsorted(broker[order], np.arange(model.brokers + 1))
    reached = np.zeros(model.brokers)
    _level_all(disks, order, begins, min(targets.disk_level, 1e9), reached)
    return disks.where, reached, np.flatnonzero((broker >= 0) & (disks.where < 0))


def _first_of_broker(model: ClusterModel) -> Ints:
    return np.searchsorted(model.log_dir_broker, np.arange(model.brokers + 1)).astype(np.int64)


def _share(model: ClusterModel) -> Floats:
    """Return each log dir's share of its disk. Where the io that a disk can do is not known of every one, all count as
    equal.
    """
    sharing = np.bincount(model.log_dir_disk, minlength=len(model.disk_total_bytes))[model.log_dir_disk]
    total = np.where(model.disk_total_bytes > 0, model.disk_total_bytes, 1.0)
    known = np.isfinite(model.disk_io_capacity) & (model.disk_io_capacity > 0)
    io = model.disk_io_capacity if known.all() else np.ones(len(total))
    return np.column_stack([total[model.log_dir_disk] / sharing, io[model.log_dir_disk] / sharing])


@compiled
def _level_all(s: Disks, order: Ints, begins: Ints, target: float, reached: Floats) -> None:
    for b in range(begins.shape[0] - 1):
        slots = order[begins[b] : begins[b + 1]]
        low, high = s.first[b], s.first[b + 1]
        if high - low == 1:
            _fill_only(s, slots, low)
        elif slots.shape[0] > 0 and high > low:
            reached[b] = _level_one(s, slots, low, high, target)


@lean
def _fill_only(s: Disks, slots: Ints, log_dir: int) -> None:
    for slot in slots:
        if s.where[slot] < 0 and _may_take(s, slot, log_dir):
            _move(s, slot, log_dir)


@lean
def _may_take(s: Disks, slot: int, log_dir: int) -> bool:
    if log_dir == s.home[slot] and not s.returns[slot]:
        return False
    if log_dir == s.home[slot]:
        return bool(s.may_take[log_dir])
    disk = s.disk[log_dir]
    return bool(
        s.may_take[log_dir]
        and s.amount[slot, _BYTES] <= s.room[disk]
        and (s.amount[slot, _IO] <= s.io_room[disk] or (s.where[slot] >= 0 and s.disk[s.where[slot]] == disk))
    )


@lean
def _move(s: Disks, slot: int, log_dir: int) -> None:
    was = s.where[slot]
    if was >= 0:
        s.io_room[s.disk[was]] += s.amount[slot, _IO]
    s.io_room[s.disk[log_dir]] -= s.amount[slot, _IO]
    if was >= 0 and was != s.home[slot]:
        s.room[s.disk[was]] += s.amount[slot, _BYTES]
    if log_dir != s.home[slot]:
        s.room[s.disk[log_dir]] -= s.amount[slot, _BYTES]
    if s.returns[slot]:
        copied = s.amount[slot, _BYTES] * (int(log_dir != s.home[slot]) - int(was != s.home[slot]))
        s.left[s.owner[log_dir]] -= copied
        s.left[-1] -= copied
    s.where[slot] = log_dir


@lean
def _penalty(dev: float, target: float) -> float:
    over = dev - target
    return dev * dev + (_TAIL * over * over if over > 0.0 else 0.0)


@lean
def _gain(dev: Floats, unit: Floats, x: Floats, was: int, now: int, target: float) -> float:
    """Return the gain of moving x between two log dirs of the broker, numbered from its first; `was` -1: from
    nowhere.
    """
    gain = 0.0
    for k in range(2):
        if was >= 0:
            gain += _penalty(dev[was, k], target) - _penalty(dev[was, k] - x[k] * unit[was, k], target)
        gain += _penalty(dev[now, k], target) - _penalty(dev[now, k] + x[k] * unit[now, k], target)
    return gain


@lean
def _shift(dev: Floats, unit: Floats, x: Floats, was: int, now: int) -> None:
    for k in range(2):
        if was >= 0:
            dev[was, k] -= x[k] * unit[was, k]
        dev[now, k] += x[k] * unit[now, k]


@inner
def _level_one(s: Disks, slots: Ints, low: int, high: int, target: float) -> float:
    n = high - low
    unit = np.zeros((n, 2))
    dev = np.zeros((n, 2))
    for k in range(2):
        total = 0.0
        share = 0.0
        for slot in slots:
            if s.where[slot] < 0 or s.may_take[s.where[slot]]:
                total += s.amount[slot, k]
        for d in range(n):
            share += s.share[low + d, k] if s.may_take[low + d] else 0.0
        for d in range(n):
            if total > 0.0 and s.may_take[low + d]:
                unit[d, k] = share / (total * s.share[low + d, k])
                dev[d, k] = -1.0
    for slot in slots:
        if s.where[slot] >= 0:
            _shift(dev, unit, s.amount[slot], _NOWHERE, s.where[slot] - low)
    _place_arrivals(s, slots, low, n, dev, unit, target)
    if target < 1e9:
        _relieve(s, slots, low, n, dev, unit, target)
        _return(s, slots, low, dev, unit, max(target, _highest(dev, _BYTES)), max(target, _highest(dev, _IO)))
    return _worst(dev)


@lean
def _highest(dev: Floats, k: int) -> float:
    highest = dev[0, k]
    for d in range(1, dev.shape[0]):
        highest = max(highest, dev[d, k])
    return float(highest)


@lean
def _worst(dev: Floats) -> float:
    worst = 0.0
    for d in range(dev.shape[0]):
        worst = max(worst, dev[d, 0], dev[d, 1])
    return worst


@inner
def _homeless(s: Disks, slots: Ints) -> Ints:
    coming = np.empty(slots.shape[0], np.int64)
    count = 0
    for slot in slots:
        if s.where[slot] < 0:
            coming[count] = slot
            count += 1
    return coming[:count]


@inner
def _place_arrivals(s: Disks, slots: Ints, low: int, n: int, dev: Floats, unit: Floats, target: float) -> None:
    """The heaviest first."""
    coming = _homeless(s, slots)
    weight = np.empty(coming.shape[0])
    mean = np.zeros(2)
    for d in range(n):
        for k in range(2):
            mean[k] += unit[d, k]
    for k in range(2):
        mean[k] /= n
    for i in range(coming.shape[0]):
        weight[i] = -max(s.amount[coming[i], 0] * mean[0], s.amount[coming[i], 1] * mean[1])
    for i in np.argsort(weight, kind="mergesort"):
        slot = coming[i]
        best = -np.inf
        who = _NOWHERE
        for d in range(n):
            if _may_take(s, slot, low + d):
                gain = _gain(dev, unit, s.amount[slot], _NOWHERE, d, target)
                if gain > best:
                    best = gain
                    who = d
        if who >= 0:
            _shift(dev, unit, s.amount[slot], _NOWHERE, who)
            _move(s, slot, low + who)


@inner
def _relieve(s: Disks, slots: Ints, low: int, n: int, dev: Floats, unit: Floats, target: float) -> None:
    """The fullest log dir gives the replica with the most relief per byte, or exchanges it, until all are level.

    One that can do neither has its next turn when the others are done.
    """
    for _ in range(_TURNS):
        stuck = np.zeros(n, np.bool_)
        steps = 0
        while steps < _STEPS:
            full = _NOWHERE
            for d in range(n):
                if not stuck[d] and (full < 0 or max(dev[d, 0], dev[d, 1]) > max(dev[full, 0], dev[full, 1])):
                    full = d
            if full < 0 or max(dev[full, 0], dev[full, 1]) <= target:
                break
            if _give_one(s, slots, low, n, dev, unit, target, full) or _exchange_one(
                s, slots, low, dev, unit, target, full
            ):
                steps += 1
            else:
                stuck[full] = True
        if steps == 0 or _worst(dev) <= target:
            return


@lean
def _bytes_of(s: Disks, slot: int) -> float:
    """Return what it costs to move the replica, in bytes: an arrival is copied anyway."""
    return s.amount[slot, _BYTES] if s.where[slot] == s.home[slot] else 0.0


@lean
def _may_spend(s: Disks, copied: float, log_dir: int) -> bool:
    return bool(copied == 0.0 or copied <= min(s.left[s.owner[log_dir]], s.left[-1]))


@inner
def _give_one(s: Disks, slots: Ints, low: int, n: int, dev: Floats, unit: Floats, target: float, full: int) -> bool:
    best = 0.0
    who = _NOWHERE
    to = _NOWHERE
    for slot in slots:
        if s.where[slot] != low + full or s.fixed[slot]:
            continue
        if not _may_spend(s, _bytes_of(s, slot), low):
            continue
        cost = _bytes_of(s, slot) * unit[full, _BYTES]
        for d in range(n):
            if d == full or not _may_take(s, slot, low + d):
                continue
            gain = _gain(dev, unit, s.amount[slot], full, d, target)
            if gain > _LEAST * (cost + 0.01) and gain / (cost + 0.01) > best:
                best = gain / (cost + 0.01)
                who = slot
                to = d
    if who < 0:
        return False
    _shift(dev, unit, s.amount[who], full, to)
    _move(s, who, low + to)
    return True


@inner
def _exchange_one(s: Disks, slots: Ints, low: int, dev: Floats, unit: Floats, target: float, full: int) -> bool:
    best = 0.0
    one = _NOWHERE
    two = _NOWHERE
    x = np.empty(2)
    most = 0 if dev[full, 0] > dev[full, 1] else 1
    for slot in slots:
        if s.where[slot] != low + full or s.fixed[slot]:
            continue
        for other in slots:
            d = s.where[other] - low
            if (
                s.amount[other, most] >= s.amount[slot, most]
                or d == full
                or d < 0
                or s.fixed[other]
                or not s.may_take[low + d]
            ):
                continue
            if not _may_take(s, slot, low + d) or not _may_take(s, other, low + full):
                continue
            if not _may_spend(s, _bytes_of(s, slot) + _bytes_of(s, other), low):
                continue
            for k in range(2):
                x[k] = s.amount[slot, k] - s.amount[other, k]
            cost = (_bytes_of(s, slot) + _bytes_of(s, other)) * unit[full, _BYTES] + 0.01
            gain = _gain(dev, unit, x, full, d, target)
            if gain > _LEAST * cost and gain / cost > best:
                best = gain / cost
                one = slot
                two = other
    if one < 0:
        return False
    d = s.where[two] - low
    _shift(dev, unit, s.amount[one], full, d)
    _shift(dev, unit, s.amount[two], d, full)
    _move(s, one, low + d)
    _move(s, two, low + full)
    return True


@inner
def _return(s: Disks, slots: Ints, low: int, dev: Floats, unit: Floats, most_bytes: float, most_io: float) -> None:
    """Replicas that need not have moved go back where they were, the largest first."""
    sizes = np.empty(slots.shape[0])
    for i in range(slots.shape[0]):
        sizes[i] = -s.amount[slots[i], _BYTES]
    for i in np.argsort(sizes, kind="mergesort"):
        slot = slots[i]
        was, now = s.where[slot] - low, s.home[slot] - low
        if not s.returns[slot] or was == now or not s.may_take[s.home[slot]]:
            continue
        stored = dev[now, _BYTES] + s.amount[slot, _BYTES] * unit[now, _BYTES]
        if stored <= most_bytes and dev[now, _IO] + s.amount[slot, _IO] * unit[now, _IO] <= most_io:
            _shift(dev, unit, s.amount[slot], was, now)
            _move(s, slot, s.home[slot])
