"""How brokers were at a moment that is past. None is what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Sample = Mapping[str, Any]
"""A row of a table of the lake, by column."""


@dataclass(frozen=True, slots=True)
class PastLogDir:
    """A log dir and the disk that it is on: `busy` is a share of the time, of the whole disk, as what follows."""

    log_dir: str
    disk: str = ""
    total_bytes: int = 0
    usable_bytes: int = 0
    is_offline: bool = False
    busy: float | None = None
    await_ms: float | None = None
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class PastTopic:
    """What the leaders of a topic's partitions took in and gave to consumers, in bytes/s."""

    topic: str
    bytes_in_per_s: float
    bytes_out_per_s: float


@dataclass(frozen=True, slots=True)
class Held:
    """How many replicas a broker had, how many it led, and how many of these had fewer copies in sync than in all."""

    replicas: int
    leaders: int
    under_replicated: int


@dataclass(frozen=True, slots=True)
class PastBroker:
    """`seen_at_ms` is of its last good sample; `error` is why a later collection failed. `cpu` is a share of the host's
    cores."""

    broker: int
    seen_at_ms: int | None = None
    error: str = ""
    started_at_ms: int | None = None
    rack: str = ""
    idc: str = ""
    bytes_in_per_s: float | None = None
    bytes_out_per_s: float | None = None
    replication_bytes_in_per_s: float | None = None
    replication_bytes_out_per_s: float | None = None
    messages_in_per_s: float | None = None
    cpu: float | None = None
    memory_available_bytes: int | None = None
    held: Held | None = None
    log_dirs: tuple[PastLogDir, ...] = ()


@dataclass(frozen=True, slots=True)
class Samples:
    """What the lake has of the minutes before a moment, oldest first: rows by broker, by broker and disk, and by broker
    and log dir. `held` and `topics` are summed up already.
    """

    brokers: Mapping[int, tuple[Sample, ...]] = field(default_factory=dict)
    disks: Mapping[tuple[int, str], tuple[Sample, ...]] = field(default_factory=dict)
    log_dirs: Mapping[tuple[int, str], tuple[Sample, ...]] = field(default_factory=dict)
    held: Mapping[int, Held] = field(default_factory=dict)
    topics: tuple[PastTopic, ...] = ()
