"""What is different between the cluster as it is and what was found, one row a replica, as arrays.

Indices are those of the edited model, which knows all that the real one knows, and new brokers, topics and replicas. A
replica that the edit took away has a row too: it has no place to go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardian.errors import InvalidInput
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, brokers_of
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Partitions that change, ascending, and all their replicas (rows, by partition).

    `was` and `will` are what a replica puts onto its broker before and after, leadership included; io what it puts onto
    its disk. A row `copies` when its data goes over the network or between two log dirs: not in a new partition, which
    begins empty. Copies come from `source`, the broker that leads now, or one that lives if that one is dead; -1: none.
    """

    partitions: Ints  # [items]
    is_new: Bools  # [items]
    source: Ints  # [items] broker
    item: Ints  # [rows]
    slot: Ints  # [rows]; -1: a replica that is taken away
    from_dir: Ints  # [rows] log dir; -1: a new replica
    to_dir: Ints  # [rows] log dir; -1: taken away
    from_broker: Ints  # [rows]
    to_broker: Ints  # [rows]
    led: Bools  # [rows]
    leads: Bools  # [rows]
    was: Floats  # [rows, RESOURCES]
    will: Floats  # [rows, RESOURCES]
    io: Floats  # [rows]
    copies: Bools  # [rows]

    @property
    def items(self) -> int:
        return len(self.partitions)

    @property
    def copied(self) -> Floats:
        """[rows] bytes."""
        return np.where(self.copies, self.will[:, Resource.DISK], 0.0)

    def per_item(self, values: Floats) -> Floats:
        """[items] sums of a value of the rows."""
        return sums(self.item, values, self.items)

    def chosen(self, keep: Bools) -> Changes:
        """Those of the items that `keep` [items] names."""
        rows = keep[self.item]
        renumbered = np.cumsum(keep) - 1
        by_item = {name: getattr(self, name)[keep] for name in ("partitions", "is_new", "source")}
        by_row = {name: getattr(self, name)[rows] for name in self.__slots__ if name not in by_item and name != "item"}
        return Changes(**by_item, **by_row, item=renumbered[self.item[rows]])


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The real model in the edited one's indices: where its brokers, log dirs and partitions are there."""

    model: ClusterModel
    broker: Ints  # [brokers of the real model]
    log_dir: Ints  # [log dirs of the real model]
    partition: Ints  # [partitions of the real model]
    found_at: Ints  # [partitions of the edited model] index in the real one; -1: to be created

    @classmethod
    def of(cls, before: ClusterModel, after: ClusterModel) -> Origin:
        if before is after:
            every = np.arange(after.partitions)
            return cls(before, np.arange(after.brokers), np.arange(len(after.log_dirs)), every, every)
        places = {(int(after.log_dir_broker[at]), path): at for at, path in enumerate(after.log_dirs)}
        broker = np.searchsorted(after.broker_ids, before.broker_ids)
        known = broker < after.brokers
        known[known] = after.broker_ids[broker[known]] == before.broker_ids[known]
        _require_known(before, known, "brokers")
        owner = broker[before.log_dir_broker].tolist()
        log_dir = np.array([places.get(place, -1) for place in zip(owner, before.log_dirs, strict=True)], np.int64)
        _require_known(before, log_dir >= 0, "log dirs")
        topic = {name: at for at, name in enumerate(after.topics)}
        codes = np.array([topic.get(name, -1) for name in before.topics], dtype=np.int64)
        _require_known(before, codes >= 0, "topics")
        keys = _keys(after.partition_topic, after.partition_number)
        asked = _keys(codes[before.partition_topic], before.partition_number)
        partition = np.searchsorted(keys, asked)
        found = partition < len(keys)
        found[found] = keys[partition[found]] == asked[found]
        _require_known(before, found, "partitions")
        found_at = np.full(after.partitions, -1)
        found_at[partition] = np.arange(before.partitions)
        return cls(before, broker, log_dir, partition, found_at)

    @property
    def home(self) -> Ints:
        """[slots of the real model] log dirs in the edited one's indices."""
        return np.where(self.model.slot_log_dir < 0, -1, self.log_dir[self.model.slot_log_dir])


def changes_of(origin: Origin, after: ClusterModel, slot_log_dir: Ints, leader_slot: Ints) -> Changes:
    """Return what must be done so that the replicas of the edited model (`after`) lie and lead as the arrays say."""
    before = origin.model
    slots = np.arange(after.slots)
    home = after.slot_log_dir
    led = (home >= 0) & (home == _leader_dirs(origin, after)[after.slot_partition])
    leads = leader_slot[after.slot_partition] == slots
    gone = _taken_away(origin, after)
    changed = np.zeros(after.partitions, dtype=np.bool_)
    changed[after.slot_partition[(slot_log_dir != home) | (led != leads)]] = True
    changed[origin.partition[before.slot_partition[gone]]] = True
    kept = slots[changed[after.slot_partition]]
    partition = np.concatenate([after.slot_partition[kept], origin.partition[before.slot_partition[gone]]])
    order = np.argsort(partition, kind="stable")
    from_dir = np.concatenate([home[kept], origin.home[gone]])[order]
    to_dir = np.concatenate([slot_log_dir[kept], np.full(len(gone), -1)])[order]
    slot = np.concatenate([kept, np.full(len(gone), -1)])[order]
    real_slot = np.concatenate([_real_slots(origin, after, kept), gone])[order]
    led_rows = np.concatenate([led[kept], _leads(before, gone)])[order]
    leads_rows = np.concatenate([leads[kept], np.zeros(len(gone), dtype=np.bool_)])[order]
    partitions = np.flatnonzero(changed)
    item = np.searchsorted(partitions, partition[order])
    is_new = origin.found_at[partitions] < 0
    from_broker = brokers_of(after, from_dir)
    return Changes(
        partitions=partitions,
        is_new=is_new,
        source=_sources(after, len(partitions), item, from_broker, led_rows),
        item=item,
        slot=slot,
        from_dir=from_dir,
        to_dir=to_dir,
        from_broker=from_broker,
        to_broker=brokers_of(after, to_dir),
        led=led_rows,
        leads=leads_rows,
        was=_loads(before, real_slot, led_rows),
        will=_loads(after, np.where(to_dir >= 0, slot, -1), leads_rows),
        io=np.where(slot >= 0, after.slot_io[slot], before.slot_io[real_slot]),
        copies=(to_dir >= 0) & (to_dir != from_dir) & ~is_new[item],
    )


def _loads(model: ClusterModel, slot: Ints, leads: Bools) -> Floats:
    """[rows, RESOURCES] of these slots, 0 where there is none (-1)."""
    load = model.slot_load[slot] + leads[:, None] * model.leader_load[model.slot_partition[slot]]
    return np.where((slot >= 0)[:, None], load, 0.0)


def _real_slots(origin: Origin, after: ClusterModel, slots: Ints) -> Ints:
    """The real model's slot of each of these; -1: it has no place yet."""
    before = origin.model
    if before is after:
        return np.where(after.slot_log_dir[slots] < 0, -1, slots)
    known, asked = _slot_keys(origin, after), after.slot_partition[slots] * _width(after) + after.slot_log_dir[slots]
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], asked), max(len(order) - 1, 0))
    found = order[at] if len(order) else np.zeros(len(slots), dtype=np.int64)
    return np.where(after.slot_log_dir[slots] < 0, -1, found)


def _width(after: ClusterModel) -> int:
    return len(after.log_dirs) + 1


def _slot_keys(origin: Origin, after: ClusterModel) -> Ints:
    """[slots of the real model] what says in the edited model's terms where a partition has a replica."""
    return np.asarray(origin.partition[origin.model.slot_partition] * _width(after) + origin.home)


def _leads(model: ClusterModel, slots: Ints) -> Bools:
    return np.asarray(model.leader_slot[model.slot_partition[slots]] == slots)


def _leader_dirs(origin: Origin, after: ClusterModel) -> Ints:
    """[partitions] the log dir of the leader as it is; -1: of a partition to be created."""
    dirs = np.full(after.partitions, -1)
    leading = origin.model.leader_slot
    dirs[origin.partition] = origin.home[leading]
    return dirs


def _taken_away(origin: Origin, after: ClusterModel) -> Ints:
    """Slots of the real model that the edited one does not have."""
    before = origin.model
    if before is after:
        return np.zeros(0, dtype=np.int64)
    there = after.slot_partition * _width(after) + after.slot_log_dir
    return np.flatnonzero(~np.isin(_slot_keys(origin, after), there) & (before.slot_log_dir >= 0))


def _sources(after: ClusterModel, items: int, item: Ints, from_broker: Ints, led: Bools) -> Ints:
    """[items] where copies come from: the leader's broker, else the first living one."""
    source = np.full(items, -1)
    lives = (from_broker >= 0) & after.alive[np.maximum(from_broker, 0)]
    for rows in (np.flatnonzero(lives)[::-1], np.flatnonzero(lives & led)):
        source[item[rows]] = from_broker[rows]
    return source


def _keys(topic: Ints, number: Ints) -> Ints:
    return np.asarray(topic * (1 << 32) + number)


def _require_known(before: ClusterModel, known: Bools, what: str) -> None:
    if not known.all():
        raise InvalidInput(
            f"the edited model of cluster {before.cluster} lacks {int((~known).sum())} {what} of the real one: "
            "mark what leaves instead of taking it out"
        )
