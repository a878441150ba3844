"""What a placement costs each broker and each log dir, and how unevenly. The sums of all else.

    broker   = what its replicas cost as followers (`slot_load`) + what leading adds where it leads (`leader_load`)
    log dir  = the bytes of the replicas in it, and what they write to and read from its disk

Moving replicas and leaders about changes no total, so a mean is constant while a plan is made. A replica without a
place costs nobody anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.model.cluster_model import ClusterModel, Floats, Ints, brokers_of
from spark_analytics.model.resources import RESOURCES, WITH_CAPACITY, Resource

BYTES, IO = 0, 1
"""The columns of a log dir's load: bytes, and bytes/s."""


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """The loads of one placement, in the units of Resource."""

    broker: Floats  # [brokers, RESOURCES]
    log_dir: Floats  # [log dirs, 2]: BYTES, IO
    leader_bytes_in: Floats  # [brokers] NW_IN of the partitions that it leads
    potential_nw_out: Floats  # [brokers] NW_OUT if it led all that it holds


def load_of(model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints) -> Load:
    """The load when replicas lie as `slot_log_dir` says and are led by `leader_slot`."""
    broker = brokers_of(model, slot_log_dir)
    leader_broker = broker[leader_slot]
    loads = np.empty((model.brokers, RESOURCES))
    for resource in Resource:
        loads[:, resource] = _sums(broker, model.slot_load[:, resource], model.brokers)
        loads[:, resource] += _sums(leader_broker, model.leader_load[:, resource], model.brokers)
    on_disk = (model.slot_load[:, Resource.DISK], model.slot_io)
    leads_in = model.slot_load[leader_slot, Resource.NW_IN] + model.leader_load[:, Resource.NW_IN]
    if_led = model.slot_load[:, Resource.NW_OUT] + model.leader_load[model.slot_partition, Resource.NW_OUT]
    return Load(
        broker=loads,
        log_dir=np.column_stack([_sums(slot_log_dir, amounts, len(model.log_dirs)) for amounts in on_disk]),
        leader_bytes_in=_sums(leader_broker, leads_in, model.brokers),
        potential_nw_out=_sums(broker, if_led, model.brokers),
    )


def load_now(model: ClusterModel) -> Load:
    return load_of(model, model.slot_log_dir, model.leader_slot)


def sums(places: Ints, amounts: Floats, count: int) -> Floats:
    """[count] what each place gets, all of which are known."""
    return np.bincount(places, amounts, count).astype(np.float64)


def _sums(places: Ints, amounts: Floats, count: int) -> Floats:
    """Add up amounts by place; what is at -1 is left out."""
    return sums(places + 1, amounts, count + 1)[1:]


def scale(model: ClusterModel) -> Floats:
    """[brokers, RESOURCES] by what a load is divided to compare brokers: their capacity; 1 for counts.

    An unknown capacity counts as the median of the known ones; where none is known, all brokers are alike.
    """
    scales = np.ones((model.brokers, RESOURCES))
    for resource in WITH_CAPACITY:
        capacity = model.capacity[:, resource]
        known = np.isfinite(capacity)
        if known.any():
            scales[:, resource] = np.where(known, capacity, np.median(capacity[known]))
    return scales


def disk_scale(model: ClusterModel) -> Floats:
    """[log dirs, 2] the same for log dirs: the bytes and the io capacity of the disk below, shared by its log dirs."""
    sharing = np.bincount(model.log_dir_disk, minlength=len(model.disk_total_bytes)).astype(np.float64)
    scales = np.ones((len(model.log_dirs), 2))
    for column, capacity in ((BYTES, model.disk_total_bytes), (IO, model.disk_io_capacity)):
        known = np.isfinite(capacity) & (capacity > 0)
        if known.any():
            each = np.where(known, capacity, np.median(capacity[known])) / np.maximum(sharing, 1)
            scales[:, column] = each[model.log_dir_disk]
    return scales


def topic_counts(model: ClusterModel, slot_log_dir: Ints) -> tuple[Ints, Ints, Ints]:
    """(topic, broker, replicas) for each broker that holds a topic, by topic and broker."""
    broker = brokers_of(model, slot_log_dir)
    key = model.partition_topic[model.slot_partition] * model.brokers + broker
    pairs, counts = np.unique(key[broker >= 0], return_counts=True)
    return pairs // model.brokers, pairs % model.brokers, counts


def topic_excess(model: ClusterModel, slot_log_dir: Ints) -> int:
    """Over all topics, the replicas by which its fullest broker exceeds an even share of the alive ones."""
    topic, _, counts = topic_counts(model, slot_log_dir)
    most, total = np.zeros(len(model.topics), np.int64), np.zeros(len(model.topics), np.int64)
    np.maximum.at(most, topic, counts)
    np.add.at(total, topic, counts)
    return int((most - -(-total // max(int(model.alive.sum()), 1))).sum())
