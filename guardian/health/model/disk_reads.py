"""Who reads what the page cache has no more: what is known of hosts, partitions and groups, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guardian.model.topology import TopicPartition


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Of a broker's host: what memory could hold files, and what moves through the disks that have log dirs."""

    memory_available_bytes: int
    disk_bytes_per_s: float
    disks: Mapping[str, str]  # by log dir


@dataclass(frozen=True, slots=True)
class LeaderFacts:
    """A partition as its leader had it at the end of a window; `messages_per_s` is over the window. `idle_s`: for so
    long at least nothing was written to it; 0: something was, or nobody knows."""

    broker: int
    log_dir: str
    log_start_offset: int
    log_end_offset: int
    messages_per_s: float
    idle_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TopicRates:
    """Of a topic's partitions on one broker, without replication."""

    bytes_in_per_s: float
    bytes_out_per_s: float


@dataclass(frozen=True, slots=True)
class PageCache:
    """`seconds`: what was written so long ago is no more in memory; None: nothing is pushed out."""

    broker: int
    memory_available_bytes: int
    disk_bytes_per_s: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class DiskReader:
    """A group that reads a partition from the leader's disk; `bytes_per_s` is an estimate. What it reads was written
    `behind_s` ago: of a partition that nobody writes to, at least."""

    group: str
    partition: TopicPartition
    broker: int
    log_dir: str
    disk: str
    committed_offset: int
    log_end_offset: int
    behind_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class DiskReads:
    """Readers, those that read most first; the page caches that decided."""

    readers: tuple[DiskReader, ...]
    caches: tuple[PageCache, ...]
