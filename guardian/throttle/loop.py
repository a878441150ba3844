"""What the brokers of a cluster did lately. Kept in memory: a new leader begins with young readings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from guardian.throttle.model import BrokerCounters, BrokerReading
from guardian.throttle.rules.measuring import reading

_LOOK_MS = 900


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold by broker what it did in the last seconds, and in the last one. Hold who has been silent for too long, and
    who said nothing new at this look, so that what is known of it is as before.
    """

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
        """Take the answers of those that were asked, and return what is known of them."""
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
        """Learn from the counters and return whether they are news."""
        last = known.counters[-1] if known.counters else None
        if last is not None:
            is_older = now.at_ms <= last.at_ms and now.started_at_ms == last.started_at_ms
            is_set_back = now.at_ms < last.at_ms - self.stale_ms  # its clock
            if is_older and not is_set_back:
                return False
            if is_set_back or now.started_at_ms != last.started_at_ms:
                known.counters.clear()
        while len(known.counters) > 1 and now.at_ms - known.counters[1].at_ms >= self.window_ms:
            known.counters.pop(0)
        known.reading = reading(known.counters[0] if known.counters else None, now, self.nic_bits_per_s)
        known.latest = reading(_a_look_ago(known.counters, now), now, self.nic_bits_per_s)
        known.counters.append(now)
        known.answered_ms = now_ms
        return True


def _a_look_ago(counters: Sequence[BrokerCounters], now: BrokerCounters) -> BrokerCounters | None:
    """Ticks may come in quick succession, and a tenth of a second is all chance."""
    old_enough = (each for each in reversed(counters) if now.at_ms - each.at_ms >= _LOOK_MS)
    return next(old_enough, counters[0] if counters else None)
