"""Brokers that came back without what they held, as troubles: same id, new disk. Pure.

    a follower out of the ISR that holds far less than its leader, and is not being moved  ─▶ `empty_replicas`
    a topic with one replica, whose broker was away and holds far less than before         ─▶ `lost_topics`

Kafka says neither: the broker registers, its log dirs are online, and its empty partitions have leaders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.model.cluster_state import LogDir, PartitionState
from guardian.model.topology import TopicPartition
from guardian.model.units import human_bytes

LEAST_BYTES = 1 << 20
"""Of what held less it is not said that it is gone."""

_FAR_LESS = 0.1
_NAMED = 3

Partitions = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Single:
    """Hold what the only replica of a partition had when it was last seen before its broker was away, in bytes."""

    broker: int
    size_bytes: int
    was_away: bool = False


Singles = Mapping[TopicPartition, Single]


def empty_replicas(
    cluster: str, log_dirs: Iterable[LogDir], partitions: Partitions, moving: Collection[TopicPartition]
) -> Iterator[Sighting]:
    """Tell of brokers whose replicas, out of sync and of no move, hold less than a tenth of what their leaders do."""
    behind = {
        name: state
        for name, state in partitions.items()
        if state.leader >= 0 and len(state.isr) < len(state.replicas) and name not in moving
    }
    sizes = _sizes(log_dirs, behind)
    empty: defaultdict[int, list[int]] = defaultdict(list)
    for name, state in behind.items():
        whole = sizes.get((name, state.leader), 0)
        for broker in set(state.replicas) - set(state.isr):
            size = sizes.get((name, broker))
            if size is not None and whole >= LEAST_BYTES and size < _FAR_LESS * whole:
                empty[broker].append(whole - size)
    for broker, missing in sorted(empty.items()):
        yield Sighting(
            Subject(FindingKind.REPLICAS_EMPTY, cluster, f"broker {broker}"),
            f"broker {broker} lives and lacks {human_bytes(sum(missing))} of {len(missing)} replicas, which their "
            "leaders have: its disk is new or was emptied; they are copied anew, and count for nothing until then",
            f"guardian durability --cluster {cluster}",
            brokers=(broker,),
        )


def singles(
    before: Singles, log_dirs: Iterable[LogDir], partitions: Partitions, alive: Collection[int]
) -> dict[TopicPartition, Single]:
    """Return what the only replicas hold, after one more look: of one that was away, what it held before, until it
    holds that again."""
    alone = {name: state for name, state in partitions.items() if len(state.replicas) == 1}
    sizes = _sizes(log_dirs, alone)
    found: dict[TopicPartition, Single] = {}
    for name, state in alone.items():
        (broker,) = state.replicas
        known = before.get(name)
        is_same = known is not None and known.broker == broker
        size = sizes.get((name, broker)) if broker in alive else None
        if known is not None and is_same and size is None:
            found[name] = replace(known, was_away=True)
        elif known is not None and is_same and _is_lost(known, size or 0):
            found[name] = known
        elif size is not None:
            found[name] = Single(broker, size)
    return found


def lost_topics(cluster: str, known: Singles, log_dirs: Iterable[LogDir], partitions: Partitions) -> Iterator[Sighting]:
    """Tell of topics whose only replicas came back without what they held; a sighting a topic."""
    away = {name: single for name, single in known.items() if single.was_away}
    sizes = _sizes(log_dirs, {name: partitions[name] for name in away if name in partitions})
    lost: defaultdict[str, list[tuple[TopicPartition, Single]]] = defaultdict(list)
    for name, single in away.items():
        size = sizes.get((name, single.broker))
        if size is not None and _is_lost(single, size):
            lost[name.topic].append((name, single))
    for topic, of_topic in sorted(lost.items()):
        words = [
            f"partition {name.partition} held {human_bytes(single.size_bytes)} on broker {single.broker}"
            for name, single in sorted(of_topic)[:_NAMED]
        ]
        more = f", and {len(of_topic) - _NAMED} more" if len(of_topic) > _NAMED else ""
        yield Sighting(
            Subject(FindingKind.TOPIC_LOST, cluster, f"topic {topic}"),
            f"{'; '.join(words)}{more}, was away, and is empty since it is back; there is no other copy: its disk is "
            "new or was emptied. Stop the broker before it takes more, if the old disk can still be had",
            f"guardian durability --cluster {cluster} --topic {topic}",
            brokers=tuple(sorted({single.broker for _, single in of_topic})),
        )


def _is_lost(single: Single, size: int) -> bool:
    return single.was_away and single.size_bytes >= LEAST_BYTES and size < _FAR_LESS * single.size_bytes


def _sizes(log_dirs: Iterable[LogDir], wanted: Partitions) -> dict[tuple[TopicPartition, int], int]:
    """Return by partition and broker the bytes of each wanted replica that a log dir tells."""
    return {
        (name, log_dir.broker): log_dir.replicas[name].size_bytes
        for log_dir in log_dirs
        for name in log_dir.replicas.keys() & wanted.keys()
    }
