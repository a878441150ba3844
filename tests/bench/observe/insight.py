"""How long a member takes to answer from the lake of a large cluster: `guardian links`, `disk-readers`, `disks` and
`durability`, each as the member would work it out, without the call.

The lake is what collectors would have written of 1000 brokers with 1000 replicas and 12 disks each, a file a table and
minute; disks have an hour, replicas ten minutes. Without files that are merged and without a member's other work it is
the best case, on a machine that does nothing else.

    python -m tests.bench.observe.insight FOLDER [--brokers 1000] [--replicas 1000] [--topics 5000] [--minutes 10]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from guardian.health.loop import lake_facts
from guardian.health.rules.disk_reads import disk_reads
from guardian.health.rules.disks import judge
from guardian.health.rules.durability import audit
from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    PARTITION_SAMPLES,
    TABLES,
)
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.lake.store.writer import LakeWriter
from guardian.links.loop.link_use import LinkUseReader
from guardian.model.cluster_state import PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.topology import Broker, Cluster, TopicPartition

CLUSTER = "live"
MINUTE_MS = 60_000
FROM_MS = 1_790_002_800_000  # at a full hour
_DISKS = 12
_COPIES = 3
_DISK_MINUTES = 60
_UNLIMITED = ReadLimits(rows=10**12, seconds=3600.0)
_SEED = 7


@dataclass(frozen=True, slots=True)
class Size:
    brokers: int
    replicas: int
    topics: int
    minutes: int

    @property
    def partitions(self) -> int:
        return self.brokers * self.replicas // _COPIES


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Entry i is a replica; sorted by broker, then topic."""

    broker: np.ndarray[Any, Any]
    topic: np.ndarray[Any, Any]
    partition: np.ndarray[Any, Any]
    leads: np.ndarray[Any, Any]


def place(size: Size) -> Placement:
    """A partition's three replicas are a third of the brokers apart: one in each IDC."""
    random = np.random.default_rng(_SEED)
    number = np.arange(size.partitions)
    first = random.integers(0, size.brokers, size.partitions)
    copies = np.stack([(first + copy * (size.brokers // _COPIES)) % size.brokers for copy in range(_COPIES)])
    topic = np.tile(number % size.topics, _COPIES)
    order = np.lexsort((topic, copies.ravel()))
    return Placement(
        copies.ravel()[order],
        topic[order],
        np.tile(number // size.topics, _COPIES)[order],
        np.repeat([True, False, False], size.partitions)[order],
    )


def fill(lake: Path, size: Size, placement: Placement) -> None:
    """Ten minutes of replicas at the end of an hour of disks."""
    writer = LakeWriter(str(lake), "m1")
    names = pa.array([f"topic-{topic}" for topic in range(size.topics)])
    topics = names.take(pa.array(placement.topic))
    dirs = pa.array([f"/data/disk{number}" for number in range(_DISKS)])
    log_dirs = dirs.take(pa.array(placement.partition % _DISKS))
    for minute in range(_DISK_MINUTES + 1):
        rows = {DISK_SAMPLES: _disks(size, minute), LOG_DIR_SAMPLES: _log_dirs(size, minute, dirs)}
        if minute >= _DISK_MINUTES - size.minutes - 3:
            rows[PARTITION_SAMPLES] = _replicas(placement, minute, topics, log_dirs)
        rows[BROKER_SAMPLES] = _brokers(size, minute)
        writer.write(CLUSTER, rows)
        writer.flush()


def _moments(broker: np.ndarray[Any, Any], minute: int) -> np.ndarray[Any, Any]:
    """Each broker has a moment of the minute."""
    moments: np.ndarray[Any, Any] = FROM_MS + minute * MINUTE_MS + broker * 37 % MINUTE_MS
    return moments


def _table(name: str, columns: dict[str, Any]) -> pa.Table:
    count = len(columns["at_ms"])
    return pa.table(
        [
            pa.array(columns[field.name]).cast(field.type) if field.name in columns else _absent(field, count)
            for field in TABLES[name]
        ],
        schema=TABLES[name],
    )


def _absent(field: pa.Field, count: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(count, field.type)
    return pa.array(np.full(count, "")) if field.type == pa.string() else pa.array(np.zeros(count)).cast(field.type)


def _replicas(placement: Placement, minute: int, topics: pa.Array, log_dirs: pa.Array) -> pa.Table:
    broker, topic = placement.broker, placement.topic
    rate = 1 + topic % 50
    return _table(
        PARTITION_SAMPLES,
        {
            "at_ms": _moments(broker, minute),
            "broker": broker,
            "topic": topics,
            "partition": placement.partition,
            "log_dir": log_dirs,
            "is_leader": placement.leads,
            "size_bytes": rate * minute * 60_000,
            "log_end_offset": rate * minute * 60 + placement.partition,
            "topic_bytes_in_total": rate * minute * 60_000 + broker,
            "topic_bytes_out_total": rate * minute * 180_000 + broker,
        },
    )


def _disks(size: Size, minute: int) -> pa.Table:
    broker = np.repeat(np.arange(size.brokers), _DISKS)
    disk = np.tile(np.arange(_DISKS), size.brokers)
    is_slow = (broker % 100 == 0) & (disk == 3)
    done = minute * 6000 + disk + broker
    return _table(
        DISK_SAMPLES,
        {
            "at_ms": _moments(broker, minute),
            "broker": broker,
            "disk": pa.array([f"sd{letter}" for letter in "abcdefghijkl"]).take(pa.array(disk)),
            "bytes_read": done * 10_000,
            "bytes_written": done * 60_000,
            "reads_completed": done,
            "writes_completed": done * 2,
            "busy_ms": minute * np.where(is_slow, 58_000, 20_000),
            "read_ms": done * np.where(is_slow, 60, 4),
            "write_ms": done * np.where(is_slow, 120, 8),
        },
    )


def _log_dirs(size: Size, minute: int, dirs: pa.Array) -> pa.Table:
    broker = np.repeat(np.arange(size.brokers), _DISKS)
    disk = np.tile(np.arange(_DISKS), size.brokers)
    return _table(
        LOG_DIR_SAMPLES,
        {
            "at_ms": _moments(broker, minute),
            "broker": broker,
            "log_dir": dirs.take(pa.array(disk)),
            "disk": pa.array([f"sd{letter}" for letter in "abcdefghijkl"]).take(pa.array(disk)),
        },
    )


def _brokers(size: Size, minute: int) -> pa.Table:
    broker = np.arange(size.brokers)
    columns = {"at_ms": _moments(broker, minute), "broker": broker}
    return _table(BROKER_SAMPLES, {**columns, "memory_available_bytes": np.full(size.brokers, 3 * 10**9)})


def questions(lake: Path, size: Size, placement: Placement) -> Iterator[tuple[str, Callable[[], object]]]:
    """What a member works out for each command."""
    end_ms = FROM_MS + _DISK_MINUTES * MINUTE_MS
    idcs = ("shanghai", "suzhou", "hangzhou")
    brokers = tuple(Broker(n, idc=idcs[n * _COPIES // size.brokers]) for n in range(size.brokers))
    cluster = Cluster(CLUSTER, "h:9092", "id", brokers=brokers)
    several = Window(end_ms - size.minutes * MINUTE_MS, end_ms)

    def reader() -> LakeReader:
        return LakeReader(str(lake), _UNLIMITED)

    def links() -> object:
        return LinkUseReader(reader(), None, None).report([cluster], several, 10)

    def disks() -> object:
        return judge(lake_facts.disk_series(reader(), CLUSTER, Window(FROM_MS, end_ms)))

    def readers() -> object:
        found = reader()
        hosts = lake_facts.hosts(found, CLUSTER, several)
        names = {f"topic-{topic}" for topic in range(size.topics)}
        leaders, topics = lake_facts.leaders_and_topics(found, CLUSTER, several, names)
        return disk_reads(committed, leaders, topics, hosts)

    # One group in twenty is far behind, the others are at the tail.
    committed = {
        f"group-{group}": {
            TopicPartition(f"topic-{topic}", number): 2**60 if group % 20 else 1
            for topic in range(group, size.topics, 100)
            for number in range(size.partitions // size.topics)
        }
        for group in range(100)
    }
    yield "links", links
    yield "disks, an hour", disks
    yield "disk-readers", readers
    facts, places = _described(size, placement)
    yield "durability", lambda: audit(facts, places)


def _described(size: Size, placement: Placement) -> tuple[dict[str, TopicFacts], dict[int, BrokerPlace]]:
    """The cluster as Kafka would describe it."""
    partitions: dict[str, dict[int, PartitionState]] = {f"topic-{topic}": {} for topic in range(size.topics)}
    replicas: dict[tuple[int, int], list[int]] = {}
    by_leader = np.argsort(~placement.leads, kind="stable")
    columns = (placement.topic, placement.partition, placement.broker)
    for topic, number, broker in zip(*(column[by_leader].tolist() for column in columns), strict=True):
        replicas.setdefault((topic, number), []).append(broker)
    for (topic, number), hosts in replicas.items():
        partitions[f"topic-{topic}"][number] = PartitionState(hosts[0], tuple(hosts), tuple(hosts))
    settings = TopicSettings(2, False)
    places = {
        number: BrokerPlace(f"rack-{number % 9}", f"idc-{number * _COPIES // size.brokers}", replica_lag_ms=30_000)
        for number in range(size.brokers)
    }
    return {topic: TopicFacts(settings, found) for topic, found in partitions.items()}, places


def measure(lake: Path, size: Size) -> dict[str, dict[str, float]]:
    """Fills the lake where there is none; seconds by question, and what of it was CPU."""
    placement = place(size)
    if not lake.exists():
        fill(lake, size, placement)
    found = {}
    for name, ask in questions(lake, size, placement):
        started, used = time.monotonic(), time.process_time()
        ask()
        found[name] = {"s": round(time.monotonic() - started, 2), "cpu_s": round(time.process_time() - used, 2)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers from the lake of a large cluster.")
    parser.add_argument("folder", type=Path, help="where the lake is, or is to be")
    for name, usual in (("brokers", 1000), ("replicas", 1000), ("topics", 5000), ("minutes", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    size = Size(options.brokers, options.replicas, options.topics, options.minutes)
    json.dump(measure(options.folder, size), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
