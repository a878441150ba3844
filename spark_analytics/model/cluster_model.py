"""One cluster in one window of time, as immutable numpy arrays.

Everything is an index into something sorted, so the same facts give the same arrays whatever order they came in:

    broker    index into `broker_ids`, ascending
    log dir   index into `log_dirs`, ascending by (broker, path); it belongs to one broker and one disk
    topic     index into `topics`, ascending
    partition ascending by (topic, number): `partition_topic` and `partition_number`
    slot      index into `slot_log_dir`: one replica. Slots of partition p are slot_start[p] .. slot_start[p + 1],
              the leader first, then the followers by broker; a slot that has no place yet (-1) comes last

A planner works on a copy of `slot_log_dir` and of the leaders; all else is constant while it plans.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Tenant
from guardian.model.links import Line
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition, why_no_broker
from spark_analytics.model.canonical import (
    codes,
    disk_of,
    names_of,
    positions,
    require_known_places,
    require_sound_facts,
    slots_of,
)
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
)
from spark_analytics.model.resources import Resource

__all__ = [
    "Bools",
    "BrokerFacts",
    "ClusterModel",
    "Floats",
    "Ints",
    "LogDirFacts",
    "PartitionFacts",
    "ReplicaColumns",
    "TopicFacts",
]


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """See the module for the indices, `Resource` for the units; `at_ms` is the end of the window of the loads.

    A replica's load is `slot_load`, what it costs as a follower (measured on followers where there are some, with the
    consumers that it serves). The replica that leads has `leader_load` of its partition on top. Moving replicas and
    leaders about changes no total. Loads are medians of the window; `peak` says how much higher the 95th percentile is.

    `rack`, `idc`, `broker_label`, `topic_label`, `topic_tenant` and `topic_policy` are codes into the names beside
    them; -1: none. A broker without a rack has a rack of its own, since Kafka knows nothing that it shares with others.
    A broker that is not `alive` must lose its replicas; one that is `excluded` keeps them and takes no more.
    """

    cluster: str
    at_ms: int
    input: str
    # brokers
    broker_ids: Ints  # [brokers]
    hosts: tuple[str, ...]  # [brokers], "": not known
    rack: Ints  # [brokers]
    rack_names: tuple[str, ...]
    idc: Ints  # [brokers]
    idc_names: tuple[str, ...]
    broker_label: Ints  # [brokers]
    label_names: tuple[str, ...]  # of brokers, topics and tenants
    alive: Bools  # [brokers]
    excluded: Bools  # [brokers]
    new: Bools  # [brokers] just added, and to be filled
    capacity: Floats  # [brokers, 4]: CPU, NW_IN, NW_OUT, DISK; inf where it is not known
    # log dirs and disks
    log_dirs: tuple[str, ...]  # [log dirs] paths; "any" where a model knows no log dirs
    log_dir_broker: Ints  # [log dirs]
    log_dir_offline: Bools  # [log dirs]
    log_dir_disk: Ints  # [log dirs]
    disk_total_bytes: Floats  # [disks]
    disk_usable_bytes: Floats  # [disks]
    disk_io_capacity: Floats  # [disks] bytes/s; inf where it is not known
    disk_await_ms: Floats  # [disks] per request in the window; nan where it is not known
    # topics
    topics: tuple[str, ...]
    topic_tenant: Ints  # [topics]
    tenant_names: tuple[str, ...]
    tenant_labels: Bools  # [tenants, labels] of the brokers that its topics may use; a row of False: any
    topic_label: Ints  # [topics]
    topic_policy: Ints  # [topics]
    topic_expected: Floats  # [topics, 2] bytes/s in and out that its owner announced; 0: nothing
    policies: tuple[IdcPolicy, ...]
    lines: tuple[Line, ...]  # between IDCs, with their prices
    # partitions
    partition_topic: Ints  # [partitions]
    partition_number: Ints  # [partitions]
    leader_load: Floats  # [partitions, RESOURCES]; 1 leader each
    peak: Floats  # [partitions] p95 / median of the traffic, at least 1
    growth_bytes_per_s: Floats  # [partitions] of the size of one replica: the trend
    movable: Bools  # [partitions] False where too little is known of it: no leader, or no rate yet
    whole: Bools  # [partitions] False where it has more replicas than were seen, or none that leads: no plan touches it
    # replicas
    slot_start: Ints  # [partitions + 1]
    slot_partition: Ints  # [slots]
    slot_log_dir: Ints  # [slots]; -1: to be placed (a new topic, a higher replication factor)
    slot_load: Floats  # [slots, RESOURCES]; 1 replica each
    slot_io: Floats  # [slots] bytes/s that it writes to and reads from its disk

    @classmethod
    def of(
        cls,
        cluster: str,
        brokers: Iterable[BrokerFacts],
        log_dirs: Iterable[LogDirFacts],
        partitions: Iterable[PartitionFacts],
        topics: Iterable[TopicFacts] = (),
        tenants: Sequence[Tenant] = (),
        policies: Sequence[IdcPolicy] = (),
        lines: Sequence[Line] = (),
        at_ms: int = 0,
        input: str = "",
    ) -> ClusterModel:
        """The model of a few facts, in whatever order. Raises InvalidInput when they contradict one another."""
        dirs, several = list(log_dirs), list(partitions)
        index = {(log_dir.broker, log_dir.path): number for number, log_dir in enumerate(dirs)}
        require_known_places(cluster, several, index)
        told = list(topics)
        known = {topic.name for topic in told}
        told += [TopicFacts(name) for name in sorted({facts.partition.topic for facts in several} - known)]
        code = {topic.name: number for number, topic in enumerate(told)}
        replicas = columns_of(several, code, index)
        return cls.from_arrays(
            cluster, list(brokers), dirs, told, replicas, tenants, policies, lines, at_ms=at_ms, input=input
        )

    @classmethod
    def from_arrays(
        cls,
        cluster: str,
        brokers: Sequence[BrokerFacts],
        log_dirs: Sequence[LogDirFacts],
        topics: Sequence[TopicFacts],
        replicas: ReplicaColumns,
        tenants: Sequence[Tenant] = (),
        policies: Sequence[IdcPolicy] = (),
        lines: Sequence[Line] = (),
        at_ms: int = 0,
        input: str = "",
    ) -> ClusterModel:
        """The same without an object per replica. Raises InvalidInput as `of` does."""
        by_id = sorted(brokers, key=lambda broker: broker.id)
        by_path = sorted(log_dirs, key=lambda log_dir: (log_dir.broker, log_dir.path))
        by_name = sorted(topics, key=lambda topic: topic.name)
        by_policy = sorted(policies, key=lambda policy: policy.name)
        require_sound_facts(cluster, by_id, by_path, by_name)
        _require_known_policies(cluster, by_name, by_policy)
        labels_of = {tenant.name: tenant.labels for tenant in tenants}
        labels = names_of(
            (broker.label for broker in by_id),
            (topic.label for topic in by_name),
            chain.from_iterable(labels_of.values()),
        )
        disks: dict[tuple[int, str], list[LogDirFacts]] = {}
        for log_dir in by_path:
            disks.setdefault(disk_of(log_dir), []).append(log_dir)
        log_dir_broker = positions([log_dir.broker for log_dir in by_path], [broker.id for broker in by_id])
        model = cls(
            cluster=cluster,
            at_ms=at_ms,
            input=input,
            **_of_brokers(by_id, labels, disks),
            label_names=labels,
            **_of_disks(by_path, disks),
            log_dir_broker=log_dir_broker,
            **_of_topics(by_name, labels, labels_of, by_policy),
            policies=tuple(by_policy),
            lines=tuple(sorted(lines, key=lambda line: line.between)),
            **_of_replicas(cluster, replicas, topics, by_name, log_dirs, by_path, log_dir_broker),
        )
        for field in fields(model):
            if isinstance(array := getattr(model, field.name), np.ndarray):
                array.setflags(write=False)
        return model

    @property
    def brokers(self) -> int:
        return len(self.broker_ids)

    @property
    def partitions(self) -> int:
        return len(self.partition_number)

    @property
    def slots(self) -> int:
        return len(self.slot_log_dir)

    @property
    def slot_broker(self) -> Ints:
        """[slots] the broker of each replica; -1: it has no place yet."""
        return brokers_of(self, self.slot_log_dir)

    @property
    def leader_slot(self) -> Ints:
        """[partitions] the slot that leads."""
        return self.slot_start[:-1]

    def partition(self, index: int) -> TopicPartition:
        return TopicPartition(self.topics[self.partition_topic[index]], int(self.partition_number[index]))

    def placement(self, log_dir: int) -> ReplicaPlacement:
        return ReplicaPlacement(int(self.broker_ids[self.log_dir_broker[log_dir]]), self.log_dirs[log_dir])

    def replicas(self, partition: int) -> tuple[ReplicaPlacement, ...]:
        """Return where the replicas of a partition are now, the leader first; those without a place are left out."""
        slots = self.slot_log_dir[self.slot_start[partition] : self.slot_start[partition + 1]]
        return tuple(self.placement(log_dir) for log_dir in slots.tolist() if log_dir >= 0)

    def broker_index(self, broker_id: int) -> int:
        """Raises InvalidInput when the cluster has no such broker."""
        index = int(np.searchsorted(self.broker_ids, broker_id))
        if index == len(self.broker_ids) or self.broker_ids[index] != broker_id:
            raise InvalidInput(why_no_broker(self.cluster, broker_id, self.broker_ids.tolist()))
        return index

    def topic_index(self, topic: str) -> int:
        """Raises InvalidInput when the cluster has no such topic."""
        index = bisect_left(self.topics, topic)
        if index == len(self.topics) or self.topics[index] != topic:
            raise InvalidInput(
                f"topic {topic} is not in the model of cluster {self.cluster}: name one that has partitions"
            )
        return index

    def partition_index(self, partition: TopicPartition) -> int:
        """Raises InvalidInput when the cluster has no such partition."""
        topic = self.topic_index(partition.topic)
        first, last = np.searchsorted(self.partition_topic, [topic, topic + 1])
        index = int(first + np.searchsorted(self.partition_number[first:last], partition.partition))
        if index == last or self.partition_number[index] != partition.partition:
            raise InvalidInput(f"partition {partition} is not in the model of cluster {self.cluster}: leave it out")
        return index


_Disks = Mapping[tuple[int, str], Sequence[LogDirFacts]]


def _of_brokers(by_id: Sequence[BrokerFacts], labels: Sequence[str], disks: _Disks) -> dict[str, Any]:
    """The fields that speak of brokers."""
    racks = sorted({_rack_of(broker) for broker in by_id})
    idcs = names_of(broker.idc for broker in by_id)
    return {
        "broker_ids": np.array([broker.id for broker in by_id], dtype=np.int64),
        "hosts": tuple(broker.host for broker in by_id),
        "rack": positions([_rack_of(broker) for broker in by_id], racks),
        "rack_names": tuple(name or f"(broker {alone})" for name, alone in racks),
        "idc": codes((broker.idc for broker in by_id), idcs),
        "idc_names": idcs,
        "broker_label": codes((broker.label for broker in by_id), labels),
        "alive": np.array([broker.alive for broker in by_id], dtype=np.bool_),
        "excluded": np.array([broker.excluded for broker in by_id], dtype=np.bool_),
        "new": np.array([broker.new for broker in by_id], dtype=np.bool_),
        "capacity": _capacity(by_id, disks),
    }


def _of_disks(by_path: Sequence[LogDirFacts], disks: _Disks) -> dict[str, Any]:
    """Those of log dirs and of the disks below them."""
    return {
        "log_dirs": tuple(log_dir.path for log_dir in by_path),
        "log_dir_offline": np.array([log_dir.offline for log_dir in by_path], dtype=np.bool_),
        "log_dir_disk": positions([disk_of(log_dir) for log_dir in by_path], list(disks)),
        "disk_total_bytes": _totals(disks),
        "disk_usable_bytes": _each_disk(disks, "usable_bytes"),
        "disk_io_capacity": _each_disk(disks, "io_capacity"),
        "disk_await_ms": _each_disk(disks, "await_ms"),
    }


def _of_topics(
    by_name: Sequence[TopicFacts],
    labels: Sequence[str],
    labels_of: Mapping[str, Sequence[str]],
    by_policy: Sequence[IdcPolicy],
) -> dict[str, Any]:
    """Those of topics and tenants."""
    tenants = names_of(labels_of, (topic.tenant for topic in by_name))
    allowed = [[label in labels_of.get(name, ()) for label in labels] for name in tenants]
    expected = [[topic.expected_in, topic.expected_out] for topic in by_name]
    return {
        "topics": tuple(topic.name for topic in by_name),
        "topic_tenant": codes((topic.tenant for topic in by_name), tenants),
        "tenant_names": tenants,
        "tenant_labels": np.array(allowed, dtype=np.bool_).reshape(len(tenants), len(labels)),
        "topic_label": codes((topic.label for topic in by_name), labels),
        "topic_policy": codes((topic.policy for topic in by_name), [policy.name for policy in by_policy]),
        "topic_expected": np.array(expected, dtype=np.float64).reshape(-1, 2),
    }


def _of_replicas(
    cluster: str,
    replicas: ReplicaColumns,
    topics: Sequence[TopicFacts],
    by_name: Sequence[TopicFacts],
    log_dirs: Sequence[LogDirFacts],
    by_path: Sequence[LogDirFacts],
    log_dir_broker: Ints,
) -> dict[str, Any]:
    """Those of partitions and slots: rows speak of topics and log dirs as given, the model of them as sorted."""
    names = [topic.name for topic in by_name]
    topic_at = positions([topic.name for topic in topics], names)
    log_dir_at = positions(
        [(log_dir.broker, log_dir.path) for log_dir in log_dirs],
        [(log_dir.broker, log_dir.path) for log_dir in by_path],
    )
    slots = slots_of(
        cluster,
        replicas,
        topic_at[replicas.topic] if len(topic_at) else replicas.topic,
        np.where(replicas.log_dir < 0, -1, log_dir_at[replicas.log_dir]) if len(log_dir_at) else replicas.log_dir,
        log_dir_broker,
        names,
    )
    found = {field.name: getattr(slots, field.name) for field in fields(slots)}
    found["growth_bytes_per_s"] = found.pop("growth")
    return found


def living_slots(model: ClusterModel) -> Bools:
    """[slots] replicas on brokers that live and log dirs that work."""
    on_alive = np.append(model.alive, False)[model.slot_broker]  # a slot without a place has -1
    return np.asarray(on_alive & ~np.append(model.log_dir_offline, True)[model.slot_log_dir])


def brokers_of(model: ClusterModel, log_dirs: Ints) -> Ints:
    """The broker of each log dir; -1 stays -1."""
    if not len(model.log_dir_broker):
        return log_dirs
    return np.where(log_dirs < 0, -1, model.log_dir_broker[log_dirs])


def _rack_of(broker: BrokerFacts) -> tuple[str, int]:
    """A broker without a rack stands alone."""
    return broker.rack, -1 if broker.rack else broker.id


def _totals(disks: _Disks) -> Floats:
    """The most that log dirs on one disk say of its size."""
    return np.array([max(log_dir.total_bytes for log_dir in on) for on in disks.values()], dtype=np.float64)


def _each_disk(disks: _Disks, name: str) -> Floats:
    """The least that log dirs on one disk say of it."""
    return np.array([min(getattr(log_dir, name) for log_dir in on) for on in disks.values()], dtype=np.float64)


def _capacity(brokers: Sequence[BrokerFacts], disks: _Disks) -> Floats:
    """A broker's DISK is the sum of its disks where nothing else was said."""
    capacity = np.array([broker.capacity for broker in brokers], dtype=np.float64)
    held = dict.fromkeys((broker.id for broker in brokers), 0.0)
    for (broker_id, _), size in zip(disks, _totals(disks).tolist(), strict=True):
        held[broker_id] += size
    sums = np.array([held[broker.id] or np.inf for broker in brokers])
    capacity[:, Resource.DISK] = np.where(np.isinf(capacity[:, Resource.DISK]), sums, capacity[:, Resource.DISK])
    return capacity


def _require_known_policies(cluster: str, topics: Sequence[TopicFacts], policies: Sequence[IdcPolicy]) -> None:
    known = {policy.name for policy in policies}
    for topic in topics:
        if topic.policy and topic.policy not in known:
            raise InvalidInput(
                f"idc_policy of topic {topic.name} in cluster {cluster} is {topic.policy!r}: "
                f"use one of {_some(sorted(known))}, or add that policy"
            )


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown or "none"
