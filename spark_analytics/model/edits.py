"""A model with something changed: what planners and what-if questions ask about. The model itself never changes.

Structural changes (brokers, log dirs, topics, partitions, replicas) go back to facts and columns and through the same
front door as any model, so the result is in canonical order. Indices shift, names do not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from guardian.model.federation import Tenant
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import (
    Bools,
    BrokerFacts,
    Floats,
    Ints,
    LogDirFacts,
    PartitionFacts,
    ReplicaColumns,
    TopicFacts,
    columns_of,
    joined,
)
from spark_analytics.model.resources import WITH_CAPACITY, Resource

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def with_changes(
    model: ClusterModel,
    *,
    dead: Collection[int] = (),
    excluded: Collection[int] = (),
    brokers: Sequence[BrokerFacts] = (),
    log_dirs: Sequence[LogDirFacts] = (),
    topics: Sequence[TopicFacts] = (),
    partitions: Sequence[PartitionFacts] = (),
    add_slots: Ints | None = None,
    remove_slots: Ints | None = None,
) -> ClusterModel:
    """`dead` and `excluded` are ids of brokers. Brokers, log dirs, topics replace those of the same name, or are new.

    `add_slots` names a partition (its index) for each replica that it shall have more, placed nowhere yet, with the
    load of a follower; `remove_slots` are the slots to leave out. Leaders send as much more, or less. `partitions` are
    new ones. Raises InvalidInput where the result contradicts itself, or a broker is not there.
    """
    if brokers or log_dirs or topics or partitions or add_slots is not None or remove_slots is not None:
        model = _rebuilt(model, brokers, log_dirs, topics, partitions, add_slots, remove_slots)
    if not dead and not excluded:
        return model
    return replace(
        model,
        alive=_frozen(model.alive & ~_flags(model, dead)),
        excluded=_frozen(model.excluded | _flags(model, excluded)),
    )


def scaled(model: ClusterModel, traffic: float | Floats, size: float | Floats = 1.0) -> ClusterModel:
    """CPU and traffic of each partition times `traffic`, stored bytes times `size`: a number, or one a partition."""
    times = np.ones((model.partitions, model.leader_load.shape[1]))
    times[:, [Resource.CPU, Resource.NW_IN, Resource.NW_OUT]] = np.broadcast_to(traffic, model.partitions)[:, None]
    times[:, Resource.DISK] = size
    of_slot = times[model.slot_partition]
    return replace(
        model,
        leader_load=_frozen(model.leader_load * times),
        slot_load=_frozen(model.slot_load * of_slot),
        slot_io=_frozen(model.slot_io * of_slot[:, Resource.NW_IN]),
        growth_bytes_per_s=_frozen(model.growth_bytes_per_s * times[:, Resource.NW_IN]),
    )


def with_placement(model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints) -> ClusterModel:
    """The model as it is once replicas lie and are led like that: in canonical order again."""
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[leader_slot] = True
    columns = replace(replica_columns(model), log_dir=slot_log_dir, leads=leads)
    return _built(model, broker_facts(model), log_dir_facts(model), topic_facts(model), columns)


def broker_facts(model: ClusterModel) -> list[BrokerFacts]:
    racks, idcs = _lookup(model.rack, model.rack_names), _lookup(model.idc, model.idc_names)
    labels = _lookup(model.broker_label, model.label_names)
    cpu, nw_in, nw_out, disk = model.capacity.T.tolist()
    return [
        BrokerFacts(
            id=broker,
            rack="" if racks[index] == f"(broker {broker})" else racks[index],
            idc=idcs[index],
            host=model.hosts[index],
            label=labels[index],
            alive=bool(model.alive[index]),
            excluded=bool(model.excluded[index]),
            new=bool(model.new[index]),
            capacity=(cpu[index], nw_in[index], nw_out[index], disk[index]),
        )
        for index, broker in enumerate(model.broker_ids.tolist())
    ]


def log_dir_facts(model: ClusterModel) -> list[LogDirFacts]:
    """Disks get names of their own: which log dirs share one is all that matters."""
    broker_ids = model.broker_ids[model.log_dir_broker].tolist()
    return [
        LogDirFacts(
            broker=broker_ids[index],
            path=path,
            total_bytes=float(model.disk_total_bytes[disk]),
            usable_bytes=float(model.disk_usable_bytes[disk]),
            disk=f"#{disk}",
            offline=bool(model.log_dir_offline[index]),
            io_capacity=float(model.disk_io_capacity[disk]),
            await_ms=float(model.disk_await_ms[disk]),
        )
        for index, (path, disk) in enumerate(zip(model.log_dirs, model.log_dir_disk.tolist(), strict=True))
    ]


def topic_facts(model: ClusterModel) -> list[TopicFacts]:
    tenants = _lookup(model.topic_tenant, model.tenant_names)
    labels = _lookup(model.topic_label, model.label_names)
    policies = _lookup(model.topic_policy, tuple(policy.name for policy in model.policies))
    return [
        TopicFacts(name, tenants[index], labels[index], policies[index], *model.topic_expected[index].tolist())
        for index, name in enumerate(model.topics)
    ]


def replica_columns(model: ClusterModel) -> ReplicaColumns:
    """The replicas as they are, one row a slot, in the order of the slots."""
    with_capacity = list(WITH_CAPACITY)
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[model.leader_slot] = True
    return ReplicaColumns(
        topic=model.partition_topic[model.slot_partition],
        partition=model.partition_number[model.slot_partition],
        log_dir=model.slot_log_dir,
        leads=leads,
        load=model.slot_load[:, with_capacity],
        leader_load=model.leader_load[:, with_capacity][model.slot_partition],
        io=model.slot_io,
        peak=model.peak[model.slot_partition],
        growth=model.growth_bytes_per_s[model.slot_partition],
        movable=model.movable[model.slot_partition],
        whole=model.whole[model.slot_partition],
    )


def _lookup(codes: Ints, names: Sequence[str]) -> list[str]:
    return [names[code] if code >= 0 else "" for code in codes.tolist()]


def _rebuilt(
    model: ClusterModel,
    brokers: Sequence[BrokerFacts],
    log_dirs: Sequence[LogDirFacts],
    topics: Sequence[TopicFacts],
    partitions: Sequence[PartitionFacts],
    add_slots: Ints | None,
    remove_slots: Ints | None,
) -> ClusterModel:
    by_id = {broker.id: broker for broker in broker_facts(model)} | {broker.id: broker for broker in brokers}
    by_path = {(log_dir.broker, log_dir.path): log_dir for log_dir in log_dir_facts(model)}
    by_path |= {(log_dir.broker, log_dir.path): log_dir for log_dir in log_dirs}
    named = {topic.name: topic for topic in topic_facts(model)} | {topic.name: topic for topic in topics}
    for facts in partitions:
        named.setdefault(facts.partition.topic, TopicFacts(facts.partition.topic))
    columns = _with_slots(model, replica_columns(model), add_slots, remove_slots)
    if partitions:
        topic_at = {name: index for index, name in enumerate(named)}
        log_dir_at = {key: index for index, key in enumerate(by_path)}
        columns = joined(columns, columns_of(partitions, topic_at, log_dir_at))
    return _built(model, list(by_id.values()), list(by_path.values()), list(named.values()), columns)


def _with_slots(
    model: ClusterModel, columns: ReplicaColumns, add_slots: Ints | None, remove_slots: Ints | None
) -> ReplicaColumns:
    added = np.zeros(0, np.int64) if add_slots is None else np.asarray(add_slots, dtype=np.int64)
    keep: Bools = np.ones(model.slots, dtype=np.bool_)
    if remove_slots is not None:
        keep[remove_slots] = False
    more = np.bincount(added, minlength=model.partitions) - np.bincount(
        model.slot_partition[~keep], minlength=model.partitions
    )
    leader_load = columns.leader_load.copy()
    in_rate = model.slot_load[model.leader_slot, Resource.NW_IN]
    served = leader_load[:, Resource.NW_OUT] + (more * in_rate)[model.slot_partition]
    leader_load[:, Resource.NW_OUT] = np.maximum(served, 0.0)
    leads = np.zeros(model.slots, dtype=np.bool_)
    leads[np.flatnonzero(keep)[np.unique(model.slot_partition[keep], return_index=True)[1]]] = True
    columns = replace(columns, leader_load=leader_load, leads=leads)
    like = _follower_of(model, added)
    rows = np.r_[np.flatnonzero(keep), like]
    picked = ReplicaColumns(*(getattr(columns, name)[rows] for name in ReplicaColumns.__slots__))
    is_new = np.arange(len(rows)) >= int(keep.sum())
    load = picked.load.copy()
    load[is_new, Resource.NW_OUT] = 0.0
    return replace(picked, log_dir=np.where(is_new, -1, picked.log_dir), leads=picked.leads & ~is_new, load=load)


def _follower_of(model: ClusterModel, partition: Ints) -> Ints:
    """A slot whose load a new replica will have: a follower's, where there is one."""
    return np.minimum(model.slot_start[partition] + 1, model.slot_start[partition + 1] - 1)


def _built(
    model: ClusterModel,
    brokers: Sequence[BrokerFacts],
    log_dirs: Sequence[LogDirFacts],
    topics: Sequence[TopicFacts],
    columns: ReplicaColumns,
) -> ClusterModel:
    return ClusterModel.from_arrays(
        model.cluster,
        brokers,
        log_dirs,
        topics,
        columns,
        [
            Tenant(name, labels=tuple(compress(model.label_names, allowed)))
            for name, allowed in zip(model.tenant_names, model.tenant_labels.tolist(), strict=True)
        ],
        model.policies,
        model.lines,
        at_ms=model.at_ms,
        input=model.input,
    )


def _flags(model: ClusterModel, broker_ids: Collection[int]) -> Bools:
    flags = np.zeros(model.brokers, dtype=np.bool_)
    flags[[model.broker_index(broker) for broker in sorted(broker_ids)]] = True
    return flags


def _frozen(array: _Array) -> _Array:
    array.setflags(write=False)
    return array
