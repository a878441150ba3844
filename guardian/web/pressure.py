"""What brokers suffer while copies go: how busy their disks are, and how long producers wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BrokerPressure:
    """Of one broker over time: the share of the time that its busiest disk with log dirs was busy, and Kafka's p99 of
    produce requests, in ms. Each is a series of (ms since the epoch, value)."""

    disk_busy: tuple[tuple[int, float], ...] = ()
    produce_p99_ms: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PressureSeen:
    """By broker, of those that the lake has samples of."""

    brokers: Mapping[int, BrokerPressure] = field(default_factory=dict)
