"""Why a replica had to move, whatever it costs: the rule, and the fact that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

import numpy as np

from spark_analytics.explaining.changes import Changes
from spark_analytics.explaining.words import log_dir_name
from spark_analytics.extensions.installed import Installed
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.search.rules import Rules


class Cause(IntEnum):
    """In the order in which they are looked for: the first that holds is told."""

    NONE = 0
    NEW_PARTITION = 1
    NEW_REPLICA = 2
    TAKEN_AWAY = 3
    DEAD_BROKER = 4
    OFFLINE_LOG_DIR = 5
    FULL_DISK = 6
    LEFT_LOG_DIR = 7
    ADDED_GOAL = 8
    LABEL = 9
    IDC_EMPTIED = 10
    LEFT_BROKER = 11
    RACK = 12
    IDC_MOST = 13
    IDC_LEAST = 14
    REPLICAS = 15
    TOPIC_LEADERS = 16
    ADDED_LEADER = 17
    LEADER = 18
    OTHER = 19


_GOAL_OF: Mapping[Cause, str] = {
    Cause.NEW_PARTITION: "replication-factor",
    Cause.NEW_REPLICA: "replication-factor",
    Cause.TAKEN_AWAY: "replication-factor",
    Cause.DEAD_BROKER: "dead-broker",
    Cause.OFFLINE_LOG_DIR: "offline-log-dir",
    Cause.FULL_DISK: "log-dir-capacity",
    Cause.LEFT_LOG_DIR: "empty-log-dir",
    Cause.LABEL: "label",
    Cause.IDC_EMPTIED: "idc",
    Cause.LEFT_BROKER: "empty-broker",
    Cause.RACK: "rack",
    Cause.IDC_MOST: "idc",
    Cause.IDC_LEAST: "idc",
    Cause.REPLICAS: "replica-capacity",
    Cause.TOPIC_LEADERS: "min-leaders",
    Cause.LEADER: "leader-place",
    Cause.OTHER: "rules",
}


def goal_of(changes: Changes, rules: Rules, row: int, cause: Cause) -> str:
    """Return the name of the goal that a forced move serves."""
    if cause in (Cause.ADDED_GOAL, Cause.ADDED_LEADER):
        return _added_goal(changes, rules, row, leads=cause is Cause.ADDED_LEADER).name
    return _GOAL_OF[cause]


def causes_of(changes: Changes, model: ClusterModel, rules: Rules, full: Floats, forced: Bools) -> Ints:
    """[rows] of Cause. `forced` [slots] is what the search says; a leader that may not lead is found here.

    `full` [log dirs] is the share of its disk that is used now.
    """
    items = changes.item
    row_class = rules.class_of[changes.partitions[items]]
    at, broker = np.maximum(changes.from_dir, 0), np.maximum(changes.from_broker, 0)
    has_home = changes.from_dir >= 0
    moves = changes.from_dir != changes.to_dir
    told = moves & ((changes.slot < 0) | forced[np.maximum(changes.slot, 0)])
    emptied = ~rules.log_dir_may_stay[at]
    must_leave = emptied | rules.must_leave[np.maximum(changes.slot, 0)]
    barred = ~rules.may_stay[row_class, broker]
    rack, idc = model.rack[broker], model.idc[broker]
    label, topic_label = model.broker_label[broker], model.topic_label[model.partition_topic[changes.partitions[items]]]
    lacks_leaders = _comes_to_lead(changes, model, rules)
    conditions = (
        (Cause.NEW_PARTITION, ~has_home & changes.is_new[items]),
        (Cause.NEW_REPLICA, ~has_home),
        (Cause.TAKEN_AWAY, changes.slot < 0),
        (Cause.DEAD_BROKER, ~model.alive[broker]),
        (Cause.OFFLINE_LOG_DIR, model.log_dir_offline[at]),
        (Cause.FULL_DISK, must_leave & ~emptied & (full[at] > rules.disk_limit)),
        (Cause.LEFT_LOG_DIR, must_leave),
        (Cause.ADDED_GOAL, barred & (_added(rules, row_class, broker) >= 0)),
        (Cause.LABEL, barred & (label != topic_label)),
        (Cause.IDC_EMPTIED, barred & (_limit(rules.idc_max, row_class, idc) == 0)),
        (Cause.LEFT_BROKER, barred),
        (Cause.RACK, _together(changes, rack, len(model.rack_names)) > rules.rack_max[row_class]),
        (Cause.IDC_MOST, _together(changes, idc, len(model.idc_names)) > _limit(rules.idc_max, row_class, idc)),
        (Cause.IDC_LEAST, _lacking(changes, model, rules, row_class) >= 0),
        (Cause.REPLICAS, _crowded(model, rules)[broker]),
        (Cause.TOPIC_LEADERS, lacks_leaders),
    )
    found = np.select([holds for _, holds in conditions], [int(cause) for cause, _ in conditions], int(Cause.OTHER))
    hands_over = changes.led & ~changes.leads & ~rules.may_lead[row_class, broker]
    leading = np.select(
        [hands_over & (_added(rules, row_class, broker, leads=True) >= 0), hands_over, lacks_leaders & ~moves],
        [int(Cause.ADDED_LEADER), int(Cause.LEADER), int(Cause.TOPIC_LEADERS)],
        int(Cause.NONE),
    )
    return np.where(told, found, leading)


def sentence(changes: Changes, model: ClusterModel, rules: Rules, full: Floats, row: int, cause: Cause) -> str:
    """Such as: broker 4 is dead."""
    item = int(changes.item[row])
    rows = slice(*np.searchsorted(changes.item, [item, item + 1]))
    broker = int(max(changes.from_broker[row], 0))
    name = f"broker {model.broker_ids[broker]}"
    row_class = int(rules.class_of[changes.partitions[item]])
    had, has = int((changes.from_dir[rows] >= 0).sum()), int((changes.to_dir[rows] >= 0).sum())
    rack, idc = int(model.rack[broker]), int(model.idc[broker])
    told: Mapping[Cause, Callable[[], str]] = {
        Cause.NEW_PARTITION: lambda: f"a new partition of {has} replicas",
        Cause.NEW_REPLICA: lambda: f"replication factor from {had} to {has}",
        Cause.TAKEN_AWAY: lambda: f"replication factor from {had} to {has}",
        Cause.DEAD_BROKER: lambda: f"{name} is dead",
        Cause.OFFLINE_LOG_DIR: lambda: f"{log_dir_name(model, int(changes.from_dir[row]))} is offline",
        Cause.FULL_DISK: lambda: (
            f"{log_dir_name(model, int(changes.from_dir[row]))} is {full[changes.from_dir[row]]:.0%} full"
        ),
        Cause.LEFT_LOG_DIR: lambda: f"it is to leave {log_dir_name(model, int(changes.from_dir[row]))}",
        Cause.ADDED_GOAL: lambda: f"{name} may not hold it: {_added_goal(changes, rules, row).sentence}",
        Cause.LABEL: lambda: f"{name} {_labels(model, broker, int(changes.partitions[item]))}",
        Cause.IDC_EMPTIED: lambda: f"{name} is in {model.idc_names[idc]}, where it may have no replica",
        Cause.LEFT_BROKER: lambda: f"{name} is to lose it",
        Cause.RACK: lambda: (
            f"rack {model.rack_names[rack]} holds {_count(changes, model.rack, rows, rack)} of its {had} replicas, "
            f"{rules.rack_max[row_class]} may be there"
        ),
        Cause.IDC_MOST: lambda: (
            f"{model.idc_names[idc]} holds {_count(changes, model.idc, rows, idc)} of its {had} replicas, "
            f"{rules.idc_max[row_class, idc]} may be there"
        ),
        Cause.IDC_LEAST: lambda: _too_few(changes, model, rules, row, row_class, rows),
        Cause.REPLICAS: lambda: (
            f"{name} holds {int((model.slot_broker == broker).sum())} replicas, "
            f"{0 if rules.most_replicas is None else rules.most_replicas[broker]} may be there"
        ),
        Cause.TOPIC_LEADERS: lambda: _few_leaders(changes, model, rules, row),
        Cause.ADDED_LEADER: lambda: f"{name} may not lead it: {_added_goal(changes, rules, row, leads=True).sentence}",
        Cause.LEADER: lambda: f"{name} may not lead it",
    }
    return told.get(cause, lambda: f"a rule does not let it stay on {name}")()


def _added(rules: Rules, row_class: Ints, broker: Ints, leads: bool = False) -> Ints:
    """[rows] the first goal of another package that forbids the broker to hold, or lead, the partition; -1: none."""
    if rules.added is None:
        return np.full(len(broker), -1)
    forbids = ~(rules.added.may_lead if leads else rules.added.may_hold)[:, row_class, broker]
    return np.where(forbids.any(axis=0), forbids.argmax(axis=0), -1)


def _added_goal(changes: Changes, rules: Rules, row: int, leads: bool = False) -> Installed:
    row_class = rules.class_of[changes.partitions[changes.item[[row]]]]
    found = int(_added(rules, row_class, np.maximum(changes.from_broker[[row]], 0), leads)[0])
    goals: tuple[Installed, ...] = () if rules.added is None else rules.added.goals
    return goals[found]


def _crowded(model: ClusterModel, rules: Rules) -> Bools:
    """[brokers] those that hold more replicas than they may."""
    if rules.most_replicas is None:
        return np.zeros(model.brokers, dtype=np.bool_)
    return np.bincount(model.slot_broker[model.slot_broker >= 0], minlength=model.brokers) > rules.most_replicas


def _comes_to_lead(changes: Changes, model: ClusterModel, rules: Rules) -> Bools:
    """[rows] those that come to lead on a broker that leads too few partitions of their topic now."""
    few = np.zeros(len(changes.item), dtype=np.bool_)
    if rules.least_leaders is None:
        return few
    topic = model.partition_topic[changes.partitions[changes.item]]
    for row in np.flatnonzero(changes.leads & (rules.least_leaders[topic] > 0)).tolist():
        few[row] = _led(model, int(topic[row]), int(changes.to_broker[row])) < rules.least_leaders[topic[row]]
    return few


def _led(model: ClusterModel, topic: int, broker: int) -> int:
    first, last = np.searchsorted(model.partition_topic, [topic, topic + 1])
    return int((model.slot_broker[model.leader_slot[first:last]] == broker).sum())


def _few_leaders(changes: Changes, model: ClusterModel, rules: Rules, row: int) -> str:
    topic = int(model.partition_topic[changes.partitions[changes.item[row]]])
    broker = int(changes.to_broker[row])
    least = 0 if rules.least_leaders is None else rules.least_leaders[topic]
    return (
        f"broker {model.broker_ids[broker]} leads {_led(model, topic, broker)} partitions of {model.topics[topic]}, "
        f"{least} is the least"
    )


def _limit(limits: Ints, row_class: Ints, idc: Ints) -> Ints:
    """[rows] of the IDC; a large number where the broker has none."""
    if not limits.shape[1]:
        return np.full(len(idc), np.iinfo(np.int64).max)
    return np.where(idc < 0, np.iinfo(np.int64).max, limits[row_class, np.maximum(idc, 0)])


def _together(changes: Changes, group: Ints, groups: int) -> Ints:
    """[rows] how many replicas of the partition are in the row's group now."""
    there = (changes.from_dir >= 0) & (group >= 0)
    key = changes.item * max(groups, 1) + np.maximum(group, 0)
    counts = np.bincount(key[there], minlength=changes.items * max(groups, 1))
    return np.where(there, counts[key], 0)


def _lacking(changes: Changes, model: ClusterModel, rules: Rules, row_class: Ints) -> Ints:
    """[rows] the IDC that the replica goes to and that has too few of the partition's replicas now; -1: not so."""
    count = len(model.idc_names)
    to = np.where(changes.to_broker >= 0, model.idc[np.maximum(changes.to_broker, 0)], -1)
    if not count:
        return np.full(len(to), -1)
    home = np.where(changes.from_broker >= 0, model.idc[np.maximum(changes.from_broker, 0)], -1)
    there = home >= 0
    held = np.bincount((changes.item * count + home)[there], minlength=changes.items * count)
    known = np.maximum(to, 0)
    lacks = (to >= 0) & (held[changes.item * count + known] < rules.idc_min[row_class, known])
    return np.where(lacks, to, -1)


def _count(changes: Changes, group: Ints, rows: slice, one: int) -> int:
    broker = changes.from_broker[rows]
    return int((group[broker[broker >= 0]] == one).sum())


def _too_few(changes: Changes, model: ClusterModel, rules: Rules, row: int, row_class: int, rows: slice) -> str:
    to = int(model.idc[changes.to_broker[row]])
    held = _count(changes, model.idc, rows, to)
    return f"{model.idc_names[to]} holds {held} of its replicas, {rules.idc_min[row_class, to]} must be there"


def _labels(model: ClusterModel, broker: int, partition: int) -> str:
    label, wanted = int(model.broker_label[broker]), int(model.topic_label[model.partition_topic[partition]])
    has = f"has label {model.label_names[label]}" if label >= 0 else "has no label"
    return f"{has}, its topic {f'wants {model.label_names[wanted]}' if wanted >= 0 else 'has none'}"
