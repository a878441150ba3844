"""One cluster in one window of time, as immutable numpy arrays.

Everything is an index into something sorted, so the same facts give the same arrays whatever order they came in:

    broker    index into `broker_ids`, ascending
    log dir   index into `log_dirs`, ascending by (broker, path); it belongs to one broker and one disk
    partition index into `partitions`, ascending by (topic, partition)
    slot      index into `slot_log_dir`: one replica. Slots of partition p are slot_start[p] .. slot_start[p + 1],
              the leader first, then the followers by broker

A planner works on a copy of `slot_log_dir` and of the leaders; all else is constant while it plans.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    id: int
    rack: str = ""
    idc: str = ""


@dataclass(frozen=True, slots=True)
class LogDirFacts:
    """`disk` names the disk below: log dirs of one broker with the same disk share its room."""

    broker: int
    path: str
    total_bytes: int
    usable_bytes: int
    disk: str = ""
    offline: bool = False


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """`replicas` begins with the leader. Rates are bytes/s; `size_bytes` is that of its largest replica.

    `movable` is False where too little is known of the partition to move it: no leader, or no rate yet.
    """

    partition: TopicPartition
    replicas: tuple[ReplicaPlacement, ...]
    write_rate: float = 0.0
    read_rate: float = 0.0
    size_bytes: int = 0
    movable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """See the module for the indices. Rates are bytes/s, `at_ms` is the end of the window that they were taken over.

    `rack`, `idc` and `disk` are codes: equal codes, equal names. A broker without a rack has a rack of its own,
    since Kafka knows nothing that it shares with others.
    """

    cluster: str
    at_ms: int
    input: str
    broker_ids: Ints  # [brokers]
    rack: Ints  # [brokers]
    idc: Ints  # [brokers]
    log_dirs: tuple[str, ...]
    log_dir_broker: Ints  # [log dirs]
    log_dir_offline: Bools  # [log dirs]
    log_dir_disk: Ints  # [log dirs]
    disk_total_bytes: Floats  # [disks]
    disk_usable_bytes: Floats  # [disks]
    partitions: tuple[TopicPartition, ...]
    write_rate: Floats  # [partitions]
    read_rate: Floats  # [partitions]
    size_bytes: Floats  # [partitions]
    movable: Bools  # [partitions]
    slot_start: Ints  # [partitions + 1]
    slot_partition: Ints  # [slots]
    slot_log_dir: Ints  # [slots]

    @classmethod
    def of(
        cls,
        cluster: str,
        brokers: Iterable[BrokerFacts],
        log_dirs: Iterable[LogDirFacts],
        partitions: Iterable[PartitionFacts],
        at_ms: int = 0,
        input: str = "",
    ) -> ClusterModel:
        """The model of these facts, in whatever order. Raises InvalidInput when they contradict one another."""
        by_id = sorted(brokers, key=lambda broker: broker.id)
        by_path = sorted(log_dirs, key=lambda log_dir: (log_dir.broker, log_dir.path))
        by_name = sorted(partitions, key=lambda facts: facts.partition)
        _require_unique(cluster, "broker", [broker.id for broker in by_id])
        _require_unique(cluster, "log dir", [(log_dir.broker, log_dir.path) for log_dir in by_path])
        _require_unique(cluster, "partition", [facts.partition for facts in by_name])
        _require_sound(cluster, by_id, by_path, by_name)

        broker_index = {broker.id: index for index, broker in enumerate(by_id)}
        log_dir_index = {(log_dir.broker, log_dir.path): index for index, log_dir in enumerate(by_path)}
        disks: dict[tuple[int, str], list[LogDirFacts]] = {}
        for log_dir in by_path:
            disks.setdefault(_disk_of(log_dir), []).append(log_dir)
        disk_index = {disk: index for index, disk in enumerate(disks)}
        slots = [
            (index, log_dir_index[(replica.broker, replica.log_dir)])
            for index, facts in enumerate(by_name)
            for replica in (facts.replicas[0], *sorted(facts.replicas[1:], key=lambda replica: replica.broker))
        ]
        return cls(
            cluster=cluster,
            at_ms=at_ms,
            input=input,
            broker_ids=_ints([broker.id for broker in by_id]),
            rack=_codes([broker.rack or f"\0{broker.id}" for broker in by_id]),
            idc=_codes([broker.idc for broker in by_id]),
            log_dirs=tuple(log_dir.path for log_dir in by_path),
            log_dir_broker=_ints([broker_index[log_dir.broker] for log_dir in by_path]),
            log_dir_offline=_bools([log_dir.offline for log_dir in by_path]),
            log_dir_disk=_ints([disk_index[_disk_of(log_dir)] for log_dir in by_path]),
            disk_total_bytes=_floats([max(log_dir.total_bytes for log_dir in on) for on in disks.values()]),
            disk_usable_bytes=_floats([min(log_dir.usable_bytes for log_dir in on) for on in disks.values()]),
            partitions=tuple(facts.partition for facts in by_name),
            write_rate=_floats([facts.write_rate for facts in by_name]),
            read_rate=_floats([facts.read_rate for facts in by_name]),
            size_bytes=_floats([facts.size_bytes for facts in by_name]),
            movable=_bools([facts.movable for facts in by_name]),
            slot_start=_ints(np.cumsum([0, *(len(facts.replicas) for facts in by_name)])),
            slot_partition=_ints([partition for partition, _ in slots]),
            slot_log_dir=_ints([log_dir for _, log_dir in slots]),
        )

    @property
    def slot_broker(self) -> Ints:
        """[slots] the broker of each replica."""
        return self.log_dir_broker[self.slot_log_dir]

    @property
    def leader_slot(self) -> Ints:
        """[partitions] the slot that leads."""
        return self.slot_start[:-1]

    def placement(self, log_dir: int) -> ReplicaPlacement:
        return ReplicaPlacement(int(self.broker_ids[self.log_dir_broker[log_dir]]), self.log_dirs[log_dir])

    def replicas(self, partition: int) -> tuple[ReplicaPlacement, ...]:
        """Where the replicas of a partition are now, the leader first."""
        slots = range(self.slot_start[partition], self.slot_start[partition + 1])
        return tuple(self.placement(int(self.slot_log_dir[slot])) for slot in slots)


def _disk_of(log_dir: LogDirFacts) -> tuple[int, str]:
    return log_dir.broker, log_dir.disk or log_dir.path


def _require_unique(cluster: str, what: str, keys: Sequence[Hashable]) -> None:
    for key, same in groupby(keys):
        if len(list(same)) > 1:
            raise InvalidInput(f"{what} {key} is in the model of cluster {cluster} twice: keep one")


def _require_sound(
    cluster: str, brokers: list[BrokerFacts], log_dirs: list[LogDirFacts], partitions: list[PartitionFacts]
) -> None:
    if not brokers:
        raise InvalidInput(f"cluster {cluster} has no brokers in its model: wait for samples")
    ids = {broker.id for broker in brokers}
    paths = {(log_dir.broker, log_dir.path) for log_dir in log_dirs}
    for log_dir in log_dirs:
        where = f"log dir {log_dir.path} of broker {log_dir.broker} in cluster {cluster}"
        if log_dir.broker not in ids:
            raise InvalidInput(f"{where} is on an unknown broker: wait for samples of that broker")
        if not log_dir.offline and (log_dir.total_bytes <= 0 or log_dir.usable_bytes < 0):
            raise InvalidInput(
                f"{where} has total_bytes {log_dir.total_bytes} and usable_bytes {log_dir.usable_bytes}: "
                "its sizes must be known"
            )
    for broker_id in sorted(ids - {broker for broker, _ in paths}):
        raise InvalidInput(f"broker {broker_id} of cluster {cluster} has no log dirs: wait for its log dir samples")
    for facts in partitions:
        where = f"partition {facts.partition} of cluster {cluster}"
        if not facts.replicas:
            raise InvalidInput(f"{where} has no replicas: name at least one")
        on = [replica.broker for replica in facts.replicas]
        if len(set(on)) != len(on):
            raise InvalidInput(f"{where} has two replicas on one broker: {on}")
        for replica in facts.replicas:
            if (replica.broker, replica.log_dir) not in paths:
                raise InvalidInput(f"{where} is on unknown log dir {replica.log_dir} of broker {replica.broker}")
        numbers = (facts.write_rate, facts.read_rate, float(facts.size_bytes))
        if not all(np.isfinite(number) and number >= 0 for number in numbers):
            raise InvalidInput(f"{where} has a rate or size below zero or not finite: {numbers}")


def _codes(names: list[str]) -> Ints:
    code = {name: index for index, name in enumerate(sorted(set(names)))}
    return _ints([code[name] for name in names])


def _frozen(array: npt.NDArray[np.generic]) -> None:
    array.setflags(write=False)


def _ints(values: Sequence[int] | npt.NDArray[np.int64]) -> Ints:
    array = np.array(values, dtype=np.int64)
    _frozen(array)
    return array


def _floats(values: Sequence[float]) -> Floats:
    array = np.array(values, dtype=np.float64)
    _frozen(array)
    return array


def _bools(values: Sequence[bool]) -> Bools:
    array = np.array(values, dtype=np.bool_)
    _frozen(array)
    return array
