"""What partitions do to a disk: six behaviours each, from two looks at its broker and at the cluster. Pure.

                     leader here                        follower here
    user write       what producers write               -
    user read        by group: at the tail, from disk   the same, where consumers read from followers
    replication w.   -                                  in sync: as the leader is written; catching up: more
    replication r.   in sync: from the page cache;      -
                     catching up: from disk
    move write       a future replica here copies from another log dir of the broker
    move read        a future replica elsewhere on the broker copies from here

No broker counts bytes by partition, so they are told from what is counted. That is offsets gained x bytes an offset
takes (the log's size over its offsets), committed offsets gained, the growth of copies. Which replica a group reads is
told by the client activity of their brokers: how often each saw the client read the topic; without, it is the leader.
An offset is on disk when it is older than the page cache holds (core.disk_reads, DESIGN.md "Partition-level
protection"). Of a partition that nobody writes to that is known once its end has not changed for as long.

Abnormal is a write above what is expected (by the topic directory; of a replica that catches up, anything), and any
read from disk.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from guardian.health.model.disk_reads import HostFacts, LeaderFacts, PageCache
from guardian.health.rules.disk_limits import DiskCounters
from guardian.health.rules.disk_reads import is_on_disk, page_cache
from guardian.model.cluster_state import LogDir, PartitionState, Reassignment
from guardian.model.protection import Behaviour, ClientUse, DiskKey, Doing
from guardian.model.quota import GroupMember, QuotaClient, Quotas
from guardian.model.topology import TopicPartition

_ABOVE = 1.2  # times what is expected


@dataclass(frozen=True, slots=True)
class LogFacts:
    """`end_since_ms`: the log has had this end since then at the latest; None: nobody knows."""

    size_bytes: int
    start_offset: int
    end_offset: int
    end_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerLook:
    """One broker at one moment, as its reporter tells. `users` are those seen with a client id, `writers` the clients
    seen to write a topic. `readers` is by topic and client id how often one was seen to read it lately; None: the
    broker tells no client activity."""

    broker: int
    at_ms: int
    disks: Mapping[str, DiskCounters]
    memory_available_bytes: int
    log_dirs: Mapping[str, str]  # path -> disk
    logs: Mapping[TopicPartition, LogFacts]
    replicas: Mapping[TopicPartition, str]  # -> log dir
    users: Mapping[str, frozenset[str]] = field(default_factory=dict)
    writers: Mapping[str, frozenset[QuotaClient]] = field(default_factory=dict)
    readers: Mapping[tuple[str, str], int] | None = None


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """A cluster at one moment, as Kafka tells, for all partitions of the brokers that were looked at."""

    at_ms: int
    brokers: frozenset[int] = frozenset()
    partitions: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    reassignments: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    log_dirs: tuple[LogDir, ...] = ()
    committed: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    members: tuple[GroupMember, ...] = ()
    silent_coordinators: frozenset[int] = frozenset()  # of groups that are in neither of these
    quotas: Quotas = field(default_factory=dict)
    configs: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    min_isr: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """Two looks, and what may be expected: `expected` is bytes/s that producers write to one partition of a topic."""

    cluster_before: ClusterLook
    cluster: ClusterLook
    before: Mapping[int, BrokerLook]
    now: Mapping[int, BrokerLook]
    expected: Mapping[str, float] = field(default_factory=dict)


ClientLoads = Mapping[QuotaClient, Mapping[int, float]]
"""What clients fetch from each broker, in bytes/s; infinite where they fetch something, and nobody tells how much."""


def doings(span: Span, disks: Iterable[DiskKey]) -> tuple[Doing, ...]:
    """Return the doings of these disks: the abnormal ones first, the largest first."""
    wanted = set(disks)
    sizes = _Sizes(span.now.values())
    readings = _Readings(span, sizes)
    found: list[Doing] = []
    for broker in sorted({disk.broker for disk in wanted} & span.before.keys() & span.now.keys()):
        host = _Host(span, broker, sizes)
        for partition, log_dir in sorted(host.now.replicas.items()):
            disk = DiskKey(broker, host.now.log_dirs.get(log_dir, ""))
            if disk in wanted:
                found.extend(_of_replica(host, disk, partition, readings))
        found.extend(doing for doing in _moves(host) if doing.disk in wanted)
    found.sort(key=lambda each: (not each.is_abnormal, -each.bytes_per_s, each.disk, each.partition, each.behaviour))
    return tuple(found)


def client_loads(span: Span) -> ClientLoads:
    """Compute the loads of clients from what groups have committed meanwhile, on the brokers that they read from. How
    many bytes that is can't be told of a topic that has no replica on the brokers that were looked at.
    """
    loads: dict[QuotaClient, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for reading in _Readings(span, _Sizes(span.now.values())).all():
        if reading.client is not None:
            for broker, share in reading.shares.items():
                rate = reading.bytes_per_s * share if reading.is_measured else math.inf
                loads[reading.client][broker] += rate
    return {client: dict(by_broker) for client, by_broker in loads.items()}


@dataclass(frozen=True, slots=True)
class _Reading:
    group: str
    partition: TopicPartition
    offset: int
    bytes_per_s: float
    client: QuotaClient | None
    shares: Mapping[int, float]  # by broker, the part of it that is read there
    is_measured: bool  # False: it reads, and nobody tells how many bytes that is


class _Sizes:
    """How many bytes an offset of a topic takes, of topics that some look tells of."""

    def __init__(self, looks: Iterable[BrokerLook]) -> None:
        sizes: dict[str, int] = defaultdict(int)
        offsets: dict[str, int] = defaultdict(int)
        for look in looks:
            for partition, log in look.logs.items():
                sizes[partition.topic] += log.size_bytes
                offsets[partition.topic] += max(0, log.end_offset - log.start_offset)
        self._of_topic = {topic: sizes[topic] / count for topic, count in offsets.items() if count}

    def __contains__(self, topic: str) -> bool:
        return topic in self._of_topic

    def __getitem__(self, topic: str) -> float:
        return self._of_topic.get(topic, 0.0)


class _Readings:
    """What groups read of each partition."""

    def __init__(self, span: Span, sizes: _Sizes) -> None:
        clients = _clients(span)
        seconds = (span.cluster.at_ms - span.cluster_before.at_ms) / 1000
        self._of: dict[TopicPartition, list[_Reading]] = defaultdict(list)
        for group, offsets in span.cluster.committed.items():
            before = span.cluster_before.committed.get(group, {})
            for partition, offset in offsets.items():
                gained = max(0, offset - before.get(partition, offset))
                rate = gained * sizes[partition.topic] / seconds if seconds > 0 else 0.0
                client = clients.get((group, partition))
                shares = _shares(span, partition, client)
                is_measured = not gained or partition.topic in sizes
                self._of[partition].append(_Reading(group, partition, offset, rate, client, shares, is_measured))

    def on(self, broker: int, partition: TopicPartition) -> Iterator[_Reading]:
        """Yield the partition's readings with what of them is read from the broker."""
        for reading in self._of.get(partition, []):
            share = reading.shares.get(broker, 0.0)
            if share:
                yield replace(reading, bytes_per_s=reading.bytes_per_s * share)

    def all(self) -> Iterator[_Reading]:
        for found in self._of.values():
            yield from found


def _shares(span: Span, partition: TopicPartition, client: QuotaClient | None) -> dict[int, float]:
    """Return from which replicas the client reads: as often as each of those that tell saw it. One that the leader's
    broker did not see reads where nobody has looked. One that no replica saw, though all tell, is too new to be known.
    """
    state = span.cluster.partitions.get(partition)
    if state is None:
        return {}
    if client is not None:
        telling = {broker: span.now[broker].readers for broker in state.replicas if broker in span.now}
        key = (partition.topic, client.client_id)
        seen = {broker: readers.get(key, 0) for broker, readers in telling.items() if readers is not None}
        total = sum(seen.values())
        if total:
            return {broker: count / total for broker, count in seen.items() if count}
        if state.leader in seen and len(seen) < len(state.replicas):
            return {}
    return {state.leader: 1.0}


def _clients(span: Span) -> dict[tuple[str, TopicPartition], QuotaClient]:
    """Return who reads a partition for a group. A client id that several users have is nobody's for certain."""
    users: dict[str, set[str]] = defaultdict(set)
    for look in span.now.values():
        for client_id, seen in look.users.items():
            users[client_id] |= seen
    found = {}
    for member in span.cluster.members:
        known = users.get(member.client_id, set())
        client = QuotaClient(member.client_id, next(iter(known)) if len(known) == 1 else None)
        for topic, number in member.partitions:
            found[member.group, TopicPartition(topic, number)] = client
    return found


class _Host:
    """One broker over the time between its two looks."""

    def __init__(self, span: Span, broker: int, sizes: _Sizes) -> None:
        self.span = span
        self.broker = broker
        self.sizes = sizes
        self.before, self.now = span.before[broker], span.now[broker]
        self.seconds = max((self.now.at_ms - self.before.at_ms) / 1000, 0.001)
        self.cache = self._cache()

    def offsets_per_s(self, partition: TopicPartition) -> float:
        old, new = self.before.logs.get(partition), self.now.logs.get(partition)
        return max(0, new.end_offset - old.end_offset) / self.seconds if old and new else 0.0

    def written(self, partition: TopicPartition) -> float:
        return self.offsets_per_s(partition) * self.sizes[partition.topic]

    def is_on_disk(self, partition: TopicPartition, offset: int) -> bool:
        log = self.now.logs.get(partition)
        if log is None:
            return False
        idle_s = (self.now.at_ms - log.end_since_ms) / 1000 if log.end_since_ms is not None else 0.0
        facts = LeaderFacts(self.broker, "", log.start_offset, log.end_offset, self.offsets_per_s(partition), idle_s)
        return is_on_disk(offset, facts, self.cache)

    def log_dirs(self, cluster: ClusterLook) -> tuple[LogDir, ...]:
        return tuple(each for each in cluster.log_dirs if each.broker == self.broker)

    def _cache(self) -> PageCache:
        used = set(self.now.log_dirs.values())
        moved = sum(
            max(0, new.bytes_read - old.bytes_read) + max(0, new.bytes_written - old.bytes_written)
            for name, new in self.now.disks.items()
            if name in used and (old := self.before.disks.get(name)) is not None
        )
        facts = HostFacts(self.now.memory_available_bytes, moved / self.seconds, self.now.log_dirs)
        return page_cache(self.broker, facts)


def _of_replica(host: _Host, disk: DiskKey, partition: TopicPartition, readings: _Readings) -> Iterator[Doing]:
    state = host.span.cluster.partitions.get(partition)
    if state is None:
        return
    if state.leader == host.broker:
        yield from _of_leader(host, disk, partition, state, readings)
    elif host.broker in state.replicas:
        yield _of_follower(host, disk, partition, state)
        yield from _user_reads(host, disk, partition, readings)


def _of_leader(
    host: _Host, disk: DiskKey, partition: TopicPartition, state: PartitionState, readings: _Readings
) -> Iterator[Doing]:
    written = host.written(partition)
    expected = host.span.expected.get(partition.topic)
    is_above = expected is not None and written > _ABOVE * expected
    writers = sorted(host.now.writers.get(partition.topic, frozenset()), key=str)
    yield Doing(
        disk,
        partition,
        Behaviour.USER_WRITE,
        written,
        expected,
        is_abnormal=is_above,
        why=f"{written / (expected or 1):.1f} times what the topic directory expects" if is_above else "",
        clients=tuple(ClientUse(writer, written / len(writers)) for writer in writers),
        write_rate=written,
        followers=len(state.replicas) - 1,
    )
    yield from _user_reads(host, disk, partition, readings)
    followers = [broker for broker in state.replicas if broker != host.broker]
    in_sync = [broker for broker in followers if broker in state.isr]
    base = Doing(
        disk,
        partition,
        Behaviour.REPLICATION_READ,
        written * len(in_sync),
        write_rate=written,
        followers=len(followers),
    )
    if in_sync:
        yield replace(base, peers=tuple(in_sync))
    behind = {broker: found for broker in followers if (found := _catching_up(host, partition, state, broker))}
    if behind:
        rate = sum(each.bytes_per_s for each in behind.values())
        end = host.now.logs[partition].end_offset if partition in host.now.logs else 0
        deepest = max(each.lag for each in behind.values())
        from_disk = host.is_on_disk(partition, end - deepest)
        who = ", ".join(map(str, sorted(behind)))
        yield replace(
            base,
            bytes_per_s=rate,
            from_disk=from_disk,
            is_abnormal=from_disk,
            why=f"broker {who} catches up, {deepest} messages behind, older than the page cache" if from_disk else "",
            peers=tuple(sorted(behind)),
        )


def _user_reads(host: _Host, disk: DiskKey, partition: TopicPartition, readings: _Readings) -> Iterator[Doing]:
    """One for those at the tail, one for those that read from disk."""
    by_place: dict[bool, list[_Reading]] = {False: [], True: []}
    for reading in readings.on(host.broker, partition):
        by_place[host.is_on_disk(partition, reading.offset)].append(reading)
    for from_disk, found in by_place.items():
        if not found:
            continue
        groups = ", ".join(sorted({reading.group for reading in found}))
        held = host.cache.seconds or 0.0
        yield Doing(
            disk,
            partition,
            Behaviour.USER_READ,
            sum(reading.bytes_per_s for reading in found),
            from_disk=from_disk,
            is_abnormal=from_disk,
            why=f"{groups} reads what is older than {held:.0f} s, which the page cache has no more"
            if from_disk
            else "",
            clients=tuple(
                ClientUse(reading.client, reading.bytes_per_s, reading.group)
                for reading in found
                if reading.client is not None
            ),
            write_rate=host.written(partition),
        )


def _of_follower(host: _Host, disk: DiskKey, partition: TopicPartition, state: PartitionState) -> Doing:
    written = host.written(partition)
    is_behind = host.broker not in state.isr
    return Doing(
        disk,
        partition,
        Behaviour.REPLICATION_WRITE,
        written,
        is_abnormal=is_behind and written > 0,
        why=f"catches up with broker {state.leader}" if is_behind and written > 0 else "",
        peers=(state.leader,),
        # How fast its leader is written nobody tells here; what it takes in is more than that, as long as it gains.
        write_rate=host.span.expected.get(partition.topic, written) if is_behind else written,
        followers=len(state.replicas) - 1,
    )


@dataclass(frozen=True, slots=True)
class _CatchUp:
    bytes_per_s: float
    lag: int


def _catching_up(host: _Host, partition: TopicPartition, state: PartitionState, broker: int) -> _CatchUp | None:
    """A live follower out of sync; how much it copied meanwhile shows in its size."""
    if broker in state.isr or broker not in host.span.cluster.brokers:
        return None
    before, now = (_replica(cluster, partition, broker) for cluster in (host.span.cluster_before, host.span.cluster))
    if now is None:
        return None
    seconds = max((host.span.cluster.at_ms - host.span.cluster_before.at_ms) / 1000, 0.001)
    grown = max(0, now[0] - before[0]) / seconds if before else 0.0
    return _CatchUp(grown, now[1])


def _replica(cluster: ClusterLook, partition: TopicPartition, broker: int) -> tuple[int, int] | None:
    """Its size and its lag."""
    for log_dir in cluster.log_dirs:
        if log_dir.broker == broker and partition in log_dir.replicas:
            replica = log_dir.replicas[partition]
            return replica.size_bytes, replica.lag
    return None


def _moves(host: _Host) -> Iterator[Doing]:
    """Copies between two log dirs of the broker: one behaviour on each of the two disks."""
    seconds = max((host.span.cluster.at_ms - host.span.cluster_before.at_ms) / 1000, 0.001)
    before = {
        (partition, log_dir.path): replica.size_bytes
        for log_dir in host.log_dirs(host.span.cluster_before)
        for partition, replica in log_dir.future_replicas.items()
    }
    for log_dir in host.log_dirs(host.span.cluster):
        for partition, replica in log_dir.future_replicas.items():
            copied = max(0, replica.size_bytes - before.get((partition, log_dir.path), replica.size_bytes)) / seconds
            there = DiskKey(host.broker, host.now.log_dirs.get(log_dir.path, ""))
            here = DiskKey(host.broker, host.now.log_dirs.get(host.now.replicas.get(partition, ""), ""))
            write = Doing(
                there,
                partition,
                Behaviour.MOVE_WRITE,
                copied,
                is_abnormal=True,
                why=f"is being copied to {log_dir.path}",
                write_rate=host.written(partition),
            )
            yield write
            yield replace(write, disk=here, behaviour=Behaviour.MOVE_READ, from_disk=True)
