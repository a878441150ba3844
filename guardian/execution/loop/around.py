"""What surrounds the moves of a cluster, gathered while the driver looks at Kafka.

    ask ──▶ questions to the reporters of the brokers at work, on their way
            (the driver looks at Kafka meanwhile)
        ──▶ answers ──▶ readings ──▶ adapting.Around

A line is shared by clusters: what is left of it is divided among those that have moves under way and brokers at both
of its ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from guardian.model.topology import Broker, Cluster
from guardian.throttle.loop import ClusterReadings
from guardian.throttle.model import BrokerCounters
from guardian.throttle.rules.adapting import Around, Line, ThrottleSettings

_SHARING_MS = 10_000


class Reporters(Protocol):
    """Who asks brokers for their counters."""

    def ask(self, brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        """Sends the questions; the function that it returns waits, not long, and leaves out who is late."""


class Surroundings(Protocol):
    """What the driver needs to adapt rates. Called from several threads, of different clusters, at once."""

    def ask(self, cluster: str, brokers: Collection[int]) -> Callable[[], Around]:
        """Begins to look around; the function that it returns gives what was seen."""


class LiveSurroundings:
    """`cluster_of` gives a registered cluster by name; `lines` tells the bytes/s that moves may take of each line whose
    limit is known."""

    def __init__(
        self,
        cluster_of: Callable[[str], Cluster | None],
        reporters: Reporters,
        settings: ThrottleSettings,
        lines: Callable[[], Mapping[Line, float]],
        now_ms: Callable[[], int],
    ) -> None:
        self._cluster_of = cluster_of
        self._reporters = reporters
        self._settings = settings
        self._lines = lines
        self._now_ms = now_ms
        self._readings: dict[str, ClusterReadings] = {}
        self._at_work: dict[str, tuple[int, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def ask(self, cluster: str, brokers: Collection[int]) -> Callable[[], Around]:
        registered = self._cluster_of(cluster)
        known = registered.brokers if registered else ()
        idcs = {broker.id: broker.idc for broker in known if broker.idc}
        if not self._settings.adaptive:
            return lambda: Around(self._settings, idcs=idcs)
        answers = self._reporters.ask([broker for broker in known if broker.id in brokers])
        return lambda: self._seen(cluster, frozenset(brokers), answers(), idcs)

    def _seen(
        self, cluster: str, asked: frozenset[int], answers: Sequence[BrokerCounters], idcs: Mapping[int, str]
    ) -> Around:
        now_ms = self._now_ms()
        settings = self._settings
        with self._lock:
            readings = self._readings.setdefault(
                cluster,
                ClusterReadings(
                    round(settings.stale_s * 1000), round(settings.window_s * 1000), settings.nic_gbit_per_s * 1e9
                ),
            )
            self._at_work[cluster] = now_ms, frozenset(idcs[broker] for broker in asked if broker in idcs)
        seen = readings.take(asked, answers, now_ms)
        return Around(settings, seen.readings, seen.latest, idcs, self._shares(now_ms), seen.unseen, seen.silent)

    def _shares(self, now_ms: int) -> dict[Line, float]:
        with self._lock:
            places = [idcs for at_ms, idcs in self._at_work.values() if now_ms - at_ms < _SHARING_MS]
        return {
            line: left / max(1, sum(line[0] in idcs and line[1] in idcs for idcs in places))
            for line, left in self._lines().items()
        }
