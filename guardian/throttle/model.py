"""How hard a broker works: what it counts, and what two counts make of the time between them.

BrokerCounters (then) + BrokerCounters (now) ──rules.measuring──▶ BrokerReading
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PRODUCE = "produce"
FETCH = "fetch"


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """Totals of a disk that holds log dirs, as in /proc/diskstats."""

    busy_ms: int
    operations: int
    operation_ms: int


@dataclass(frozen=True, slots=True)
class NicCounters:
    """Totals of a network interface; `bits_per_s` 0: its speed is not known."""

    bytes_received: int
    bytes_sent: int
    bits_per_s: int = 0


@dataclass(frozen=True, slots=True)
class RequestCounters:
    """Of one kind of request: how many, and what they took on average, since the broker started. `p99_ms` remembers
    some minutes."""

    count: float
    mean_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class BrokerCounters:
    """What a broker answered at once. `at_ms` is its own clock; totals count from `started_at_ms`. `requests` by kind;
    `copied_bytes` in and out because of reassignments. `metadata_lag_ms` is the age of the last record of the
    controllers' log that it applied; None: it does not tell."""

    broker: int
    at_ms: int
    started_at_ms: int
    disks: Mapping[str, DiskCounters] = field(default_factory=dict)
    nics: Mapping[str, NicCounters] = field(default_factory=dict)
    requests: Mapping[str, RequestCounters] = field(default_factory=dict)
    copied_bytes: float = 0.0
    metadata_lag_ms: float | None = None


class Latency(NamedTuple):
    """Milliseconds of a kind of request: the mean of the time between two looks, and Kafka's p99 of some minutes."""

    mean_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class BrokerReading:
    """A broker between two looks: its busiest disk and its busiest interface (empty: not known), shares from 0 to 1.
    Beside them its clients' requests by kind, and the bytes/s that reassignments copied into it and out of it.

    `nic_without_speed` is one where the speed of none is known, else empty. `is_young`: it has been asked once only, so
    that only `latencies` are known, as Kafka's p99.
    """

    broker: int
    disk: str = ""
    utilisation: float = 0.0
    slowest_disk: str = ""
    await_ms: float = 0.0
    nic: str = ""
    nic_share: float = 0.0
    latencies: Mapping[str, Latency] = field(default_factory=dict)
    copied_per_s: float = 0.0
    is_young: bool = False
    nic_without_speed: str = ""
