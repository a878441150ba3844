"""Facts in whatever order -> sorted, checked, and as indices: the same facts give the same arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.topology import TopicPartition
from spark_analytics.model.facts import (
    Bools,
    BrokerFacts,
    Floats,
    Ints,
    LogDirFacts,
    PartitionFacts,
    ReplicaColumns,
    TopicFacts,
)
from spark_analytics.model.resources import WITH_CAPACITY


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The replicas in canonical order; columns of ClusterModel, under its names."""

    partition_topic: Ints
    partition_number: Ints
    leader_load: Floats
    peak: Floats
    growth: Floats
    movable: Bools
    whole: Bools
    slot_start: Ints
    slot_partition: Ints
    slot_log_dir: Ints
    slot_load: Floats
    slot_io: Floats


def slots_of(
    cluster: str, given: ReplicaColumns, topic: Ints, log_dir: Ints, log_dir_broker: Ints, names: Sequence[str]
) -> Slots:
    """`topic` and `log_dir` of each row are indices into what is sorted already; `names` are the topics'."""
    count = len(topic)
    name = _Names(cluster, names, topic, given.partition)
    broker = np.where(log_dir < 0, len(log_dir_broker), log_dir_broker[log_dir] if len(log_dir_broker) else -1)
    if (given.partition < 0).any():
        row = int(np.argmax(given.partition < 0))
        raise InvalidInput(f"{name(row)} has a number below 0: give the number that Kafka gave it")
    _require_sound_loads(given, name)
    key = topic * (int(given.partition.max(initial=0)) + 1) + given.partition
    in_partition = np.where(given.leads, 0, 1 + broker)
    order = np.lexsort((in_partition, key))
    key, broker = key[order], broker[order]
    begins = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if count else np.zeros(0, np.int64)
    partition = np.cumsum(np.r_[False, key[1:] != key[:-1]]) if count else np.zeros(0, np.int64)
    _require_one_leader(given, order, partition, name)
    _require_separate_brokers(broker, len(log_dir_broker), partition, order, name)
    first = order[begins]
    ones = np.ones(count)
    return Slots(
        partition_topic=topic[first],
        partition_number=given.partition[first],
        leader_load=np.column_stack([given.leader_load[first], np.zeros(len(first)), np.ones(len(first))]),
        peak=np.maximum(ones if given.peak is None else given.peak, 1.0)[first],
        growth=(np.zeros(count) if given.growth is None else given.growth)[first],
        movable=given.leads[first] & (ones > 0 if given.movable is None else given.movable)[first],
        whole=(ones > 0 if given.whole is None else given.whole)[first],
        slot_start=np.r_[begins, count].astype(np.int64),
        slot_partition=partition.astype(np.int64),
        slot_log_dir=log_dir[order],
        slot_load=np.column_stack([given.load[order], ones, np.zeros(count)]),
        slot_io=(given.load[:, 1] if given.io is None else given.io)[order],
    )


class _Names:
    """The name of a row's partition, for a message."""

    def __init__(self, cluster: str, topics: Sequence[str], topic: Ints, partition: Ints) -> None:
        self._cluster, self._topics, self._topic, self._partition = cluster, topics, topic, partition

    def __call__(self, row: int) -> str:
        partition = TopicPartition(self._topics[int(self._topic[row])], int(self._partition[row]))
        return f"partition {partition} of cluster {self._cluster}"


def _require_sound_loads(given: ReplicaColumns, name: _Names) -> None:
    for what in ("load", "leader_load", "io", "peak"):
        values = getattr(given, what)
        if values is None:
            continue
        sound = np.isfinite(values) & (values >= 0)
        if not sound.all():
            row = int(np.argmin(sound.reshape(len(values), -1).all(axis=1)))
            raise InvalidInput(f"{name(row)} has a {what} below zero or not finite: {np.asarray(values[row]).tolist()}")
    if given.growth is not None and not np.isfinite(given.growth).all():
        row = int(np.argmin(np.isfinite(given.growth)))
        raise InvalidInput(f"{name(row)} has a growth that is not finite: {given.growth[row]}")


def _require_one_leader(given: ReplicaColumns, order: Ints, partition: Ints, name: _Names) -> None:
    led = partition[given.leads[order]]
    twice = np.flatnonzero(led[1:] == led[:-1])
    if len(twice):
        row = int(order[np.searchsorted(partition, led[twice[0]])])
        raise InvalidInput(f"{name(row)} has two leaders: keep the one that was seen last")


def _require_separate_brokers(broker: Ints, nowhere: int, partition: Ints, order: Ints, name: _Names) -> None:
    where = np.lexsort((broker, partition))
    at, of = broker[where], partition[where]
    same = (at[1:] == at[:-1]) & (of[1:] == of[:-1]) & (at[1:] != nowhere)
    if same.any():
        row = int(order[where[int(np.argmax(same))]])
        raise InvalidInput(f"{name(row)} has two replicas on one broker: keep one")


def positions(given: Sequence[Hashable], in_order: Sequence[Hashable]) -> Ints:
    """[given] the index of each in `in_order`, which holds the same."""
    index = {item: number for number, item in enumerate(in_order)}
    return np.array([index[item] for item in given], dtype=np.int64)


def codes(values: Iterable[str], names: Sequence[str]) -> Ints:
    """Indices into `names`, -1 for an empty value."""
    code: Mapping[str, int] = {"": -1} | {name: index for index, name in enumerate(names)}
    return np.array([code[value] for value in values], dtype=np.int64)


def names_of(*values: Iterable[str]) -> tuple[str, ...]:
    """Return all names that are used, sorted, without the empty name."""
    return tuple(sorted({value for some in values for value in some} - {""}))


def disk_of(log_dir: LogDirFacts) -> tuple[int, str]:
    return log_dir.broker, log_dir.disk or log_dir.path


def require_known_places(
    cluster: str, partitions: Sequence[PartitionFacts], log_dirs: Mapping[tuple[int, str], int]
) -> None:
    for _, same in groupby(sorted(facts.partition for facts in partitions)):
        if len(named := list(same)) > 1:
            raise InvalidInput(f"partition {named[0]} is in the model of cluster {cluster} twice: keep one")
    for facts in partitions:
        where = f"partition {facts.partition} of cluster {cluster}"
        if not facts.replicas and not facts.unplaced:
            raise InvalidInput(f"{where} has no replicas: name at least one")
        for at in facts.replicas:
            if (at.broker, at.log_dir) not in log_dirs:
                raise InvalidInput(
                    f"{where} is on unknown log dir {at.log_dir} of broker {at.broker}: wait for samples of that broker"
                )


def require_sound_facts(
    cluster: str, brokers: Sequence[BrokerFacts], log_dirs: Sequence[LogDirFacts], topics: Sequence[TopicFacts]
) -> None:
    """Each in order."""
    if not brokers:
        raise InvalidInput(f"cluster {cluster} has no brokers in its model: wait for samples")
    _require_unique(cluster, "broker", [broker.id for broker in brokers])
    _require_unique(cluster, "log dir", [f"{log_dir.path} of broker {log_dir.broker}" for log_dir in log_dirs])
    _require_unique(cluster, "topic", [topic.name for topic in topics])
    for broker in brokers:
        for resource, value in zip(WITH_CAPACITY, broker.capacity, strict=True):
            if not value > 0:
                raise InvalidInput(
                    f"capacity {resource.name.lower()} of broker {broker.id} in cluster {cluster} is {value}: "
                    "give a number above 0, or leave it out"
                )
    alive = {broker.id: broker.alive for broker in brokers}
    for log_dir in log_dirs:
        where = f"log dir {log_dir.path} of broker {log_dir.broker} in cluster {cluster}"
        if log_dir.broker not in alive:
            raise InvalidInput(f"{where} is on an unknown broker: wait for samples of that broker")
        usable = log_dir.total_bytes > 0 and log_dir.usable_bytes >= 0 and log_dir.io_capacity > 0
        if not log_dir.offline and not usable:
            raise InvalidInput(
                f"{where} has total_bytes {log_dir.total_bytes:g}, usable_bytes {log_dir.usable_bytes:g} and "
                f"io_capacity {log_dir.io_capacity:g}: its sizes must be known"
            )
    for broker_id in sorted({broker.id for broker in brokers if broker.alive} - {each.broker for each in log_dirs}):
        raise InvalidInput(f"broker {broker_id} of cluster {cluster} has no log dirs: wait for its log dir samples")


def _require_unique(cluster: str, what: str, keys: Sequence[int] | Sequence[str]) -> None:
    for key, same in groupby(keys):
        if len(list(same)) > 1:
            raise InvalidInput(f"{what} {key} is in the model of cluster {cluster} twice: keep one")
