"""What a plan could not reach, and why: facts that an operator can check and change.

broker disk spread is 0.210, 0.090 was asked: one replica of t-3 is 66 % of a mean broker's disk
broker cpu spread is 0.110, 0.080 was asked: rack r3 has 40 % of the brokers' cpu, and may hold 33 % of what needs it
2 replicas stay on broker 4 (t-1, t-7): none of the 3 brokers left for t-7 has a disk with room for 5.0 GB: ...
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.changes import Changes
from spark_analytics.explaining.measure import Places, evenness
from spark_analytics.explaining.no_place import limited, no_place
from spark_analytics.explaining.reasons import Missed
from spark_analytics.explaining.words import log_dir_name
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.search.found import Found, Stuck, Why
from spark_analytics.search.rules import Rules

_NAMED = 5
_SHOWN = 5e-4  # less than what the sentences show

_WHY = {
    Why.NOT_ALLOWED: "no other broker may hold them",
    Why.RACKS: "the brokers that may hold them are in racks that hold as many of their replicas as they may",
    Why.IDCS: "the brokers that may hold them are in data centres that hold as many of their replicas as they may",
    Why.CAPACITY: "the brokers that may hold them have not enough capacity left",
    Why.DISK_ROOM: "none of the disks left has room for the copy",
}


def overloaded_pools(model: ClusterModel, rules: Rules, brokers: Places) -> Iterator[str]:
    """Brokers that are together above a limit: whatever goes where, some of them are."""
    for pool in np.unique(brokers.group[brokers.counts]).tolist():
        inside = brokers.counts & (brokers.group == pool)
        who = "all brokers" if inside.sum() == model.alive.sum() else f"the {int(inside.sum())} {_pool(model, inside)}"
        for resource in WITH_CAPACITY:
            capacity = float(model.capacity[inside, resource].sum())
            used = float(brokers.after[inside, resource].sum())
            limit = float(rules.capacity_limit[resource])
            if np.isfinite(capacity) and used > limit * capacity:
                yield (
                    f"{resource.name.lower()} is {used / capacity:.0%} of the capacity of {who} together "
                    f"and {limit:.0%} is the limit: add brokers, or raise {_LIMIT_NAMES[resource]}"
                )


_LIMIT_NAMES = {
    Resource.CPU: "cpu_limit",
    Resource.NW_IN: "network_limit",
    Resource.NW_OUT: "network_limit",
    Resource.DISK: "disk_limit",
}


def _pool(model: ClusterModel, inside: Bools) -> str:
    """Name some of the brokers: by their label where they share one."""
    labels = np.unique(model.broker_label[inside])
    if len(labels) == 1 and labels[0] >= 0:
        return f"brokers of label {model.label_names[labels[0]]}"
    return f"brokers from {model.broker_ids[inside][0]} on that hold the same topics"


def missed_targets(model: ClusterModel, rules: Rules, asked: Asked, brokers: Places) -> Iterator[tuple[str, Missed]]:
    """(what is missed, in words, and all about it) for each resource that is less even than was asked for."""
    spread = evenness(brokers)
    for resource in Resource:
        name = resource.name.lower()
        missed = Missed(
            model,
            rules,
            brokers,
            resource,
            most=float(asked.targets.max_over_mean[resource]),
        )
        asked_spread = missed.most - 1
        if spread[resource] > asked_spread + _SHOWN:
            yield f"broker {name} spread is {spread[resource]:.3f}, {asked_spread:.3f} was asked", missed


def stuck_replicas(model: ClusterModel, rules: Rules, found: Found) -> Iterator[str]:
    """A sentence for each broker and reason, with the numbers of the smallest replica, which lacks least."""
    groups: dict[tuple[int, Why], list[Stuck]] = {}
    for each in found.stuck:
        log_dir = int(model.slot_log_dir[each.slot])
        broker = int(model.log_dir_broker[log_dir]) if log_dir >= 0 else -1
        groups.setdefault((broker, each.why), []).append(each)
    for (broker, why), group in sorted(groups.items()):
        where = f"stay on broker {model.broker_ids[broker]}" if broker >= 0 else "find no place"
        if len(group) == 1:
            where = where.replace("stay", "stays").replace("find", "finds")
        partitions = [int(model.slot_partition[each.slot]) for each in group]
        smallest = min(group, key=lambda each: (float(model.slot_load[each.slot, Resource.DISK]), each.slot))
        reason = no_place(model, rules, found, smallest) or _WHY[why]
        reason += limited(rules, int(rules.class_of[model.slot_partition[smallest.slot]]))
        yield f"{_replicas(len(group))} {where} ({_names(model, partitions)}): {reason}"


def left_out(left: Changes, model: ClusterModel) -> Iterator[str]:
    """Moves that no safe order has."""
    if not left.items:
        return
    partitions = left.partitions.tolist()
    full = sorted({log_dir_name(model, at) for at in left.to_dir[left.copies].tolist()})
    onto = f" onto {', '.join(full[:_NAMED])}{', ...' if len(full) > _NAMED else ''}" if full else ""
    count = f"{left.items} {'move is' if left.items == 1 else 'moves are'}"
    yield (
        f"{count} left out ({_names(model, partitions)}){onto}: "
        "each needs room that another one would make first, so no order is safe"
    )


def uneven_log_dirs(model: ClusterModel, slot_log_dir: Ints, log_dirs: Places, level: float) -> Iterator[str]:
    """Brokers whose log dirs stay less even than asked: the worst ones. `slot_log_dir` is as the plan leaves it."""
    deviation = np.where(log_dirs.counts[:, None], log_dirs.deviation_after, 0.0).max(axis=1, initial=0.0)
    over: Ints = np.flatnonzero(deviation > level + _SHOWN)
    if not len(over):
        return
    brokers = len(np.unique(model.log_dir_broker[over]))
    worst = int(over[deviation[over].argmax()])
    which = f"log dirs of {brokers} {'broker' if brokers == 1 else 'brokers'} stay"
    yield (
        f"{which} more than {level:.0%} above the mean of their broker: {log_dir_name(model, worst)} is at "
        f"{deviation[worst]:.0%}{_its_largest(model, slot_log_dir, log_dirs, worst)}"
    )


def _its_largest(model: ClusterModel, slot_log_dir: Ints, log_dirs: Places, log_dir: int) -> str:
    unit: Floats = log_dirs.unit[log_dir]
    column = int(log_dirs.deviation_after[log_dir].argmax())
    values = model.slot_io if column else model.slot_load[:, Resource.DISK]
    on = np.flatnonzero(slot_log_dir == log_dir)
    if not len(on):
        return ""
    slot = int(on[values[on].argmax()])
    share = values[slot] / unit[column]
    if share < 0.5:
        return ""
    return f" (one replica of {model.partition(int(model.slot_partition[slot]))} is {share:.0%} of the mean)"


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _names(model: ClusterModel, partitions: list[int]) -> str:
    names = ", ".join(str(model.partition(each)) for each in partitions[:_NAMED])
    return f"{names}, ..." if len(partitions) > _NAMED else names
