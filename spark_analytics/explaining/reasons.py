"""Why a target could not be met: the first of these that is so, each a fact by itself, reckoned from the model alone.

replica     some broker must hold the largest one, and that is above the target by itself
group       a rack or data centre has a larger part of the capacity than rules let it use, or must hold more than that
in place    what may not move from a broker is above the target by itself
bound       the search has proven that no placement goes below it
budget      bytes, time or leader moves are used up
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from guardian.model.units import human_bytes, human_duration
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.measure import Places
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, brokers_of
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.search.found import Found
from spark_analytics.search.rules import Rules

_LED = (Resource.CPU, Resource.NW_OUT)  # what leading costs
_COUNTS = (Resource.REPLICAS, Resource.LEADERS)
_SPENT = 0.95  # of a budget: what is left is less than the next move
_LARGE = 0.2  # of a mean broker: a replica that is worth naming beside a bound


@dataclass(frozen=True, slots=True, eq=False)
class Missed:
    """A target of one resource that is not met. `most` is the max/mean that was asked; inf: nothing was."""

    model: ClusterModel
    rules: Rules
    brokers: Places
    resource: Resource
    most: float

    @property
    def unit(self) -> Floats:
        """[brokers] the load that is the mean there; inf where nothing counts."""
        return self.brokers.unit[:, self.resource]

    @property
    def after(self) -> Floats:
        return self.brokers.after[:, self.resource]

    def is_beyond(self, most: float) -> bool:
        """Return whether a placement that is no more even than `most` misses the target."""
        return most > self.most


@dataclass(frozen=True, slots=True)
class Spent:
    """What a plan costs, forced moves apart."""

    copied: float
    leader_moves: int


def reason(missed: Missed, found: Found, asked: Asked, spent: Spent) -> str:
    facts = _Facts.of(missed, found)
    for told in (_replica(missed, facts), _groups(missed, facts), _in_place(missed, facts)):
        if told:
            return told
    return _bound(missed, facts, found) or _budget(missed, asked, spent) or _UNKNOWN


_UNKNOWN = "no step was found that helps; more moves or other rules may"


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What each partition brings, and what can't move."""

    moves: Bools  # [slots] may move
    at: Ints  # [slots] the broker where each is in the end
    pool: Ints  # [partitions] the pool that may take it; -1: nobody may
    load: Floats  # [slots] of this resource, as a follower
    leading: Floats  # [partitions] of the leader on top
    bears: Floats  # [partitions] what some broker must bear of it at least

    @classmethod
    def of(cls, missed: Missed, found: Found) -> _Facts:
        model, rules = missed.model, missed.rules
        takes = rules.may_take & (missed.brokers.group >= 0) & model.alive
        of_class = np.where(takes.any(axis=1), missed.brokers.group[takes.argmax(axis=1)], -1)
        pool = of_class[rules.class_of] if model.partitions else np.zeros(0, dtype=np.int64)
        load, leading = model.slot_load[:, missed.resource], model.leader_load[:, missed.resource]
        bears = leading
        if model.partitions:
            start = model.slot_start[:-1]
            bears = np.maximum(np.maximum.reduceat(load, start), np.minimum.reduceat(load, start) + leading)
        moves = rules.free_to_move & (pool[model.slot_partition] >= 0)
        return cls(moves, brokers_of(model, found.slot_log_dir), pool, load, leading, bears)


def _replica(missed: Missed, facts: _Facts) -> str:
    """A replica that is above the target on the largest broker of its pool; counts have none."""
    if missed.resource in _COUNTS:
        return ""
    for pool, inside in _pools(missed):
        mine = np.flatnonzero(facts.pool == pool)
        unit = missed.unit[inside]
        if not len(mine) or not np.isfinite(unit).all():
            continue
        largest = int(mine[facts.bears[mine].argmax()])
        above = facts.bears[largest] / unit.max() - 1
        if above > 0 and missed.is_beyond(1 + above):
            return _named(missed, facts, largest, float(np.median(unit)))
    return ""


def _named(missed: Missed, facts: _Facts, partition: int, mean: float) -> str:
    name, share = missed.model.partition(partition), facts.bears[partition] / mean
    return f"one replica of {name} is {share:.0%} of a mean broker's {missed.resource.name.lower()}"


def _pools(missed: Missed) -> Iterator[tuple[int, Bools]]:
    """(pool, [brokers] those of it)"""
    brokers = missed.brokers
    for pool in np.unique(brokers.group[brokers.counts]).tolist():
        yield pool, brokers.counts & (brokers.group == pool)


def _groups(missed: Missed, facts: _Facts) -> str:
    model, rules = missed.model, missed.rules
    for pool, inside in _pools(missed):
        racks = np.bincount(model.rack[inside], minlength=len(model.rack_names))
        told = _group(
            missed,
            facts,
            pool,
            inside,
            _Group("rack", model.rack_names, model.rack, np.minimum(rules.rack_max[:, None], racks[None, :])),
            "a partition's racks differ",
        )
        if not told and len(model.idc_names):
            idcs = np.bincount(model.idc[inside & (model.idc >= 0)], minlength=len(model.idc_names))
            named = _Group("IDC", model.idc_names, model.idc, np.minimum(rules.idc_max, idcs[None, :]))
            told = _group(missed, facts, pool, inside, named, "the IDC policy says how many replicas are where")
        if told:
            return told
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    what: str
    names: Sequence[str]
    of_broker: Ints  # [brokers]
    allowed: Ints  # [classes, groups] the most replicas of a partition there


def _group(missed: Missed, facts: _Facts, pool: int, inside: Bools, group: _Group, why: str) -> str:
    """A group whose share of the capacity and what it may or must hold differ by more than the target allows."""
    count = len(group.names)
    brokers = np.bincount(group.of_broker[inside & (group.of_broker >= 0)], minlength=count)
    total, room = float(missed.after[inside].sum()), missed.unit[inside]
    known = inside & (group.of_broker >= 0)
    if (brokers > 0).sum() < 2 or not total or not np.isfinite(room).all() or known.sum() < inside.sum():
        return ""
    share = sums(group.of_broker[inside], room, count) / room.sum()
    low, high = _held(missed, facts, pool, inside, group)
    low, high = np.minimum(low / total, 1.0), np.minimum(high / total, 1.0)
    must = np.where((brokers > 0) & (low > share), low, share)
    may = np.where((brokers > 0) & (high < share), high, share)
    ways = (("must", must), ("may", may))
    way, part = max(ways, key=lambda each: float(np.abs(each[1] - share).max()))
    at = int(np.abs(part - share).argmax())
    if part[at] == share[at]:
        return ""
    use = np.array([part[at] / share[at], (1 - part[at]) / max(1 - share[at], 1e-12)])
    if not missed.is_beyond(float(use.max())):
        return ""
    name, load = missed.resource.name.lower(), "load"
    holds = f"{group.what} {group.names[at]} holds {brokers[at]} of {int(inside.sum())} brokers"
    if missed.resource in _COUNTS:
        load = name
    else:
        holds += f", {share[at]:.0%} of their {name},"
    return f"{holds} and {way} take {part[at]:.0%} of the {load}: {why}"


def _held(missed: Missed, facts: _Facts, pool: int, inside: Bools, group: _Group) -> tuple[Floats, Floats]:
    """([groups] the least, the most) load that each may have: what can't move is where it is.

    Of a partition with n replicas in the pool that move, a group takes at most as many as it may, the largest ones and
    the leader. At the least it takes what all the others can't take, the smallest ones. Partitions alike in n and class
    are summed.
    """
    model, rules, count = missed.model, missed.rules, len(group.names)
    broker = model.slot_broker
    there = (broker >= 0) & inside[np.maximum(broker, 0)]
    stays = there & ~facts.moves
    low = sums(group.of_broker[broker[stays]], facts.load[stays], count)
    led = model.leader_slot
    rooted = np.bincount(model.slot_partition[facts.moves], minlength=model.partitions) == 0
    fixed = np.flatnonzero(rooted & there[led])
    low += sums(group.of_broker[broker[led[fixed]]], facts.leading[fixed], count)
    high = low.copy()
    comes = facts.moves & (facts.at >= 0) & inside[facts.at]  # what stays outside is not for these to take
    slots = np.flatnonzero(comes & (facts.pool[model.slot_partition] == pool))
    partitions, at, moving = np.unique(model.slot_partition[slots], return_inverse=True, return_counts=True)
    largest, smallest = np.zeros(len(partitions)), np.full(len(partitions), np.inf)
    np.maximum.at(largest, at, facts.load[slots])
    np.minimum.at(smallest, at, facts.load[slots])
    width = int(moving.max(initial=0)) + 1
    keys, kind = np.unique(rules.class_of[partitions] * width + moving, return_inverse=True)
    each = keys % width
    allowed = np.minimum(group.allowed[keys // width], each[:, None])
    least = np.maximum(each[:, None] - (allowed.sum(axis=1, keepdims=True) - allowed), 0)
    low += (least * sums(kind, smallest, len(keys))[:, None]).sum(axis=0)
    high += (allowed * sums(kind, largest, len(keys))[:, None]).sum(axis=0)
    high += ((allowed > 0) * sums(kind, facts.leading[partitions], len(keys))[:, None]).sum(axis=0)
    return low, high


def _in_place(missed: Missed, facts: _Facts) -> str:
    """A broker that is above the target by what no rule lets move."""
    model = missed.model
    broker = model.slot_broker
    fixed = (broker >= 0) & ~facts.moves
    held = sums(broker[fixed], facts.load[fixed], model.brokers)
    rooted = np.bincount(model.slot_partition[~fixed], minlength=model.partitions) == 0
    led = model.leader_slot[rooted]
    held += sums(broker[led], facts.leading[rooted], model.brokers)
    above = np.where(missed.brokers.counts, held / missed.unit, 0.0)
    worst = int(above.argmax()) if len(above) else 0
    if not len(above) or above[worst] <= 1 or not missed.is_beyond(float(above[worst])):
        return ""
    return (
        f"what may not move from broker {model.broker_ids[worst]} is {above[worst]:.0%} of a mean broker's "
        f"{missed.resource.name.lower()} by itself"
    )


def _bound(missed: Missed, facts: _Facts, found: Found) -> str:
    least = float(found.least_max[missed.resource])
    if not missed.is_beyond(least):
        return ""
    beside = " that keeps nw_out and leaders in their targets" if found.least_with_others[missed.resource] else ""
    told = f"no placement under these rules{beside} goes below {least - 1:.3f}"
    mean = float(np.median(missed.unit[missed.brokers.counts]))
    if missed.resource in _COUNTS or not len(facts.bears) or facts.bears.max() < _LARGE * mean:
        return told
    return f"{told}; {_named(missed, facts, int(facts.bears.argmax()), mean)}"


def _budget(missed: Missed, asked: Asked, spent: Spent) -> str:
    budget = asked.budget
    if np.isfinite(budget.leader_moves) and missed.resource is Resource.LEADERS:
        used = "is spent" if spent.leader_moves >= _SPENT * budget.leader_moves else "does not reach"
        return f"the budget of {budget.leader_moves:.0f} leader moves {used}, about {_load(missed):.0f} more would do"
    if np.isfinite(budget.bytes):
        left = budget.bytes - spent.copied
        more = f"about {human_bytes(_bytes(missed))} more would have to be copied"
        if left <= (1 - _SPENT) * budget.bytes:
            return f"the budget of {human_bytes(budget.bytes)} is spent, {more}"
        told = f"no step was found within the {human_bytes(left)} left of the budget of {human_bytes(budget.bytes)}"
        return f"{told}, {more}"
    if np.isfinite(budget.broker_bytes):
        seconds = budget.broker_bytes / max(asked.throttle, 1)
        return (
            f"no step was found within the budget of {human_bytes(budget.broker_bytes)} a broker "
            f"({human_duration(seconds * 1000)} at the throttle), "
            f"about {human_bytes(_bytes(missed))} more would have to be copied in all"
        )
    is_spent = np.isfinite(budget.leader_moves) and spent.leader_moves >= _SPENT * budget.leader_moves
    if is_spent and missed.resource in _LED:
        return f"the budget of {budget.leader_moves:.0f} leader moves is spent"
    return ""


def _load(missed: Missed) -> float:
    """Return what is above the highest use that was asked: it has to move, to the best of places."""
    total = 0.0
    for _, inside in _pools(missed):
        unit = missed.unit[inside]
        if not np.isfinite(unit).all():
            continue
        use = missed.after[inside] / unit
        total += float((np.maximum(use - missed.most, 0) * unit).sum())
    return total


def _bytes(missed: Missed) -> float:
    """The same in bytes: those that come with so much load on average."""
    counts = missed.brokers.counts
    stored, load = missed.brokers.after[counts, Resource.DISK].sum(), missed.after[counts].sum()
    return float(_load(missed) * stored / load) if load else 0.0
