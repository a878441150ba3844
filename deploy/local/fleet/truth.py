"""What a simulated cluster is, beyond what its shape says at the beginning: Kafka in memory, whose time is the clock's.

Guardian's fake of a cluster behaves as real brokers were measured to. Here it is told of replicas and disks by a shape,
and copies as much as the brokers' rates allow while real time passes. What reporters tell stays as the shape has it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from deploy.local.fleet.model import MIN_IN_SYNC
from deploy.local.fleet.replicas import RETENTION_S
from deploy.local.fleet.shape import ClusterShape
from guardian.kafka.admin import TOPIC
from guardian.kafka.fake import MS_PER_READ, FakeKafka, Replica
from guardian.model.cluster_state import BrokerAnswer, LogDir
from guardian.model.topology import TopicPartition

COPIED_BYTES_S = 200_000_000  # by one replica that is not held back
_USED_KEPT_S = 5.0
_MOST_TICKS = 50  # of what was not asked about for a while: five seconds are made up for


class Truth(FakeKafka):
    """One cluster. Safe to use from several threads."""

    def __init__(
        self,
        racks: Mapping[int, str],
        log_dirs: Mapping[int, tuple[str, ...]],
        cluster_id: str,
        copied_bytes_s: int = COPIED_BYTES_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(racks, log_dirs, copied_bytes_s * MS_PER_READ // 1000, cluster_id)
        self._clock = clock
        self._ticked_at = clock()
        self._changes = 0
        self._told: tuple[int, dict[int, list[LogDir]]] = (-1, {})
        self._used: tuple[float, dict[tuple[int, str], int]] = (float("-inf"), {})

    def advance(self) -> None:
        """Let as much time pass as has passed since the last time."""
        with self._lock:
            ticks = int((self._clock() - self._ticked_at) * 1000 / MS_PER_READ)
            self._ticked_at += ticks * MS_PER_READ / 1000
            for _ in range(min(ticks, _MOST_TICKS)):
                self._changes += bool(self._awake)
                super().advance()

    def _write(self) -> threading.RLock:
        self._changes += 1
        return super()._write()

    @property
    def changes(self) -> int:
        """Return how often something of the cluster may have changed until now."""
        with self._lock:
            self.advance()
            return self._changes

    def lives(self, broker: int) -> bool:
        """Return whether the broker runs, so that it answers at all."""
        return broker in self._brokers and self._brokers[broker].alive

    def hears_controllers(self, broker: int) -> bool:
        """Return whether the broker reaches a controller, and hears what it decides."""
        return self._brokers[broker].outdated is None and self.controllers_reachable

    def has_controllers(self) -> bool:
        """Return whether a broker reaches a controller."""
        return any(self.lives(broker) and self.hears_controllers(broker) for broker in self._brokers)

    def told_by(self, broker: int, topics: Collection[str] | None) -> BrokerAnswer:
        """Return what a broker says of the cluster and of these topics (None: of all), right or stale."""
        with self._lock:
            self.advance()
            return self._brokers[broker].outdated or self._answer(topics)

    def known_brokers(self) -> list[int]:
        """Return the brokers that are registered, fenced or not."""
        with self._lock:
            return sorted(self._brokers.keys() - self._unregistered)

    def supported_by(self, node: int) -> int:
        """Return the highest level of metadata.version that a node supports."""
        return self._most(node)

    def exists(self, name: TopicPartition) -> bool:
        """Return whether there is such a partition."""
        with self._lock:
            return name in self._partitions

    def partitions_of_topic(self, topic: str) -> int:
        """Return how many partitions a topic has; 0: there is none of that name."""
        with self._lock:
            return sum(1 for name in self._partitions if name.topic == topic)

    def offline_replicas(self, name: TopicPartition) -> list[int]:
        """Return the brokers whose replica of a partition is on a dead disk, or that do not run themselves."""
        with self._lock:
            partition = self._partitions.get(name)
            held = partition.replicas if partition is not None else ()
            return [each for each in held if not self.lives(each) or (partition and self._is_lost(partition, each))]

    def has_replica(self, name: TopicPartition, broker: int) -> bool:
        """Return whether the broker hosts a replica of this partition."""
        with self._lock:
            partition = self._partitions.get(name)
            return partition is not None and broker in partition.hosted

    def log_dirs_of(self, broker: int) -> tuple[str, ...]:
        """Return the paths of a broker's log dirs."""
        return self._log_dirs(broker)

    def used_bytes(self, broker: int, log_dir: str) -> int:
        """Return the bytes in a log dir, as they were some seconds ago at most."""
        with self._lock:
            if self._clock() - self._used[0] > _USED_KEPT_S:
                found: dict[tuple[int, str], int] = {}
                for partition in self._partitions.values():
                    for each, replica in partition.hosted.items():
                        held = int(partition.size - replica.only_remote - replica.lag)
                        found[each, replica.path] = found.get((each, replica.path), 0) + held
                self._used = (self._clock(), found)
            return self._used[1].get((broker, log_dir), 0)

    def all_log_dirs(self, broker: int) -> Sequence[LogDir]:
        """Return the broker's log dirs with all replicas; those of all brokers come from one look."""
        with self._lock:
            self.advance()
            if self._told[0] != self._changes:
                by_broker: dict[int, list[LogDir]] = {each: [] for each in self._brokers}
                for log_dir in self._described_log_dirs(self._brokers, self._partitions):
                    by_broker[log_dir.broker].append(log_dir)
                self._told = (self._changes, by_broker)
            return self._told[1][broker]

    def _host(self, name: TopicPartition, hosted: dict[int, Replica], size_bytes: int, write_rate: float) -> None:
        self._changes += 1
        super()._host(name, hosted, size_bytes, write_rate)


def truth_of(shape: ClusterShape) -> Truth:
    """Return the cluster as its shape has it: each replica on its log dir, dead disks offline, all others in sync."""
    partitions, topics = shape.partitions, shape.topics
    paths = shape.log_dirs
    ids = [broker.id for broker in shape.brokers]
    made = Truth({each.id: each.rack for each in shape.brokers}, dict.fromkeys(ids, paths), shape.id)
    sizes = np.minimum(topics.rates * topics.message_bytes * RETENTION_S, float(2**62)).astype(np.int64)
    ends = np.cumsum(topics.partitions)
    for topic, (name, end) in enumerate(zip(topics.names, ends.tolist(), strict=True)):
        rows = range(end - int(topics.partitions[topic]), end)
        places = {
            int(partitions.numbers[row]): {
                ids[broker]: paths[disk]
                for broker, disk in zip(partitions.brokers[row].tolist(), partitions.dirs[row].tolist(), strict=True)
            }
            for row in rows
        }
        made.place_topic(name, shape.topic_id(topic).bytes, places, dict.fromkeys(places, int(sizes[topic])))
        if partitions.brokers.shape[1] > MIN_IN_SYNC:
            made.set_config((TOPIC, name), "min.insync.replicas", str(MIN_IN_SYNC))
    for broker, disk in np.argwhere(shape.dead_dirs).tolist():
        made.fail_log_dir(ids[broker], paths[disk])
    return made
