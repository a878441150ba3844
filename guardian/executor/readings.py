"""What the brokers of a cluster did lately. Kept in memory: a new leader begins with young readings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from guardian.core.measuring import reading
from guardian.model.reading import BrokerCounters, BrokerReading


@dataclass(frozen=True, slots=True)
class Seen:
    """By broker, what it did in the last seconds, and since the last look; who has been silent for too long, and who
    said nothing new at this look, so that what is known of it is as before."""

    readings: dict[int, BrokerReading]
    latest: dict[int, BrokerReading]
    unseen: frozenset[int]
    silent: frozenset[int]


@dataclass(slots=True)
class _Known:
    """Of one broker. `answered_ms` is when it did last, or was asked for the first time since it was forgotten."""

    answered_ms: int
    counters: list[BrokerCounters] = field(default_factory=list)  # oldest first, as far back as the window
    reading: BrokerReading | None = None
    latest: BrokerReading | None = None


@dataclass(slots=True)
class ClusterReadings:
    """For one thread. A broker that is silent for less than `stale_ms` is as it was; who is not asked any more for so
    long is forgotten."""

    stale_ms: int
    window_ms: int
    nic_bits_per_s: float = 0.0
    _known: dict[int, _Known] = field(default_factory=dict)
    _asked_ms: dict[int, int] = field(default_factory=dict)

    def take(self, asked: Collection[int], answers: Iterable[BrokerCounters], now_ms: int) -> Seen:
        """Of those that were asked."""
        for broker, last_ms in list(self._asked_ms.items()):
            if now_ms - last_ms > self.stale_ms and broker not in asked:
                del self._asked_ms[broker]
                del self._known[broker]
        for broker in asked:
            self._asked_ms[broker] = now_ms
            self._known.setdefault(broker, _Known(now_ms))
        silent = set(asked)
        for counters in answers:
            if counters.broker in self._known and self._learn(self._known[counters.broker], counters, now_ms):
                silent.discard(counters.broker)
        known = {broker: self._known[broker] for broker in asked}
        return Seen(
            {broker: each.reading for broker, each in known.items() if each.reading},
            {broker: each.latest for broker, each in known.items() if each.latest},
            frozenset(broker for broker, each in known.items() if now_ms - each.answered_ms > self.stale_ms),
            frozenset(silent),
        )

    def _learn(self, known: _Known, now: BrokerCounters, now_ms: int) -> bool:
        """Whether this is news."""
        if known.counters and now.at_ms <= known.counters[-1].at_ms:
            return False
        last = known.counters[-1] if known.counters else None
        if last is not None and last.started_at_ms != now.started_at_ms:
            known.counters.clear()
        while len(known.counters) > 1 and now.at_ms - known.counters[1].at_ms >= self.window_ms:
            known.counters.pop(0)
        known.reading = reading(known.counters[0] if known.counters else None, now, self.nic_bits_per_s)
        known.latest = reading(last, now, self.nic_bits_per_s)
        known.counters.append(now)
        known.answered_ms = now_ms
        return True
