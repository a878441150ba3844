"""Which consumer groups read from disk: an estimate, for no plugin sees the offset of a fetch. Pure.

What brokers write passes through the page cache, and what they read from disk does, too; so memory holds about the last
T seconds of it:

    T = MemAvailable / bytes per second read and written, over the host's disks that have log dirs

A fetch at an offset below LEO - messages per second x T asks for what is no more there (DESIGN.md, "Partition-level
protection"). Of a partition that nobody has written to for T, any fetch does. A group's place is what it has committed,
which is behind what it fetches by less than a commit interval.

How much such a group reads is not counted by anybody either. Of what a topic's partitions send from a broker, groups at
the tail take what is written, each its own. The rest is what those behind take, and is divided among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from guardian.health.model.disk_reads import DiskReader, DiskReads, HostFacts, LeaderFacts, PageCache, TopicRates
from guardian.model.topology import TopicPartition

_Offsets = Mapping[str, Mapping[TopicPartition, int]]


def page_cache(broker: int, host: HostFacts) -> PageCache:
    """Compute how long what is written stays in memory on this host."""
    rate = host.disk_bytes_per_s
    seconds = host.memory_available_bytes / rate if rate > 0 else None
    return PageCache(broker, host.memory_available_bytes, rate, seconds)


def disk_reads(
    committed: _Offsets,
    leaders: Mapping[TopicPartition, LeaderFacts],
    topics: Mapping[tuple[int, str], TopicRates],
    hosts: Mapping[int, HostFacts],
) -> DiskReads:
    """`topics` by broker and topic. Partitions and brokers of which nothing is known are left out."""
    caches = {broker: page_cache(broker, host) for broker, host in hosts.items()}
    behind: list[_Place] = []
    at_the_tail: dict[tuple[int, str], list[TopicPartition]] = defaultdict(list)
    for group, offsets in committed.items():
        for partition, offset in offsets.items():
            leader = leaders.get(partition)
            if leader is None or leader.broker not in caches:
                continue
            if is_on_disk(offset, leader, caches[leader.broker]):
                behind.append(_Place(group, partition, offset, leader))
            else:
                at_the_tail[leader.broker, partition.topic].append(partition)
    rates = _rates(behind, at_the_tail, leaders, topics)
    readers = [_reader(place, rates[place.topic_key], hosts[place.leader.broker]) for place in behind]
    readers.sort(key=lambda each: (-each.bytes_per_s, -each.behind_s, each.group, each.partition))
    return DiskReads(tuple(readers), tuple(caches[broker] for broker in sorted(caches)))


def is_on_disk(offset: int, leader: LeaderFacts, cache: PageCache) -> bool:
    """Return whether what follows this offset is pushed out of memory. Where nothing was written for as long as the
    page cache holds, all of it is; where that is not known, none of it, rather than a false alarm.
    """
    if offset >= leader.log_end_offset or cache.seconds is None:
        return False
    if leader.messages_per_s <= 0:
        return leader.idle_s >= cache.seconds
    return offset < leader.log_end_offset - leader.messages_per_s * cache.seconds


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a group stands in a partition, when it is behind."""

    group: str
    partition: TopicPartition
    offset: int
    leader: LeaderFacts

    @property
    def topic_key(self) -> tuple[int, str]:
        return self.leader.broker, self.partition.topic


def _rates(
    behind: list[_Place],
    at_the_tail: Mapping[tuple[int, str], list[TopicPartition]],
    leaders: Mapping[TopicPartition, LeaderFacts],
    topics: Mapping[tuple[int, str], TopicRates],
) -> dict[tuple[int, str], float]:
    """Estimate by broker and topic what each of those behind takes of one partition, in bytes/s."""
    places: dict[tuple[int, str], int] = defaultdict(int)
    for place in behind:
        places[place.topic_key] += 1
    written: dict[tuple[int, str], float] = defaultdict(float)
    for partition, leader in leaders.items():
        written[leader.broker, partition.topic] += leader.messages_per_s
    rates = {}
    for key, count in places.items():
        topic = topics.get(key, TopicRates(0.0, 0.0))
        of_tail = sum(leaders[partition].messages_per_s for partition in at_the_tail.get(key, ()))
        taken = topic.bytes_in_per_s * of_tail / written[key] if written[key] else 0.0
        rates[key] = max(0.0, topic.bytes_out_per_s - taken) / count
    return rates


def _reader(place: _Place, bytes_per_s: float, host: HostFacts) -> DiskReader:
    leader = place.leader
    # Below the log's start there is nothing: a consumer that comes there begins at the start.
    offset = max(place.offset, leader.log_start_offset)
    return DiskReader(
        place.group,
        place.partition,
        leader.broker,
        leader.log_dir,
        host.disks.get(leader.log_dir, ""),
        place.offset,
        leader.log_end_offset,
        (leader.log_end_offset - offset) / leader.messages_per_s if leader.messages_per_s > 0 else leader.idle_s,
        bytes_per_s,
    )
